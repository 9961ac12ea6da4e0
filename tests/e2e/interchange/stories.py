"""Conversations that either program can hold, and what of a request the other must send again."""

from __future__ import annotations

import base64
from typing import Any

from tests.e2e.interchange.programs import Desk, Program
from tests.e2e.interchange.wires import ANTHROPIC, CHAT, GOOGLE, RESPONSES, Answer, written
from tests.e2e.server import Gate, Reply, failure

LOOK = Answer(1, "First I look.", "Reading it.", (("call_r1", "read", {"path": "a.txt"}),))
EDIT = {"path": "a.txt", "edits": [{"oldText": "two", "newText": "three"}]}
CHANGE = Answer(2, "Now I change it.", "", (("call_e1", "edit", EDIT),))
LAST = Answer(3, "That was all.", "The file is changed.")

PNG = base64.b64encode(
    base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
).decode()
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}


def read_and_edit(desk: Desk, program: Program, model: str) -> list[dict[str, Any]]:
    """One prompt, three requests: a read, an edit, the end, each with thinking. Returns the events."""
    api = model.partition("/")[0]
    (desk.cwd / "a.txt").write_text("one\ntwo\n")
    desk.server.add(*(written(api, answer) for answer in (LOOK, CHANGE, LAST)))
    ended = desk.run(program, "--mode", "json", "--model", f"{model}:high", "change it")
    assert (desk.cwd / "a.txt").read_text() == "one\nthree\n"
    return ended.records


def eventful(desk: Desk, program: Program, model: str, *, shell: bool) -> None:
    """An image, a failed attempt, a steered run, a cut and an aborted answer; with `shell` commands too."""
    api = model.partition("/")[0]
    (desk.cwd / "a.txt").write_text("one\ntwo\n")
    looking, steered = held(api, LOOK)
    stopped, aborted = held(api, Answer(6, "Long thoughts.", "Half of it"))
    desk.server.add(
        failure(500),
        looking,
        written(api, Answer(4, "", "I saw both.")),
        written(api, Answer(5, "Too much.", "This is cut", cut=True)),
        stopped,
    )
    with desk.rpc(program, "--model", f"{model}:high") as process:
        if shell:
            assert process.ask("bash", command="echo shown; exit 3")["success"]
            assert process.ask("bash", command="echo hidden", excludeFromContext=True)["success"]
        assert process.ask("prompt", message="look at this", images=[IMAGE])["success"]
        steered.wait_reached()
        assert process.ask("steer", message="and at this")["success"]
        steered.open.set()
        process.event("agent_settled")
        process.prompt("write a lot")
        before = len(process.records)
        assert process.ask("prompt", message="go on")["success"]
        aborted.wait_reached()
        process.event("message_update", after=before)
        assert process.ask("abort")["success"]
        process.event("agent_settled", after=before)
        aborted.open.set()
        assert process.finish() == 0


def held(api: str, answer: Answer) -> tuple[Reply, Gate]:
    """The answer, held back before the record that ends it; what it says has been sent by then."""
    reply, gate = written(api, answer), Gate()
    last = len(reply.pieces) - (1 if api == GOOGLE else 2)
    return Reply(reply.pieces, gates={last: gate}), gate


def context(api: str, body: dict[str, Any]) -> list[Any]:
    """The conversation in a request without the system prompt; one text is the same as a list of one text."""
    if api == GOOGLE:
        return list(body["contents"])
    spoken = body["input" if api == RESPONSES else "messages"]
    found = [m for m in spoken if m.get("role") not in ("system", "developer")]
    if api in (CHAT, ANTHROPIC):
        found = [{**m, "content": _parts(m["content"])} if m["role"] == "user" else m for m in found]
    return found


def _parts(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


ID_KEYS = ("id", "call_id", "tool_call_id", "tool_use_id")
"""Where the protocols name calls and items."""

UNSIGNED = "skip_thought_signature_validator"
"""What stands for the signature of a call that no Gemini model made."""


def alike(value: Any, names: dict[str, int] | None = None) -> Any:
    """`value` with ids numbered in the order in which they come, and without what a program makes up itself.

    For a model that did not write the conversation each program makes valid ids in its own way.
    """
    names = {} if names is None else names
    if isinstance(value, list):
        return [alike(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    made_up = value.get("type") == "message" and value.get("role") == "assistant"
    kept: dict[str, Any] = {}
    for key, item in sorted(value.items()):
        if key in ID_KEYS:
            kept[key] = None if made_up else names.setdefault(item, len(names))
        elif item != UNSIGNED:
            kept[key] = alike(item, names)
    return kept
