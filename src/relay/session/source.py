"""Reads a session file: all of it forward, or from its end back to where the context begins.

Only LF ends a line. Memory beyond the decoded entries is a few blocks and the longest line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from relay.ai.types import AssistantMessage, JsonObject
from relay.base import jsonl
from relay.session import lenient
from relay.session.entries import (
    VERSION,
    CompactionEntry,
    Entry,
    Header,
    KnownEntry,
    MessageEntry,
    ModelChangeEntry,
    ThinkingLevelChangeEntry,
)
from relay.session.migrate import Upgrade

BLOCK = 1 << 18
"""Bytes per read."""
SMALL = 1 << 20
"""Files up to this many bytes are read whole: all ids are known then, and it takes no longer."""
HEAD = 1 << 20
"""A header is at most this long."""

_entries: msgspec.json.Decoder[KnownEntry] = msgspec.json.Decoder(KnownEntry)
_headers = msgspec.json.Decoder(Header)


class Record(msgspec.Struct):
    """An entry and where its line is: `size` bytes at `start`, without the line end.

    `line` holds the bytes instead while they are not in the file (`start` is -1), and for good where an
    older line was brought into today's shape.
    """

    entry: Entry
    start: int = -1
    size: int = 0
    line: bytes | None = None


class Loaded(msgspec.Struct):
    """What a reading found. Not `complete`: only the newest entry's branch, from where its context begins.

    `damaged` are line numbers (from 1); of a partial reading, counted from the end (-1 is the last line) and
    only those after the newest entry. `end` is where reading stopped.
    """

    header: Header | None
    records: list[Record]
    end: int
    complete: bool = True
    damaged: list[int] = []
    blank: bool = False
    """The file holds nothing but line ends: a session may still begin in it."""


def load(handle: int, size: int, *, small: int = SMALL, block: int = BLOCK) -> Loaded:
    """Reads the first `size` bytes of an open file in the cheaper way. Raises OSError."""
    if size > small:
        header = read_head(handle)
        if header is not None and header.version >= VERSION:
            tail = _read_tail(handle, size, block)
            if tail is not None:
                tail.header = header
                return tail
    return read_all(handle, size, block=block)


def read_all(handle: int, size: int, *, block: int = BLOCK) -> Loaded:
    """Reads every line. `header` is None when the first line with text is none. Raises OSError."""
    found = Loaded(None, [], size, damaged=[], blank=True)
    upgrade = Upgrade(VERSION)
    for number, (start, line) in enumerate(_forward(handle, 0, size, block), 1):
        if not line or line.isspace():
            continue
        if found.blank:
            found.blank = False
            found.header = decode_header(line)
            if found.header is None:
                break
            upgrade = Upgrade(found.header.version)
            continue
        record = _read_line(line, start, upgrade)
        if record is None:
            found.damaged.append(number)
        else:
            found.records.append(record)
    return found


def today_lines(handle: int, size: int) -> Iterator[bytes]:
    """The lines of the first `size` bytes in today's shape; those that have it keep their bytes.

    Damaged lines stay, blank ones go. `size` 0 or a file without a header gives nothing. Raises OSError.
    """
    upgrade: Upgrade | None = None
    for start, line in _forward(handle, 0, size):
        if not line or line.isspace():
            continue
        if upgrade is None:
            header = decode_header(line)
            if header is None:
                return
            upgrade = Upgrade(header.version)
            yield _today_header(line) if upgrade.needed else line
            continue
        record = _read_line(line, start, upgrade)
        yield line if record is None or record.line is None else record.line


def whole_size(handle: int) -> int:
    """The file's size without a last line that somebody is still writing. Raises OSError."""
    size = os.fstat(handle).st_size
    offset, line = next(_backward(handle, size, BLOCK), (size, b""))
    return offset if line and decode_entry(line) is None and decode_header(line) is None else size


def _today_header(line: bytes) -> bytes:
    value = lenient.read_object(line.removeprefix(b"\xef\xbb\xbf"))
    return line if value is None else jsonl.encode(value | {"version": VERSION})


def read_part(handle: int, start: int, end: int) -> tuple[list[Record], int]:
    """The entries that somebody else wrote between two offsets, and how many lines there are damaged."""
    upgrade = Upgrade(VERSION)
    records: list[Record] = []
    damaged = 0
    for offset, line in _forward(handle, start, end):
        if line and not line.isspace():
            record = _read_line(line, offset, upgrade)
            if record is None:
                damaged += 1
            else:
                records.append(record)
    return records, damaged


def read_head(handle: int) -> Header | None:
    """The header, or None when the first line with text is none."""
    for _, line in _forward(handle, 0, min(os.fstat(handle).st_size, HEAD)):
        if line and not line.isspace():
            return decode_header(line)
    return None


def decode_header(line: bytes) -> Header | None:
    try:
        return _headers.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return lenient.read_header(line)


def decode_entry(line: bytes) -> Entry | None:
    """The entry of a line; None when the line is damaged."""
    try:
        return _entries.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return lenient.read_entry(line)


def _read_line(line: bytes, start: int, upgrade: Upgrade) -> Record | None:
    entry = decode_entry(line)
    if entry is None:
        return None
    if not upgrade.needed and entry.id and entry.parent_id != "":
        upgrade.note(entry.id)
        return Record(entry, start, len(line))
    value: JsonObject | None = lenient.read_object(line)
    mended = upgrade.mend(value, line) if value is not None else None
    if mended is None:
        return Record(entry, start, len(line))
    text = jsonl.encode(mended)
    entry = decode_entry(text)
    return None if entry is None else Record(entry, start, len(line), text)


def _forward(handle: int, start: int, end: int, block: int = BLOCK) -> Iterator[tuple[int, bytes]]:
    """Lines between two offsets with their own offsets; the last one may lack its line end."""
    pieces: list[bytes] = []
    begun = position = start
    while position < end:
        data = os.pread(handle, min(block, end - position), position)
        if not data:
            break
        position += len(data)
        *whole, rest = data.split(b"\n")
        for line in whole:
            if pieces:
                line = b"".join((*pieces, line))
                pieces.clear()
            yield begun, line
            begun += len(line) + 1
        if rest:
            pieces.append(rest)
    if pieces:
        yield begun, b"".join(pieces)


def _backward(handle: int, end: int, block: int) -> Iterator[tuple[int, bytes]]:
    """The same lines, last first."""
    pieces: list[bytes] = []
    position = end
    while position > 0:
        size = min(block, position)
        position -= size
        data = os.pread(handle, size, position)
        first, *whole = data.split(b"\n")
        if not whole:
            pieces.append(first)
            continue
        offset = position + len(data)
        for line in reversed(whole):
            offset -= len(line)
            if pieces:
                line = b"".join((line, *reversed(pieces)))
                pieces.clear()
            yield offset, line
            offset -= 1
        pieces.append(first)
    yield 0, b"".join(reversed(pieces))


def _read_tail(handle: int, size: int, block: int) -> Loaded | None:
    """The newest branch back to where its context begins; None where that cannot be told from the end.

    Lines of other branches are passed over without decoding: they do not hold the id that is looked for.
    """
    found = Loaded(None, [], size, complete=False, damaged=[])
    need = _Need()
    alone = True
    mark = b""
    wanted = ""
    for number, (start, line) in enumerate(_backward(handle, size, block), 1):
        if not line or line.isspace():
            continue
        entry = decode_entry(line) if mark in line else None
        if entry is None or (wanted and entry.id != wanted):
            alone = False
            if not wanted:
                found.damaged.append(-number)
            continue
        if not entry.id or entry.parent_id == "":
            return None
        found.records.append(Record(entry, start, len(line)))
        if entry.parent_id is None or need.met_by(entry):
            found.complete = alone and entry.parent_id is None and _is_first(handle, start)
            found.records.reverse()
            return found
        wanted = entry.parent_id
        mark = jsonl.encode(wanted)
    return None


def _is_first(handle: int, start: int) -> bool:
    """Whether only the header comes before an offset."""
    lines = _forward(handle, 0, start)
    return sum(1 for _, line in lines if line and not line.isspace()) == 1


class _Need:
    """Whether the entries seen so far, newest first, are enough for the context."""

    def __init__(self) -> None:
        self._kept: str | None = None
        self._bounded = False
        self._reached = False
        self._prompt = False
        """The newest boundary has a checkpoint; without one the prompt comes from the start of the branch."""
        self._model = False
        self._level = False

    def met_by(self, entry: Entry) -> bool:
        match entry:
            case CompactionEntry() if not self._bounded:
                self._bounded = True
                self._kept = entry.first_kept_entry_id
                self._reached = self._kept is None or self._kept == entry.id
                self._prompt = entry.system_message is not None
            case ModelChangeEntry():
                self._model = True
            case ThinkingLevelChangeEntry():
                self._level = True
            case MessageEntry(message=AssistantMessage() as answer):
                self._model = True
                self._level = self._level or answer.thinking_level is not None
        self._reached = self._reached or (self._bounded and entry.id == self._kept)
        return self._reached and self._prompt and self._model and self._level
