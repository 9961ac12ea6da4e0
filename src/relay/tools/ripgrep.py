"""Starting ripgrep and reading what it writes, record by record, until enough is there."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import IO

from relay.agent.tool import ToolError
from relay.ai.types import JsonObject
from relay.base.processes import wait_for_exit
from relay.base.terminal_text import clean
from relay.tools.truncate import MAX_BYTES

CHUNK = 256 * 1024

COMMON = ("--no-config", "--no-require-git", "--hidden", "--glob", "!.git")
"""Ignore files count outside of Git too; hidden files are searched, Git's own are not."""


def find_ripgrep(folder: str | None = None) -> str:
    """The `rg` in `folder` (None: where this Python's programs are), else on PATH. Raises ToolError."""
    name = "rg.exe" if os.name == "nt" else "rg"
    own = os.path.join(folder or sysconfig.get_path("scripts"), name)
    if os.access(own, os.X_OK):
        return own
    found = shutil.which("rg")
    if found is None:
        raise ToolError(
            f"ripgrep is missing: there is neither {own} nor an rg on PATH. "
            "Install it with `pip install ripgrep==14.1.0` or from your system's packages."
        )
    return found


class Ripgrep:
    """One run of rg in `cwd`, used as `async with`; leaving the block ends the process if it still runs.

    After `records` has come to its end, `errors` holds what rg wrote to stderr.
    """

    def __init__(self, arguments: Sequence[str | bytes], cwd: str) -> None:
        self._command = [find_ripgrep(), *COMMON, *arguments]
        self._cwd = cwd
        self._stack = AsyncExitStack()
        self._reader = asyncio.StreamReader(limit=CHUNK)
        self._stderr: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    async def __aenter__(self) -> Ripgrep:
        async with self._stack as stack:
            self._stderr = stack.enter_context(tempfile.TemporaryFile())
            self._process = self._start(self._stderr)
            stack.push_async_callback(self._end, self._process)
            loop = asyncio.get_running_loop()
            protocol = asyncio.StreamReaderProtocol(self._reader)
            transport, _ = await loop.connect_read_pipe(lambda: protocol, self._process.stdout)
            stack.callback(transport.close)
            self._stack = stack.pop_all()
        return self

    def _start(self, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self._command,
                cwd=self._cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ToolError(f"The search could not start in {self._cwd}: {reason}.") from error

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    async def _end(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            process.kill()
        # A killed process ends at once; not to wait would leave a zombie.
        await asyncio.shield(wait_for_exit(process))

    async def records(self, separator: bytes) -> AsyncIterator[list[bytes]]:
        """What rg writes, split at `separator`, in batches as they come."""
        rest = b""
        while piece := await self._reader.read(CHUNK):
            if separator not in piece:
                rest += piece
                continue
            parts = (rest + piece).split(separator)
            rest = parts.pop()
            yield parts
        if rest:
            yield [rest]

    async def errors(self) -> str:
        """rg's complaints, "" without; waits for its end."""
        if self._process is None or self._stderr is None:
            return ""
        await wait_for_exit(self._process)
        self._stderr.seek(0)
        return self._stderr.read().decode("utf-8", "replace").strip()


def explain_pattern_error(errors: str, pattern: str) -> str | None:
    """A sentence for an invalid regular expression, None where rg complains about something else."""
    if not _PATTERN_ERROR.search(errors):
        return None
    reason = next(
        (line.removeprefix("error: ") for line in errors.splitlines() if line.startswith("error: ")), ""
    )
    column = _error_column(errors, pattern)
    advice = "Correct it, or set literal to true to search for the text itself."
    if column is None:
        return f"The pattern {pattern} is not a valid regular expression: {reason or errors}. {advice}"
    return (
        f"The pattern is not a valid regular expression at character {column + 1}:\n"
        f"    {pattern}\n    {' ' * column}^\n{reason}. {advice}"
    )


_PATTERN_ERROR = re.compile(
    r"^rg: (regex parse error|.*not allowed in a regex|.*regex.*size limit)", re.MULTILINE
)


def _error_column(errors: str, pattern: str) -> int | None:
    """Where the fault is, from 0; None where nobody knows."""
    caret = re.search(r"^ *(\^)", errors, re.MULTILINE)
    if "\n" in pattern or caret is None:
        return None
    # rg shows the pattern behind four blanks and inside a group of its own, "(?:" in front.
    column = len(caret.group()) - 1 - 4 - 3
    if 0 <= column <= len(pattern) and "unopened group" not in errors:
        return column
    # An unpaired bracket is blamed on rg's own group; Python's parser names the real one.
    try:
        re.compile(pattern)
    except re.error as error:
        return error.pos
    return None


def truncation_details(total_lines: int, total_bytes: int, lines: int, size: int) -> JsonObject:
    """The `truncation` of a result that was cut at the byte limit."""
    return {
        "truncated": True,
        "truncatedBy": "bytes",
        "totalLines": total_lines,
        "totalBytes": total_bytes,
        "outputLines": lines,
        "outputBytes": size,
        "maxBytes": MAX_BYTES,
    }


def first_lines(errors: str, count: int = 3) -> str:
    """rg's complaints on one line, at most `count` of them."""
    lines = [
        clean(line.removeprefix("rg: ").removeprefix("./")) for line in errors.splitlines() if line.strip()
    ]
    more = f", and {len(lines) - count} more" if len(lines) > count else ""
    return ", ".join(lines[:count]) + more
