from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from relay.ai.types import ImageContent, TextContent, UserMessage
from relay.session.entries import (
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
)
from relay.session.errors import SessionError
from relay.session.log import SessionLog
from relay.session.projection import ModelRef, project
from tests.session.samples import (
    answer,
    answer_line,
    entry,
    header_line,
    line,
    opened,
    rows,
    system,
    texts,
    user,
    user_line,
    write_session,
)
from tests.session.test_source import long_session


def started(folder: Path, told: list[str] | None = None) -> SessionLog:
    log = SessionLog.create(folder, folder / "sessions", report=(told or []).append)
    log.append(ModelChangeEntry(provider="mock", model_id="m1"))
    log.append(ThinkingLevelChangeEntry(thinking_level="off"))
    log.append(entry(system()))
    return log


def test_nothing_is_on_disk_before_the_first_user_message(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path / "sessions", report=pytest.fail)
    log.append(SessionInfoEntry(name="Named"))
    log.append(ModelChangeEntry(provider="mock", model_id="m1"))
    log.append(ThinkingLevelChangeEntry(thinking_level="off"))
    log.append(entry(system()))
    assert list(tmp_path.iterdir()) == []
    assert (log.unsaved, log.name) == (0, "Named")
    log.append(entry(user()))
    assert log.path is not None
    found = rows(log.path)
    assert [row["type"] for row in found] == [
        "session",
        "session_info",
        "model_change",
        "thinking_level_change",
        "message",
        "message",
    ]
    assert [row.get("parentId") for row in found[1:]] == [None, *(row["id"] for row in found[1:-1])]
    assert found[0] | {"timestamp": ""} == {
        "type": "session",
        "version": 3,
        "id": log.id,
        "timestamp": "",
        "cwd": str(tmp_path),
    }
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{{3}}Z_{log.id}\.jsonl", log.path.name), (
        log.path.name
    )
    log.close()


def test_a_session_that_was_never_asked_anything_leaves_no_file(tmp_path: Path) -> None:
    log = started(tmp_path)
    assert log.save()
    assert log.close()
    assert list(tmp_path.iterdir()) == []


def test_each_entry_is_one_whole_line_on_disk_when_append_returns(tmp_path: Path) -> None:
    log = started(tmp_path)
    log.append(entry(user("first")))
    assert log.path is not None
    for number in range(5):
        saved = log.append(entry(answer(str(number))))
        data = log.path.read_bytes()
        assert data.endswith(b"\n")
        assert rows(log.path)[-1]["id"] == saved.id
        assert log.raw(log.records[-1]) == data.split(b"\n")[-2]
    log.close()


def test_what_was_written_is_what_is_read(tmp_path: Path) -> None:
    log = started(tmp_path)
    image = UserMessage(
        content=[TextContent(text="half \ud83d"), ImageContent(data="AAAA", mime_type="image/png")],
        timestamp=1,
    )
    log.append(entry(image))
    log.append(entry(answer("bad", stop="error")))
    log.append(ContextEditEntry(target_id=log.records[-1].entry.id, replacement=None))
    log.append(entry(answer("good")))
    log.append(CustomEntry(custom_type="x", data={"k": [1, None]}))
    log.close()
    assert log.path is not None
    again = opened(log.path)
    assert [record.entry for record in again.records] == [record.entry for record in log.records]
    assert again.projection.messages == log.projection.messages == [system(), image, answer("good")]
    assert again.projection.model == ModelRef("mock", "m1")
    assert again.projection.thinking_level == "off"
    assert (again.leaf_id, again.header) == (log.leaf_id, log.header)
    again.close()


def test_a_session_in_memory_writes_nothing(tmp_path: Path) -> None:
    log = SessionLog.memory(tmp_path, report=pytest.fail)
    log.append(entry(user()))
    log.append(entry(answer()))
    assert (log.path, log.unsaved, len(log.projection.messages)) == (None, 0, 2)
    assert b'"hello"' in log.raw(log.records[0])
    assert log.close()
    assert list(tmp_path.iterdir()) == []


def test_ids_are_short_and_a_custom_session_id_names_the_file(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path, report=pytest.fail, id="my.work_1", parent="/old.jsonl")
    assert re.fullmatch(r"[0-9a-f]{8}", log.append(entry(user())).id)
    assert log.path is not None
    assert log.path.name.endswith("Z_my.work_1.jsonl")
    assert rows(log.path)[0]["parentSession"] == "/old.jsonl"
    log.close()


@pytest.mark.parametrize("id", ["", "-a", "a-", ".a", "a b", "a/b", "ä", "a\n", "../x"])
def test_ids_that_cannot_name_a_session_are_refused(tmp_path: Path, id: str) -> None:
    with pytest.raises(SessionError, match="session id .* not allowed"):
        SessionLog.create(tmp_path, tmp_path, report=pytest.fail, id=id)


def test_a_session_can_begin_at_a_path_of_the_users_choice(tmp_path: Path) -> None:
    path = tmp_path / "new" / "chat"
    log = SessionLog.create_at(tmp_path, path, report=pytest.fail)
    assert not path.parent.exists()
    log.append(entry(user()))
    assert rows(path)[0]["id"] == log.id
    log.close()


def test_an_empty_file_becomes_a_session_at_the_first_question(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n  ")
    log = opened(path)
    log.append(ModelChangeEntry(provider="mock", model_id="m1"))
    assert path.read_bytes() == b"\n  "
    log.append(entry(user()))
    assert [row["type"] for row in rows(path)] == ["session", "model_change", "message"]
    log.close()
    again = opened(path)
    assert texts(again) == ["hello"]
    again.close()


@pytest.mark.parametrize("content", [b"not json\n", b"[]\n", b'{"type":"message"}\n', b"\x00\xff"])
def test_a_file_that_is_no_session_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    with pytest.raises(SessionError, match=f"{path} is not a session: its first line"):
        opened(path)
    assert path.read_bytes() == content
    path.unlink()
    with pytest.raises(SessionError, match="no such file"):
        opened(path)


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(SessionError, match="not a regular file"):
            opened(path)


def test_damaged_lines_are_told_once_and_the_file_stays_as_it_is(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_line("a", None), "{broken", answer_line("b", "a"))
    before = path.read_bytes()
    told: list[str] = []
    log = opened(path, told)
    assert told == [f"Line 3 of the session {path} is damaged and left out; the file was not changed."]
    assert len(log.projection.messages) == 2
    assert path.read_bytes() == before
    log.append(entry(user("next")))
    log.append(entry(answer()))
    assert len(told) == 1
    assert path.read_bytes().startswith(before)
    log.close()


def test_many_damaged_lines_are_one_sentence(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", *["{"] * 9, user_line("a", None))
    told: list[str] = []
    opened(path, told).close()
    assert told == [
        f"9 lines (2, 3, 4, 5, 6, …) of the session {path} are damaged and left out; "
        "the file was not changed."
    ]


def test_a_torn_end_of_a_large_session_is_told_once_too(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl")
    with path.open("a") as file:
        file.write(user_line("big", "g", "z" * 1_100_000) + "\n" + answer_line("end", "big")[:50])
    told: list[str] = []
    log = opened(path, told)
    assert told == [f"The last line of the session {path} is damaged and left out; the file was not changed."]
    log.append(entry(user("more")))
    log.load_rest()
    assert len(told) == 1
    assert texts(log)[-1] == "more"
    log.close()


def test_opening_alone_changes_nothing(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_line("a", None))
    path.write_bytes(path.read_bytes()[:-1])
    before = path.read_bytes()
    opened(path).close()
    opened(path, writable=False).close()
    assert path.read_bytes() == before


def test_raw_lines_come_out_byte_for_byte(tmp_path: Path) -> None:
    odd = [
        '{ "type":"message" , "id":"a","parentId":null,"timestamp":"t","message":'
        '{"role":"user","content":"\\u0041\\ud800","timestamp":1.0,"more":[1.50]}}',
        line("mystery", "b", "a", payload={"z": 1, "a": 2}),
        line("message", "c", "b", message={"role": "narrator"}),
        answer_line("d", "c", content=[{"type": "hologram"}]),
        line("label", "e", "d", targetId="a") + "\r",
    ]
    path = write_session(tmp_path / "s.jsonl", *odd)
    log = opened(path)
    assert [log.raw(record).decode() for record in log.records] == odd
    log.close()


def test_unknown_entries_stay_in_the_chain(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl", user_line("a", None), line("mystery", "b", "a"), answer_line("c", "b")
    )
    log = opened(path)
    assert [item.id for item in log.branch()] == ["a", "b", "c"]
    assert len(log.projection.messages) == 2
    log.close()


def test_the_leaf_can_move_and_the_old_branch_stays(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl", user_line("a", None, "one"), answer_line("b", "a"), user_line("c", "b", "left")
    )
    log = opened(path)
    log.move("b")
    assert texts(log)[0] == "one"
    assert len(log.projection.messages) == 2
    right = log.append(entry(user("right")))
    assert right.parent_id == "b"
    log.move(None)
    assert log.projection.messages == []
    assert log.append(entry(user("root"))).parent_id is None
    with pytest.raises(SessionError, match="no entry nowhere"):
        log.move("nowhere")
    assert len(log.tree.children()[0]) == 2
    log.close()
    assert [row["type"] for row in rows(path)] == ["session"] + ["message"] * 5


def test_a_compaction_renews_the_context_and_may_keep_nothing(tmp_path: Path) -> None:
    log = started(tmp_path)
    first = log.append(entry(user("one")))
    log.append(entry(answer("two")))
    draft = CompactionEntry(
        summary="s", first_kept_entry_id=first.id, tokens_before=1, system_message=system("all")
    )
    log.append(draft)
    assert [type(message).__name__ for message in log.projection.messages] == [
        "SystemMessage",
        "CompactionSummaryMessage",
        "UserMessage",
        "AssistantMessage",
    ]
    last = log.append(CompactionEntry(summary="s", first_kept_entry_id="", tokens_before=1))
    assert isinstance(last, CompactionEntry)
    assert last.first_kept_entry_id == last.id
    assert len(log.projection.messages) == 1
    assert log.projection.items == project(log.branch())
    log.close()


def test_the_name_is_the_last_one_given_and_blanks_clear_it(tmp_path: Path) -> None:
    path = write_session(
        tmp_path / "s.jsonl", user_line("a", None), line("session_info", "b", "a", name="Old")
    )
    log = opened(path)
    names = [log.name]
    for name in (" New ", " "):
        log.append(SessionInfoEntry(name=name))
        names.append(log.name)
    assert names == ["Old", "New", None]
    log.close()


def test_read_only_sessions_and_closed_ones_take_nothing(tmp_path: Path) -> None:
    path = write_session(tmp_path / "s.jsonl", user_line("a", None))
    log = opened(path, writable=False)
    with pytest.raises(SessionError, match="read-only"):
        log.append(entry(user()))
    assert log.raw(log.records[0]).decode() == user_line("a", None)
    log.close()
    log = opened(path)
    log.close()
    with pytest.raises(SessionError, match="was closed"):
        log.append(entry(user()))
    assert len(log.records) == 1


def test_what_json_cannot_hold_changes_nothing(tmp_path: Path) -> None:
    log = started(tmp_path)
    log.append(entry(user()))
    assert log.path is not None
    before = (log.path.read_bytes(), log.leaf_id, len(log.records))
    with pytest.raises(TypeError):
        log.append(CustomEntry(custom_type="x", data={"k": object()}))
    assert (log.path.read_bytes(), log.leaf_id, len(log.records)) == before
    log.close()


def test_a_partly_read_session_goes_on_and_can_be_completed(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl")
    with path.open("a") as file:
        file.write(line("session_info", "n", "g", name="Named") + "\n")
        file.write(user_line("big", "n", "z" * 1_100_000) + "\n")
        file.write(answer_line("end", "big") + "\n")
    log = opened(path)
    partly = not log.complete
    context = list(log.projection.messages)
    added = log.append(entry(user("more")))
    assert len(added.id) == 36
    assert log.projection.messages == [*context, user("more")]
    log.load_rest()
    assert partly
    assert log.complete
    assert log.projection.messages == [*context, user("more")]
    assert [record.entry.id for record in log.records][:3] == ["m", "t", "a"]
    assert log.records[-1].entry == added
    assert len(log.append(LabelEntry(target_id="a", label="l")).id) == 8
    log.close()
    again = opened(path)
    assert again.projection.messages[-1] == user("more")
    again.close()


def test_a_boundary_that_reaches_before_the_part_read_is_understood(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl")
    with path.open("a") as file:
        file.write(user_line("big", "g", "z" * 1_100_000) + "\n" + answer_line("end", "big") + "\n")
    log = opened(path)
    assert not log.complete
    log.append(CompactionEntry(summary="s", first_kept_entry_id="a", tokens_before=1))
    assert texts(log)[1:3] == ["lost", "[TextContent(text='lost too', text_signature=None)]"]
    log.close()


def test_newer_versions_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(header_line(version=9) + "\n" + user_line("a", None) + "\n")
    log = opened(path)
    assert (log.header.version, texts(log)) == (9, ["hello"])
    log.close()


def test_message_entries_of_the_log_hold_the_very_message(tmp_path: Path) -> None:
    log = SessionLog.memory(tmp_path, report=pytest.fail)
    message = answer()
    saved = log.append(entry(message))
    assert isinstance(saved, MessageEntry)
    assert saved.message is message
    assert log.projection.messages[-1] is message
