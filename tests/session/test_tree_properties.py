"""Property tests of trees and their copies, against slow references."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from relay.session.fork import branch_records, copy_branch
from relay.session.log import SessionLog
from relay.session.tree_json import encode_tree
from tests.session.samples import WHEN, opened, write_session

KINDS = ("custom", "mystery", "usage", "message")


@st.composite
def trees(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Entries whose parents are earlier ones, none, or missing; some with odd spacing and members."""
    rows: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 25))):
        parent = draw(st.sampled_from([None, "gone", *(row["id"] for row in rows)]))
        kind = draw(st.sampled_from(KINDS))
        row: dict[str, Any] = {"type": kind, "id": f"e{number}", "parentId": parent, "timestamp": WHEN}
        row["x"] = draw(st.text(max_size=5))
        if kind == "message":
            row["message"] = {"role": "user", "content": draw(st.text(max_size=5)), "timestamp": 1}
        rows.append(row)
    return rows


def saved(folder: Path, rows: list[dict[str, Any]]) -> SessionLog:
    return opened(write_session(folder / "s.jsonl", *(json.dumps(row) for row in rows)))


def nested(rows: list[dict[str, Any]], parent: str | None) -> list[Any]:
    """The reference: by recursion, looking through everything each time."""
    known = {row["id"] for row in rows}
    here = [row for row in rows if (row["parentId"] if row["parentId"] in known else None) == parent]
    return [{"entry": row, "children": nested(rows, row["id"])} for row in here]


@settings(deadline=None, max_examples=60)
@given(trees())
def test_the_encoded_tree_equals_a_recursive_one(rows: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = saved(Path(folder), rows)
        assert json.loads(encode_tree(log)) == nested(rows, None)
        log.close()


@settings(deadline=None, max_examples=60)
@given(trees(), st.data())
def test_a_copied_branch_is_its_lines_byte_for_byte(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = saved(folder, rows)
        leaf = data.draw(st.sampled_from([None, *(row["id"] for row in rows)]))
        by_id = {row["id"]: row for row in rows}
        wanted: list[bytes] = []
        at = leaf
        while at in by_id:
            wanted.insert(0, json.dumps(by_id[at]).encode())
            at = by_id[at]["parentId"]
        assert [record.line for record in branch_records(log, leaf)] == wanted
        copy = copy_branch(log, leaf, cwd=folder, folder=folder / "b", report=lambda text: None)
        assert [copy.raw(record) for record in copy.records] == wanted
        assert copy.path is not None
        if copy.path.exists():
            assert copy.path.read_bytes().splitlines()[1:] == wanted
        copy.close()
        log.close()
