"""Identifiers of sessions and of their entries."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Container

from relay.base.clock import now_ms


def new_session_id(ms: int | None = None) -> str:
    """A UUID of version 7: ids made later sort later. `ms` is Unix milliseconds, now by default."""
    stamp = (now_ms() if ms is None else ms) & ((1 << 48) - 1)
    value = stamp << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=value))


def new_entry_id(taken: Container[str] | None) -> str:
    """8 hex digits that are not in `taken`; a full UUID where it is None (not all ids known)."""
    if taken is None:
        return str(uuid.uuid4())
    for _ in range(100):
        candidate = secrets.token_hex(4)
        if candidate not in taken:
            return candidate
    return str(uuid.uuid4())
