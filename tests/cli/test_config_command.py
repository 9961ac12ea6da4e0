"""`relay config`: values and their origins, checks before writing, and files that must not be written."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from relay.cli.config_command import run
from relay.config.schema import SETTINGS


class Shell:
    """Runs the command in a project below `tmp_path` with an own home."""

    def __init__(self, tmp_path: Path) -> None:
        self.cwd = tmp_path / "work"
        self.home = tmp_path / "home"
        self.cwd.mkdir()
        self.home.mkdir()
        self.user_file = self.home / ".relay" / "agent" / "settings.json"
        self.project_file = self.cwd / ".relay" / "settings.json"

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        code = run(argv, {"HOME": str(self.home)}, out, err, cwd=self.cwd)
        return code, out.getvalue(), err.getvalue()

    def write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_get_shows_the_value_and_where_it_comes_from(shell: Shell) -> None:
    assert shell("get", "theme") == (0, '"system"  (default)\n', "")
    shell.write(shell.user_file, '{"theme": "dark"}')
    assert shell("get", "theme") == (0, f'"dark"  (user: {shell.user_file})\n', "")
    shell.write(shell.project_file, '{"theme": "light"}')
    assert shell("get", "theme", "-a") == (0, f'"light"  (project: {shell.project_file})\n', "")
    code, out, err = shell("get", "theme")
    assert (code, out.split()[0]) == (0, '"dark"')
    assert "--approve" in err and str(shell.project_file) in err
    assert shell("get", "theme", "-na")[2] == ""
    row = json.loads(shell("get", "theme", "--json", "-na")[1])
    assert row == {"key": "theme", "value": "dark", "origin": "user", "file": str(shell.user_file)}
    assert shell("get", "enabledModels")[1] == "(all usable models)  (default)\n"


def test_default_project_trust_decides_what_counts(shell: Shell) -> None:
    shell.write(shell.project_file, '{"theme": "light"}')
    shell.write(shell.user_file, '{"defaultProjectTrust": "always"}')
    assert shell("get", "theme")[1].startswith('"light"')
    shell.write(shell.user_file, '{"defaultProjectTrust": "never"}')
    assert shell("get", "theme")[1].startswith('"system"')
    shell.write(shell.user_file.parent / "trust.json", json.dumps({str(shell.cwd.parent.resolve()): True}))
    assert shell("get", "theme")[1].startswith('"light"')


def test_set_and_unset_change_one_file(shell: Shell) -> None:
    code, out, err = shell("set", "theme", "dark")
    assert (code, err) == (0, "") and str(shell.user_file) in out
    assert json.loads(shell.user_file.read_text()) == {"theme": "dark"}
    assert shell("set", "-l", "retry.provider.maxRetries", "2")[0] == 0
    assert json.loads(shell.project_file.read_text()) == {"retry": {"provider": {"maxRetries": 2}}}
    assert shell("unset", "theme")[0] == 0
    assert json.loads(shell.user_file.read_text()) == {}
    assert "does not stand" in shell("unset", "theme")[1]
    assert shell("set", "modelThinkingLevels.openai/gpt-5.4", "high")[0] == 0
    assert shell("get", "modelThinkingLevels.openai/gpt-5.4")[1].startswith('"high"')
    assert shell("get", "modelThinkingLevels.openai/gpt-5")[1] == "null  (not set)\n"


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("defaultModel", "5", "5"),
        ("defaultModel", '"5"', "5"),
        ("shellCommandPrefix", "true", "true"),
        ("shellCommandPrefix", "-l", None),
        ("shellCommandPrefix", "-x", "-x"),
        ("defaultTools", '["-bash", "+grep"]', ["-bash", "+grep"]),
        ("retry.maxRetries", "0", 0),
        ("terminal.images", "false", False),
        ("quietStartup", "header", "header"),
        ("httpIdleTimeoutMs", "disabled", "disabled"),
        ("compaction.compression_ratio", "0.25", 0.25),
        ("laya.models", '{"fast": ["a/b"]}', {"fast": ["a/b"]}),
    ],
)
def test_a_value_is_json_where_that_fits_and_text_otherwise(
    shell: Shell, key: str, text: str, value: object
) -> None:
    code, _, _ = shell("set", key, text)
    if value is None:
        assert code == 2
        return
    assert code == 0
    found = json.loads(shell.user_file.read_text())
    for name in key.split("."):
        found = found[name]
    assert found == value


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        ((), 2, "get, set, unset or list"),
        (("show",), 2, "'show'"),
        (("get",), 2, "takes KEY"),
        (("get", "a", "b"), 2, "takes KEY"),
        (("set", "theme"), 2, "takes KEY and VALUE"),
        (("list", "--jsn"), 2, "--jsn"),
        (("get", "them"), 2, "theme"),
        (("set", "retry.maxRetrys", "1"), 2, "retry.maxRetries"),
        (("unset", "nonsense"), 2, "relay config list"),
        (("set", "retry.maxRetries", "-1"), 1, "the number -1"),
        (("set", "retry.maxRetries", "NaN"), 1, "whole number"),
        (("set", "retry.maxRetries", "1e999"), 1, "whole number"),
        (("set", "retry.maxRetries", "9" * 5000), 1, "whole number"),
        (("set", "defaultThinkingLevel", "hgih"), 1, '"xhigh"'),
        (("set", "defaultTools", "grep"), 1, "a list"),
        (("set", "thinkingBudgets.xhigh", "5"), 1, "xhigh"),
        (("set", "-l", "httpProxy", "http://x"), 1, "--local"),
        (("get", "-l", "theme"), 1, "does not set theme"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    shell: Shell, argv: Sequence[str], code: int, words: str
) -> None:
    found, out, err = shell(*argv)
    assert (found, out) == (code, "")
    assert words in err and "Traceback" not in err
    assert not shell.user_file.exists() and not shell.project_file.exists()


@pytest.mark.parametrize("raw", ['{"theme": "dark",}', "[]", "{} x", '{"theme": NaN}'])
def test_a_file_that_does_not_parse_is_refused(shell: Shell, raw: str) -> None:
    shell.write(shell.user_file, raw)
    for argv in (("set", "theme", "light"), ("unset", "theme")):
        code, out, err = shell(*argv)
        assert (code, out) == (1, "")
        assert str(shell.user_file) in err and "nothing was written" in err
    assert shell.user_file.read_text() == raw
    code, out, err = shell("get", "theme")
    assert (code, out) == (0, '"system"  (default)\n') and str(shell.user_file) in err


def test_list_shows_every_setting_and_points_out_unknown_names(shell: Shell) -> None:
    shell.write(shell.user_file, '{"them": 1, "retry": {"maxRetries": 9, "x": {"y": 1}}, "$schema": "s"}')
    code, out, err = shell("list")
    assert (code, err) == (0, "")
    assert all(any(line.startswith(f"{s.key} ") for line in out.splitlines()) for s in SETTINGS)
    assert "retry.maxRetries" in out and "9  (user)" in out
    assert "them is not a setting of Relay" in out and "theme" in out and "retry.x " in out
    assert "$schema" not in out
    rows = json.loads(shell("list", "--json")[1])
    assert [row["key"] for row in rows] == [s.key for s in SETTINGS]
    assert shell("list", "-l")[:2] == (0, out[out.index(str(shell.user_file)) :])


def test_control_sequences_of_a_file_do_not_reach_the_terminal(shell: Shell) -> None:
    evil = "\x1b]0;x\x07\x9b2J\u202e\ud800"
    shell.write(shell.project_file, json.dumps({evil: 1, "theme": evil, "tuiMode": evil, "skills": [[evil]]}))
    shell.write(shell.user_file.parent / "trust.json", json.dumps({evil: 1}))
    for argv in (("list", "-a"), ("get", "theme", "-a"), ("list", "-a", "--json")):
        code, out, err = shell(*argv)
        assert code == 0
        assert all(char.isprintable() or char == "\n" for char in out + err)
    assert json.loads(shell("get", "theme", "-a", "--json")[1])["value"] == evil


def test_help_is_shown(shell: Shell) -> None:
    code, out, err = shell("--help")
    assert (code, err) == (0, "") and "relay config set KEY VALUE" in out
