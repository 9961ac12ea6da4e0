"""Tests of which session file a start opens or makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from relay.ai.types import UserMessage
from relay.runtime.start import SessionOptions, StartError, StartOptions
from relay.runtime.startup_session import open_log
from relay.runtime.surroundings import look_around
from relay.session.entries import MessageEntry
from relay.session.log import SessionLog


def opened(home: Path, session: SessionOptions) -> SessionLog:
    options = StartOptions(cwd=home, environ={"HOME": str(home)}, session=session)
    return open_log(options, look_around(options, pytest.fail), pytest.fail)


def save(log: SessionLog) -> Path:
    log.append(MessageEntry(message=UserMessage(content="hi", timestamp=1)))
    assert log.close()
    assert log.path is not None
    return log.path


def test_a_path_without_a_file_names_the_new_session_file_itself(tmp_path: Path) -> None:
    saved = save(opened(tmp_path, SessionOptions(kind="open", value="sub/new.jsonl")))
    assert saved == tmp_path / "sub" / "new.jsonl"
    assert saved.is_file()


def test_a_path_with_a_file_opens_it(tmp_path: Path) -> None:
    first = opened(tmp_path, SessionOptions(kind="open", value="new.jsonl"))
    path = save(first)
    again = opened(tmp_path, SessionOptions(kind="open", value=str(path)))
    assert (again.id, again.path) == (first.id, path)
    again.close()


def test_an_id_that_no_session_has_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="begins with abc"):
        opened(tmp_path, SessionOptions(kind="open", value="abc"))


def test_a_chosen_id_is_made_once_and_found_again(tmp_path: Path) -> None:
    wanted = SessionOptions(kind="id", value="mine")
    path = save(opened(tmp_path, wanted))
    again = opened(tmp_path, wanted)
    assert (again.id, again.path) == ("mine", path)
    again.close()
