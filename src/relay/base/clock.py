"""Wall-clock stamps in the two forms that sessions use."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def iso(ms: int) -> str:
    """`2024-12-03T14:00:00.000Z` for Unix milliseconds."""
    seconds, millis = divmod(ms, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{millis:03d}Z"
