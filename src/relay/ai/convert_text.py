"""Replaces what UTF-8 cannot carry: lone surrogates, which servers refuse together with the whole request."""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


def clean_text(text: str) -> str:
    """`text` with every lone surrogate replaced; the same object when there is none."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # UTF-16 joins surrogates that form a pair, as JavaScript writes them, and marks those that do not.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def tool_name(name: str) -> str:
    """A name that every protocol takes: models call tools that no server would let us declare."""
    return _OUTSIDE_NAMES.sub("_", name)[:64] or "unnamed"


def clean(value: Any) -> Any:
    """Plain data with every text in it, keys too, cleaned; the same object when nothing changed."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        pairs = [(clean(key), clean(item)) for key, item in value.items()]
        same = all(a is k and b is v for (a, b), (k, v) in zip(pairs, value.items(), strict=True))
        return value if same else dict(pairs)
    if isinstance(value, list):
        items = [clean(item) for item in value]
        same = all(a is b for a, b in zip(items, value, strict=True))
        return value if same else items
    return value
