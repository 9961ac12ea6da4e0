"""The tree of a session's entries: parents, children and the path to a leaf, without recursion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay.session.entries import Entry

_NONE = -1


class Tree:
    """Entries in file order. An entry's parent is the latest earlier one with that id.

    Ids may occur twice in files that others wrote, and parents may come late or never: an entry without a
    known parent is a root. Adding costs the same at any size; a path costs its own length.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries: list[Entry] = []
        self._parents: list[int] = []
        self._newest: dict[str, int] = {}
        self._waiting: dict[str, list[int]] = {}
        self._late_parents = False
        for entry in entries:
            self.add(entry)

    def __contains__(self, id: object) -> bool:
        return id in self._newest

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, entry: Entry) -> None:
        """Puts an entry at the end."""
        position = len(self.entries)
        parent = _NONE
        if entry.parent_id:
            parent = self._newest.get(entry.parent_id, _NONE)
            if parent == _NONE:
                self._waiting.setdefault(entry.parent_id, []).append(position)
        self.entries.append(entry)
        self._parents.append(parent)
        self._newest[entry.id] = position
        for child in self._waiting.pop(entry.id, ()):
            if child != position:
                self._parents[child] = position
                self._late_parents = True

    def get(self, id: str) -> Entry | None:
        position = self._newest.get(id)
        return None if position is None else self.entries[position]

    def parent(self, id: str) -> Entry | None:
        """None for a root, an orphan and an unknown id."""
        position = self._parents[self._newest[id]] if id in self._newest else _NONE
        return None if position == _NONE else self.entries[position]

    def branch(self, leaf_id: str | None) -> list[Entry]:
        """The path from its root to `leaf_id`; empty for None and for an id that is not there."""
        return [self.entries[position] for position in self.path(leaf_id)]

    def path(self, leaf_id: str | None) -> list[int]:
        """The same as positions in `entries`."""
        position = _NONE if leaf_id is None else self._newest.get(leaf_id, _NONE)
        path: list[int] = []
        seen: set[int] = set()
        while position != _NONE and position not in seen:
            if self._late_parents:  # only then can a path bite its own tail
                seen.add(position)
            path.append(position)
            position = self._parents[position]
        path.reverse()
        return path

    def children(self) -> tuple[list[int], list[list[int]]]:
        """The whole shape at once, as positions in `entries`: the roots, and each entry's children.

        Roots are entries without a parent, orphans, and one entry of each circle of parents.
        """
        below: list[list[int]] = [[] for _ in self.entries]
        roots: list[int] = []
        for position, parent in enumerate(self._parents):
            (roots if parent == _NONE else below[parent]).append(position)
        if self._late_parents:
            self._cut_circles(roots, below)
        return roots, below

    def _cut_circles(self, roots: list[int], below: list[list[int]]) -> None:
        reached = bytearray(len(self.entries))
        _mark(roots, below, reached)
        for position in range(len(self.entries)):
            if not reached[position]:
                below[self._parents[position]].remove(position)
                roots.append(position)
                _mark([position], below, reached)
        roots.sort()


def _mark(starts: Sequence[int], below: list[list[int]], reached: bytearray) -> None:
    stack = list(starts)
    while stack:
        position = stack.pop()
        reached[position] = 1
        stack.extend(below[position])
