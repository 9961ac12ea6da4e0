"""Print mode: runs the prompts one after another and writes the final answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from relay.ai.types import UserContent, text_of
from relay.base.terminal_text import clean
from relay.runtime.live import LiveSession


async def run_print(
    session: LiveSession, prompts: Iterable[list[UserContent]], stdout: TextIO, stderr: TextIO
) -> int:
    """Exit code: 1 when the last answer failed (its reason goes to stderr, nothing to stdout), else 0."""
    for prompt in prompts:
        session.prompter.start(prompt)
        await session.runner.settled()
    answer = session.record.last_answer
    if answer is None:
        return 0
    if answer.stop_reason in ("error", "aborted"):
        stderr.write(_writable(f"{answer.error_message or 'The run was aborted.'}\n", stderr))
        return 1
    text = text_of(answer.content)
    if text:
        stdout.write(_writable(text if text.endswith("\n") else text + "\n", stdout))
        stdout.flush()
    return 0


def _writable(text: str, stream: TextIO) -> str:
    """`text` as `stream` takes it: nothing that steers a terminal, nothing that its encoding lacks."""
    shown = clean(text) if stream.isatty() else text
    encoding = stream.encoding or "utf-8"
    return shown.encode(encoding, "replace").decode(encoding)
