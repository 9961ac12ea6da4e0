"""Writes the active branch of a session as a session file of its own, lines byte for byte."""

from __future__ import annotations

from pathlib import Path

from relay.base.files import write_atomic
from relay.session.entries import encode_entry
from relay.session.errors import SessionError
from relay.session.fork import branch_records
from relay.session.log import SessionLog


def export_jsonl(log: SessionLog, target: Path) -> None:
    """Replaces `target`; header and entry ids are the session's own. Raises SessionError."""
    if log.path is not None and target.exists() and log.path.exists() and target.samefile(log.path):
        raise SessionError(f"{target} is the session itself: export it to another file.")
    lines = [encode_entry(log.header), *(record.line or b"" for record in branch_records(log, log.leaf_id))]
    try:
        write_atomic(target, b"".join(line + b"\n" for line in lines))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SessionError(f"The session cannot be exported to {target}: {reason}.") from error
