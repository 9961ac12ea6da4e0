"""Other processes, full disks and vanished files, with real processes and real limits."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from relay.session.errors import SessionBusy, SessionError
from relay.session.log import SessionLog
from relay.session.store import _reason
from tests.session.samples import answer, entry, line, opened, rows, texts, user, user_line, write_session

ROOT = Path(__file__).parents[2]
HOLD = """
import sys
from pathlib import Path
from relay.session.log import SessionLog
log = SessionLog.open(Path(sys.argv[1]), cwd=Path("/project"), report=print)
print("ready", flush=True)
sys.stdin.read()
"""


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has the session open."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def run(script: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Writes beyond `size` fail with EFBIG, the part before it is written: as on a disk that fills up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return write_session(tmp_path / "s.jsonl", user_line("a", None, "first"))


def test_a_second_process_is_refused_and_told_who_has_the_session(session: Path) -> None:
    with holder(session) as process:
        with pytest.raises(SessionBusy) as refused:
            opened(session)
        assert refused.value.pid == process.pid
        assert f"process {process.pid}" in str(refused.value)
        assert "--fork" in str(refused.value)
        reader = opened(session, writable=False)
        assert texts(reader) == ["first"]
        reader.close()


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_the_lock_goes_with_its_process(session: Path, by: signal.Signals) -> None:
    with holder(session) as process:
        process.send_signal(by)
        process.wait()
        log = opened(session)
        log.append(entry(user("mine")))
        log.close()
    assert len(rows(session)) == 3


def test_closing_lets_the_next_one_in_and_a_refused_opening_leaves_no_trace(session: Path) -> None:
    log = opened(session)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(SessionBusy) as refused:
            opened(session)
        assert refused.value.pid == os.getpid()
    assert len(os.listdir("/proc/self/fd")) == before
    log.close()
    opened(session).close()


def test_the_lock_holds_under_every_name_of_the_file(session: Path, tmp_path: Path) -> None:
    (tmp_path / "soft.jsonl").symlink_to(session)
    (tmp_path / "hard.jsonl").hardlink_to(session)
    log = opened(session)
    for other in ("soft.jsonl", "hard.jsonl"):
        with pytest.raises(SessionBusy):
            opened(tmp_path / other)
    log.close()


def test_a_new_session_is_locked_from_its_first_byte(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path, tmp_path, report=pytest.fail)
    log.append(entry(user()))
    assert log.path is not None
    with pytest.raises(SessionBusy):
        opened(log.path)
    log.close()


def test_children_do_not_inherit_the_lock(session: Path) -> None:
    log = opened(session)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False) as child:
        log.close()
        opened(session).close()
        child.kill()


def test_what_a_stranger_appends_is_read_told_and_kept(session: Path) -> None:
    told: list[str] = []
    log = opened(session, told)
    mine = log.append(entry(user("mine")))
    with session.open("a") as file:
        file.write(
            user_line("s1", "a", "strange") + "\n{damaged\n" + line("session_info", "s2", "s1", name="N")
        )
    after = log.append(entry(answer("after")))
    assert len(told) == 1
    assert "2 entries" in told[0]
    assert after.parent_id == mine.id
    assert [record.entry.id for record in log.records] == ["a", mine.id, "s1", "s2", after.id]
    assert [log.raw(record) for record in log.records] == [
        row for row in session.read_bytes().split(b"\n")[1:] if row and row != b"{damaged"
    ]
    assert len(log.projection.messages) == 3
    assert log.name == "N"
    log.close()
    again = opened(session)
    assert [item.id for item in again.branch()] == ["a", mine.id, after.id]
    again.close()


@pytest.mark.parametrize("left", [0, 1, 60, 150, 250, 300, 400])
def test_what_a_stranger_cuts_off_is_told_and_written_again(session: Path, left: int) -> None:
    told: list[str] = []
    log = opened(session, told)
    log.append(entry(answer("reply")))
    assert session.stat().st_size > 400
    os.truncate(session, left)
    log.append(entry(user("after")))
    assert len(told) == 1
    assert "shortened" in told[0]
    assert log.unsaved == 0
    raw = [log.raw(record) for record in log.records]
    log.close()
    again = opened(session)
    assert texts(again)[0] == "first"
    assert texts(again)[-1] == "after"
    assert len(again.projection.messages) == 3
    assert [again.raw(record) for record in again.records] == raw
    again.close()


@pytest.mark.parametrize("room", [0, 1, 50, 150])
def test_a_full_disk_is_told_at_once_and_loses_nothing(session: Path, room: int) -> None:
    told: list[str] = []
    log = opened(session, told)
    before = session.read_bytes()
    with file_size_limit(len(before) + room):
        for number in range(3):
            log.append(entry(user(f"number {number}")))
        assert len(told) == 1
        assert "cannot be saved" in told[0]
        assert 0 < log.unsaved <= 3
        assert len(log.projection.messages) == 4
        assert b"number 2" in log.raw(log.records[-1])
    log.append(entry(user("number 3")))
    assert log.unsaved == 0
    assert "saved again" in told[1]
    log.close()
    assert session.read_bytes().startswith(before)
    again = opened(session)
    assert texts(again) == ["first", *(f"number {number}" for number in range(4))]
    assert [again.raw(a) for a in again.records[1:]] == [log.raw(b) for b in log.records[1:]]
    again.close()


@pytest.mark.parametrize("room", range(0, 700, 23))
def test_a_disk_that_fills_at_any_byte_of_the_first_write_keeps_the_session_whole(
    tmp_path: Path, room: int
) -> None:
    log = SessionLog.create(tmp_path, tmp_path / "sessions", report=lambda text: None)
    log.append(entry(answer("early")))
    with file_size_limit(room):
        log.append(entry(user("question")))
    log.append(entry(answer("reply")))
    assert log.unsaved == 0
    assert log.path is not None
    log.close()
    again = opened(log.path)
    assert len(again.records) == 3
    assert again.records[-1].entry == log.records[-1].entry
    again.close()


def test_entries_unsaved_at_the_end_are_counted(session: Path) -> None:
    log = opened(session)
    with file_size_limit(session.stat().st_size):
        log.append(entry(user()))
        assert log.unsaved == 1
        assert not log.close()


def test_a_removed_file_is_told_and_saving_goes_on_when_it_is_back(session: Path, tmp_path: Path) -> None:
    told: list[str] = []
    log = opened(session, told)
    session.rename(tmp_path / "away")
    log.append(entry(user("one")))
    log.append(entry(user("two")))
    assert len(told) == 1
    assert "removed or renamed" in told[0]
    assert (log.unsaved, len(log.projection.messages)) == (2, 3)
    (tmp_path / "away").rename(session)
    assert log.save()
    assert "saved again" in told[1]
    assert len(rows(session)) == 4
    log.close()


def test_a_restored_copy_is_taken_up_and_locked(session: Path, tmp_path: Path) -> None:
    log = opened(session)
    content = session.read_bytes()
    session.unlink()
    log.append(entry(user("one")))
    assert log.unsaved == 1
    session.write_bytes(content)
    log.append(entry(user("two")))
    assert log.unsaved == 0
    assert session.read_bytes().startswith(content)
    assert len(rows(session)) == 4
    with pytest.raises(SessionBusy):
        opened(session)
    log.close()


def test_another_file_in_its_place_is_never_written_to(session: Path) -> None:
    told: list[str] = []
    log = opened(session, told)
    session.unlink()
    session.write_text("something else entirely, and longer than the session was before it went away " * 9)
    before = session.read_bytes()
    log.append(entry(user("one")))
    assert session.read_bytes() == before
    assert "another file" in told[0]
    assert log.unsaved == 1
    log.close()


def test_a_file_that_appears_where_a_session_was_to_begin_is_left_alone(tmp_path: Path) -> None:
    told: list[str] = []
    log = SessionLog.create_at(tmp_path, tmp_path / "s.jsonl", report=told.append)
    (tmp_path / "s.jsonl").write_text("mine")
    log.append(entry(user()))
    assert (tmp_path / "s.jsonl").read_text() == "mine"
    assert log.unsaved == 1
    assert "has appeared" in told[0]
    log.close()


UNPRIVILEGED = """
import os, sys
from pathlib import Path
from relay.session.errors import SessionError
from relay.session.log import SessionLog
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
folder = Path(sys.argv[1])
try:
    if sys.argv[2] == "create":
        SessionLog.create(folder, folder / "deep" / "er", report=print)
    else:
        SessionLog.open(folder / "s.jsonl", cwd=folder, report=print, writable=sys.argv[2] == "open")
    print("worked")
except SessionError as error:
    print(error)
"""


@pytest.fixture
def open_parents(tmp_path: Path) -> Iterator[Path]:
    """A folder that another user can reach but not write."""
    folder = tmp_path / "locked"
    folder.mkdir()
    changed = [(path, path.stat().st_mode) for path in tmp_path.parents if not path.stat().st_mode & 0o001]
    for path, mode in changed:
        path.chmod(mode | 0o011)
    tmp_path.chmod(0o755)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)
    for path, mode in changed:
        path.chmod(mode)


def test_a_folder_that_cannot_be_written_is_named_at_the_start(open_parents: Path) -> None:
    said = run(UNPRIVILEGED, open_parents, "create")
    assert f"cannot be saved in {open_parents / 'deep' / 'er'}" in said
    assert f"{open_parents} is not writable" in said
    assert "--no-session" in said


def test_a_session_of_somebody_else_can_be_read_but_not_continued(open_parents: Path) -> None:
    open_parents.chmod(0o755)
    write_session(open_parents / "s.jsonl", user_line("a", None)).chmod(0o444)
    open_parents.chmod(0o555)
    said = run(UNPRIVILEGED, open_parents, "open")
    assert "cannot be opened: permission denied" in said
    assert "--no-session" in said
    assert run(UNPRIVILEGED, open_parents, "read") == "worked\n"


def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("")
    with pytest.raises(SessionError, match="sessions is not a folder.*--no-session"):
        SessionLog.create(tmp_path, tmp_path / "sessions" / "x", report=pytest.fail)


WRITER = """
import sys
from pathlib import Path
from relay.session.log import SessionLog
from tests.session.samples import entry, user
log = SessionLog.open(Path(sys.argv[1]), cwd=Path("/project"), report=print)
number = 0
while True:
    log.append(entry(user(f"{number} " + "x" * (number * 7919 % 100_000))))
    print(number, flush=True)
    number += 1
"""


@pytest.mark.parametrize("after", [1, 5, 20, 50])
def test_what_was_acknowledged_survives_a_kill(session: Path, after: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(session)], stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        for _ in range(after):
            process.stdout.readline()
        process.kill()
        said = [int(row) for row in process.stdout.read().split()]
        acknowledged = max([after - 1, *said])
    log = opened(session)
    numbers = [int(text.split()[0]) for text in texts(log)[1:]]
    assert numbers[: acknowledged + 1] == list(range(acknowledged + 1))
    log.close()


def test_causes_are_told_in_words() -> None:
    assert _reason(OSError(errno.ENOSPC, "x")) == "the disk is full"
    assert _reason(OSError(errno.EIO, "Input/output error")) == "Input/output error"
    assert _reason(SessionBusy(Path("/s"), 7)) == "it is open in process 7"
