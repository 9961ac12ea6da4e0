"""Field faults P01, P03, P04: streams that interleave, leave things out or break off."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.harness import Ended, Place, Record, messages_of, text_of
from tests.e2e.server import Reply, ScriptedServer, call_chunk, calls, chunk, ending, recorded, text
from tests.events_grammar import check_events
from tests.shared import shared


def _piece(index: int, arguments: str, **more: Any) -> bytes:
    return chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments}, **more}]})


def _answers(ended: Ended) -> list[Record]:
    check_events(ended.records)
    return [
        record["message"]
        for record in ended.records
        if record["type"] == "message_end" and record["message"]["role"] == "assistant"
    ]


def _outputs(ended: Ended) -> list[str]:
    return [
        text_of(record["message"]).strip()
        for record in ended.records
        if record["type"] == "message_end" and record["message"]["role"] == "toolResult"
    ]


INTERLEAVED = {
    "opened first": [
        call_chunk(0, "bash", ""),
        call_chunk(1, "bash", ""),
        _piece(0, '{"command":'),
        _piece(1, '{"command":"echo '),
        _piece(0, '"echo AAA"}'),
        _piece(1, 'BBB"}'),
    ],
    "second opened late": [
        call_chunk(0, "bash", '{"command":'),
        call_chunk(1, "bash", '{"command":'),
        _piece(1, '"echo BBB"}'),
        _piece(0, '"echo AAA"}'),
    ],
    "id and name on every piece": [
        call_chunk(0, "bash", '{"command":'),
        call_chunk(1, "bash", '{"command":'),
        _piece(0, '"echo AAA"}', id="call_bash_0"),
        _piece(1, '"echo BBB"}', id="call_bash_1"),
    ],
    "empty id and null name later": [
        call_chunk(0, "bash", '{"command":'),
        call_chunk(1, "bash", '{"command":'),
        chunk(
            {"tool_calls": [{"index": 0, "id": "", "function": {"name": None, "arguments": '"echo AAA"}'}}]}
        ),
        chunk(
            {"tool_calls": [{"index": 1, "id": None, "function": {"name": "", "arguments": '"echo BBB"}'}}]}
        ),
    ],
    "whole calls without an index": [
        chunk(
            {
                "tool_calls": [
                    {"id": name, "function": {"name": "bash", "arguments": f'{{"command":"echo {name}"}}'}}
                    for name in ("AAA", "BBB")
                ]
            }
        )
    ],
}


@pytest.mark.parametrize("case", INTERLEAVED)
def test_interleaved_calls_get_their_own_arguments(place: Place, server: ScriptedServer, case: str) -> None:
    server.add(Reply([*INTERLEAVED[case], ending("tool_calls")]), text("done"))
    ended = place.run("--mode", "json", "go")
    _answers(ended)
    assert _outputs(ended) == ["AAA", "BBB"]


@pytest.mark.shared
@pytest.mark.parametrize("folder", ["P01", "P01/both_in_one_chunk"])
def test_p01(place: Place, server: ScriptedServer, folder: str) -> None:
    server.add(*recorded(shared(f"field/inputs/{folder}")), text("done"))
    ended = place.run("--mode", "json", "go")
    _answers(ended)
    assert _outputs(ended) == ["AAA", "BBB"]


USAGE = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
ODD_CHUNKS = {
    "no choices": b'data: {"id":"c1","object":"chat.completion.chunk"}\n\n',
    "choices null": b'data: {"choices":null}\n\n',
    "choices empty": b'data: {"choices":[]}\n\n',
    "choice null": b'data: {"choices":[null]}\n\n',
    "choice empty": b'data: {"choices":[{}]}\n\n',
    "delta null": b'data: {"choices":[{"index":0,"delta":null}]}\n\n',
    "delta empty": b'data: {"choices":[{"index":0,"delta":{}}]}\n\n',
    "content null": b'data: {"choices":[{"index":0,"delta":{"content":null,"tool_calls":null}}]}\n\n',
    "content empty": b'data: {"choices":[{"index":0,"delta":{"content":""}}]}\n\n',
    "calls empty": b'data: {"choices":[{"index":0,"delta":{"tool_calls":[]}}]}\n\n',
    "reasoning empty": b'data: {"choices":[{"index":0,"delta":{"reasoning_content":""}}]}\n\n',
    "usage null": b'data: {"choices":[],"usage":null}\n\n',
    "object empty": b"data: {}\n\n",
    "comment": b": keep-alive\n\n",
    "empty data": b"data:\n\n",
    "retry line": b"retry: 3000\n\n",
}


def test_chunks_without_content_add_nothing(place: Place, server: ScriptedServer) -> None:
    odd = list(ODD_CHUNKS.values())
    stop = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    usage = chunk({}, usage=USAGE).replace(
        b'"choices": [{"index": 0, "delta": {}, "finish_reason": null}]', b'"choices": []'
    )
    server.add(
        Reply(
            [*odd, chunk({"content": "hel"}), *odd, chunk({"content": "lo"}), *odd, stop, *odd, usage]
            + [b"data: [DONE]\n\n"]
        )
    )
    (answer,) = _answers(place.run("--mode", "json", "go"))
    assert answer["content"] == [{"type": "text", "text": "hello"}]
    assert (answer["usage"]["input"], answer["usage"]["output"]) == (100, 5)


@pytest.mark.shared
def test_p03(place: Place, server: ScriptedServer) -> None:
    server.add(*recorded(shared("field/inputs/P03")))
    (answer,) = _answers(place.run("--mode", "json", "go"))
    assert answer["content"] == [{"type": "text", "text": "hello"}]
    assert (answer["usage"]["input"], answer["usage"]["output"]) == (100, 5)


TOUCH = ("bash", {"command": "touch SHOULD_NOT_EXIST"})
BROKEN_OFF = {
    "in text": Reply([chunk({"content": "half"})]),
    "in text, with RST": Reply([chunk({"content": "half"})], reset=True),
    "in a call": Reply([chunk({"content": "half"}), call_chunk(0, "bash", '{"command": "touch SHOULD')]),
    "after a whole call": Reply([chunk({"content": "half"}), *calls(TOUCH).pieces[:1]]),
    "after a whole call, with RST": Reply(calls(TOUCH).pieces[:1], reset=True),
    "before anything": Reply([]),
    "after a comment": Reply([b": hello\n\n"]),
    "inside a record": Reply([chunk({"content": "half"}), b'data: {"choices": [{"ind']),
    "inside a character": Reply([chunk({"content": "hälf"})[:-40]]),
}


@pytest.mark.parametrize("case", BROKEN_OFF)
def test_a_stream_that_breaks_off_is_retried_and_runs_nothing(
    place: Place, server: ScriptedServer, case: str
) -> None:
    server.add(BROKEN_OFF[case], text("whole"))
    _check_retried(place, place.run("--mode", "json", "go"), "whole")


@pytest.mark.shared
@pytest.mark.parametrize("case", ["eof", "reset", "eof_in_tool", "empty"])
def test_p04(place: Place, server: ScriptedServer, case: str) -> None:
    server.add(*recorded(shared(f"field/inputs/P04/{case}")), text("whole"))
    _check_retried(place, place.run("--mode", "json", "go"), "whole")


def _check_retried(place: Place, ended: Ended, final: str) -> None:
    answers = _answers(ended)
    kinds = [record["type"] for record in ended.records]
    assert kinds.count("auto_retry_start") == 1
    assert "tool_execution_start" not in kinds
    assert not (place.cwd / "SHOULD_NOT_EXIST").exists()
    assert answers[0]["stopReason"] == "error" and answers[0]["errorMessage"]
    assert text_of(answers[-1]) == final
    entries = place.session()
    failed = next(
        entry for entry in entries if entry["type"] == "message" and entry["message"]["role"] == "assistant"
    )
    (edit,) = [entry for entry in entries if entry["type"] == "context_edit"]
    assert edit["targetId"] == failed["id"]
    assert messages_of(entries)[-1]["stopReason"] == "stop"


@pytest.mark.shared
def test_p04_done_without_a_reason_is_accepted(place: Place, server: ScriptedServer) -> None:
    server.add(*recorded(shared("field/inputs/P04/done_no_reason")))
    (answer,) = _answers(place.run("--mode", "json", "go"))
    assert answer["stopReason"] == "stop"


def test_done_without_a_reason_is_accepted(place: Place, server: ScriptedServer) -> None:
    server.add(Reply([chunk({"content": "fine"}), b"data: [DONE]\n\n"]))
    (answer,) = _answers(place.run("--mode", "json", "go"))
    assert (answer["stopReason"], text_of(answer)) == ("stop", "fine")
