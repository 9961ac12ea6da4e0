"""How long a server asks us to wait: in its headers, or in the body of its error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from relay.ai.classify_read import Said
from relay.base.clock import now_ms


def asked_wait(headers: Mapping[str, str], said: Said) -> int | None:
    """Milliseconds from now, never negative; the headers count before the body."""
    found = retry_after(headers)
    return said.retry_ms if found is None else found


def retry_after(headers: Mapping[str, str]) -> int | None:
    """Milliseconds of `retry-after-ms`, or of `retry-after` as seconds or as an HTTP date."""
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    exact = _number(lowered.get("retry-after-ms"), 1)
    if exact is not None:
        return exact
    value = lowered.get("retry-after")
    if value is None:
        return None
    seconds = _number(value, 1000)
    return seconds if seconds is not None else _until(value)


def _number(value: str | None, factor: int) -> int | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    # Upwards: a wait that is cut by half a millisecond is refused again.
    return max(0, math.ceil(number * factor)) if math.isfinite(number) else None


def _until(date: str) -> int | None:
    try:
        moment = parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0, math.ceil(moment * 1000) - now_ms())
