"""RPC over the real command: prompts, queues, aborts, the end of the input, signals."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from typing import Any

import pytest

from tests.e2e.harness import COMMAND, PATIENCE, Place, messages_of, text_of
from tests.e2e.server import Gate, Reply, Request, ScriptedServer, calls, failure, text
from tests.events_grammar import check_events


def test_a_prompt_is_accepted_then_runs_then_settles(place: Place, server: ScriptedServer) -> None:
    server.add(text("hello"))
    with place.rpc() as rpc:
        id = rpc.send("prompt", message="hi")
        rpc.event("agent_settled")
        assert rpc.response(id)["success"]
        check_events(rpc.records)
        assert rpc.ask("get_last_assistant_text")["data"] == {"text": "hello"}
        assert rpc.finish() == 0
        assert (rpc.stray, rpc.err) == ([], "")


def test_state_messages_and_entries_agree(place: Place, server: ScriptedServer) -> None:
    server.add(text("hello"))
    with place.rpc("--name", "Blue") as rpc:
        rpc.prompt("hi")
        state = rpc.ask("get_state")["data"]
        messages = rpc.ask("get_messages")["data"]["messages"]
        entries = rpc.ask("get_entries")["data"]
        assert rpc.finish() == 0
    saved = place.session()
    assert state["sessionId"] == saved[0]["id"]
    assert state["sessionFile"] == str(place.sessions()[0])
    assert (state["isStreaming"], state["sessionName"], state["model"]["id"]) == (False, "Blue", "m")
    assert state["messageCount"] == len(messages) == 3
    assert messages == messages_of(saved)
    assert entries["entries"] == saved[1:]
    assert entries["leafId"] == saved[-1]["id"]


def test_entries_since_an_entry(place: Place, server: ScriptedServer) -> None:
    server.add(text("hello"))
    with place.rpc() as rpc:
        rpc.prompt("hi")
        entries = rpc.ask("get_entries")["data"]["entries"]
        later = rpc.ask("get_entries", since=entries[1]["id"])["data"]["entries"]
        assert later == entries[2:]
        refused = rpc.ask("get_entries", since="ffffffff")
        assert not refused["success"] and "ffffffff" in refused["error"]


def test_a_prompt_while_a_run_is_under_way_needs_a_behaviour(place: Place, server: ScriptedServer) -> None:
    gate = Gate()
    server.add(text("first", gates={0: gate}), text("second"))
    with place.rpc() as rpc:
        rpc.ask("prompt", message="one")
        gate.wait_reached()
        refused = rpc.ask("prompt", message="two")
        assert not refused["success"] and "streamingBehavior" in refused["error"]
        assert rpc.ask("prompt", message="three", streamingBehavior="followUp")["success"]
        assert rpc.ask("get_state")["data"]["pendingMessageCount"] == 1
        gate.open.set()
        rpc.event("agent_settled")
        check_events(rpc.records)
    assert server.requests[1].texts("user") == ["one", "three"]


def test_steering_goes_before_follow_ups_and_none_is_lost(place: Place, server: ScriptedServer) -> None:
    gate = Gate()
    held = calls(("bash", {"command": "echo x"}))
    held.gates = {0: gate}
    server.add(held, text("a"), text("b"), text("c"))
    with place.rpc() as rpc:
        rpc.ask("prompt", message="start")
        gate.wait_reached()
        rpc.ask("follow_up", message="later")
        rpc.ask("steer", message="now")
        rpc.ask("steer", message="and now")
        gate.open.set()
        rpc.event("agent_settled")
        check_events(rpc.records)
    assert server.requests[-1].texts("user") == ["start", "now", "and now", "later"]


def test_clear_queue_gives_the_texts_back(place: Place, server: ScriptedServer) -> None:
    gate = Gate()
    server.add(text("a", gates={0: gate}))
    with place.rpc() as rpc:
        rpc.ask("prompt", message="start")
        gate.wait_reached()
        rpc.ask("steer", message="s")
        rpc.ask("follow_up", message="f")
        assert rpc.ask("clear_queue")["data"] == {"steering": ["s"], "followUp": ["f"]}
        gate.open.set()
        rpc.event("agent_settled")


def test_abort_while_the_model_streams(place: Place, server: ScriptedServer) -> None:
    gate = Gate()
    server.add(text("half", " never", gates={1: gate}), text("again"))
    with place.rpc() as rpc:
        rpc.ask("prompt", message="go")
        gate.wait_reached()
        rpc.event("message_update")
        assert rpc.ask("abort")["success"]
        assert rpc.event("agent_settled")["aborted"] is True
        rpc.prompt("once more")
        check_events(rpc.records, prompts=2)
    assert server.requests[1].texts("user") == ["go", "once more"]


def test_abort_when_idle_changes_nothing(place: Place, server: ScriptedServer) -> None:
    server.add(text("ok"))
    with place.rpc() as rpc:
        assert rpc.ask("abort")["success"]
        rpc.prompt("hi")
        assert rpc.ask("abort")["success"]
        check_events(rpc.records)
        assert rpc.event("agent_settled")["aborted"] is False


def test_abort_ends_the_wait_before_a_retry(place: Place, server: ScriptedServer) -> None:
    place.write_settings(retry={"baseDelayMs": 60_000})
    server.add(failure(500))
    with place.rpc() as rpc:
        rpc.ask("prompt", message="go")
        rpc.event("auto_retry_start")
        assert rpc.ask("abort")["success"]
        rpc.event("agent_settled")
        check_events(rpc.records)


def test_ten_aborts_at_random_points_leave_a_sound_session(place: Place, server: ScriptedServer) -> None:
    dice = random.Random(7)
    points = ["agent_start", "turn_start", "message_start", "message_update", "message_end"]
    points += ["tool_execution_start", "tool_execution_end", "turn_end"]
    gate = Gate()

    def choose(request: Request) -> Reply:
        if request.messages[-1]["role"] == "tool":
            return text("z", gates={0: gate})
        return calls(("bash", {"command": "echo hi"}))

    with place.rpc() as rpc:
        for round in range(10):
            gate = Gate()
            server.choose = choose
            after = len(rpc.records)
            rpc.send("prompt", message=f"round {round}")
            rpc.event(dice.choice(points), after=after)
            assert rpc.ask("abort")["success"]
            rpc.event("agent_settled", after=after)
            gate.open.set()
        server.choose = lambda request: text("sound")
        rpc.prompt("still there?")
        check_events(rpc.records, prompts=11)
        assert rpc.finish() == 0
        assert rpc.err == ""
    sent = server.requests[-1].messages
    _check_pairs(sent)
    ends = [record["message"] for record in rpc.records if record["type"] == "message_end"]
    assert ends == messages_of(place.session())


def _check_pairs(messages: list[dict[str, object]]) -> None:
    """Each tool call is answered before the next other message, and nothing else is answered."""
    open_calls: list[object] = []
    for message in messages:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls
        made = message.get("tool_calls") or []
        assert isinstance(made, list)
        open_calls = [call["id"] for call in made]
    assert not open_calls


def test_the_end_of_the_input_while_streaming_saves_an_aborted_answer(
    place: Place, server: ScriptedServer
) -> None:
    gate = Gate()
    server.add(text("half", " never", gates={1: gate}))
    with place.rpc() as rpc:
        rpc.ask("prompt", message="go")
        rpc.event("message_update")
        assert rpc.finish() == 0
        check_events(rpc.records)
    last = messages_of(place.session())[-1]
    assert (last["stopReason"], text_of(last)) == ("aborted", "half")


def test_the_end_of_the_input_during_a_tool_pairs_its_call(place: Place, server: ScriptedServer) -> None:
    server.add(calls(("bash", {"command": "echo $$ > pid; echo up; sleep 1000"})))
    with place.rpc() as rpc:
        rpc.ask("prompt", message="go")
        rpc.event("tool_execution_update")
        assert rpc.finish() == 0
        check_events(rpc.records)
    messages = messages_of(place.session())
    (result,) = [message for message in messages if message["role"] == "toolResult"]
    assert result["isError"] and "up" in text_of(result)
    with pytest.raises(ProcessLookupError):
        os.kill(int((place.cwd / "pid").read_text()), 0)


def test_sigterm_exits_143_with_the_session_complete(place: Place, server: ScriptedServer) -> None:
    gate = Gate()
    server.add(text("half", " never", gates={1: gate}))
    with place.rpc() as rpc:
        rpc.ask("prompt", message="go")
        rpc.event("message_update")
        rpc.signal(signal.SIGTERM)
        assert rpc.ended() == 143
        check_events(rpc.records)
    assert messages_of(place.session())[-1]["stopReason"] == "aborted"


def test_sigterm_when_idle(place: Place, server: ScriptedServer) -> None:
    with place.rpc() as rpc:
        rpc.ask("get_state")
        rpc.signal(signal.SIGTERM)
        assert rpc.ended() == 143
    assert place.sessions() == []


def test_a_session_without_a_prompt_leaves_no_file(place: Place, server: ScriptedServer) -> None:
    with place.rpc() as rpc:
        assert rpc.ask("set_session_name", name="Blue")["success"]
        assert rpc.finish() == 0
    assert place.sessions() == []


def test_a_reader_that_stalls_holds_the_run_and_not_the_memory(place: Place, server: ScriptedServer) -> None:
    """Nothing reads standard output while 18 MB of deltas come; then everything arrives."""
    server.add(text(*("x" * 60_000 for _ in range(300))))
    with subprocess.Popen(
        [*COMMAND, "--mode", "rpc"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=place.cwd,
        env=place.env,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b'{"type": "prompt", "message": "go"}\n')
        process.stdin.flush()
        server.wait_requests(1)
        assert not server.finished.wait(1.0), "the run did not wait for its reader"
        assert _resident(process.pid) < 100 << 20
        records: list[dict[str, Any]] = []
        while not records or records[-1]["type"] != "agent_settled":
            records.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    check_events(records)
    assert len(text_of(records[-2]["messages"][-1])) == 18_000_000


def _resident(pid: int) -> int:
    """Bytes in memory."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
