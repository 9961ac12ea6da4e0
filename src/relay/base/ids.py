"""Identifiers of sessions and of their entries."""

from __future__ import annotations

import os
from collections.abc import Container

from relay.base.clock import now_ms


def new_session_id(ms: int | None = None) -> str:
    """A UUID of version 7: ids made later sort later. `ms` is Unix milliseconds, now by default."""
    stamp = (now_ms() if ms is None else ms) & ((1 << 48) - 1)
    return _uuid(stamp.to_bytes(6, "big") + os.urandom(10), version=7)


def new_entry_id(taken: Container[str] | None) -> str:
    """8 hex digits that are not in `taken`; a full UUID where it is None (not all ids known)."""
    if taken is not None:
        for _ in range(100):
            candidate = os.urandom(4).hex()
            if candidate not in taken:
                return candidate
    return _uuid(os.urandom(16), version=4)


def _uuid(value: bytes, *, version: int) -> str:
    """Written by hand: the standard library of Python 3.11 makes no version 7."""
    parts = bytearray(value)
    parts[6] = version << 4 | parts[6] & 0x0F
    parts[8] = 0x80 | parts[8] & 0x3F
    text = parts.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
