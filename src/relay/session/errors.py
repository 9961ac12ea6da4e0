"""Why a session cannot be opened or written.

SessionError             the file, folder or id is wrong; the text says what would be right
└── SessionBusy          another process has the session open for writing
"""

from __future__ import annotations

from pathlib import Path

from relay.base.errors import RelayError


class SessionError(RelayError):
    """A session cannot be opened, created or written."""


class SessionBusy(SessionError):
    """Another process writes this session. `pid` is None where the system does not say which."""

    def __init__(self, path: Path, pid: int | None) -> None:
        who = f"process {pid}" if pid is not None else "another process"
        super().__init__(
            f"The session {path} is open in {who}. End that process, or work on a copy with --fork {path}."
        )
        self.path = path
        self.pid = pid
