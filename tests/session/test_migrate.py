from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from relay.agent.messages import CompactionSummaryMessage, CustomMessage
from relay.session.entries import MessageEntry
from tests.session.samples import USAGE, WHEN, entry, opened, rows, texts, user, write_session

USER = {"role": "user", "content": "hello", "timestamp": 1}
ANSWER = {
    "role": "assistant",
    "content": [{"type": "text", "text": "hi"}],
    "api": "a",
    "provider": "p",
    "model": "m",
    "usage": USAGE,
    "stopReason": "stop",
    "timestamp": 2,
}


def bare(type: str, **fields: Any) -> str:
    """A line as version 1 wrote it: without id and parent."""
    return json.dumps({"type": type, "timestamp": WHEN, **fields})


def first_version(path: Path) -> Path:
    return write_session(
        path,
        bare("message", message=USER),
        "{damaged",
        bare("message", message=ANSWER),
        bare("message", message=USER | {"content": "kept"}),
        bare("compaction", summary="sum", firstKeptEntryIndex=3, tokensBefore=5),
        bare("message", message=USER | {"content": "new"}),
        version=1,
    )


def test_version_1_becomes_a_chain(tmp_path: Path) -> None:
    log = opened(first_version(tmp_path / "s.jsonl"))
    assert len(log.branch()) == len(log.records) == 5
    assert [item.parent_id for item in log.branch()] == [None, *(item.id for item in log.branch()[:-1])]
    assert all(len(item.id) == 8 for item in log.branch())
    assert log.header.version == 3
    assert isinstance(log.projection.messages[0], CompactionSummaryMessage)
    assert texts(log)[1:] == ["kept", "new"]
    log.close()


def test_lines_of_version_1_come_out_in_todays_shape(tmp_path: Path) -> None:
    log = opened(first_version(tmp_path / "s.jsonl"))
    lines = [json.loads(log.raw(record)) for record in log.records]
    assert [row["id"] for row in lines] == [item.id for item in log.branch()]
    assert lines[3]["firstKeptEntryId"] == lines[2]["id"]
    assert "firstKeptEntryIndex" not in lines[3]
    assert lines[0]["message"] == USER
    log.close()


def test_every_opening_gives_the_same_ids_so_that_new_entries_find_their_parents(tmp_path: Path) -> None:
    path = first_version(tmp_path / "s.jsonl")
    log = opened(path)
    log.append(entry(user("one")))
    log.append(entry(user("two")))
    before = [item.id for item in log.branch()]
    log.close()
    again = opened(path)
    assert [item.id for item in again.branch()] == before
    assert texts(again)[1:] == ["kept", "new", "one", "two"]
    again.close()


def test_equal_lines_get_different_ids(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", *[bare("message", message=USER)] * 200, version=1)
    log = opened(path)
    assert len({record.entry.id for record in log.records}) == 200
    log.close()


def test_version_2_hook_messages_are_custom_messages(tmp_path: Path) -> None:
    hook = {"role": "hookMessage", "customType": "ext", "content": "words", "display": True, "timestamp": 1}
    path = write_session(
        tmp_path / "s.jsonl",
        json.dumps({"type": "message", "id": "a", "parentId": None, "timestamp": WHEN, "message": USER}),
        json.dumps({"type": "message", "id": "b", "parentId": "a", "timestamp": WHEN, "message": hook}),
        version=2,
    )
    log = opened(path)
    last = log.records[-1]
    assert isinstance(last.entry, MessageEntry)
    assert isinstance(last.entry.message, CustomMessage)
    assert json.loads(log.raw(last))["message"] == hook | {"role": "custom"}
    assert [record.entry.id for record in log.records] == ["a", "b"]
    log.close()


def test_a_boundary_of_version_1_that_names_no_line_keeps_nothing(tmp_path: Path) -> None:
    for index in (0, 99, "three", None):
        path = write_session(
            tmp_path / "s.jsonl",
            bare("message", message=USER),
            bare("compaction", summary="sum", firstKeptEntryIndex=index, tokensBefore=5),
            version=1,
        )
        log = opened(path)
        assert len(log.projection.messages) == 1
        log.close()


def test_single_lines_without_ids_in_a_newer_file_join_the_chain(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl",
        json.dumps({"type": "message", "id": "a", "parentId": None, "timestamp": WHEN, "message": USER}),
        bare("message", message=ANSWER),
        bare("mystery", id="c"),
    )
    log = opened(path)
    middle, last = (record.entry for record in log.records[1:])
    assert middle.parent_id == "a"
    assert last.parent_id == middle.id
    assert len(log.branch()) == 3
    log.close()
    assert len(rows(path)) == 4
