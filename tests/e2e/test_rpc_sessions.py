"""RPC over the real command: other sessions, forks, the tree, and the user's own commands."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.harness import Place, Record
from tests.e2e.server import ScriptedServer, text


def test_a_prompt_sent_behind_new_session_goes_to_the_new_one(place: Place, server: ScriptedServer) -> None:
    server.add(text("one"), text("two"))
    with place.rpc() as rpc:
        rpc.prompt("a")
        first = rpc.ask("get_state")["data"]
        rpc.send("new_session", parentSession=first["sessionFile"])
        rpc.prompt("b")
        second = rpc.ask("get_state")["data"]
        assert rpc.finish() == 0
    assert second["sessionId"] != first["sessionId"]
    saved = [json.loads(row) for row in Path(second["sessionFile"]).read_bytes().splitlines()]
    assert saved[0]["parentSession"] == first["sessionFile"]
    assert [row["message"]["role"] for row in saved if row["type"] == "message"][-2:] == ["user", "assistant"]


def test_a_failed_switch_is_answered_and_the_session_goes_on(place: Place, server: ScriptedServer) -> None:
    server.add(text("one"))
    with place.rpc() as rpc:
        for fields in ({"sessionPath": "/dev/null"}, {"sessionPath": ""}, {}):
            answer = rpc.ask("switch_session", **fields)
            assert not answer["success"] and answer["error"]
        assert not rpc.ask("fork", entryId="nosuch")["success"]
        assert not rpc.ask("clone")["success"]
        rpc.prompt("a")
        assert rpc.finish() == 0


def test_a_chain_deeper_than_any_stack_can_be_counted_and_copied(
    place: Place, server: ScriptedServer
) -> None:
    count = 30_000
    path = place.home / "deep.jsonl"
    rows: list[Record] = [
        {"type": "session", "version": 3, "id": "deep", "timestamp": "2024-12-03T14:00:00.000Z", "cwd": ""}
    ]
    rows += [
        {"type": "message", "id": f"{n:08x}", "parentId": f"{n - 1:08x}" if n else None, "timestamp": "",
         "message": {"role": "user", "content": str(n), "timestamp": 1}}
        for n in range(count)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with place.rpc("--session", str(path)) as rpc:
        assert rpc.ask("get_session_stats")["data"]["userMessages"] == count
        assert rpc.ask("fork", entryId=f"{count - 1:08x}")["data"]["text"] == str(count - 1)
        assert rpc.ask("clone")["success"]
        assert rpc.ask("get_state")["data"]["messageCount"] == count - 1
        assert rpc.finish() == 0
