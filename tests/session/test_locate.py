from __future__ import annotations

import os
from pathlib import Path

import pytest

from relay.session.entries import Header
from relay.session.errors import SessionError
from relay.session.locate import (
    Elsewhere,
    Existing,
    Folder,
    Fresh,
    Nothing,
    check_session_id,
    default_folder,
    file_name,
    newest,
    read_header,
    resolve,
    with_id,
)
from tests.session.samples import user_line, write_session


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """The folder of a project, below the folder of all sessions."""
    (tmp_path / "project").mkdir()
    return default_folder(tmp_path / "sessions", tmp_path / "project")


def put(folder: Folder, id: str, *, age: int = 0, cwd: str | None = None, name: str | None = None) -> Path:
    """A session file, `age` seconds old."""
    path = folder.path / (name or f"2024-01-02T03-04-05-678Z_{id}.jsonl")
    write_session(path, user_line("a", None), id=id, cwd=str(folder.cwd) if cwd is None else cwd)
    os.utime(path, (1_700_000_000 - age,) * 2)
    return path


@pytest.mark.parametrize("id", ["a", "A1", "my.work_1", "0-9", "11111111-2222-4333-8444-555555555555"])
def test_ids_that_are_allowed(id: str) -> None:
    check_session_id(id)


def test_the_newest_session_is_the_one_changed_last(folder: Folder) -> None:
    assert newest(folder) is None
    put(folder, "old", age=50)
    put(folder, "young", age=1, name="2020-01-01T00-00-00-000Z_young.jsonl")
    found = newest(folder)
    assert found is not None
    assert (found.header.id, found.modified) == ("young", 1_699_999_999)


def test_what_is_no_session_is_passed_over(folder: Folder) -> None:
    put(folder, "good", age=50)
    (folder.path / "text.jsonl").write_text("hello\n")
    (folder.path / "empty.jsonl").write_text("")
    (folder.path / "torn.jsonl").write_text('{"type":"sess')
    (folder.path / "folder.jsonl").mkdir()
    (folder.path / "dangling.jsonl").symlink_to("nowhere")
    os.mkfifo(folder.path / "pipe.jsonl")
    put(folder, "other", name="notes.txt")
    found = newest(folder)
    assert found is not None
    assert found.header.id == "good"
    assert read_header(folder.path / "gone") is None
    assert read_header(folder.path) is None


def test_only_heads_are_read(folder: Folder) -> None:
    path = put(folder, "huge")
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    found = newest(folder)
    assert found is not None
    assert found.header.id == "huge"


def test_a_folder_of_the_users_choice_keeps_directories_apart(tmp_path: Path) -> None:
    shared_folder = Folder(tmp_path, Path("/here"))
    put(shared_folder, "mine", age=50)
    theirs = put(shared_folder, "theirs", cwd="/there")
    found = newest(shared_folder)
    assert found is not None
    assert found.header.id == "mine"
    assert resolve("theirs", shared_folder) == Elsewhere(theirs, "/there")
    assert with_id(shared_folder, "theirs") is None


def test_two_directories_with_one_folder_name_do_not_mix(tmp_path: Path) -> None:
    dashed = default_folder(tmp_path, Path("/a-b"))
    nested = put(dashed, "nested", cwd="/a/b")
    put(dashed, "mine", age=50)
    put(dashed, "moved", age=70, cwd="/somewhere/else")
    found = newest(dashed)
    assert found is not None
    assert found.header.id == "mine"
    assert resolve("nested", dashed) == Elsewhere(nested, "/a/b")
    assert isinstance(resolve("moved", dashed), Existing)


def test_a_path_is_taken_as_it_is(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(folder, "one")
    assert resolve(str(path), folder) == Existing(path)
    assert resolve("sub/chat", folder) == Fresh(folder.cwd / "sub/chat")
    assert resolve("chat.jsonl", folder) == Fresh(folder.cwd / "chat.jsonl")
    monkeypatch.setenv("HOME", str(folder.cwd))
    assert resolve("~/chat.jsonl", folder) == Fresh(folder.cwd / "chat.jsonl")
    (folder.cwd / "plain").write_text("x")
    assert resolve("plain", folder) == Existing(folder.cwd / "plain")
    with pytest.raises(SessionError, match="needs a path"):
        resolve("", folder)


def test_ids_whole_before_partial_and_newer_before_older(folder: Folder) -> None:
    put(folder, "abc-one", age=50)
    put(folder, "abc-two", age=10)
    short = put(folder, "abc", age=90)
    put(folder, "Xyz", age=1)
    two = folder.path / "2024-01-02T03-04-05-678Z_abc-two.jsonl"
    assert resolve("abc-", folder) == Existing(two)
    assert resolve("abc", folder) == Existing(short)
    assert resolve("xyz", folder) == Nothing()
    assert resolve("bc", folder) == Nothing()


def test_the_header_names_the_id_whatever_the_file_is_called(folder: Folder) -> None:
    path = put(folder, "real", name="renamed.jsonl")
    assert resolve("rea", folder) == Existing(path)
    assert resolve("renamed", folder) == Nothing()


def test_an_id_of_another_directory_is_told_apart(folder: Folder) -> None:
    assert folder.root is not None
    other = default_folder(folder.root, Path("/other"))
    older = put(other, "far-away", age=9)
    newer = put(default_folder(folder.root, Path("/third")), "far-off", age=1)
    assert resolve("far-away", folder) == Elsewhere(older, "/other")
    assert resolve("far", folder) == Elsewhere(newer, "/third")
    own = put(folder, "far-here", age=99)
    assert resolve("far", folder) == Existing(own)


def test_with_id_wants_the_whole_id_in_this_directory(folder: Folder) -> None:
    assert folder.root is not None
    put(default_folder(folder.root, Path("/other")), "work")
    assert with_id(folder, "work") is None
    path = put(folder, "work", age=9)
    put(folder, "work-more")
    found = with_id(folder, "work")
    assert found is not None
    assert found.path == path


def test_folders_that_are_not_there_hold_nothing(tmp_path: Path) -> None:
    nowhere = default_folder(tmp_path / "no" / "sessions", tmp_path)
    assert newest(nowhere) is None
    assert with_id(nowhere, "x") is None
    assert resolve("x", nowhere) == Nothing()


def test_folders_and_files_are_named_as_the_format_says() -> None:
    header = Header(id="abc", timestamp="2024-12-03T14:00:00.123Z")
    assert file_name(header) == "2024-12-03T14-00-00-123Z_abc.jsonl"
    assert default_folder(Path("/s"), Path("/a/b")) == Folder(Path("/s/--a-b--"), Path("/a/b"), Path("/s"))


def test_a_deep_directory_gets_a_folder_that_file_systems_take(tmp_path: Path) -> None:
    deep = Path("/" + "/".join(["a long name of a folder"] * 30))
    folder = default_folder(tmp_path, deep)
    folder.path.mkdir()
    assert folder.path.is_dir()
