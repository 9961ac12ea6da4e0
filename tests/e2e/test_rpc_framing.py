"""RPC framing over the real command: records are split on LF only and never get lost."""

from __future__ import annotations

import json

from tests.e2e.harness import Place, text_of
from tests.e2e.server import ScriptedServer, calls, text
from tests.events_grammar import check_events

SEPARATORS = "a\u2028b\u2029c\u0085d\x0be\x0cf"


def test_crlf_and_bare_separators_inside_a_record(place: Place, server: ScriptedServer) -> None:
    server.add(text(f"ends {SEPARATORS}"))
    with place.rpc() as rpc:
        message = "a\u2028b\u2029c\u0085d"
        line = json.dumps({"id": "q1", "type": "prompt", "message": message}, ensure_ascii=False)
        rpc.write(line.encode() + b"\r\n")
        assert rpc.response("q1")["success"]
        rpc.event("agent_settled")
        assert rpc.finish() == 0
        assert rpc.stray == []
        check_events(rpc.records)
    assert server.requests[0].texts("user") == [message]
    assert text_of(rpc.events()[-2]["messages"][-1]) == f"ends {SEPARATORS}"


def test_separators_in_tool_output(place: Place, server: ScriptedServer) -> None:
    octal = r"x\342\200\250y\342\200\251z\302\205w\n"
    server.add(calls(("bash", {"command": f"printf '{octal}'"})), text("done"))
    with place.rpc() as rpc:
        rpc.prompt("go")
        assert rpc.finish() == 0
        assert rpc.stray == []
        result = rpc.event("tool_execution_end")["result"]
    assert "x\u2028y\u2029z\u0085w" in text_of(result)


def test_two_records_in_one_write_and_one_record_in_three(place: Place, server: ScriptedServer) -> None:
    with place.rpc() as rpc:
        rpc.write(b'{"id":"a","type":"get_state"}\n{"id":"b","type":"get_messages"}\n')
        assert rpc.response("a")["command"] == "get_state"
        assert rpc.response("b")["command"] == "get_messages"
        for piece in (b'{"id":"c","ty', b'pe":"get_st', b'ate"}\n'):
            rpc.write(piece)
        assert rpc.response("c")["success"]
        rpc.write(b'{"id":"d","type":"get_state"}')
        assert rpc.finish() == 0
        assert rpc.response("d")["success"]


BROKEN = (
    b"not json",
    b"",
    b"{",
    b'{"type":"get_state"',
    b'{"type":"prompt","message":"\xff\xfe"}',
    b"\xff",
    b"[" * 200_000,
    b'{"a":' * 100_000,
    b'{"type": "get_state"} {"type": "get_state"}',
    b"\x00",
)


def test_a_malformed_record_is_answered_and_the_next_one_works(place: Place, server: ScriptedServer) -> None:
    with place.rpc() as rpc:
        for number, broken in enumerate(BROKEN):
            rpc.write(broken + b"\n")
            assert rpc.ask("get_state")["success"], broken[:40]
            refused = [record for record in rpc.records if not record["success"]]
            assert len(refused) == number + 1, broken[:40]
            assert refused[-1]["command"] == "parse" and "id" not in refused[-1]
            assert "JSON" in refused[-1]["error"]
        assert rpc.finish() == 0
        assert (rpc.stray, rpc.err) == ([], "")


def test_json_that_is_no_command_is_refused(place: Place, server: ScriptedServer) -> None:
    with place.rpc() as rpc:
        for odd in (b"42", b"null", b'"prompt"', b"[]", b"{}", b'{"type": 7}', b'{"type": null}'):
            rpc.write(odd + b"\n")
            assert rpc.ask("get_state")["success"], odd
            refused = rpc.records[-2]
            assert not refused["success"] and '"type"' in refused["error"]


WRONG: tuple[tuple[dict[str, object], str], ...] = (
    ({"type": "dance"}, "dance"),
    ({"type": "prompt"}, "message"),
    ({"type": "prompt", "message": 3}, "message"),
    ({"type": "prompt", "message": "hi", "images": "x"}, "images"),
    ({"type": "prompt", "message": "hi", "images": [{"type": "image"}]}, "images"),
    ({"type": "steer"}, "message"),
    ({"type": "set_steering_mode", "mode": "some"}, "one-at-a-time"),
    ({"type": "set_thinking_level", "level": "huge"}, "xhigh"),
    ({"type": "set_auto_retry", "enabled": "yes"}, "enabled"),
    ({"type": "set_model", "provider": "mock", "modelId": "zz"}, "mock/m"),
    ({"type": "set_session_name", "name": "  "}, "name"),
    ({"type": "get_entries", "since": 5}, "since"),
)


def test_a_wrong_command_says_what_would_be_right(place: Place, server: ScriptedServer) -> None:
    with place.rpc() as rpc:
        for number, (command, named) in enumerate(WRONG):
            rpc.write(json.dumps({"id": f"x{number}", **command}).encode() + b"\n")
            refused = rpc.response(f"x{number}")
            assert not refused["success"]
            assert refused["command"] == command["type"]
            assert named in refused["error"]
        assert rpc.finish() == 0
        assert rpc.err == ""


def test_a_record_of_20_megabytes(place: Place, server: ScriptedServer) -> None:
    server.add(text("read it"))
    with place.rpc() as rpc:
        rpc.prompt("y" * 20_000_000)
        check_events(rpc.records)
        assert rpc.finish() == 0
    assert len(server.requests[0].texts("user")[0]) == 20_000_000


def test_lone_surrogates_pass_through(place: Place, server: ScriptedServer) -> None:
    server.add(text("ok"))
    with place.rpc() as rpc:
        rpc.write(b'{"id":"s","type":"prompt","message":"half \\ud83d emoji"}\n')
        assert rpc.response("s")["success"]
        rpc.event("agent_settled")
        assert rpc.finish() == 0
        assert (rpc.stray, rpc.err) == ([], "")
        check_events(rpc.records)
    place.session()


def test_children_write_nothing_to_the_protocol(place: Place, server: ScriptedServer) -> None:
    noise = 'echo out; echo err >&2; for n in 0 1 2 3 4 5 6 7 8 9; do eval "echo noise >&$n"; done'
    server.add(calls(("bash", {"command": f"({noise}) 2>/dev/null; cat; exit 0"})), text("done"))
    with place.rpc() as rpc:
        rpc.prompt("go")
        assert rpc.ask("get_state")["success"], "the child took the input"
        assert rpc.finish() == 0
        assert rpc.stray == []
        check_events(rpc.records)
