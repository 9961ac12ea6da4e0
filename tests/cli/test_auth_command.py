"""`relay auth`: keys go in unseen, are found again, and go away."""

from __future__ import annotations

import io
import json
import stat
from pathlib import Path

import pytest

from relay.cli.auth_command import AuthError, run
from relay.cli.errors import UsageError


class Desk:
    """Runs the command in a home of its own."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = home / ".relay" / "agent" / "auth.json"
        self._environ = {"HOME": str(home)}
        self._patch = monkeypatch

    def __call__(self, *argv: str, typed: str = "", **environ: str) -> tuple[int, str]:
        self._patch.setattr("sys.stdin", io.StringIO(typed))
        out = io.StringIO()
        return run(argv, {**self._environ, **environ}, out, io.StringIO()), out.getvalue()


@pytest.fixture
def desk(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(own_home, monkeypatch)


def test_a_piped_key_is_stored_for_the_user_alone_and_found(desk: Desk) -> None:
    code, text = desk("login", "anthropic", typed="sk-1\n")
    assert code == 0 and "sk-1" not in text
    assert stat.S_IMODE(desk.file.stat().st_mode) == 0o600
    assert json.loads(desk.file.read_text())["anthropic"]["key"] == "sk-1"
    assert desk("print-api-key", "anthropic") == (0, "sk-1\n")
    code, text = desk("check", "anthropic/claude-sonnet-4-5")
    assert code == 0 and str(desk.file) in text


def test_logout_deletes_and_can_be_repeated(desk: Desk) -> None:
    desk("login", "openai", typed="sk-2\n")
    assert desk("logout", "openai")[0] == 0
    assert desk("logout", "openai")[0] == 0
    assert desk("check", "openai")[0] == 1


def test_check_names_the_variable_that_counts(desk: Desk) -> None:
    code, text = desk("check", "openai", OPENAI_API_KEY="sk-3")
    assert code == 0 and "OPENAI_API_KEY" in text and "sk-3" not in text


def test_an_empty_key_stores_nothing(desk: Desk) -> None:
    with pytest.raises(AuthError, match="nothing was stored"):
        desk("login", "openai", typed="\n")
    assert not desk.file.exists()


def test_unknown_names_get_near_matches(desk: Desk) -> None:
    with pytest.raises(AuthError, match="anthropic"):
        desk("login", "antropic", typed="k\n")
    with pytest.raises(UsageError, match="relay auth login"):
        desk("frobnicate")
