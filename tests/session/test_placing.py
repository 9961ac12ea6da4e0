from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from relay.session.errors import SessionBusy
from relay.session.file import SessionFile
from relay.session.log import SessionLog
from relay.session.placing import place, renew
from tests.session.samples import entry, opened, rows, texts, user, write_session
from tests.session.test_migrate import USER, bare, first_version


def test_opening_for_writing_rewrites_an_older_file(tmp_path: Path) -> None:
    path = first_version(tmp_path / "s.jsonl")
    path.chmod(0o640)
    reader = SessionLog.open(path, cwd=tmp_path, report=lambda text: None, writable=False)
    ids = [record.entry.id for record in reader.records]
    reader.close()
    log = opened(path)
    lines = path.read_bytes().splitlines()
    assert json.loads(lines[0])["version"] == 3
    assert b"{damaged" in lines
    assert [json.loads(line)["id"] for line in lines[1:] if line != b"{damaged"] == ids
    assert path.stat().st_mode & 0o777 == 0o640
    assert [item.name for item in tmp_path.iterdir()] == ["s.jsonl"]
    log.append(entry(user("more")))
    log.close()
    again = opened(path)
    assert texts(again)[1:] == ["kept", "new", "more"]
    again.close()


def test_a_rewritten_header_keeps_what_it_held(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(
        json.dumps({"type": "session", "id": "x", "cwd": "/a", "provider": "mock"})
        + "\n"
        + bare("message", message=USER)
        + "\n"
    )
    opened(path).close()
    assert rows(path)[0] == {"type": "session", "id": "x", "cwd": "/a", "provider": "mock", "version": 3}


def test_reading_only_changes_nothing(tmp_path: Path) -> None:
    path = first_version(tmp_path / "s.jsonl")
    before = path.read_bytes()
    log = SessionLog.open(path, cwd=tmp_path, report=lambda text: None, writable=False)
    assert len(log.records) == 5
    assert path.read_bytes() == before


def test_the_lock_is_held_before_and_after(tmp_path: Path) -> None:
    path = first_version(tmp_path / "s.jsonl")
    old = SessionFile.open(path)
    new = renew(old, pytest.fail)
    assert new is not old
    with pytest.raises(SessionBusy):
        SessionFile.open(path)
    new.close()
    SessionFile.open(path).close()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target = first_version(tmp_path / "real.jsonl")
    link = tmp_path / "link.jsonl"
    link.symlink_to(target)
    log = opened(link)
    log.append(entry(user("more")))
    log.close()
    assert link.is_symlink()
    assert json.loads(target.read_bytes().splitlines()[0])["version"] == 3
    assert texts(opened(link))[-1] == "more"


def test_what_a_killed_process_left_is_written_over(tmp_path: Path) -> None:
    path = first_version(tmp_path / "s.jsonl")
    (tmp_path / ".s.jsonl.new").write_text("half of a line, and longer than what will be there" * 100)
    opened(path).close()
    assert json.loads(path.read_bytes().splitlines()[0])["version"] == 3
    assert not (tmp_path / ".s.jsonl.new").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_is_told_and_the_file_used_as_it_is(tmp_path: Path) -> None:
    path = write_session(tmp_path / "in" / "s.jsonl", bare("message", message=USER), version=1)
    before = path.read_bytes()
    path.parent.chmod(0o500)
    told: list[str] = []
    try:
        log = SessionLog.open(path, cwd=tmp_path, report=told.append)
    finally:
        path.parent.chmod(0o700)
    assert len(told) == 1 and "older format" in told[0]
    assert path.read_bytes() == before
    log.append(entry(user("more")))
    log.close()
    assert texts(opened(path)) == ["hello", "more"]


def test_a_failure_while_lines_come_leaves_nothing(tmp_path: Path) -> None:
    path = first_version(tmp_path / "s.jsonl")
    before = path.read_bytes()
    old = SessionFile.open(path)

    def lines() -> Iterator[bytes]:
        yield b"{}"
        raise OSError(28, "no space left")

    with pytest.raises(OSError, match="no space"):
        place(path, lines(), instead_of=old)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["s.jsonl"]
    with pytest.raises(FileExistsError):
        place(path, [b"{}"])
    old.close()
