"""The session file as it is written: whole lines at its end, under a lock, never anything rewritten."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from relay.session.errors import SessionBusy, SessionError

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)
"""What file systems without locks answer."""


_SAMPLE = 1 << 12


class Unwritten(OSError):
    """A write that failed after the lines that lie at `saved`, whole."""

    def __init__(self, cause: OSError, saved: list[int]) -> None:
        super().__init__(cause.errno, cause.strerror)
        self.saved = saved


class SessionFile:
    """One open session file. `end` is the size up to which its content is known to us.

    The lock is `flock` on the inode: it goes with the process, however that ends.
    """

    def __init__(self, path: Path, handle: int, *, writable: bool) -> None:
        self.path = path
        self.handle = handle
        self.writable = writable
        self.end = 0
        self.torn = False
        """The known content does not end in a line end: the next write begins with one."""
        self.missed: list[tuple[int, int]] = []
        """Ranges that somebody else wrote while we did; nobody has read them yet."""

    @classmethod
    def open(cls, path: Path, *, writable: bool = True) -> SessionFile:
        """Raises SessionBusy while another process writes it, OSError when it cannot be opened."""
        while True:
            handle = os.open(path, os.O_RDWR | os.O_APPEND if writable else os.O_RDONLY)
            try:
                if writable:
                    lock(handle, path)
                if not writable or is_same(handle, path):
                    return cls(path, handle, writable=writable)
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)  # replaced between open and lock

    @classmethod
    def create(cls, path: Path) -> SessionFile:
        """A new file, its folders too. Raises FileExistsError and other OSErrors, SessionBusy."""
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            lock(handle, path)
        except BaseException:
            os.close(handle)
            raise
        return cls(path, handle, writable=True)

    def size(self) -> int:
        return os.fstat(self.handle).st_size

    def read_to(self, end: int) -> None:
        """Sets what is known: everything before `end` was read."""
        self.end = end
        self.torn = end > 0 and os.pread(self.handle, 1, end - 1) != b"\n"

    def check(self) -> None:
        """Makes sure that the path still leads to this file; takes a restored copy of it as the file.

        Raises OSError when the file is gone or another one, SessionBusy when somebody else has it.
        """
        if is_same(self.handle, self.path):
            return
        other = SessionFile.open(self.path)  # FileNotFoundError when it is gone
        if other.size() < self.end or other.sample(self.end) != self.sample(self.end):
            other.close()
            raise OSError(errno.ESTALE, "another file has taken its place")
        os.close(self.handle)
        self.handle = other.handle

    def sample(self, end: int) -> tuple[bytes, bytes]:
        """Both ends of the first `end` bytes: enough to know a copy by."""
        return os.pread(self.handle, min(_SAMPLE, end), 0), self.read(
            max(0, end - _SAMPLE), min(_SAMPLE, end)
        )

    def write(self, lines: Sequence[bytes]) -> list[int]:
        """Appends whole lines with one write and returns their offsets.

        Raises Unwritten: the lines named there are in the file, a fragment of the next one may be too.
        """
        lead = b"\n" if self.torn else b""
        data = b"".join((lead, *(part for line in lines for part in (line, b"\n"))))
        done = 0
        try:
            while done < len(data):
                done += os.write(self.handle, data[done:] if done else data)
        except OSError as error:
            begin = self._advance(done, data) + len(lead)
            whole = [start for start, line in _places(lines, begin) if start + len(line) < self.end]
            raise Unwritten(error, whole) from error
        begin = self._advance(done, data) + len(lead)
        return [start for start, _ in _places(lines, begin)]

    def has_line(self) -> bool:
        """Whether the known content holds one whole line at least: the header."""
        position = 0
        while position < self.end:
            block = os.pread(self.handle, min(_SAMPLE, self.end - position), position)
            if b"\n" in block:
                return True
            position += len(block) or self.end
        return False

    def empty(self) -> None:
        """Takes out the part of a header that a failed write or another program left, nothing else."""
        os.ftruncate(self.handle, 0)
        self.read_to(0)

    def read(self, start: int, size: int) -> bytes:
        return os.pread(self.handle, size, start)

    def close(self) -> None:
        """Gives the lock back."""
        os.close(self.handle)

    def _advance(self, done: int, data: bytes) -> int:
        """Notes what was written; returns where it begins."""
        if not done:
            return self.end
        begin = os.lseek(self.handle, 0, os.SEEK_CUR) - done
        if begin > self.end:
            self.missed.append((self.end, begin))
        self.end = begin + done
        self.torn = data[done - 1 : done] != b"\n"
        return begin


def check_folder(folder: Path) -> None:
    """Raises SessionError when session files cannot be created in `folder`, which may not exist yet."""
    there = folder
    # os.path, because Path's own methods raise where a folder above must not be searched.
    while not os.path.exists(there) and there != there.parent:
        there = there.parent
    if not os.path.isdir(there):
        reason = f"{there} is not a folder"
    elif not os.access(there, os.W_OK | os.X_OK):
        reason = f"{there} is not writable"
    else:
        return
    raise SessionError(
        f"The session cannot be saved in {folder}: {reason}. Choose another folder with --session-dir, "
        "or run without saving: --no-session."
    )


def _places(lines: Sequence[bytes], begin: int) -> Iterator[tuple[int, bytes]]:
    for line in lines:
        yield begin, line
        begin += len(line) + 1


def is_same(handle: int, path: Path) -> bool:
    """Whether the path leads to the open file; False when the path leads elsewhere or nowhere."""
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), there)


def lock(handle: int, path: Path) -> None:
    """Takes the writers' lock; file systems without locks go without. Raises SessionBusy, OSError."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise SessionBusy(path, _holder(handle)) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


def _holder(handle: int) -> int | None:
    """The process that holds the lock, as Linux lists it; None where it does not say."""
    stat = os.fstat(handle)
    try:
        with open("/proc/locks", encoding="ascii", errors="replace") as file:
            rows = [row.split() for row in file]
    except OSError:
        return None
    for row in rows:
        if len(row) > 5 and row[1] == "FLOCK" and row[5].rpartition(":")[2] == str(stat.st_ino):
            return int(row[4]) if row[4].isdigit() and row[4] != "0" else None
    return None
