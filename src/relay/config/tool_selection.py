"""The selection of tools that lists of names, `+name` and `-name` describe."""

from __future__ import annotations

from collections.abc import Sequence


def apply_selection(current: Sequence[str], changes: Sequence[str]) -> tuple[str, ...]:
    """The names chosen once `changes` is applied to `current`.

    Plain names (and an empty list) replace the selection; `+name` and `-name` then apply in order. Names keep
    the order in which they were chosen.
    """
    plain = [name for name in changes if not name.startswith(("+", "-"))]
    chosen = dict.fromkeys(plain if plain or not changes else current)
    for change in changes:
        if change.startswith("+"):
            chosen[change[1:]] = None
        elif change.startswith("-"):
            chosen.pop(change[1:], None)
    return tuple(chosen)
