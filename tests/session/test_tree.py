from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from relay.session.entries import CustomEntry, Entry, stamp
from relay.session.tree import Tree


def node(id: str, parent: str | None) -> Entry:
    return stamp(CustomEntry(custom_type="t"), id=id, parent_id=parent, timestamp="")


def ids(entries: list[Entry]) -> list[str]:
    return [entry.id for entry in entries]


def test_a_path_goes_from_its_root_to_the_leaf() -> None:
    tree = Tree([node("a", None), node("b", "a"), node("c", "a"), node("d", "c")])
    assert ids(tree.branch("d")) == ["a", "c", "d"]
    assert ids(tree.branch("b")) == ["a", "b"]
    assert tree.branch(None) == tree.branch("nowhere") == []
    parent = tree.parent("d")
    assert parent is not None
    assert parent.id == "c"
    assert tree.parent("a") is None
    assert tree.parent("nowhere") is None


def test_several_roots_and_orphans_are_roots() -> None:
    tree = Tree([node("a", None), node("b", "gone"), node("c", "b"), node("d", None)])
    assert tree.children() == ([0, 1, 3], [[], [2], [], []])
    assert ids(tree.branch("c")) == ["b", "c"]


def test_a_chain_of_a_hundred_thousand_entries_needs_no_recursion() -> None:
    tree = Tree(node(str(i), str(i - 1) if i else None) for i in range(100_000))
    assert len(tree.branch("99999")) == 100_000
    roots, below = tree.children()
    assert roots == [0]
    assert sum(map(len, below)) == 99_999


def test_an_id_used_twice_does_not_bend_the_path_that_was_there_before() -> None:
    tree = Tree([node("a", None), node("b", "a"), node("a", "b"), node("c", "a")])
    assert [tree.entries.index(entry) for entry in tree.branch("c")] == [0, 1, 2, 3]


def test_parents_that_come_late_are_found() -> None:
    tree = Tree([node("b", "a"), node("c", "b"), node("a", None)])
    assert ids(tree.branch("c")) == ["a", "b", "c"]
    assert tree.children() == ([2], [[1], [], [0]])


def test_circles_of_parents_end() -> None:
    tree = Tree([node("a", "c"), node("b", "a"), node("c", "b"), node("self", "self")])
    assert ids(tree.branch("c")) == ["a", "b", "c"]
    assert ids(tree.branch("self")) == ["self"]
    roots, below = tree.children()
    reached = list(roots)
    for position in reached:
        reached += below[position]
    assert sorted(reached) == [0, 1, 2, 3]


@given(st.lists(st.tuples(st.integers(0, 8), st.none() | st.integers(0, 9)), max_size=12))
def test_any_file_gives_finite_paths_and_a_shape_that_holds_each_entry_once(
    pairs: list[tuple[int, int | None]],
) -> None:
    tree = Tree(node(str(id), None if parent is None else str(parent)) for id, parent in pairs)
    for id, _ in pairs:
        path = tree.branch(str(id))
        assert path[-1].id == str(id)
        assert len(path) <= len(pairs)
        for above, below_ in zip(path, path[1:], strict=False):
            assert below_.parent_id == above.id
    roots, below = tree.children()
    reached = list(roots)
    for position in reached:
        reached += below[position]
    assert sorted(reached) == list(range(len(pairs)))


@given(st.lists(st.none() | st.integers(0, 30), max_size=30))
def test_paths_equal_those_of_a_dictionary_of_parents(parents: list[int | None]) -> None:
    tree = Tree()
    above: dict[str, str | None] = {}
    for position, choice in enumerate(parents):
        parent = None if choice is None or not position else str(choice % position)
        above[str(position)] = parent
        tree.add(node(str(position), parent))
    for id in above:
        path: list[str] = []
        at: str | None = id
        while at is not None:
            path.insert(0, at)
            at = above[at]
        assert ids(tree.branch(id)) == path
