from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from relay.agent.tool import ToolError
from relay.tools.local import LocalOperations
from relay.tools.paths import locate, real_path, resolve_path

CWD = Path("/start/here")
PLACE = LocalOperations()


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("a.txt", "/start/here/a.txt"),
        ("./b/../a.txt", "/start/here/a.txt"),
        ("../a.txt", "/start/a.txt"),
        ("/x/y", "/x/y"),
        (".", "/start/here"),
        ("@src/a.py", "/start/here/src/a.py"),
        ("file:///x/a%20b", "/x/a b"),
        ("file://localhost/x/y", "/x/y"),
        ("FILE:///x/what?#now", "/x/what?#now"),
        ("a b ", "/start/here/a b "),
    ],
)
def test_paths_are_absolute_and_plain(written: str, path: str) -> None:
    assert resolve_path(written, CWD) == Path(path)


def test_home_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert resolve_path("~/notes", CWD) == Path("/home/someone/notes")
    assert resolve_path("~", CWD) == Path("/home/someone")
    assert resolve_path("a~b", CWD) == CWD / "a~b"


@pytest.mark.parametrize("written", ["", "@", "a\0b", "file://other/x", "a\ud83d"])
def test_what_is_no_path_is_refused_with_a_sentence(written: str) -> None:
    with pytest.raises(ToolError, match=r"\.$|local path"):
        resolve_path(written, CWD)
    assert real_path(written, CWD, PLACE, near=True) is None


@pytest.mark.parametrize(
    ("on_disk", "written"),
    [
        ("Screenshot 10.15.00\u202fAM.png", "Screenshot 10.15.00 AM.png"),
        ("Capture d\u2019écran.png", "Capture d'écran.png"),
        (unicodedata.normalize("NFD", "Capture d\u2019écran.png"), "Capture d'écran.png"),
        (unicodedata.normalize("NFD", "é.txt"), unicodedata.normalize("NFC", "é.txt")),
        ("a b.txt", "a\u00a0b.txt"),
        ("@types", "@types"),
    ],
)
def test_near_spellings_are_found_when_the_exact_one_is_absent(
    tmp_path: Path, on_disk: str, written: str
) -> None:
    file = tmp_path / on_disk
    file.write_text("x")
    assert locate(written, tmp_path, PLACE) == file
    assert real_path(written, tmp_path, PLACE, near=True) == os.path.realpath(file)


def test_the_exact_spelling_goes_first(tmp_path: Path) -> None:
    for name in ("a b", "a\u00a0b", "x", "@x"):
        (tmp_path / name).write_text("x")
    assert locate("a b", tmp_path, PLACE).name == "a b"
    assert locate("a\u00a0b", tmp_path, PLACE).name == "a\u00a0b"
    assert locate("@x", tmp_path, PLACE).name == "x"


def test_a_missing_file_keeps_its_path(tmp_path: Path) -> None:
    assert locate("it's 5 PM", tmp_path, PLACE) == tmp_path / "it's 5 PM"


def test_the_written_path_is_behind_the_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("real/new")
    base = os.path.realpath(tmp_path)
    assert real_path("link/f", tmp_path, PLACE, near=False) == f"{base}/real/f"
    assert real_path("dangling", tmp_path, PLACE, near=False) == f"{base}/real/new"
    assert real_path(None, tmp_path, PLACE, near=False) is None
    assert real_path(5, tmp_path, PLACE, near=False) is None
