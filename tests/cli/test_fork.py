"""Tests of --fork on the command line."""

from __future__ import annotations

from relay.cli.arguments import parse


def test_a_fork_may_be_given_its_id() -> None:
    arguments = parse(["--fork", "abc", "--session-id", "mine"])
    assert (arguments.get("fork"), arguments.get("session_id")) == ("abc", "mine")
