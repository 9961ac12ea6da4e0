"""--fork with the real command."""

from __future__ import annotations

import pytest

from tests.e2e.harness import Place
from tests.e2e.server import ScriptedServer, text


@pytest.mark.parametrize("other", [("--session", "x"), ("--continue",), ("--no-session",)])
def test_a_fork_excludes_other_sessions(place: Place, other: tuple[str, ...]) -> None:
    ended = place.run("-p", "--fork", "abc", *other, "hi")
    assert ended.code == 1
    assert f"--fork cannot be combined with {other[0]}" in ended.err
    assert place.sessions() == []


def test_a_copy_goes_on_and_the_original_stays(place: Place, server: ScriptedServer) -> None:
    server.add(text("one"), text("two"))
    assert place.run("-p", "--session-id", "first", "hello").out == "one\n"
    (original,) = place.sessions()
    before = original.read_bytes()
    assert place.run("-p", "--fork", "fir", "--session-id", "second", "more").out == "two\n"
    assert original.read_bytes() == before
    (copy,) = (path for path in place.sessions() if path != original)
    assert copy.name.endswith("_second.jsonl")
    assert copy.read_bytes().splitlines()[1 : len(before.splitlines())] == before.splitlines()[1:]
