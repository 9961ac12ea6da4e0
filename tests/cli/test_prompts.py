from __future__ import annotations

from pathlib import Path

import pytest

from relay.ai.types import TextContent, UserContent
from relay.cli.arguments import parse
from relay.cli.prompts import FileError, Prompts, make_prompts
from relay.config.settings import Images


def _prompts(cwd: Path, *argv: str, piped: str = "") -> Prompts:
    return make_prompts(parse(argv), piped, cwd, cwd, Images(auto_resize=True, block_images=False))


def _texts(prompts: Prompts) -> list[str]:
    return [_text(prompt) for prompt in prompts]


def _text(prompt: list[UserContent]) -> str:
    return "".join(block.text for block in prompt if isinstance(block, TextContent))


def test_each_message_is_a_prompt(tmp_path: Path) -> None:
    assert _texts(_prompts(tmp_path, "one", "two")) == ["one", "two"]


def test_piped_input_and_files_join_the_first(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A")
    first, second = _texts(_prompts(tmp_path, "@a.txt", "one", "two", piped="in"))
    assert first.startswith("in") and "\nA\n" in first and first.endswith("one")
    assert second == "two"


def test_an_empty_file_adds_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    assert _texts(_prompts(tmp_path, "@a.txt", "one")) == ["one"]
    assert _prompts(tmp_path, "@a.txt") == []


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_marked_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    raw = "grüße".encode(encoding)
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe" + raw if encoding == "utf-16-le" else raw)
    assert "grüße" in _texts(_prompts(tmp_path, "@a.txt"))[0]


def test_bytes_that_are_no_text_are_marked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"caf\xe9 au lait\n")
    assert "caf\ufffd au lait" in _texts(_prompts(tmp_path, "@a.txt"))[0]


@pytest.mark.parametrize("name", ["missing", "folder"])
def test_what_is_no_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match=f"@{name}"):
        _prompts(tmp_path, f"@{name}")


def test_blank_messages_are_no_prompts(tmp_path: Path) -> None:
    assert _prompts(tmp_path, " ", "", "\n") == []
