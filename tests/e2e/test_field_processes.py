"""Field faults T10, T12, T15, R03: commands that linger, raw bytes, and aborts while something runs."""

from __future__ import annotations

import os
import random
import select
import signal
from pathlib import Path

import pytest

from tests.e2e.harness import PATIENCE, Place, Record, text_of
from tests.e2e.server import Gate, Reply, ScriptedServer, calls, chunk, recorded, text
from tests.events_grammar import check_events
from tests.shared import shared

READY = "until [ -s kid.pid ]; do :; done; echo ready"
"""Ends once the child has written its number."""


def _run(place: Place) -> list[Record]:
    ended = place.run("--mode", "json", "go")
    assert (ended.code, ended.err) == (0, "")
    check_events(ended.records)
    return [record for record in ended.records if record["type"] == "tool_execution_end"]


def _wait_dead(pid_file: Path) -> None:
    """Waits until the process has ended; the kernel tells."""
    try:
        handle = os.pidfd_open(int(pid_file.read_text()))
    except ProcessLookupError:
        return
    try:
        ready, _, _ = select.select([handle], [], [], PATIENCE)
        assert ready, f"{pid_file.name} still runs"
    finally:
        os.close(handle)


@pytest.mark.parametrize(
    "lingering",
    [
        "sleep 300 & echo $! > kid.pid; echo started",
        "(while :; do echo tick; sleep 0.2; done) & echo $! > kid.pid; echo started",
        "setsid sh -c 'echo $$ > kid.pid; exec sleep 300' >/dev/null & " + READY + "; echo started",
        "nohup sleep 300 2>&1 & echo $! > kid.pid; echo started",
    ],
    ids=["silent", "noisy", "own session", "nohup"],
)
def test_a_child_that_lingers_does_not_hold_the_call(
    place: Place, server: ScriptedServer, lingering: str
) -> None:
    server.add(calls(("bash", {"command": lingering})), calls(("bash", {"command": "echo next"})), text("ok"))
    first, second = _run(place)
    assert not first["isError"] and "started" in text_of(first["result"])
    assert first["durationMs"] < 3000
    assert "next" in text_of(second["result"])
    pid = (place.cwd / "kid.pid").read_text().strip()
    assert pid in text_of(first["result"]), "the result does not say what still runs"
    # What was started on purpose outlives the call and the session; this also fails when it does not.
    os.kill(int(pid), signal.SIGKILL)


@pytest.mark.shared
def test_t10(place: Place, server: ScriptedServer) -> None:
    server.add(*recorded(shared("field/inputs/T10")), text("ok"))
    ends = _run(place)
    assert [end["isError"] for end in ends] == [False] * 3
    for end, word in zip(ends, ("started", "noisy", "detached"), strict=True):
        assert word in text_of(end["result"]) and end["durationMs"] < 3000


def test_characters_are_not_cut_at_borders(place: Place, server: ScriptedServer) -> None:
    (place.cwd / "split.py").write_text(
        "import os, sys\n"
        "for piece in (b'dash \\xe2', b'\\x80', b'\\x94 end ', b'\\xf0\\x9f', b'\\x98\\x80', b'\\n'):\n"
        "    os.write(1, piece)\n"
        "    os.sched_yield()\n"
    )
    server.add(
        calls(
            ("bash", {"command": "python3 split.py"}),
            ("bash", {"command": "python3 -c \"print('\\u20ac' * 40000)\""}),
            ("bash", {"command": "python3 -c \"print(('\\U0001f600' * 100 + '\\n') * 3000)\""}),
            ("bash", {"command": r"printf 'bad \377\376 bytes\0nul\n'"}),
            ("bash", {"command": r"printf 'cut \342\202'"}),
        ),
        text("ok"),
    )
    split, euros, lines, bad, cut = (
        text_of(end["result"]) for end in sorted(_run(place), key=lambda end: str(end["toolCallId"]))
    )
    assert "dash \u2014 end \U0001f600" in split and "\ufffd" not in split
    assert "\u20ac" in euros and "\ufffd" not in euros
    assert "\U0001f600" in lines and "\ufffd" not in lines
    assert "bad \ufffd\ufffd bytes" in bad and "nul" in bad
    assert "cut \ufffd" in cut


@pytest.mark.shared
def test_t12(place: Place, server: ScriptedServer) -> None:
    server.add(*recorded(shared("field/inputs/T12")), text("ok"))
    ended = place.run("--mode", "json", "go")
    check_events(ended.records)
    first, second, third = (
        text_of(record["result"]) for record in ended.records if record["type"] == "tool_execution_end"
    )
    updates = [record for record in ended.records if record["type"] == "tool_execution_update"]
    assert "cleanup \u2014 end" in first and "\u20ac" in second
    for said in (first, second, *(text_of(u["partialResult"]) for u in updates if u["toolCallId"] != "b3")):
        assert "\ufffd" not in said
    assert "\ufffd" in third and "nul" in third


STUBBORN = (
    "trap '' TERM INT HUP; sh -c 'trap \"\" TERM INT HUP; echo $$ > kid.pid; while :; do sleep 1; done' & "
)


def test_a_timeout_ends_the_whole_tree(place: Place, server: ScriptedServer) -> None:
    server.add(calls(("bash", {"command": STUBBORN + READY + "; wait", "timeout": 1})), text("ok"))
    (end,) = _run(place)
    assert end["isError"] and "ready" in text_of(end["result"])
    _wait_dead(place.cwd / "kid.pid")


@pytest.mark.shared
def test_t15_timeout(place: Place, server: ScriptedServer) -> None:
    server.add(recorded(shared("field/inputs/T15"))[0], text("ok"))
    (end,) = _run(place)
    assert end["isError"]
    _wait_dead(place.cwd / "kid.pid")


@pytest.mark.parametrize("how", ["abort", "eof", "SIGTERM", "SIGHUP", "SIGINT"])
def test_the_tree_dies_however_the_run_is_ended(place: Place, server: ScriptedServer, how: str) -> None:
    server.add(calls(("bash", {"command": STUBBORN + READY + "; wait"})))
    with place.rpc() as rpc:
        rpc.ask("prompt", message="go")
        rpc.event("tool_execution_update")
        if how == "abort":
            assert rpc.ask("abort")["success"]
            rpc.event("agent_settled")
            _wait_dead(place.cwd / "kid.pid")
        elif how == "eof":
            assert rpc.finish() == 0
        else:
            number = signal.Signals[how]
            rpc.signal(number)
            assert rpc.ended() == 128 + number
        end = rpc.event("tool_execution_end")
        assert end["isError"] and "ready" in text_of(end["result"])
        check_events(rpc.records)
    _wait_dead(place.cwd / "kid.pid")


def test_abort_during_a_tool_closes_everything_once(place: Place, server: ScriptedServer) -> None:
    dice = random.Random(3)
    rounds = 6
    with place.rpc() as rpc:
        for _ in range(rounds):
            after = len(rpc.records)
            server.add(calls(("bash", {"command": "echo up; sleep 60"}), ("read", {"path": "nofile"})))
            rpc.send("prompt", message="sleep")
            rpc.event(
                dice.choice(["tool_execution_start", "tool_execution_update", "tool_execution_end"]),
                after=after,
            )
            assert rpc.ask("abort")["success"]
            rpc.event("agent_settled", after=after)
            assert rpc.ask("get_state")["data"]["isStreaming"] is False
        server.add(text("again"))
        rpc.prompt("again")
        check_events(rpc.records, prompts=rounds + 1)
        assert rpc.finish() == 0
    ends = [record for record in rpc.records if record["type"] == "tool_execution_end"]
    assert len(ends) == 2 * rounds


@pytest.mark.parametrize("where", ["before the headers", "after the headers", "after a piece"])
def test_abort_while_the_server_says_nothing(place: Place, server: ScriptedServer, where: str) -> None:
    gate = Gate()
    at = {"before the headers": -1, "after the headers": 0, "after a piece": 1}[where]
    server.add(Reply([chunk({"content": "a"}), chunk({"content": "b"})], gates={at: gate}), text("again"))
    with place.rpc() as rpc:
        rpc.ask("prompt", message="go")
        gate.wait_reached()
        assert rpc.ask("abort")["success"]
        rpc.event("agent_settled")
        rpc.prompt("again")
        check_events(rpc.records, prompts=2)
        assert rpc.finish() == 0


@pytest.mark.shared
def test_r03(place: Place, server: ScriptedServer) -> None:
    server.add(*recorded(shared("field/inputs/R03")), text("again"))
    with place.rpc() as rpc:
        rpc.ask("prompt", message="sleep")
        rpc.event("tool_execution_start")
        assert rpc.ask("abort")["success"]
        rpc.event("agent_settled")
        rpc.prompt("again")
        check_events(rpc.records, prompts=2)
