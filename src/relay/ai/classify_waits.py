"""How long a server asks us to wait: in its headers, or in the body of its error."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from relay.ai.classify_read import Said
from relay.base.clock import now_ms

_DATE = r"\b(\d{1,2})[ -]([A-Za-z]{3})[ -](\d{4}) (\d\d):(\d\d):(\d\d) (?:GMT|UTC|\+0000)"
_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"


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
    """`Wed, 21 Oct 2015 07:28:00 GMT`; the email package reads it too, for 20 ms of import at each start."""
    match = re.search(_DATE, date)
    if match is None:
        return None
    day, name, year, hour, minute, second = match.groups()
    try:
        month = _MONTHS.index(name.lower()) // 3 + 1
        moment = datetime(int(year), month, int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return max(0, math.ceil(moment.timestamp() * 1000) - now_ms())
