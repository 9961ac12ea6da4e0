"""Splits a byte stream into server-sent events, whatever the line ends and chunk borders."""

from __future__ import annotations

from relay.ai.wire.base import ServerEvent
from relay.base import jsonl

_BOM = b"\xef\xbb\xbf"


class SseParser:
    """Keeps the unfinished event as a list of pieces: an event of any size costs time linear in its size."""

    def __init__(self) -> None:
        self._head: bytes | None = b""
        """The first bytes while they may still be a byte order mark; None afterwards."""
        self._pieces: list[bytes] = []
        self._ends_line = False
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that `chunk` completes."""
        if self._head is not None:
            chunk = self._without_mark(chunk, self._head)
        if self._after_cr or b"\r" in chunk:
            chunk = self._with_plain_ends(chunk)
        if not chunk:
            return []
        complete = b"\n\n" in chunk or (self._ends_line and chunk[0] == 0x0A)
        self._ends_line = chunk[-1] == 0x0A
        self._pieces.append(chunk)
        if not complete:
            return []
        text = b"".join(self._pieces) if len(self._pieces) > 1 else chunk
        *blocks, rest = text.split(b"\n\n")
        self._pieces = [rest] if rest else []
        # A line end before `rest` belongs to the blank line that closed the last block.
        self._ends_line = rest.endswith(b"\n")
        return [event for block in blocks if (event := _event(block)) is not None]

    def end(self) -> list[ServerEvent]:
        """The event that the end of the stream completes: some servers leave the last blank line out.

        A line without its end is taken when it is whole, which for JSON can be told; otherwise the stream
        was torn there and the reader must not mistake the stump for bad JSON.
        """
        if self._head:
            self._pieces.append(self._head)
        self._head = None
        rest, self._pieces = b"".join(self._pieces), []
        lines, newline, last = rest.rpartition(b"\n")
        if last and not _is_whole(last):
            rest = lines + newline
        event = _event(rest)
        return [] if event is None else [event]

    def _without_mark(self, chunk: bytes, head: bytes) -> bytes:
        start = head + chunk
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._head = start
            return b""
        self._head = None
        return start.removeprefix(_BOM)

    def _with_plain_ends(self, chunk: bytes) -> bytes:
        """The chunk with LF as its only line end; a CRLF may be split between two chunks."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk


def _event(block: bytes) -> ServerEvent | None:
    """The event of one block of lines; None for comments, `id`, `retry` and names without data."""
    if block.startswith(b"data: ") and b"\n" not in block:
        return ServerEvent("", block[6:])
    name, data = "", []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ").decode("utf-8", "replace")
    return ServerEvent(name, b"\n".join(data)) if data else None


def _is_whole(line: bytes) -> bool:
    """Whether a line that has no end yet is nevertheless finished."""
    field, _, value = line.partition(b":")
    if field != b"data":
        return False
    value = value.strip()
    if value == b"[DONE]":
        return True
    try:
        jsonl.decode(value)
    except (ValueError, RecursionError):
        return False
    return True
