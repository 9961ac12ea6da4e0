"""Context files: which one of a folder, in which order, and what odd files give."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from relay.config.context_files import LARGEST, find_context_files, read_bounded


def texts(cwd: Path, agent: Path) -> list[str]:
    return [file.text for file in find_context_files(cwd, agent).files]


def test_the_order_is_user_then_from_outside_to_inside(tmp_path: Path) -> None:
    agent, cwd = tmp_path / "agent", tmp_path / "w" / "a" / "b"
    for folder in (agent, cwd):
        folder.mkdir(parents=True)
    (agent / "AGENTS.md").write_text("user")
    (tmp_path / "w" / "CLAUDE.md").write_text("outer")
    (tmp_path / "w" / "a" / "AGENTS.md").write_text("replaced")
    (tmp_path / "w" / "a" / "AGENTS.override.md").write_text("middle")
    (cwd / "CLAUDE.md").write_text("not read")
    (cwd / "AGENTS.md").write_text("inner")
    assert texts(cwd, agent) == ["user", "outer", "middle", "inner"]
    assert texts(cwd.parent, agent) == ["user", "outer", "middle"]
    (cwd / "AGENTS.override.md").write_text("\n")
    assert texts(cwd, agent) == ["user", "outer", "middle"]


@pytest.mark.parametrize("name", ["AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"])
def test_each_name_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    (tmp_path / "agents.txt").write_text("y")
    (tmp_path / "AGENTS.override.md").mkdir(exist_ok=True) if name != "AGENTS.override.md" else None
    assert texts(tmp_path, tmp_path / "none") == ["x"]


def test_one_file_is_read_once(tmp_path: Path) -> None:
    cwd = tmp_path / "a"
    cwd.mkdir()
    (tmp_path / "AGENTS.md").write_text("x")
    (cwd / "AGENTS.md").symlink_to(tmp_path / "AGENTS.md")
    assert texts(cwd, tmp_path) == ["x"]


@pytest.mark.parametrize(
    ("raw", "text", "problem"),
    [
        (b"\xef\xbb\xbfhi\r\n", "hi\r\n", ""),
        ("hi ü".encode("utf-16"), "hi ü", ""),
        (b"caf\xe9", "caf�", "UTF-8"),
        (b"\xff\xfeh\x00i", "h", ""),
        (b"a\n" * LARGEST, "a\n" * (LARGEST // 2), "larger"),
        ("ä".encode() * LARGEST, "ä" * (LARGEST // 2), "larger"),
        (b"x" + "ä".encode() * LARGEST, "x" + "ä" * (LARGEST // 2 - 1), "larger"),
    ],
)
def test_odd_content_is_bounded_and_named(tmp_path: Path, raw: bytes, text: str, problem: str) -> None:
    path = tmp_path / "AGENTS.md"
    path.write_bytes(raw)
    found = find_context_files(tmp_path, tmp_path / "none")
    assert [file.text for file in found.files] == [text]
    if problem:
        assert len(found.problems) == 1
        assert str(path) in found.problems[0] and problem in found.problems[0]
    else:
        assert found.problems == ()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    read = read_bounded(tmp_path / "AGENTS.md")
    assert read.text is None
    assert str(tmp_path / "AGENTS.md") in read.problems[0]


def test_what_is_no_file_is_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "AGENTS.md")
    (tmp_path / "CLAUDE.md").write_text("x")
    assert texts(tmp_path, tmp_path / "none") == ["x"]
