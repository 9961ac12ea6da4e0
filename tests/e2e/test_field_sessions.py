"""Field faults S01 and S06: torn session files, and calls and results that lost each other."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import Place, Record
from tests.e2e.server import ScriptedServer, calls, text
from tests.shared import shared


def _made(place: Place, server: ScriptedServer) -> Path:
    server.add(text("first answer"))
    assert place.run("-p", "first question").code == 0
    (path,) = place.sessions()
    return path


def _check_kept(place: Place, server: ScriptedServer, path: Path, *, torn: int) -> None:
    """A new exchange is added and found again; whole lines stay and at most one line does not parse."""
    before = [line for line in path.read_bytes().split(b"\n") if _parses(line)]
    server.add(text("NEWANSWER"), text("seen"))
    ended = place.run("-p", "--session", str(path), "NEWMARK")
    assert (ended.code, ended.out) == (0, "NEWANSWER\n"), ended.err
    assert ended.err.count(str(path)) == torn, ended.err
    lines = path.read_bytes().split(b"\n")
    assert [line for line in lines if _parses(line)][: len(before)] == before
    assert sum(not _parses(line) for line in lines if line.strip()) <= 1
    assert place.run("-p", "--session", str(path), "again").out == "seen\n"
    assert "NEWMARK" in server.requests[-1].texts("user")
    assert "NEWANSWER" in server.requests[-1].texts("assistant")


def _parses(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


@pytest.mark.parametrize("end", [b"", b"\n\n", b"\n \n\n", b"\r\n"])
@pytest.mark.parametrize("cut", [1, 60])
def test_a_torn_last_line_costs_only_itself(
    place: Place, server: ScriptedServer, cut: int, end: bytes
) -> None:
    path = _made(place, server)
    path.write_bytes(path.read_bytes()[: -1 - cut] + end)
    _check_kept(place, server, path, torn=1)


def test_a_last_line_without_its_line_end_is_whole(place: Place, server: ScriptedServer) -> None:
    path = _made(place, server)
    path.write_bytes(path.read_bytes()[:-1])
    _check_kept(place, server, path, torn=0)


def test_a_line_nested_beyond_use_is_one_damaged_line(place: Place, server: ScriptedServer) -> None:
    path = _made(place, server)
    with path.open("ab") as file:
        file.write(b'{"type":' + b"[" * 200_000 + b"\n")
    _check_kept(place, server, path, torn=1)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["session", "session_trailing_blank"])
def test_s01(place: Place, server: ScriptedServer, name: str) -> None:
    path = place.cwd / "s.jsonl"
    path.write_bytes(_localised(shared(f"field/inputs/S01/{name}.jsonl"), place))
    _check_kept(place, server, path, torn=1)


def _localised(path: Path, place: Place) -> bytes:
    return path.read_bytes().replace(b"@CWD@", str(place.cwd).encode())


def _check_pairs(messages: list[dict[str, Any]]) -> None:
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, f"unanswered before {message['role']}: {waiting}"
        waiting = [call["id"] for call in message.get("tool_calls") or []]
    assert not waiting


@pytest.mark.shared
@pytest.mark.parametrize("name", ["session_toolcall_without_result", "session_result_without_call"])
def test_s06(place: Place, server: ScriptedServer, name: str) -> None:
    path = place.cwd / "s.jsonl"
    path.write_bytes(_localised(shared(f"field/inputs/S06/{name}.jsonl"), place))
    before = path.read_bytes()
    server.add(text("on we go"))
    assert place.run("-p", "--session", str(path), "and now?").out == "on we go\n"
    _check_pairs(server.requests[0].messages)
    assert path.read_bytes().startswith(before)


def _drop(records: list[Record], role: str, which: int) -> list[Record]:
    found = [record for record in records if record.get("message", {}).get("role") == role]
    dropped = found[which]
    for record in records:
        if record.get("parentId") == dropped["id"]:
            record["parentId"] = dropped["parentId"]
    return [record for record in records if record is not dropped]


@pytest.mark.parametrize(
    ("role", "which"), [("toolResult", 0), ("toolResult", 1), ("toolResult", 2), ("assistant", 0)]
)
def test_lost_halves_are_repaired_in_the_request_only(
    place: Place, server: ScriptedServer, role: str, which: int
) -> None:
    echo = [("bash", {"command": f"echo {number} >> ran"}) for number in (1, 2)]
    server.add(calls(*echo), calls(("read", {"path": "nofile"})), text("done"))
    assert place.run("-p", "go").code == 0
    (path,) = place.sessions()
    ran = (place.cwd / "ran").read_text()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    kept = "".join(json.dumps(record) + "\n" for record in _drop(records, role, which))
    path.write_text(kept)
    server.add(text("on we go"))
    assert place.run("-p", "--continue", "and now?").out == "on we go\n"
    _check_pairs(server.requests[-1].messages)
    assert path.read_text().startswith(kept)
    assert (place.cwd / "ran").read_text() == ran, "a call was run again"


def test_a_kill_during_a_tool_leaves_a_session_that_goes_on(place: Place, server: ScriptedServer) -> None:
    server.add(calls(("bash", {"command": "echo x >> ran; echo up; sleep 30"})))
    with place.process("--mode", "json", "go") as process:
        process.close_input()
        process.event("tool_execution_update")
        process.signal(signal.SIGKILL)
        assert process.ended() == -9
    server.add(text("on we go"))
    assert place.run("-p", "--continue", "and now?").out == "on we go\n"
    assert server.requests[-1].texts("user") == ["go", "and now?"]
    _check_pairs(server.requests[-1].messages)
    assert (place.cwd / "ran").read_text() == "x\n"


def test_a_copied_session_file_opens_by_its_path(place: Place, server: ScriptedServer) -> None:
    path = _made(place, server)
    copy = place.cwd / "copy.jsonl"
    shutil.copy(path, copy)
    _check_kept(place, server, copy, torn=0)
