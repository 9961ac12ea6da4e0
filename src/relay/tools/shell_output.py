"""What a command prints: its end kept in memory, all of it in a file once it is long, as clean text."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import tempfile
from collections import deque
from collections.abc import Callable

from relay.ai.types import Data
from relay.base.files import write_all
from relay.base.terminal_text import clean
from relay.tools.truncate import MAX_BYTES, MAX_LINES, truncate_tail

KEPT_BYTES = 3 * MAX_BYTES
"""How much of the end stays in memory: more than is shown, since cleaning makes text shorter."""

PENDING_BYTES = 1024 * 1024
"""Reading pauses while this much waits for the disk."""

_OPEN_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)\Z")

_LONGEST_ESCAPE = 4096


class CleanStream:
    """Turns the pieces of one byte stream into clean text, whole characters and whole sequences only."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, piece: bytes, *, final: bool = False) -> str:
        """The text that is complete with this piece; `final` gives up what is held back as it is."""
        text = self._held + self._decoder.decode(piece, final)
        self._held = ""
        if not final and (cut := _OPEN_ESCAPE.search(text)) and len(text) - cut.start() < _LONGEST_ESCAPE:
            text, self._held = text[: cut.start()], text[cut.start() :]
        return clean(text)


class Truncation(Data, frozen=True, omit_defaults=False):
    """How much of an output is shown. Bytes are counted in UTF-8; a last line without newline is a line."""

    truncated: bool
    truncated_by: str
    """`lines` or `bytes`."""
    total_lines: int
    total_bytes: int
    output_lines: int
    output_bytes: int
    last_line_partial: bool
    """Only the end of one line that alone exceeds the limit is shown."""
    max_lines: int = MAX_LINES
    max_bytes: int = MAX_BYTES


class Snapshot(Data, frozen=True):
    """The shown part of an output so far.

    `truncation` (None: all is shown) tells what is missing; `full_output_path` is the file with all bytes,
    `full_output_problem` why there is none.
    """

    text: str
    truncation: Truncation | None = None
    full_output_path: str | None = None
    full_output_problem: str | None = None


class OutputBuffer:
    """Collects the bytes of one command; memory stays bounded however much comes.

    `on_full` is called with True when reading should pause for the disk and with False when it may go on.
    The file is made in `folder` (None: the system's folder for temporary files).
    """

    def __init__(self, on_full: Callable[[bool], None], folder: str | None = None) -> None:
        self.total_bytes = 0
        self._newlines = 0
        self._ends_in_newline = True
        self._kept: deque[bytes] = deque()
        self._kept_bytes = 0
        self._spill: SpillFile | None = None
        self._on_full = on_full
        self._folder = folder

    def feed(self, piece: bytes) -> None:
        """Takes the next bytes (not empty). Must run on the event loop."""
        self.total_bytes += len(piece)
        self._newlines += piece.count(b"\n")
        self._ends_in_newline = piece.endswith(b"\n")
        self._kept.append(piece)
        self._kept_bytes += len(piece)
        if self._spill is not None:
            self._spill.feed(piece)
        elif self.total_bytes > MAX_BYTES or self.total_lines > MAX_LINES:
            self._spill = SpillFile(self._on_full, self._folder)
            self._spill.feed(b"".join(self._kept))
        while self._spill is not None and self._kept_bytes - len(self._kept[0]) >= KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popleft())

    @property
    def total_lines(self) -> int:
        return self._newlines + (not self._ends_in_newline)

    async def close(self) -> None:
        """Waits until the file holds everything."""
        if self._spill is not None:
            await self._spill.close()

    def snapshot(self, *, final: bool = False) -> Snapshot:
        """What is shown of the output so far; only its end is decoded.

        Unless `final`, a character or control sequence whose rest has not come yet is left out.
        """
        joined = b"".join(self._kept)
        data = joined[-KEPT_BYTES:]
        lost = len(data) < self.total_bytes
        partial = False
        if lost:
            border = data.find(b"\n", 0, -1)
            partial = border < 0
            data = _from_character_border(data) if partial else data[border + 1 :]
        end = truncate_tail(CleanStream().feed(data, final=final))
        if not lost and not end.truncated:
            return Snapshot(text=end.content)
        truncation = Truncation(
            truncated=True,
            truncated_by=end.by or "bytes",
            total_lines=self.total_lines,
            total_bytes=self.total_bytes,
            output_lines=end.shown_lines,
            output_bytes=end.shown_bytes,
            last_line_partial=partial or end.partial_line,
        )
        problem = self._spill.problem if self._spill else None
        path = self._spill.path if self._spill and problem is None else None
        return Snapshot(
            text=end.content, truncation=truncation, full_output_path=path, full_output_problem=problem
        )


def _from_character_border(data: bytes) -> bytes:
    """`data` without the rest of a UTF-8 character that was cut off at its start."""
    for index in range(min(4, len(data))):
        if data[index] & 0xC0 != 0x80:
            return data[index:]
    return data


class SpillFile:
    """The file with a command's whole output; written in a worker thread, in order.

    No descriptor stays open between two writes, so a writer may be given up at any time. A full disk ends
    the writing and is told in `problem`; the command goes on.
    """

    def __init__(self, on_full: Callable[[bool], None], folder: str | None) -> None:
        self.path: str | None = None
        self.problem: str | None = None
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._writer: asyncio.Task[None] | None = None
        self._on_full = on_full
        self._paused = False
        try:
            fd, self.path = tempfile.mkstemp(prefix="relay-bash-", suffix=".log", dir=folder)
            os.close(fd)
        except OSError as error:
            self.problem = f"no file could be made in {folder or tempfile.gettempdir()}: {error.strerror}"

    def feed(self, piece: bytes) -> None:
        """Queues bytes for the file."""
        if self.problem is not None:
            return
        self._pending.append(piece)
        self._pending_bytes += len(piece)
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write_pending())
        if self._pending_bytes > PENDING_BYTES and not self._paused:
            self._paused = True
            self._on_full(True)

    async def _write_pending(self) -> None:
        while self._pending and self.problem is None and self.path is not None:
            pieces, self._pending = self._pending, []
            self._pending_bytes = 0
            try:
                await asyncio.to_thread(_append, self.path, pieces)
            except OSError as error:
                self.problem = f"writing {self.path} failed: {error.strerror}"
            if self._paused:
                self._paused = False
                self._on_full(False)
        self._writer = None

    async def close(self) -> None:
        """Returns when all that was fed is in the file; if cancelled, it is still written."""
        if self._writer is not None:
            await asyncio.shield(self._writer)


def _append(path: str, pieces: list[bytes]) -> None:
    # Without O_CREAT: a file that someone removed would come back readable for all.
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for piece in pieces:
            write_all(fd, piece)
    finally:
        os.close(fd)
