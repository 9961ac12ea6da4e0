"""Tests of --fork on the command line."""

from __future__ import annotations

import pytest

from relay.cli.arguments import parse
from relay.cli.errors import ForkConflict
from relay.cli.main import main


@pytest.mark.parametrize("other", [["--session", "x"], ["--continue"], ["--no-session"]])
def test_a_fork_excludes_other_sessions(other: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ForkConflict, match="--fork cannot be combined with " + other[0]):
        parse(["--fork", "abc", *other])
    assert main(["--fork", "abc", *other]) == 1
    assert "--fork" in capsys.readouterr().err


def test_a_fork_may_be_given_its_id() -> None:
    arguments = parse(["--fork", "abc", "--session-id", "mine"])
    assert (arguments.get("fork"), arguments.get("session_id")) == ("abc", "mine")
