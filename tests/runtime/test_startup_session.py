"""Tests of which session file a start opens or makes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pytest

from relay.ai.types import UserMessage
from relay.runtime.start import SessionOptions, StartError, StartOptions
from relay.runtime.startup_session import open_log
from relay.runtime.surroundings import look_around
from relay.session.entries import MessageEntry
from relay.session.errors import SessionBusy, SessionError
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


def there(home: Path, cwd: str, session: SessionOptions, environ: dict[str, str] | None = None) -> SessionLog:
    """Opened in another working directory of the same user."""
    (home / cwd).mkdir(exist_ok=True)
    settings = {"HOME": str(home), **(environ or {})}
    options = StartOptions(cwd=home / cwd, environ=settings, session=session)
    return open_log(options, look_around(options, pytest.fail), pytest.fail)


def test_an_unsaved_session_has_no_file(tmp_path: Path) -> None:
    log = opened(tmp_path, SessionOptions(kind="memory"))
    log.append(MessageEntry(message=UserMessage(content="hi", timestamp=1)))
    assert log.path is None and log.close()
    assert not (tmp_path / ".relay").exists()


def test_continuing_takes_the_newest_session_of_the_directory(tmp_path: Path) -> None:
    newest = SessionOptions(kind="continue")
    old, young = (save(opened(tmp_path, SessionOptions(kind="id", value=name))) for name in ("b1", "a2"))
    other = save(there(tmp_path, "elsewhere", SessionOptions()))
    for seconds, path in enumerate((old, young, other), start=1):
        os.utime(path, (seconds, seconds))
    log = opened(tmp_path, newest)
    assert log.path == young
    log.close()
    os.utime(old, (9, 9))
    log = opened(tmp_path, newest)
    assert log.path == old
    log.close()


def test_continuing_without_a_session_begins_one(tmp_path: Path) -> None:
    save(there(tmp_path, "elsewhere", SessionOptions()))
    path = save(opened(tmp_path, SessionOptions(kind="continue")))
    assert path.is_file()


def test_the_beginning_of_an_id_is_enough(tmp_path: Path) -> None:
    path = save(opened(tmp_path, SessionOptions(kind="id", value="abc-123")))
    whole = save(opened(tmp_path, SessionOptions(kind="id", value="abc")))
    for named, found in (("abc-", path), ("abc-123", path), ("abc", whole)):
        log = opened(tmp_path, SessionOptions(kind="open", value=named))
        assert log.path == found
        log.close()


def test_a_session_of_another_directory_is_named_with_what_can_be_done(tmp_path: Path) -> None:
    path = save(there(tmp_path, "elsewhere", SessionOptions(kind="id", value="abc-123")))
    with pytest.raises(StartError) as raised:
        opened(tmp_path, SessionOptions(kind="open", value="abc"))
    for part in (str(tmp_path / "elsewhere"), f"--session {path}", "--fork abc"):
        assert part in str(raised.value)
    log = opened(tmp_path, SessionOptions(kind="open", value=str(path)))
    assert log.id == "abc-123"
    log.close()


def test_the_same_chosen_id_may_be_used_in_two_directories(tmp_path: Path) -> None:
    wanted = SessionOptions(kind="id", value="mine")
    assert save(opened(tmp_path, wanted)) != save(there(tmp_path, "elsewhere", wanted))


def test_a_session_that_is_open_is_not_opened_again(tmp_path: Path) -> None:
    path = save(opened(tmp_path, SessionOptions()))
    first = opened(tmp_path, SessionOptions(kind="continue"))
    with pytest.raises(StartError, match=f"process {os.getpid()}.*--continue"):
        opened(tmp_path, SessionOptions(kind="continue"))
    with pytest.raises(SessionBusy, match="--fork"):
        opened(tmp_path, SessionOptions(kind="open", value=str(path)))
    first.close()
    opened(tmp_path, SessionOptions(kind="continue")).close()


@pytest.mark.parametrize("kind", ["new", "continue", "id"])
def test_a_folder_where_nothing_can_be_written_is_named_at_the_start(
    tmp_path: Path, kind: Literal["new", "continue", "id"]
) -> None:
    (tmp_path / "file").write_text("")
    wanted = SessionOptions(kind=kind, value="x1", folder="file/below")
    with pytest.raises(SessionError) as raised:
        opened(tmp_path, wanted)
    assert "file/below" in str(raised.value) and "--no-session" in str(raised.value)


def test_a_folder_of_ones_own_holds_the_sessions_of_each_directory_apart(tmp_path: Path) -> None:
    folder = str(tmp_path / "all")
    here = save(opened(tmp_path, SessionOptions(folder=folder)))
    other = save(there(tmp_path, "elsewhere", SessionOptions(folder=folder)))
    assert here.parent == other.parent == tmp_path / "all"
    os.utime(other, (2**31, 2**31))
    log = opened(tmp_path, SessionOptions(kind="continue", folder=folder))
    assert log.path == here
    log.close()


def test_the_option_for_the_folder_goes_before_the_variable(tmp_path: Path) -> None:
    environ = {"RELAY_CODING_AGENT_SESSION_DIR": str(tmp_path / "variable")}
    assert save(there(tmp_path, "a", SessionOptions(), environ)).parent == tmp_path / "variable"
    option = SessionOptions(folder="~/option")
    assert save(there(tmp_path, "a", option, environ)).parent == tmp_path / "option"
