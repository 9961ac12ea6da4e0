"""One conversation through each adapter, and taken over by each other one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import messages_of, text_of
from tests.e2e.interchange.programs import MODELS, RELAY, Desk, body_of, read
from tests.e2e.interchange.records import Written, damage, every_kind
from tests.e2e.interchange.shapes import check
from tests.e2e.interchange.stories import CHANGE, LAST, LOOK, PNG, context, eventful, read_and_edit
from tests.e2e.interchange.wires import CHAT, Answer, written
from tests.e2e.server import ScriptedServer

every_model = pytest.mark.parametrize("model", MODELS)
every_end = pytest.mark.parametrize("end", MODELS)
every_start = pytest.mark.parametrize("start", MODELS)


def api_of(model: str) -> str:
    return model.partition("/")[0]


@pytest.fixture
def desk(tmp_path: Path, server: ScriptedServer) -> Desk:
    return Desk(tmp_path, server)


@every_model
def test_reads_and_edits(desk: Desk, server: ScriptedServer, model: str) -> None:
    events = read_and_edit(desk, RELAY, model)
    assert events[-1]["type"] == "agent_settled"
    assert len(server.requests) == 3
    for number in range(3):
        check(model, body_of(server, number))
    records = read(desk.session(RELAY))
    assert [record["type"] for record in records[:3]] == ["session", "model_change", "thinking_level_change"]
    messages = messages_of(records)
    roles = ["system", "user", "assistant", "toolResult", "assistant", "toolResult", "assistant"]
    assert [message["role"] for message in messages] == roles
    assert [blocks_of(messages[n]) for n in (2, 4, 6)] == [said(LOOK), said(CHANGE), said(LAST)]
    assert all(message["api"] == api_of(model) for message in messages if message["role"] == "assistant")
    assert "one\ntwo" in text_of(messages[3])
    assert [messages[n]["toolName"] for n in (3, 5)] == ["read", "edit"]
    assert not any(messages[n]["isError"] for n in (3, 5))


def blocks_of(message: dict[str, Any]) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for block in message["content"]:
        match block["type"]:
            case "toolCall":
                found.append(("toolCall", block["id"].partition("|")[0], block["name"], block["arguments"]))
            case kind:
                found.append((kind, block[kind]))
    return found


def said(answer: Answer) -> list[tuple[Any, ...]]:
    thought: list[tuple[Any, ...]] = [("thinking", answer.thinking)] if answer.thinking else []
    spoken: list[tuple[Any, ...]] = [("text", answer.text)] if answer.text else []
    return [*thought, *spoken, *(("toolCall", *call) for call in answer.calls)]


@every_start
@every_end
def test_another_model_takes_over(desk: Desk, server: ScriptedServer, start: str, end: str) -> None:
    read_and_edit(desk, RELAY, start)
    file = desk.session(RELAY)
    before = file.read_bytes()
    server.add(written(api_of(end), Answer(4, "", "Taken over.")))
    desk.run(RELAY, "--session", str(file), "--model", end, "-p", "next")
    body = body_of(server)
    check(end, body)
    conversation = repr(context(api_of(end), body))
    for words in ("change it", LOOK.text, LAST.text, "three", "next"):
        assert words in conversation
    for words in (LOOK.thinking, CHANGE.thinking):
        assert (words in conversation) == (start == end)
    own_signatures = start == end and api_of(end) != CHAT  # that protocol has none
    assert ("c2lnbmF0dXJl" in conversation) == own_signatures
    assert ("reasoning_content" in conversation) == (start == end and api_of(end) == CHAT)
    after = file.read_bytes()
    assert after.startswith(before)
    added = [message["role"] for message in messages_of(read(file))][7:]
    assert added == ["user", "assistant"]


@every_start
@every_end
def test_another_model_takes_over_after_trouble(
    desk: Desk, server: ScriptedServer, start: str, end: str
) -> None:
    """A failed, a cut and an aborted answer, an image and a steered run lie before the change."""
    eventful(desk, RELAY, start, shell=False)
    file = desk.session(RELAY)
    before = file.read_bytes()
    server.add(written(api_of(end), Answer(7, "", "Taken over.")))
    desk.run(RELAY, "--session", str(file), "--model", end, "-p", "next")
    body = body_of(server)
    check(end, body)
    conversation = repr(context(api_of(end), body))
    for words in ("look at this", "and at this", "I saw both.", "write a lot", "go on", PNG):
        assert words in conversation
    for words in ("Half of it", "Long thoughts.", "This is cut", "Too much."):
        assert words not in conversation
    assert file.read_bytes().startswith(before)


@every_model
@pytest.mark.parametrize("story", [every_kind, damage])
def test_what_was_left_in_a_file_makes_a_valid_request(
    desk: Desk, server: ScriptedServer, story: Callable[[Written], None], model: str
) -> None:
    written_before = Written(desk.cwd, model)
    story(written_before)
    session = written_before.save(desk.temporary / "left.jsonl")
    before = session.read_bytes()
    server.add(written(api_of(model), Answer(9, "", "Gone on.")))
    desk.run(RELAY, "--session", str(session), "-p", "next")
    body = body_of(server)
    check(model, body)
    conversation = repr(context(api_of(model), body))
    for words in ("secret", "hidden", "other branch", "second result", "result of nothing", "failed answer"):
        assert words not in conversation
    wanted = ("short", "note of an extension") if story is every_kind else ("result of b", "interrupted")
    assert all(words in conversation for words in wanted)
    assert session.read_bytes().startswith(before)
