"""A session of either program goes on in the other with the same conversation in its request."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.interchange.programs import MODELS, RELAY, Desk, Program, body_of, pi
from tests.e2e.interchange.shapes import check
from tests.e2e.interchange.stories import context, eventful, read_and_edit
from tests.e2e.interchange.wires import Answer, written
from tests.e2e.server import ScriptedServer

pytestmark = pytest.mark.shared

every_model = pytest.mark.parametrize("model", MODELS)
by_either = pytest.mark.parametrize("writer", ["relay", "pi"])


@pytest.fixture
def other() -> Program:
    return pi()


@pytest.fixture
def desk(tmp_path: Path, server: ScriptedServer, other: Program) -> Desk:
    return Desk(tmp_path, server)


def resumed(desk: Desk, program: Program, session: Path, model: str) -> list[object]:
    """What `program` sends when it goes on with a copy of `session`; the copy only grows."""
    copy = desk.copy(session, program.name)
    api = model.partition("/")[0]
    desk.server.add(written(api, Answer(9, "", "Gone on.")))
    ended = desk.run(program, "--session", str(copy), "-p", "next")
    assert ended.out == "Gone on.\n"
    assert copy.read_bytes().startswith(session.read_bytes())
    body = body_of(desk.server)
    check(model, body)
    return context(api, body)


@every_model
@by_either
def test_both_send_the_same_after_a_read_and_an_edit(
    desk: Desk, other: Program, writer: str, model: str
) -> None:
    program = RELAY if writer == "relay" else other
    read_and_edit(desk, program, model)
    session = desk.session(program)
    ours = resumed(desk, RELAY, session, model)
    assert ours == resumed(desk, other, session, model)
    assert "Now I change it." in repr(ours)


@every_model
@by_either
def test_both_send_the_same_after_trouble(desk: Desk, other: Program, writer: str, model: str) -> None:
    program = RELAY if writer == "relay" else other
    shell = writer == "pi"  # run by the user, not by the model
    eventful(desk, program, model, shell=shell)
    session = desk.session(program)
    ours = resumed(desk, RELAY, session, model)
    theirs = resumed(desk, other, session, model)
    if shell:  # each program says in its own words what the user's command did
        for told in (repr(ours.pop(0)), repr(theirs.pop(0))):
            assert all(words in told for words in ("`echo shown; exit 3`", "shown", "exited with code 3"))
    assert ours == theirs
    assert "hidden" not in repr(ours)
