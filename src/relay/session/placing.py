"""Session files that appear whole or not at all: copies, and older files rewritten in today's version."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from relay.session import source
from relay.session.entries import VERSION
from relay.session.errors import SessionError
from relay.session.file import SessionFile, is_same, lock

_CHUNK = 1 << 20
"""Bytes that are gathered for one write."""


def place(path: Path, lines: Iterable[bytes], *, instead_of: SessionFile | None = None) -> SessionFile:
    """Writes `lines` beside `path`, under the lock and down to the disk, and renames the file into place.

    Without `instead_of`, nothing may be at `path`. Raises FileExistsError and other OSErrors, SessionBusy;
    whatever was at `path` is then still there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if instead_of is None and os.path.lexists(path):
        raise FileExistsError(f"{path} exists")
    beside = path.with_name(f".{path.name}.new")
    handle = _open_beside(beside)
    try:
        if instead_of is not None:
            os.fchmod(handle, stat.S_IMODE(os.fstat(instead_of.handle).st_mode))
        size = _write(handle, lines)
        os.fsync(handle)
        os.rename(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        os.close(handle)
        raise
    _sync_folder(path.parent)
    file = SessionFile(path, handle, writable=True)
    file.read_to(size)
    return file


def renew(file: SessionFile, report: Callable[[str], None]) -> SessionFile:
    """The file itself, or the one in today's version that has taken its place; the lock is held throughout.

    A file that is read only, or is no session, stays as it is; so does one that cannot be rewritten, which is
    reported: its lines are then brought into today's shape in memory.
    """
    try:
        header = source.read_head(file.handle) if file.writable else None
        if header is None or header.version >= VERSION:
            return file
        lines = source.today_lines(file.handle, file.size())
        new = place(Path(os.path.realpath(file.path)), lines, instead_of=file)
    except (OSError, SessionError) as error:
        reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
        report(
            f"The session {file.path} has an older format and could not be rewritten ({reason}). It is used "
            "as it is, and nothing of it was changed."
        )
        return file
    new.path = file.path  # through a link, if it is one
    file.close()
    return new


def _open_beside(path: Path) -> int:
    """An empty file that only we write; what a killed process left there is written over."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            lock(handle, path)
            if is_same(handle, path):
                os.ftruncate(handle, 0)
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # renamed into place between open and lock


def _write(handle: int, lines: Iterable[bytes]) -> int:
    """Returns how many bytes were written."""
    size = 0
    for chunk in _chunks(lines):
        view = memoryview(chunk)
        size += len(view)
        while view:
            view = view[os.write(handle, view) :]
    return size


def _chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    pieces: list[bytes] = []
    size = 0
    for line in lines:
        pieces += (line, b"\n")
        size += len(line) + 1
        if size >= _CHUNK:
            yield b"".join(pieces)
            pieces.clear()
            size = 0
    yield b"".join(pieces)


def _sync_folder(folder: Path) -> None:
    """Makes the rename itself last; some file systems refuse to sync folders."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
