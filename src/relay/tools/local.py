"""The operations on this machine's file system, each in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import stat
from pathlib import Path

from relay.base.files import write_all
from relay.tools.operations import Entry, FileInfo, Kind

CANNOT_REPLACE = {errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV, errno.EROFS, errno.ENAMETOOLONG}
"""Why a file may not be replaced by a new one though it can be written: the directory is closed to us,
the file is a mount point, or the name has no room for a suffix."""


class LocalOperations:
    """Holds no state; satisfies `Operations`."""

    def real_path(self, path: Path, *, must_exist: bool = False) -> Path:
        return Path(os.path.realpath(path, strict=must_exist))

    async def stat(self, path: Path) -> FileInfo:
        return await asyncio.to_thread(_stat, path)

    async def read(self, path: Path, start: int = 0, size: int | None = None) -> bytes:
        return await asyncio.to_thread(_read, path, start, size)

    async def write(self, path: Path, data: bytes) -> bool:
        work = asyncio.ensure_future(asyncio.to_thread(_write, path, data))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            # The thread cannot be stopped; an aborted call must not change files after it has ended.
            with contextlib.suppress(OSError):
                await work
            raise

    async def list_directory(self, path: Path) -> list[Entry]:
        return await asyncio.to_thread(_list, path)


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISFIFO(mode):
        return "pipe"
    if stat.S_ISSOCK(mode):
        return "socket"
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        return "device"
    return "other"


def _stat(path: Path) -> FileInfo:
    found = os.stat(path)
    return FileInfo(_kind(found.st_mode), found.st_size)


def _read(path: Path, start: int, size: int | None) -> bytes:
    with open(path, "rb", buffering=0, opener=_open_without_waiting) as file:
        _require_file(os.fstat(file.fileno()), path)
        if start:
            file.seek(start)
        if size is None:
            return file.read()
        parts: list[bytes] = []
        while size > 0 and (part := file.read(size)):
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _open_without_waiting(path: str, flags: int) -> int:
    """A pipe put in the file's place after the caller's look at it must not block."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _require_file(found: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, f"it is a {_kind(found.st_mode)}, not a regular file", str(path))


def _list(path: Path) -> list[Entry]:
    with os.scandir(path) as entries:
        return [Entry(entry.name, _is_directory(entry)) for entry in entries]


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads in a circle
        return False


def _write(path: Path, data: bytes) -> bool:
    target = os.path.realpath(path)
    try:
        old = os.stat(target)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _replace(target, data, None)
        return True
    _require_file(old, path)
    if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, "the file is write-protected", str(path))
    if old.st_nlink > 1:
        # A replacement would leave the other names with the old content.
        _overwrite(target, data)
        return False
    try:
        _replace(target, data, old)
    except OSError as error:
        if error.errno not in CANNOT_REPLACE:
            raise
        _overwrite(target, data)
    return False


def _replace(target: str, data: bytes, old: os.stat_result | None) -> None:
    """Puts a complete new file in the place of `target`; raises before anything has changed."""
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{os.urandom(4).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(temporary, flags, 0o666)
    try:
        try:
            write_all(handle, data)
        finally:
            os.close(handle)
        if old is not None:
            _copy_attributes(target, temporary, old)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _copy_attributes(source: str, target: str, old: os.stat_result) -> None:
    """Owner, extended attributes (access lists among them), then mode, which a change of owner may reset.

    Raises PermissionError when the owner cannot be kept.
    """
    if hasattr(os, "chown"):
        new = os.stat(target)
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            os.chown(target, old.st_uid, old.st_gid)
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(source):
                with contextlib.suppress(OSError):
                    os.setxattr(target, name, os.getxattr(source, name))
    os.chmod(target, stat.S_IMODE(old.st_mode))


def _overwrite(target: str, data: bytes) -> None:
    """Writes into the file itself, and writes the old content back when that fails."""
    with open(target, "r+b", buffering=0) as file:
        before = file.read()
        try:
            _fill(file.fileno(), data)
        except BaseException:
            with contextlib.suppress(OSError):
                _fill(file.fileno(), before)
            raise


def _fill(handle: int, data: bytes) -> None:
    """The content of an open file becomes `data`. It is shortened last, so that old blocks are used again."""
    os.lseek(handle, 0, os.SEEK_SET)
    write_all(handle, data)
    os.ftruncate(handle, len(data))
