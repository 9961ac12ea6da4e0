"""A short exclusive hold on a file that several processes change."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from relay.base.errors import RelayError

if sys.platform != "win32":
    import fcntl

PATIENCE_S = 5.0
"""A change takes milliseconds; whoever holds the file longer than this hangs."""
PAUSE_S = 0.01


class HeldError(RelayError):
    """Another process has held the file for too long; it was not changed."""


@contextlib.contextmanager
def hold(path: Path, *, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Keeps other processes and threads out of `path` while its new content is worked out and written.

    What is locked is the folder of the real file: no lock file is left behind, and a killed process frees it.
    Blocks up to `patience_s` seconds: call it from a thread where that matters. Raises HeldError after
    that, OSError when the folder cannot be made or opened.
    """
    folder = Path(os.path.realpath(path)).parent
    folder.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":
        yield  # whole-file writes still keep every file readable there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        _wait_for(handle, path, patience_s)
        yield
    finally:
        os.close(handle)


def _wait_for(handle: int, path: Path, patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise HeldError(
                    f"{path} was not changed: another process has held it for {patience_s:g} seconds. "
                    "Try again, or end that process."
                ) from None
            time.sleep(PAUSE_S)
        except OSError:
            return  # the file system knows no locks (some network folders)
