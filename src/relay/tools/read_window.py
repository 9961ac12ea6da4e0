"""Reading some lines of a text file in chunks: those before are only counted, those behind not touched."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from relay.tools.operations import Operations
from relay.tools.text_file import UTF_8, TextForm, is_utf_8
from relay.tools.truncate import MAX_BYTES, MAX_LINES

CHUNK = 128 * 1024
"""Bytes of the first read: more than a window holds, so that most files take one read."""

LATER_CHUNK = 1024 * 1024

COUNT_LIMIT = 8 * 1024 * 1024
"""Files up to this size are counted to their end, so that the model learns how much is left."""


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Lines from `first` on (counted from 1), without their ends."""

    text: str
    first: int
    shown: int
    by: Literal["lines", "bytes", "limit"] | None
    """Why it stops before the end of the file; "limit" is the caller's own. None at the end."""
    total: int | None
    """Lines of the whole file, where that is known."""
    long_line: int | None = None
    """The first line alone is above the byte limit: its size, or how much of it was seen."""
    has_bad_bytes: bool = False
    """Some bytes are not valid text and stand as U+FFFD in `text`."""


class Chunks:
    """The bytes of a text file as UTF-8, piece by piece. `head` is its start, already read from `path`."""

    def __init__(self, operations: Operations, path: Path, head: bytes, form: TextForm) -> None:
        self._operations = operations
        self._path = path
        self._position = 0
        self._head: bytes | None = head
        self._form = form
        self._decoder = None
        if form.encoding != UTF_8.encoding:
            self._decoder = codecs.getincrementaldecoder(form.encoding)("replace")

    async def next(self) -> bytes:
        """The next piece; b"" at the end of the file."""
        while True:
            raw, self._head = self._head, None
            if raw is None:
                raw = await self._operations.read(self._path, self._position, LATER_CHUNK)
            start = len(self._form.bom) if self._position == 0 else 0
            self._position += len(raw)
            if self._decoder is None:
                # A head that is only the mark must not look like the end.
                if raw[start:] or not raw:
                    return raw[start:]
                continue
            text = self._decoder.decode(raw[start:], final=not raw)
            if text or not raw:
                return text.encode("utf-8", "replace")


class _Gathered(NamedTuple):
    lines: list[bytes]
    """Whole lines from the first wanted one on, ends removed."""
    before: int
    """How many lines come before them; fewer than asked for only at the end of the file."""
    ended: bool
    """Whether the last of them is the last of the file."""
    tail: bytes
    """The start of a further line whose end was not read."""
    separator: bytes


async def read_window(
    chunks: Chunks, offset: int, limit: int | None, *, size: int, max_bytes: int = MAX_BYTES
) -> Window:
    """The lines from number `offset` (from 1): at most `limit`, `MAX_LINES` and `max_bytes`.

    `size` is the file's, to decide whether the rest is counted. Past the end of the file nothing is shown
    and `total` is known. Raises OSError.
    """
    wanted = MAX_LINES if limit is None else min(limit, MAX_LINES)
    found = await _gather(chunks, offset - 1, wanted, max_bytes)
    kept = _fit(found.lines, wanted, max_bytes)
    raw, shown = b"\n".join(kept), len(kept)
    total = found.before + len(found.lines) if found.ended else None
    if total is None and size <= COUNT_LIMIT:
        total = found.before + len(found.lines) + await _count_rest(chunks, found)
    by: Literal["lines", "bytes", "limit"] | None = None
    if shown < len(found.lines) or not found.ended:
        by = "bytes" if shown < wanted else ("limit" if wanted == limit else "lines")
    return Window(
        text=raw.decode("utf-8", "replace").replace("\0", "\ufffd"),
        first=offset,
        shown=shown,
        by=by,
        total=total,
        long_line=len((*found.lines, found.tail)[0]) if by and not shown else None,
        has_bad_bytes=b"\0" in raw or not is_utf_8(raw),
    )


async def _gather(chunks: Chunks, skip: int, wanted: int, max_bytes: int) -> _Gathered:
    data = await chunks.next()
    separator = b"\r" if b"\n" not in data and b"\r" in data else b"\n"
    left = skip
    while left:
        count = data.count(separator)
        if count >= left:
            data = data.split(separator, left)[-1]
            break
        following = await chunks.next()
        left -= count
        if not following:
            before = skip - left + (1 if data and not data.endswith(separator) else 0)
            return _Gathered([], before, True, b"", separator)
        data = following
    ended = False
    parts = [data]
    size, separators = len(data), data.count(separator)
    # Line ends of two bytes count as one, hence the factor: what is gathered always fills the window.
    while not ended and size <= 2 * max_bytes and not _is_filled(separators, wanted, parts[-1], separator):
        part = await chunks.next()
        ended = not part
        parts.append(part)
        size += len(part)
        separators += part.count(separator)
    lines = b"".join(parts).split(separator)
    tail = lines.pop()
    if ended and tail:
        lines.append(tail)
        tail = b""
    if separator == b"\n":
        lines = [line.removesuffix(b"\r") for line in lines]
    return _Gathered(lines, skip, ended, tail, separator)


def _is_filled(separators: int, wanted: int, last: bytes, separator: bytes) -> bool:
    """Whether all wanted lines are there and something behind them."""
    return separators > wanted or (separators == wanted and bool(last) and not last.endswith(separator))


def _fit(lines: list[bytes], wanted: int, max_bytes: int) -> list[bytes]:
    used = -1
    for index, line in enumerate(lines[:wanted]):
        used += len(line) + 1
        if used > max_bytes:
            return lines[:index]
    return lines[:wanted]


async def _count_rest(chunks: Chunks, found: _Gathered) -> int:
    """Lines behind the gathered ones."""
    count, last = 0, found.tail
    while part := await chunks.next():
        count += part.count(found.separator)
        last = part
    return count + (1 if last and not last.endswith(found.separator) else 0)
