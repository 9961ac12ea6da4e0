"""Field faults A02 and P09: what a model gets wrong about tools, and what is sent back."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.e2e.harness import Place, Record, text_of
from tests.e2e.server import Request, ScriptedServer, calls, recorded, text
from tests.events_grammar import check_events
from tests.shared import shared


def _results(records: list[Record]) -> list[Record]:
    check_events(records)
    return [
        record["message"]
        for record in records
        if record["type"] == "message_end" and record["message"]["role"] == "toolResult"
    ]


@pytest.mark.shared
def test_a02(place: Place, server: ScriptedServer) -> None:
    server.add(*recorded(shared("field/inputs/A02")))
    ended = place.run("--mode", "json", "go")
    results = _results(ended.records)
    assert ended.code == 0
    assert [result["isError"] for result in results] == [True] * 4
    assert "read" in text_of(results[0]) and "reed_file" in text_of(results[0])
    assert ["path" in text_of(result) for result in results[1:3]] == [True, True]
    assert "edits" in text_of(results[3])
    assert text_of(ended.records[-2]["messages"][-1]) == "gave up"


MISTAKES: dict[str, tuple[str, Any, tuple[str, ...]]] = {
    "name in another case": ("Read", {"path": "a"}, ("Read", "read")),
    "name with a namespace": ("functions.read", {"path": "a"}, ("functions.read",)),
    "no name at all": ("", {"path": "a"}, ("read",)),
    "a tool that is switched off": ("grep", {"pattern": "a"}, ("grep", "bash")),
    "missing argument": ("bash", {}, ("command",)),
    "null argument": ("bash", {"command": None}, ("command",)),
    "object for text": ("bash", {"command": {"run": "ls"}}, ("command",)),
    "text that is no number": ("bash", {"command": "ls", "timeout": "soon"}, ("timeout",)),
    "negative offset": ("read", {"path": "a", "offset": -5}, ("offset",)),
    "edits of the wrong kind": ("edit", {"path": "a", "edits": [1, 2]}, ("edits",)),
    "an edit without newText": ("edit", {"path": "a", "edits": [{"oldText": "x"}]}, ("newText",)),
    "no edits": ("edit", {"path": "a", "edits": []}, ("edits",)),
    "a NUL in a path": ("read", {"path": "a\0b"}, ()),
    "a path too long": ("write", {"path": "x" * 5000, "content": "y"}, ()),
    "an empty path": ("read", {"path": ""}, ("path",)),
}


def test_each_mistake_is_a_failed_result_that_names_it(place: Place, server: ScriptedServer) -> None:
    (place.cwd / "a").write_text("one\n")
    server.add(*(calls((name, arguments)) for name, arguments, _ in MISTAKES.values()), text("gave up"))
    ended = place.run("--mode", "json", "go")
    results = _results(ended.records)
    assert (ended.code, ended.err) == (0, "")
    for (case, (_, _, named)), result in zip(MISTAKES.items(), results, strict=True):
        said = text_of(result)
        assert result["isError"], (case, said)
        assert said and all(word in said for word in named), (case, said)
        assert "Traceback" not in said and len(said) < 10_000, (case, said)
    for request in server.requests:
        _check_arguments(request)


def test_several_mistakes_in_one_turn_do_not_stop_the_good_call(place: Place, server: ScriptedServer) -> None:
    server.add(calls(("nope", {}), ("bash", {"command": "echo good"}), ("read", "{")), text("ok"))
    results = _results(place.run("--mode", "json", "go").records)
    assert [result["isError"] for result in results] == [True, False, True]
    assert "good" in text_of(results[1])


P09 = ("", "brace", "empty", "quoted_json", "python_dict", "raw_newline", "array", "null")


@pytest.mark.shared
@pytest.mark.parametrize("case", P09)
def test_p09(place: Place, server: ScriptedServer, case: str) -> None:
    server.add(*recorded(shared("field/inputs/P09") / case))
    ended = place.run("--mode", "json", "go")
    (result,) = _results(ended.records)
    _check_arguments(server.requests[1])
    assert result["isError"] or case in ("raw_newline", "quoted_json")
    assert text_of(ended.records[-2]["messages"][-1]) == "recovered"


NO_OBJECTS = {
    "cut off": '{"command": "echo hi"',
    "a brace": "{",
    "nothing": "",
    "blanks": "  \n",
    "null": "null",
    "a number": "42",
    "a list": '["echo hi"]',
    "a string": '"echo hi"',
    "true": "true",
    "python": "{'command': 'echo hi'}",
    "words": "run echo hi please",
    "two objects": '{"command": "echo a"}{"command": "echo b"}',
    "trailing comma": '{"command": "echo hi",}',
    "comment": '{"command": "echo hi" /* why */}',
    "markdown": '```json\n{"command": "echo hi"}\n```',
    "bad escape": '{"command": "echo \\q"}',
    "lone surrogate": '{"command": "echo \\ud83d"}',
    "not a number": '{"command": "echo hi", "timeout": NaN}',
    "infinity": '{"command": "echo hi", "timeout": Infinity}',
    "huge number": '{"command": "echo hi", "timeout": 1e999}',
    "many digits": '{"command": "echo hi", "timeout": ' + "9" * 5000 + "}",
    "rather deep": '{"command": ' + "[" * 400 + "]" * 400 + "}",
    "deep": '{"command": ' + "[" * 5000 + "]" * 5000 + "}",
    "same key twice": '{"command": "echo a", "command": "echo b"}',
    "NUL": '{"command": "echo \\u0000"}',
}


def test_what_is_sent_back_is_always_an_object(place: Place, server: ScriptedServer) -> None:
    server.add(*(calls(("bash", raw)) for raw in NO_OBJECTS.values()), text("recovered"))
    ended = place.run("--mode", "json", "go")
    assert (ended.code, ended.err) == (0, "")
    results = _results(ended.records)
    assert len(results) == len(NO_OBJECTS)
    assert text_of(ended.records[-2]["messages"][-1]) == "recovered"
    for request in server.requests:
        _check_arguments(request)
    for case in ("cut off", "words", "python", "a list"):
        index = list(NO_OBJECTS).index(case)
        assert results[index]["isError"] and NO_OBJECTS[case][:8] in text_of(results[index]), case
    assert server.requests[-1].body == json.loads(json.dumps(server.requests[-1].body, allow_nan=False))


def test_a_resumed_session_sends_objects_too(place: Place, server: ScriptedServer) -> None:
    server.add(calls(("bash", '{"command": "echo')), text("recovered"), text("and on"))
    assert place.run("-p", "go").code == 0
    assert place.run("-p", "--continue", "more").out == "and on\n"
    _check_arguments(server.requests[2])


def _check_arguments(request: Request) -> None:
    for message in request.messages:
        for call in message.get("tool_calls") or []:
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["function"]["name"]) and call["id"]
