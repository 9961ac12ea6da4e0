from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay.session import source
from relay.session.entries import Entry, MessageEntry
from relay.session.errors import SessionError
from relay.session.projection import session_context
from relay.session.tree import Tree
from tests.session.samples import (
    answer_line,
    header_line,
    line,
    opened,
    rows,
    texts,
    user,
    user_line,
    write_session,
)
from tests.shared import shared


@contextmanager
def handle_of(path: Path) -> Iterator[tuple[int, int]]:
    handle = os.open(path, os.O_RDONLY)
    try:
        yield handle, os.fstat(handle).st_size
    finally:
        os.close(handle)


def branch(loaded: source.Loaded) -> list[Entry]:
    tree = Tree(record.entry for record in loaded.records)
    return tree.branch(loaded.records[-1].entry.id) if loaded.records else []


def ids(loaded: source.Loaded) -> list[str]:
    return [record.entry.id for record in loaded.records]


@pytest.mark.parametrize("block", [1, 2, 7, 64, 1 << 18])
def test_blocks_of_any_size_give_the_same_lines(tmp_path: Path, block: int) -> None:
    path = tmp_path / "s.jsonl"
    lines = [
        header_line(),
        "",
        user_line("a", None, "x" * 50),
        "  ",
        "broken",
        user_line("b", "a", "é\u2028é"),
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    with handle_of(path) as (handle, size):
        loaded = source.read_all(handle, size, block=block)
        assert ids(loaded) == ["a", "b"]
        assert loaded.damaged == [5]
        found = [os.pread(handle, record.size, record.start) for record in loaded.records]
    assert found == [lines[2].encode(), lines[5].encode()]


@pytest.mark.parametrize("name", ["session.jsonl", "session_trailing_blank.jsonl"])
def test_a_half_written_last_line_costs_one_line_and_never_the_next(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    before = shared(f"field/inputs/S01/{name}").read_bytes()
    path.write_bytes(before)
    told: list[str] = []
    log = opened(path, told)
    count = len(log.records)
    assert len(told) == 1
    assert "left out" in told[0]
    log.append(MessageEntry(message=user("NEWMARK")))
    log.close()
    assert path.read_bytes().startswith(before)
    again = opened(path, told)
    assert len(again.records) == count + 1
    assert again.projection.messages[-1] == user("NEWMARK")
    bad = 0
    for row in path.read_bytes().split(b"\n"):
        try:
            json.loads(row or b"0")
        except ValueError:
            bad += 1
    assert bad == 1
    again.close()


@pytest.mark.parametrize("name", ["session_toolcall_without_result", "session_result_without_call"])
def test_calls_and_results_without_each_other_load_as_they_are(tmp_path: Path, name: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(shared(f"field/inputs/S06/{name}.jsonl").read_bytes())
    told: list[str] = []
    log = opened(path, told)
    assert told == []
    wanted = [row["message"]["role"] for row in rows(path)[1:] if row["type"] == "message"]
    lines = [json.loads(log.raw(record)) for record in log.records]
    assert [line["message"]["role"] for line in lines if line["type"] == "message"] == wanted
    log.close()


def test_a_real_session_of_version_1_loads_whole(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(shared("lab/sessions/real-1.jsonl").read_bytes())
    told: list[str] = []
    log = opened(path, told)
    assert told == []
    assert len(log.records) == len(rows(path)) - 1
    assert len(log.branch()) == len(log.records)
    log.close()


def test_a_file_torn_at_any_byte_keeps_every_whole_line(tmp_path: Path) -> None:
    lines = [
        header_line(),
        user_line("a", None),
        answer_line("b", "a", "é"),
        user_line("c", "b", "\ud83d"),
        line("mystery", "d", "c", x=1),
    ]
    whole = "".join(f"{row}\n" for row in lines).encode()
    head = len(lines[0]) + 1
    path = tmp_path / "s.jsonl"
    for cut in range(head, len(whole)):
        path.write_bytes(whole[:cut])
        complete = whole[:cut].count(b"\n") - 1
        log = opened(path)
        # a line that lost only its line end is whole
        assert len(log.records) - complete in ((0, 1) if whole[cut : cut + 1] == b"\n" else (0,))
        loaded = len(log.records)
        log.append(MessageEntry(message=user("after")))
        log.close()
        assert path.read_bytes().startswith(whole[:cut])
        again = opened(path)
        assert len(again.records) == loaded + 1
        assert texts(again)[-1] == "after"
        again.close()


def test_a_torn_header_is_no_session_and_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    whole = header_line().encode()
    for cut in range(1, len(whole)):
        path.write_bytes(whole[:cut])
        with pytest.raises(SessionError, match="is not a session"):
            opened(path)
        assert path.read_bytes() == whole[:cut]


def long_session(path: Path, *, checkpoint: bool = True, stamped: bool = True) -> Path:
    extra = {"thinkingLevel": "high"} if stamped else {}
    sys = {"systemMessage": {"role": "system", "content": "all", "timestamp": 1}} if checkpoint else {}
    return write_session(
        path,
        line("model_change", "m", None, provider="p", modelId="m"),
        line("thinking_level_change", "t", "m", thinkingLevel="high"),
        user_line("a", "t", "lost"),
        answer_line("b", "a", "lost too"),
        user_line("c", "b", "kept"),
        user_line("x", "b", "other branch"),
        line("compaction", "d", "c", summary="sum", firstKeptEntryId="c", tokensBefore=1, **sys),
        answer_line("e", "d", "after", **extra),
        line("context_edit", "f", "e", targetId="c", replacement="edited"),
        user_line("y", "x", "other again"),
        user_line("g", "f", "newest"),
    )


def test_the_tail_holds_what_the_context_needs_and_no_more(tmp_path: Path) -> None:
    with handle_of(long_session(tmp_path / "s.jsonl")) as (handle, size):
        tail = source.load(handle, size, small=0)
        whole = source.read_all(handle, size)
    assert not tail.complete
    assert ids(tail) == ["c", "d", "e", "f", "g"]
    assert session_context(branch(tail)) == session_context(branch(whole))
    assert all(record in whole.records for record in tail.records)


def test_the_tail_goes_further_back_for_a_level_that_no_answer_carries(tmp_path: Path) -> None:
    with handle_of(long_session(tmp_path / "s.jsonl", stamped=False)) as (handle, size):
        tail = source.load(handle, size, small=0)
    assert ids(tail) == ["t", "a", "b", "c", "d", "e", "f", "g"]
    assert session_context(branch(tail)).thinking_level == "high"


def test_a_boundary_without_checkpoint_needs_the_whole_branch(tmp_path: Path) -> None:
    with handle_of(long_session(tmp_path / "s.jsonl", checkpoint=False)) as (handle, size):
        tail = source.load(handle, size, small=0)
        whole = source.read_all(handle, size)
    assert ids(tail) == ["m", "t", "a", "b", "c", "d", "e", "f", "g"]
    assert session_context(branch(tail)) == session_context(branch(whole))


def test_damaged_lines_after_the_newest_entry_are_counted_from_the_end(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl")
    with path.open("a") as file:
        file.write("{broken\n\n" + user_line("t", "g")[:40])
    with handle_of(path) as (handle, size):
        tail = source.load(handle, size, small=0)
    assert (ids(tail)[-1], tail.damaged) == ("g", [-1, -3])


@pytest.mark.parametrize(
    "rows",
    [
        [user_line("a", None), user_line("b", "a")],
        [user_line("a", None), user_line("b", "gone")],
        [user_line("a", None), '{"type":"message","message":{"role":"user","content":"x","timestamp":1}}'],
        ["broken"],
        [],
    ],
)
def test_files_of_one_branch_without_a_boundary_are_complete(tmp_path: Path, rows: list[str]) -> None:
    with handle_of(write_session(tmp_path / "s.jsonl", *rows)) as (handle, size):
        loaded = source.load(handle, size, small=0)
        assert loaded.complete
        whole = source.read_all(handle, size)
    assert loaded.records == whole.records
    assert len(loaded.damaged) == len(whole.damaged)


def test_lines_longer_than_a_block_are_read_from_both_ends(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl")
    with path.open("a", encoding="utf-8") as file:
        file.write(user_line("h", "g", "z" * 700_000) + "\n" + answer_line("i", "h") + "\n")
    log = opened(path)
    assert log.complete
    log.close()
    with path.open("a", encoding="utf-8") as file:
        file.write(user_line("j", "i", "z" * 700_000) + "\n")
    log = opened(path)
    assert not log.complete
    assert [record.entry.id for record in log.records] == ["c", "d", "e", "f", "g", "h", "i", "j"]
    assert log.raw(log.records[-1]) == user_line("j", "i", "z" * 700_000).encode()
    log.close()


ENTRY = st.tuples(st.sampled_from("uaacest"), st.integers(0, 20), st.integers(0, 20), st.booleans())


def to_line(position: int, spec: tuple[str, int, int, bool]) -> str:
    kind, back, target, flag = spec
    id, earlier = f"e{position}", max(0, position - 1 - (back % 3 if flag else 0))
    parent = f"e{earlier}" if position else None
    aim = f"e{target % (position + 1)}"
    fields: dict[str, Any] = {}
    if kind == "u":
        return user_line(id, parent, id)
    if kind == "a":
        return answer_line(id, parent, id, model=f"m{target}")
    if kind == "c":
        if back % 4:
            fields = {"systemMessage": {"role": "system", "content": id, "timestamp": 1}}
        return line("compaction", id, parent, summary=id, firstKeptEntryId=aim, tokensBefore=1, **fields)
    if kind == "e":
        return line("context_edit", id, parent, targetId=aim, replacement=None if flag else "new")
    if kind == "s":
        return line("message", id, parent, message={"role": "system", "content": id, "timestamp": 1})
    return line("thinking_level_change", id, parent, thinkingLevel=f"l{target}")


@settings(max_examples=200, deadline=None)
@given(st.lists(ENTRY, max_size=25), st.sampled_from([1, 13, 100, 1 << 18]))
def test_the_tail_gives_the_same_context_as_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory, specs: list[tuple[str, int, int, bool]], block: int
) -> None:
    path = tmp_path_factory.mktemp("tail") / "s.jsonl"
    write_session(path, *(to_line(position, spec) for position, spec in enumerate(specs)))
    with handle_of(path) as (handle, size):
        tail = source.load(handle, size, small=0, block=block)
        whole = source.read_all(handle, size)
    assert session_context(branch(tail)) == session_context(branch(whole))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=8), st.sampled_from([1, 5, 1 << 18]))
def test_no_bytes_break_the_reading(
    tmp_path_factory: pytest.TempPathFactory, junk: list[bytes], block: int
) -> None:
    path = tmp_path_factory.mktemp("junk") / "s.jsonl"
    path.write_bytes(
        header_line().encode() + b"\n" + b"\n".join(junk) + b"\n" + user_line("z", None).encode()
    )
    with handle_of(path) as (handle, size):
        whole = source.read_all(handle, size, block=block)
        tail = source.load(handle, size, small=0, block=block)
    assert ids(whole)[-1] == ids(tail)[-1] == "z"
