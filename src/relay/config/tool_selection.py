"""The selection of tools that lists of names, `+name` and `-name` describe."""

from __future__ import annotations

from collections.abc import Sequence


def combine_selections(below: Sequence[str], above: Sequence[str]) -> tuple[str, ...]:
    """One list that means what `above`, applied to `below`, means.

    A list with a plain name, or an empty one, replaces what is below it; any other changes it.
    """
    return (*below, *above) if above and all(map(is_change, above)) else tuple(above)


def is_change(entry: str) -> bool:
    """Whether an entry is `+name` or `-name`."""
    return entry.startswith(("+", "-"))


def apply_selection(entries: Sequence[str], always: Sequence[str] = ()) -> tuple[str, ...]:
    """The names that `entries` choose: the plain ones and `always`, then `+name` and `-name` in order.

    Names keep the order in which they were chosen.
    """
    chosen = dict.fromkeys([*(entry for entry in entries if not is_change(entry)), *always])
    for entry in filter(is_change, entries):
        if entry.startswith("+"):
            chosen[entry[1:]] = None
        else:
            chosen.pop(entry[1:], None)
    return tuple(chosen)
