"""Files: JSON positions, and writes that are whole, keep modes and follow symlinks."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from relay.base.files import PRIVATE, JsonFileError, read_json, write_atomic


@pytest.mark.parametrize(
    ("raw", "line", "column", "word"),
    [
        (b"", 1, 1, "empty"),
        (b"\xef\xbb\xbf  \n", 1, 1, "empty"),
        (b'{\n  "a": 1,\n}', 3, 1, "after the last entry"),
        (b'{"a" 1}', 1, 6, "colon"),
        (b'{"a": 1}\nx', 2, 1, "after the end"),
        (b'{\n "a": NaN}', 2, 7, "NaN"),
        (b'{"s": "NaN",\n "a": -Infinity}', 2, 7, "-Infinity"),
        (b'{"s": "\\"NaN", "a": NaN}', 1, 21, "NaN"),
        (b'{\n"a": "\xff"}', 2, 7, "0xff"),
        (b'{"a": "b', 1, 7, "closing quote"),
        (b"[" * 200_000, 1, 1, "nested"),
    ],
)
def test_a_broken_file_is_named_with_line_and_column(
    tmp_path: Path, raw: bytes, line: int, column: int, word: str
) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(raw)
    with pytest.raises(JsonFileError) as caught:
        read_json(path)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert word in error.reason
    assert f"{path}, line {line}, column {column}" in str(error)


def test_a_byte_order_mark_is_no_part_of_the_data(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": "\xe2\x80\xa8"}')
    assert read_json(path) == {"a": "\u2028"}


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "none.json")


def test_writing_keeps_the_mode_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text("old")
    path.chmod(0o640)
    write_atomic(path, "new ü")
    assert path.read_bytes() == "new ü".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["f.json"]


def test_a_private_file_and_its_new_folder_are_private(tmp_path: Path) -> None:
    path = tmp_path / "agent" / "auth.json"
    write_atomic(path, b"{}", mode=PRIVATE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_symlink_stays_and_its_target_changes(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "real.json"
    target.parent.mkdir()
    target.write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to(Path("dotfiles") / "real.json")
    write_atomic(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_dangling_symlink_gets_its_target(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "later" / "real.json")
    write_atomic(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "later" / "real.json").read_text() == "new"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser writes anywhere")
def test_a_folder_that_takes_no_files_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text("old")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            write_atomic(path, "new")
    finally:
        tmp_path.chmod(0o700)
    assert path.read_text() == "old"


def test_a_write_that_fails_midway_leaves_no_scraps(tmp_path: Path) -> None:
    path = tmp_path / "taken"
    path.mkdir()
    with pytest.raises(OSError):
        write_atomic(path, "new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]


def test_comments_and_last_commas_are_read_where_allowed(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text('{ // note, "x"\n "a": "// no, \\" comment ,]", /* b,\n c */ "d": [1, 2, ], }')
    assert read_json(path, comments=True) == {"a": '// no, " comment ,]', "d": [1, 2]}
    with pytest.raises(JsonFileError):
        read_json(path)


def test_positions_count_the_comments_too(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text('{ /* one\n two */ "a": 1,\n "b" 2 }')
    with pytest.raises(JsonFileError) as caught:
        read_json(path, comments=True)
    assert (caught.value.line, caught.value.column) == (3, 6)
