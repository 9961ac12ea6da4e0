"""What the file tools ask of the place where the files are: this machine, or another behind such calls."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol

import msgspec

Kind = Literal["file", "directory", "pipe", "socket", "device", "other"]


class FileInfo(msgspec.Struct, frozen=True):
    """A path with its links followed."""

    kind: Kind
    size: int
    """Bytes. 0 may be wrong for files that a kernel makes up while they are read."""


class Entry(msgspec.Struct, frozen=True):
    """One name in a directory; a link to a directory counts as one, a broken link does not."""

    name: str
    is_directory: bool


class Operations(Protocol):
    """Access to files by absolute path. Every method raises OSError with its errno set."""

    def real_path(self, path: Path, *, must_exist: bool = False) -> Path:
        """`path` with all links followed. Missing parts stay as they are, or FileNotFoundError."""
        ...

    async def stat(self, path: Path) -> FileInfo: ...

    async def read(self, path: Path, start: int = 0, size: int | None = None) -> bytes:
        """Up to `size` bytes from byte `start` (None: to the end); fewer only at the end of the file.

        Never waits for a writer: what is no regular file raises OSError.
        """
        ...

    async def write(self, path: Path, data: bytes) -> bool:
        """Gives `path` the content `data`: all of it or, when this raises, what it was before.

        Links are written through, missing directories made, mode and owner of an old file kept.
        True when the file is new. A cancelled call has either written everything or nothing when it ends.
        """
        ...

    async def list_directory(self, path: Path) -> list[Entry]:
        """All entries, unsorted, hidden ones included."""
        ...
