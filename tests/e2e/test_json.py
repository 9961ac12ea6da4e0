"""JSON mode over the real command: the stream's grammar, its exit code, its reader and its signals."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.e2e.harness import COMMAND, PATIENCE, Place, messages_of, text_of
from tests.e2e.server import Gate, Reply, ScriptedServer, calls, chunk, failure, text
from tests.events_grammar import check_events


def test_the_session_header_comes_first_and_the_stream_is_whole(place: Place, server: ScriptedServer) -> None:
    server.add(text("Hel", "lo"))
    ended = place.run("--mode", "json", "hi")
    assert (ended.code, ended.err) == (0, "")
    assert ended.records[0]["type"] == "session"
    assert ended.records[0]["id"] == place.session()[0]["id"]
    check_events(ended.records)
    assert ended.records[-1] == {"type": "agent_settled", "aborted": False}


def test_what_the_stream_ends_is_what_the_session_holds(place: Place, server: ScriptedServer) -> None:
    (place.cwd / "a.txt").write_text("x\n")
    edit = {"path": "a.txt", "edits": [{"oldText": "x", "newText": "y"}]}
    server.add(calls(("read", {"path": "a.txt"}), ("bash", {"command": "echo hi"})))
    server.add(calls(("edit", edit)), text("done"))
    records = place.run("--mode", "json", "go").records
    check_events(records)
    ends = [record["message"] for record in records if record["type"] == "message_end"]
    assert ends == messages_of(place.session())


def test_each_prompt_settles_once(place: Place, server: ScriptedServer) -> None:
    server.add(text("a"), text("b"), text("c"))
    ended = place.run("--mode", "json", "one", "two", "three")
    check_events(ended.records, prompts=3)


def test_thinking_is_streamed_as_its_own_block(place: Place, server: ScriptedServer) -> None:
    server.add(Reply([chunk({"reasoning_content": "hm"}), *text("so").pieces]))
    records = place.run("--mode", "json", "hi").records
    check_events(records)
    (answer,) = [
        record["message"]
        for record in records
        if record["type"] == "message_end" and record["message"]["role"] == "assistant"
    ]
    assert [block["type"] for block in answer["content"]] == ["thinking", "text"]


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_failure_is_a_record_and_the_exit_code_stays_0(
    place: Place, server: ScriptedServer, status: int
) -> None:
    server.add(failure(status, {"error": {"message": "no luck today"}}))
    ended = place.run("--mode", "json", "hi")
    assert ended.code == 0
    check_events(ended.records)
    answer = ended.records[-2]["messages"][-1]
    assert answer["stopReason"] == "error"
    assert "no luck today" in answer["errorMessage"]


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_passing_failure_is_retried(place: Place, server: ScriptedServer, status: int) -> None:
    server.add(failure(status), text("recovered"))
    records = place.run("--mode", "json", "hi").records
    check_events(records)
    kinds = [record["type"] for record in records]
    assert kinds.count("auto_retry_start") == kinds.count("auto_retry_end") == 1
    (edit,) = [entry for entry in place.session() if entry["type"] == "context_edit"]
    assert edit["replacement"] is None


def test_retries_are_used_up(place: Place, server: ScriptedServer) -> None:
    place.write_settings(retry={"baseDelayMs": 1, "maxRetries": 2})
    server.add(failure(500), failure(500), failure(500))
    records = place.run("--mode", "json", "hi").records
    check_events(records)
    (end,) = [record for record in records if record["type"] == "auto_retry_end"]
    assert (end["success"], end["attempt"]) == (False, 2)


def test_a_start_that_fails_is_a_sentence_and_no_stream(place: Place, server: ScriptedServer) -> None:
    ended = place.run("--mode", "json", "--model", "nowhere/m", "hi")
    assert (ended.code, ended.raw) == (1, b"")
    assert "nowhere" in ended.err


def test_children_write_nothing_to_the_stream(place: Place, server: ScriptedServer) -> None:
    noise = 'echo to-stdout; echo to-stderr >&2; for n in 3 4 5 6 7 8 9; do eval "echo fd$n >&$n"; done'
    server.add(calls(("bash", {"command": f"({noise}) 2>/dev/null; exit 0"})), text("done"))
    ended = place.run("--mode", "json", "go")
    check_events(ended.records)
    assert b"\nto-stdout" not in ended.raw and b"\nfd" not in ended.raw


def test_a_reader_that_goes_away_ends_the_run(place: Place, server: ScriptedServer) -> None:
    gate = Gate()
    server.add(text("a", "b", gates={1: gate}))
    reading, writing = os.pipe()
    with subprocess.Popen(
        [*COMMAND, "--mode", "json", "hi", "never asked"],
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=place.cwd,
        env=place.env,
    ) as process:
        os.close(writing)
        gate.wait_reached()
        os.close(reading)
        gate.open.set()
        _, err = process.communicate(timeout=PATIENCE)
    assert b"Traceback" not in err
    users = [text_of(message) for message in messages_of(place.session()) if message["role"] == "user"]
    assert users == ["hi"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_run_in_order(place: Place, server: ScriptedServer, number: signal.Signals) -> None:
    gate = Gate()
    server.add(text("half", " never", gates={1: gate}))
    with place.process("--mode", "json", "hi", "never asked") as process:
        process.close_input()
        process.event("message_update")
        gate.wait_reached()
        process.signal(number)
        assert process.ended() == 128 + number
        check_events(process.records)
        assert process.stray == []
    last = messages_of(place.session())[-1]
    assert (last["stopReason"], text_of(last)) == ("aborted", "half")


def test_a_signal_kills_the_running_command(place: Place, server: ScriptedServer) -> None:
    server.add(
        calls(("bash", {"command": "echo $$ > pid; trap '' TERM; echo up; while :; do sleep 1; done"}))
    )
    with place.process("--mode", "json", "go") as process:
        process.close_input()
        process.event("tool_execution_update")
        process.signal(signal.SIGTERM)
        assert process.ended() == 143
        check_events(process.records)
    pid = int((place.cwd / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
