from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from relay.session.moves import set_label
from relay.session.tree_json import encode_tree
from tests.session.samples import WHEN, opened, user_line, write_session


def line_of(type: str, id: str, parent: str | None, **fields: Any) -> str:
    return json.dumps({"type": type, "id": id, "parentId": parent, "timestamp": WHEN, **fields})


def shape(nodes: list[Any]) -> list[Any]:
    return [(node["entry"]["id"], shape(node["children"])) for node in nodes]


def test_branches_orphans_and_roots(tmp_path: Path) -> None:
    lines = [
        user_line("a", None),
        line_of("mystery", "b", "a"),
        line_of("mystery", "c", "a"),
        line_of("mystery", "d", "gone"),
        line_of("mystery", "e", None),
    ]
    log = opened(write_session(tmp_path / "s.jsonl", *lines))
    assert shape(json.loads(encode_tree(log))) == [
        ("a", [("b", []), ("c", [])]),
        ("d", []),
        ("e", []),
    ]
    log.close()


def test_labels_stand_on_their_nodes(tmp_path: Path) -> None:
    log = opened(write_session(tmp_path / "s.jsonl", user_line("a", None), user_line("b", "a")))
    set_label(log, "a", "gone again")
    set_label(log, "a", None)
    made = set_label(log, "b", "here \ud800")
    tree = json.loads(encode_tree(log))
    assert "label" not in tree[0]
    node = tree[0]["children"][0]
    assert (node["label"], node["labelTimestamp"]) == ("here \ud800", made.timestamp)
    log.close()


def test_an_empty_session_has_no_roots(tmp_path: Path) -> None:
    log = opened(write_session(tmp_path / "s.jsonl"))
    assert encode_tree(log) == b"[]"
    log.close()


def test_depth_costs_no_stack(tmp_path: Path) -> None:
    count = 20_000
    lines = (
        line_of("custom", f"{n:08x}", f"{n - 1:08x}" if n else None, customType="x") for n in range(count)
    )
    log = opened(write_session(tmp_path / "s.jsonl", *lines))
    text = encode_tree(log)
    assert text.count(b'"children":[') == count
    assert text.endswith(b"]}" * count + b"]")
    log.close()
