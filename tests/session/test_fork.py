from __future__ import annotations

import json
from pathlib import Path

import pytest

from relay.ai.types import AssistantMessage, UserMessage, text_of
from relay.session.entries import CompactionEntry, LabelEntry, SessionInfoEntry
from relay.session.errors import SessionError
from relay.session.export_jsonl import export_jsonl
from relay.session.fork import branch_records, copy_branch, copy_file, fork_points, import_file
from relay.session.log import SessionLog
from relay.session.moves import branch_with_summary, reset_leaf, set_label
from tests.session.samples import answer, entry, opened, rows, texts, user, user_line, write_session


def talk(tmp_path: Path) -> SessionLog:
    log = SessionLog.create(tmp_path, tmp_path / "sessions", report=pytest.fail)
    for number in (1, 2):
        log.append(entry(user(f"ask {number}")))
        log.append(entry(answer(f"say {number}")))
    return log


def said(log: SessionLog) -> list[str]:
    """The texts of the context's messages."""
    found = [
        message for message in log.projection.messages if isinstance(message, UserMessage | AssistantMessage)
    ]
    return [text_of(message.content) for message in found]


def test_a_fork_ends_before_its_message_and_keeps_ids_and_bytes(tmp_path: Path) -> None:
    log = talk(tmp_path)
    points = fork_points(log)
    assert [point.text for point in points] == ["ask 1", "ask 2"]
    copy = copy_branch(log, points[1].parent_id, cwd=tmp_path, folder=tmp_path / "other", report=pytest.fail)
    assert said(copy) == ["ask 1", "say 1"]
    assert log.path is not None and copy.path is not None
    assert copy.path.read_bytes().splitlines()[1:] == log.path.read_bytes().splitlines()[1:3]
    assert rows(copy.path)[0]["parentSession"] == str(log.path)
    assert copy.id != log.id
    copy.append(entry(user("another way")))
    assert said(log)[-1] == "say 2"
    assert texts(copy)[-1] == "another way"


def test_a_fork_before_the_first_message_makes_no_file_until_one_comes(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path / "sessions", report=pytest.fail)
    named = log.append(SessionInfoEntry(name="Named"))
    log.append(entry(user()))
    copy = copy_branch(log, named.id, cwd=tmp_path, folder=tmp_path / "sessions", report=pytest.fail)
    assert copy.path is not None and not copy.path.exists()
    assert copy.name == "Named"
    copy.append(entry(user("now")))
    assert [row.get("id") for row in rows(copy.path)][1] == named.id
    assert len(rows(copy.path)) == 3


def test_a_copy_of_an_unsaved_session_is_not_saved(tmp_path: Path) -> None:
    log = SessionLog.memory(tmp_path, report=pytest.fail)
    log.append(entry(user("hello")))
    copy = copy_branch(log, log.leaf_id, cwd=tmp_path, folder=tmp_path / "sessions", report=pytest.fail)
    copy.append(entry(answer("hi")))
    assert said(copy) == ["hello", "hi"]
    assert list(tmp_path.iterdir()) == []


def test_labels_given_from_other_branches_come_along(tmp_path: Path) -> None:
    log = talk(tmp_path)
    first, other = log.records[0].entry.id, log.records[3].entry.id
    leaf = log.records[1].entry.id
    set_label(log, first, "start")
    set_label(log, other, "elsewhere")
    records = branch_records(log, leaf)
    added = records[-1].entry
    assert isinstance(added, LabelEntry)
    assert (added.target_id, added.label, added.parent_id) == (first, "start", leaf)
    assert len(records) == 3
    whole = branch_records(log, log.leaf_id)
    assert len(whole) == 6, "labels on the branch are not written twice"


def test_a_label_that_was_cleared_elsewhere_is_cleared_in_the_copy(tmp_path: Path) -> None:
    log = talk(tmp_path)
    first = log.records[0].entry.id
    labelled = set_label(log, first, "start")
    set_label(log, first, None)
    records = branch_records(log, labelled.id)
    added = records[-1].entry
    assert isinstance(added, LabelEntry) and added.label is None


def test_a_copied_file_holds_every_branch_and_odd_line(tmp_path: Path) -> None:
    odd = '{"type":"mystery","id":"m1","parentId":"u1","timestamp":"","x":  1}'
    path = write_session(tmp_path / "a.jsonl", user_line("u1", None), "{broken", odd, "{half a li")
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    told: list[str] = []
    copy = copy_file(path, cwd=tmp_path, folder=tmp_path / "b", report=told.append, id="mine")
    assert copy.path is not None
    assert copy.path.read_bytes().splitlines()[1:] == path.read_bytes().splitlines()[1:4]
    assert copy.header.parent_session == str(path)
    assert copy.id == "mine"
    assert [record.entry.id for record in copy.records] == ["u1", "m1"]


def test_a_session_that_is_open_elsewhere_can_be_copied(tmp_path: Path) -> None:
    log = talk(tmp_path)
    assert log.path is not None
    copy = copy_file(log.path, cwd=tmp_path, folder=tmp_path / "b", report=pytest.fail)
    assert texts(copy) == texts(log)


def test_an_older_file_is_copied_in_todays_shape(tmp_path: Path) -> None:
    bare = json.dumps({"type": "message", "message": {"role": "user", "content": "hello", "timestamp": 1}})
    path = write_session(tmp_path / "a.jsonl", bare, bare, version=1)
    before = path.read_bytes()
    copy = copy_file(path, cwd=tmp_path, folder=tmp_path / "b", report=pytest.fail)
    assert copy.path is not None
    assert rows(copy.path)[2]["parentId"] == rows(copy.path)[1]["id"]
    assert path.read_bytes() == before
    target = import_file(path, folder=tmp_path / "c")
    assert rows(target)[0]["version"] == 3


@pytest.mark.parametrize("content", ["", "hello\n", '{"type":"message"}\n'])
def test_what_is_no_session_is_not_copied(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content)
    with pytest.raises(SessionError, match="is not a session"):
        copy_file(path, cwd=tmp_path, folder=tmp_path / "b", report=pytest.fail)
    assert not (tmp_path / "b").exists() or not list((tmp_path / "b").iterdir())


def test_an_import_keeps_the_header_and_never_replaces(tmp_path: Path) -> None:
    log = talk(tmp_path)
    assert log.path is not None
    target = import_file(log.path, folder=tmp_path / "in")
    assert target.read_bytes() == log.path.read_bytes()
    with pytest.raises(SessionError, match="exists already"):
        import_file(log.path, folder=tmp_path / "in")
    with pytest.raises(SessionError, match="cannot be read"):
        import_file(tmp_path / "none.jsonl", folder=tmp_path / "in")


def test_an_export_is_the_branch_and_opens_again(tmp_path: Path) -> None:
    log = talk(tmp_path)
    left = log.records[1].entry.id
    log.move(left)
    log.append(entry(user("other")))
    target = tmp_path / "out.jsonl"
    export_jsonl(log, target)
    assert [row["type"] for row in rows(target)] == ["session", "message", "message", "message"]
    again = opened(target)
    assert said(again) == ["ask 1", "say 1", "other"]
    assert again.id == log.id
    assert log.path is not None
    with pytest.raises(SessionError, match="the session itself"):
        export_jsonl(log, log.path)


def test_several_roots_and_summaries_of_the_branch_left(tmp_path: Path) -> None:
    log = talk(tmp_path)
    left = log.leaf_id
    made = branch_with_summary(log, None, "what was tried")
    assert (made.parent_id, log.leaf_id) == (None, made.id)
    assert log.path is not None
    assert rows(log.path)[-1]["fromId"] == left
    reset_leaf(log)
    root = log.append(entry(user("fresh")))
    assert root.parent_id is None
    assert texts(log) == ["fresh"]
    with pytest.raises(SessionError, match="no entry"):
        branch_with_summary(log, "nosuch", "x")
    with pytest.raises(SessionError, match="no entry"):
        set_label(log, "nosuch", "x")
    assert log.leaf_id == root.id
    copy = copy_branch(log, log.leaf_id, cwd=tmp_path, folder=tmp_path / "b", report=pytest.fail)
    assert texts(copy) == ["fresh"]


def test_a_fork_after_a_boundary_keeps_it(tmp_path: Path) -> None:
    log = talk(tmp_path)
    log.append(CompactionEntry(summary="short", first_kept_entry_id="", tokens_before=5))
    log.append(entry(user("after")))
    points = fork_points(log)
    assert [point.text for point in points] == ["ask 1", "ask 2", "after"]
    copy = copy_branch(log, points[2].parent_id, cwd=tmp_path, folder=tmp_path / "b", report=pytest.fail)
    assert len(copy.projection.messages) == 1
