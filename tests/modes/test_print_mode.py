"""Tests of how the final answer is written."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from relay.ai.errors import ProviderError
from relay.ai.testing import Reply, ScriptedProvider
from relay.modes.print_mode import run_print
from relay.runtime.assembly import open_session
from relay.runtime.prompter import user_content
from relay.runtime.start import ModelOptions, SessionOptions, StartOptions


class Stream(io.TextIOWrapper):
    """A standard stream: a terminal or not, in an encoding of its own."""

    def __init__(self, encoding: str = "utf-8", *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="\n")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def written(self) -> bytes:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue()


async def printed(home: Path, reply: Reply, stdout: Stream, stderr: Stream) -> int:
    agent = home / ".relay" / "agent"
    agent.mkdir(parents=True)
    server = {"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions", "apiKey": "k"}
    providers = {"mock": {**server, "models": [{"id": "m1"}]}}
    (agent / "models.json").write_text(json.dumps({"providers": providers}))
    options = StartOptions(
        cwd=home,
        environ={"HOME": str(home)},
        model=ModelOptions(pattern="mock/m1"),
        session=SessionOptions(kind="memory"),
    )
    session = await open_session(options, pytest.fail, provider=ScriptedProvider([reply]))
    try:
        return await run_print(session, [user_content("hi")], stdout, stderr)
    finally:
        await session.close()


@pytest.mark.parametrize(
    ("text", "stdout", "written"),
    [
        ("\x1b[31mred", Stream(), b"\x1b[31mred\n"),
        ("\x1b[31mred", Stream(terminal=True), b"red\n"),
        ("half \ud800", Stream(), b"half ?\n"),
        ("fünf …", Stream("latin-1"), "fünf ?\n".encode("latin-1")),
    ],
)
async def test_an_answer_is_written_as_the_stream_takes_it(
    own_home: Path, text: str, stdout: Stream, written: bytes
) -> None:
    assert await printed(own_home, Reply(text=text), stdout, Stream()) == 0
    assert stdout.written() == written


async def test_a_servers_words_do_not_steer_the_terminal(own_home: Path) -> None:
    stderr = Stream(terminal=True)
    failure = ProviderError("\x1b]0;owned\x07No.", "request")
    assert await printed(own_home, Reply(error=failure, refused=True), Stream(), stderr) == 1
    assert stderr.written() == b"No.\n"
