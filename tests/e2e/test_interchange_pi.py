"""A session of either program goes on in the other with the same conversation in its request."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.interchange.programs import MODELS, RELAY, Desk, Program, body_of, pi
from tests.e2e.interchange.records import Written, every_kind
from tests.e2e.interchange.shapes import check
from tests.e2e.interchange.stories import alike, context, eventful, read_and_edit
from tests.e2e.interchange.wires import Answer, written
from tests.e2e.server import ScriptedServer
from tests.shared import shared

pytestmark = pytest.mark.shared

every_model = pytest.mark.parametrize("model", MODELS)
by_either = pytest.mark.parametrize("writer", ["relay", "pi"])


@pytest.fixture
def other() -> Program:
    return pi()


@pytest.fixture
def desk(tmp_path: Path, server: ScriptedServer, other: Program) -> Desk:
    return Desk(tmp_path, server)


def resumed(desk: Desk, program: Program, session: Path, model: str) -> list[Any]:
    """What `program` sends when it goes on with a copy of `session` and `model`."""
    copy = desk.copy(session, program.name)
    api = model.partition("/")[0]
    desk.server.add(written(api, Answer(9, "", "Gone on.")))
    ended = desk.run(program, "--session", str(copy), "--model", model, "-p", "next")
    assert ended.out == "Gone on.\n"
    current = json.loads(session.read_bytes().partition(b"\n")[0]).get("version") == 3
    if current:  # older versions are written anew
        assert copy.read_bytes().startswith(session.read_bytes())
    body = body_of(desk.server)
    if program is RELAY:
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


@every_model
def test_both_read_every_kind_of_entry_alike(desk: Desk, other: Program, model: str) -> None:
    written_before = Written(desk.cwd, model)
    every_kind(written_before)
    session = written_before.save(desk.temporary / "every_kind.jsonl")
    ours = alike(resumed(desk, RELAY, session, model))
    assert ours == alike(resumed(desk, other, session, model))


@pytest.mark.parametrize(("start", "end"), [*pairwise(MODELS), *pairwise(reversed(MODELS))])
def test_both_give_another_model_the_same(desk: Desk, other: Program, start: str, end: str) -> None:
    read_and_edit(desk, other, start)
    session = desk.session(other)
    ours = alike(resumed(desk, RELAY, session, end))
    assert ours == alike(resumed(desk, other, session, end))


@every_model
def test_both_read_a_long_session_of_version_1_alike(desk: Desk, other: Program, model: str) -> None:
    """A thousand lines of real work with one model, gone on with another."""
    text = shared("lab/sessions/real-1.jsonl").read_text().replace("/home/dev/src/pi-mono", str(desk.cwd))
    session = desk.temporary / "real.jsonl"
    session.write_text(text)
    ours = alike(resumed(desk, RELAY, session, model))
    assert len(ours) > 800
    assert ours == alike(resumed(desk, other, session, model))
