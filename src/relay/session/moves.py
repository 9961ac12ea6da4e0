"""Moves of the leaf: where a conversation goes on, and what it remembers of the branch that it leaves."""

from __future__ import annotations

from typing import Any

from relay.ai.types import Usage
from relay.session.entries import BranchSummaryEntry, Entry, LabelEntry
from relay.session.errors import SessionError
from relay.session.log import SessionLog


def reset_leaf(log: SessionLog) -> None:
    """The next entry becomes another root of the tree."""
    log.move(None)


def branch_with_summary(
    log: SessionLog,
    leaf_id: str | None,
    summary: str,
    *,
    usage: Usage | None = None,
    details: Any = None,
    from_hook: bool | None = None,
) -> Entry:
    """Goes on below `leaf_id` (None: as a root) with a summary of the branch left; returns its entry.

    Raises SessionError for an unknown id; the leaf then stays.
    """
    left = log.leaf_id
    log.move(leaf_id)
    return log.append(
        BranchSummaryEntry(from_id=left, summary=summary, usage=usage, details=details, from_hook=from_hook)
    )


def set_label(log: SessionLog, target_id: str, label: str | None) -> Entry:
    """Bookmarks an entry; None or blanks clear it. Raises SessionError for an unknown id."""
    log.load_rest()
    if target_id not in log.tree:
        raise SessionError(f"The session {log.id} has no entry {target_id} to label.")
    return log.append(LabelEntry(target_id=target_id, label=(label or "").strip() or None))
