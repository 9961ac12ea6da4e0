"""`relay local`: what it prints, and what it says when it cannot."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from relay.ai.errors import ProviderError
from relay.cli.errors import UsageError
from relay.cli.local_command import Meter, run


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def call(agent: Path, *argv: str, stderr: io.StringIO | None = None) -> str:
    out = io.StringIO()
    environ = {"RELAY_CODING_AGENT_DIR": str(agent), "HOME": str(agent)}
    assert run(argv, environ, out, stderr or io.StringIO()) == 0
    return out.getvalue()


def test_list_shows_what_is_here_and_what_can_be_fetched(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mine.gguf").write_bytes(bytes(3 << 20))
    said = call(tmp_path, "list")
    assert "local/mine  3 MiB  " in said
    assert "smollm2 can be fetched" in said
    assert "Apache-2.0" in said


def test_remove_deletes(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mine.gguf").write_bytes(b"GGUF")
    assert call(tmp_path, "remove", "mine").startswith("Removed ")
    assert not (tmp_path / "models" / "mine.gguf").exists()
    with pytest.raises(ProviderError, match="No local model is named mine"):
        call(tmp_path, "remove", "mine")


@pytest.mark.parametrize("argv", [[], ["pull"], ["remove"], ["list", "x"], ["fetch", "x"]])
def test_wrong_usage_shows_the_right_one(tmp_path: Path, argv: list[str]) -> None:
    with pytest.raises(UsageError, match="relay local pull NAME"):
        call(tmp_path, *argv)


def test_help_is_no_error(tmp_path: Path) -> None:
    assert "relay local list" in call(tmp_path, "--help")


def test_an_unknown_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="does not know where to fetch huge"):
        call(tmp_path, "pull", "huge")


def test_a_models_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(ProviderError, match=r"The folder of local models, .*models, cannot be used"):
        call(tmp_path, "pull", "smollm2")


def test_progress_is_one_line_of_a_terminal() -> None:
    stream = Terminal()
    meter = Meter(stream)
    for done in (0, 1 << 20, 1 << 20, 2 << 20):
        meter.show("downloading", done, 2 << 20)
    meter.end()
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().split("\r")[1:] == [
        "downloading:   0 %, 0 of 2 MiB\x1b[K",
        "downloading:  50 %, 1 of 2 MiB\x1b[K",
        "downloading: 100 %, 2 of 2 MiB\x1b[K\n",
    ]


def test_elsewhere_each_stage_is_told_once() -> None:
    stream = io.StringIO()
    meter = Meter(stream)
    for done in range(5):
        meter.show("downloading", done << 20, 0)
    meter.show("unpacking", 0, 5)
    meter.end()
    assert stream.getvalue() == "downloading …\nunpacking …\n"
