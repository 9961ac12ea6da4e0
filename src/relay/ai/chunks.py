"""Joins the many small chunks of an HTTP/1.1 answer that arrived together into one.

Servers send each streamed delta in a chunk of its own. Whatever parses HTTP above pays for every chunk more
than the delta itself costs; joined, it pays for every read of the socket.
"""

from __future__ import annotations

from enum import Enum, auto

MAX_HEAD = 1 << 16
_MAX_SIZE_LINE = 20


class _Part(Enum):
    HEAD = auto()
    CHUNKS = auto()
    PLAIN = auto()


class ChunkJoiner:
    """Rewrites the bytes of one connection as they come in; their meaning stays the same.

    What it does not know (extensions of chunks, a broken frame, interim answers) passes unchanged until the
    next request, and is judged by the HTTP parser.
    """

    def __init__(self) -> None:
        self._part = _Part.HEAD
        self._held = b""
        """Of the head: all so far, passed on already. Of the chunks: the frame that is not complete yet."""
        self._left = 0
        """Bytes of the chunk under way that are still to come."""

    def expect_answer(self) -> None:
        """A request goes out: what comes in next is the head of an answer."""
        self._part, self._held, self._left = _Part.HEAD, b"", 0

    def feed(self, data: bytes) -> bytes:
        """What to pass on for `data`; b"" while only part of a frame is there."""
        if self._part is _Part.PLAIN:
            return data
        if self._part is _Part.CHUNKS:
            return self._joined(data)
        head, blank, body = (self._held + data).partition(b"\r\n\r\n")
        if not blank:
            self._held = head
            if len(head) > MAX_HEAD:
                self._part = _Part.PLAIN
            return data
        if not _is_chunked(head):
            self._part = _Part.PLAIN
            return data
        # Every chunk but the first follows the line end of the one before: with one put first, all are alike.
        self._part, self._held = _Part.CHUNKS, b"\r\n"
        return data[: len(data) - len(body)] + (self._joined(body) if body else b"")

    def _joined(self, data: bytes) -> bytes:
        if self._held:
            data, self._held = self._held + data, b""
        pieces: list[bytes] = []
        at, left, tail = 0, self._left, b""
        while True:
            if left:
                piece = data[at : at + left]
                pieces.append(piece)
                at += len(piece)
                left -= len(piece)
                if left:
                    break
            stop = data.find(b"\r\n", at + 2)
            if stop < 0 and len(data) - at < _MAX_SIZE_LINE:
                self._held = data[at:]
                break
            size = _size(data[at:stop])
            if not size:
                # The end of the body, or what is not understood: from here on the parser sees it as it is.
                self._part = _Part.PLAIN
                # A chunk without its line end stays broken: no chunk begins with an empty line.
                tail = data[at + 2 :] if data.startswith(b"\r\n", at) else b"\r\n" + data[at:]
                break
            at, left = stop + 2, size
        self._left = left
        payload = b"".join(pieces)
        return b"%x\r\n%b\r\n%b" % (len(payload), payload, tail) if payload else tail


def _size(line: bytes) -> int:
    """The size in a line `\\r\\nHEX`; 0 for any other."""
    digits = line[2:]
    if line[:2] != b"\r\n" or not digits.isalnum() or len(digits) > 16:
        return 0
    try:
        return int(digits, 16)
    except ValueError:
        return 0


def _is_chunked(head: bytes) -> bool:
    status, *lines = head.lower().split(b"\r\n")
    if status[9:10] == b"1":
        return False
    values = [line.partition(b":")[2].strip() for line in lines if line.startswith(b"transfer-encoding:")]
    return values == [b"chunked"]
