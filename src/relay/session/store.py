"""Where a log's lines go: to a file that appears with the first user message, or nowhere.

Owns the lines that are not saved yet. A failed write loses nothing: the lines wait, each new one tries again.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from relay.session import source
from relay.session.entries import encode_entry
from relay.session.errors import SessionBusy, SessionError
from relay.session.file import SessionFile, Unwritten
from relay.session.source import Record

Report = Callable[[str], None]


class _Line(NamedTuple):
    text: bytes
    record: Record | None
    """None for the header."""


class Store:
    """Saves lines in order. `path` is None for a session that is never saved.

    `report` gets a finished sentence when saving fails, when it works again and when somebody else wrote.
    `adopt` gets the entries that somebody else wrote, before anything of ours follows them. `beyond` gives
    the records whose lines do not lie before an offset.
    """

    def __init__(
        self,
        path: Path | None,
        file: SessionFile | None,
        header: bytes,
        *,
        report: Report,
        adopt: Callable[[list[Record]], None],
        beyond: Callable[[int], list[Record]],
    ) -> None:
        self.path = path
        self._header = header
        self.held = False
        """True until the first user message: nothing is written, and there is no file."""
        self._file = file
        self._report = report
        self._adopt = adopt
        self._beyond = beyond
        self._waiting: list[_Line] = []
        self._trouble: int | None = None
        self._closed = False

    @property
    def unsaved(self) -> int:
        """Entries that should be in the file and are not."""
        return 0 if self.held else sum(line.record is not None for line in self._waiting)

    def begin(self) -> None:
        """The session is new: its header goes first, and everything is held back."""
        self.held = True
        self._waiting.append(_Line(self._header, None))

    def hold(self, record: Record) -> None:
        """Takes an entry copied from another session, to be written with what is held."""
        record.line = record.line or encode_entry(record.entry)
        if self.path is not None:
            self._waiting.append(_Line(record.line, record))

    def submit(self, record: Record, text: bytes) -> None:
        """Takes a line. Unless held, it has been written when this returns, or it waits and was reported."""
        if self._closed:
            raise SessionError(f"The session {self.path} was closed: nothing can be added to it.")
        if self.path is None:
            return
        record.line = text
        self._waiting.append(_Line(text, record))
        self.save()

    def release(self) -> None:
        """Ends the holding back; the next `submit` or `save` writes everything at once."""
        self.held = False

    def save(self) -> bool:
        """Tries to write what waits; True when nothing is left."""
        if self.held or self._closed or not self._waiting:
            return self.held or not self._waiting
        try:
            file = self._ready()
            offsets = file.write([line.text for line in self._waiting])
        except Unwritten as error:
            self._settle(error.saved)
            self._drop_torn_header(file)
            self._failed(error)
        except (OSError, SessionBusy) as error:
            self._failed(error)
        else:
            self._settle(offsets)
            self._take_missed(file)
            self._recovered()
        return not self._waiting

    def read(self, record: Record) -> bytes | None:
        """The record's line as it stands in the file; None when it is not there."""
        if record.start < 0 or self._file is None:
            return None
        try:
            line = self._file.read(record.start, record.size)
        except OSError:
            return None
        return line if len(line) == record.size else None

    def read_all(self) -> source.Loaded | None:
        """Everything known to be in the file, read anew."""
        return None if self._file is None else source.read_all(self._file.handle, self._file.end)

    def close(self) -> bool:
        """Tries a last time to save, and gives the lock back; False when entries are left unsaved."""
        saved = self.save()
        if self._file is not None:
            self._file.close()
            self._file = None
        self._closed = True
        return saved

    def _ready(self) -> SessionFile:
        """The file, created or checked; what others added to it is read first."""
        if self._file is None:
            assert self.path is not None
            self._file = SessionFile.create(self.path)
            return self._file
        file = self._file
        file.check()
        size = file.size()
        if size > file.end:
            self._take(file, file.end, size)
            file.read_to(size)
        elif size < file.end:
            self._restore(file, size)
        return file

    def _restore(self, file: SessionFile, size: int) -> None:
        """Another program cut the file: what is missing goes out again, or later lines had no parents."""
        file.read_to(size)
        lost = self._beyond(size)
        again = [_Line(record.line or encode_entry(record.entry), record) for record in lost]
        if not file.has_line():
            file.empty()
            again.insert(0, _Line(self._header, None))
        for line in again:
            if line.record is not None:
                line.record.start = -1
                line.record.line = line.text
        self._waiting[:0] = again
        self._report(f"{file.path} was shortened by another program; what it cut off is written again.")

    def _drop_torn_header(self, file: SessionFile) -> None:
        """A file that holds nothing but a part of its header could never be opened again."""
        if self._waiting and self._waiting[0].record is None and not file.missed:
            with contextlib.suppress(OSError):  # the failed write is what gets reported
                file.empty()

    def _take_missed(self, file: SessionFile) -> None:
        while file.missed:
            self._take(file, *file.missed.pop())

    def _take(self, file: SessionFile, start: int, end: int) -> None:
        records, damaged = source.read_part(file.handle, start, end)
        if records or damaged:
            self._adopt(records)
            count = f"{len(records)} entries" if len(records) != 1 else "one entry"
            self._report(
                f"Another program wrote {count} to {file.path}. They are kept as a branch of their own; "
                "this conversation continues its own branch."
            )

    def _settle(self, offsets: list[int]) -> None:
        """The first lines that wait are saved, at these places."""
        for line, start in zip(self._waiting, offsets, strict=False):
            if line.record is not None:
                line.record.start = start
                line.record.size = len(line.text)
                line.record.line = None  # the file has it now
        del self._waiting[: len(offsets)]

    def _failed(self, error: OSError | SessionBusy) -> None:
        code = error.errno if isinstance(error, OSError) and error.errno is not None else 0
        if code == self._trouble:
            return
        self._trouble = code
        self._report(
            f"The session cannot be saved to {self.path}: {_reason(error)}. The conversation goes on in "
            "memory, and every new entry tries again; what is still unsaved at the end is lost."
        )

    def _recovered(self) -> None:
        if self._trouble is not None:
            self._trouble = None
            self._report(f"The session is saved again, with nothing missing, in {self.path}.")


def _reason(error: OSError | SessionBusy) -> str:
    if isinstance(error, SessionBusy):
        return f"it is open in {'another process' if error.pid is None else f'process {error.pid}'}"
    known = {
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "your disk quota is used up",
        errno.EFBIG: "the file would pass the allowed size",
        errno.ENOENT: "the file was removed or renamed; put it back to save again",
        errno.ESTALE: "another file has taken its place",
        errno.EEXIST: "a file of that name has appeared meanwhile",
        errno.EROFS: "the file system is read-only",
        errno.EACCES: "the folder is not writable",
    }
    code = error.errno or 0
    return known.get(code, os.strerror(code))
