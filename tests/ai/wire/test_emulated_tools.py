"""Tool calls by schema: what is asked of the server, and what its answers become."""

from __future__ import annotations

import json
from typing import Any

import fastjsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.ai.errors import ProviderError
from relay.ai.events import TextDelta, ToolCallEnd
from relay.ai.local.library import describe
from relay.ai.registry import adapter_for
from relay.ai.types import Message, ToolCall, text_of
from relay.ai.wire.base import CallOptions, ServerEvent
from relay.ai.wire.emulated_tools import CALLS_PER_EXCHANGE, EmulatedTools
from tests.ai.wire.cases import BASH, READ, answer, call, result, system, user
from tests.ai.wire.streams import play

MODEL = msgspec.structs.replace(describe("tiny"), base_url="http://127.0.0.1:1/v1")
ADAPTER = adapter_for(MODEL)
START = system(READ, BASH, preamble="You are Relay.", cwd="<cwd>\n/here\n</cwd>")


def body(*messages: Message) -> dict[str, Any]:
    built: dict[str, Any] = json.loads(json.dumps(ADAPTER.build(MODEL, messages, CallOptions()).body))
    return built


def admits(built: dict[str, Any], reply: object) -> bool:
    try:
        fastjsonschema.compile(built["response_format"]["json_schema"]["schema"])(reply)
    except fastjsonschema.JsonSchemaValueException:
        return False
    return True


def reading(path: str) -> dict[str, object]:
    return {"tool": "read", "arguments": {"path": path}}


def said(built: dict[str, Any]) -> list[str]:
    return [
        content if isinstance(content, str) else "".join(part["text"] for part in content)
        for content in (message["content"] for message in built["messages"])
    ]


def stream(text: str, finish: str = "stop") -> list[ServerEvent]:
    """The text in pieces of seven characters, then the end."""
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": text[at : at + 7]}, "finish_reason": None}]}
        for at in range(0, len(text), 7)
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return [ServerEvent("", json.dumps(chunk).encode()) for chunk in chunks] + [ServerEvent("", b"[DONE]")]


def test_the_flag_in_compat_chooses_the_emulation() -> None:
    assert isinstance(ADAPTER, EmulatedTools)
    plain = msgspec.structs.replace(MODEL, compat={})
    assert not isinstance(adapter_for(plain), EmulatedTools)


def test_a_reply_is_a_call_of_a_known_tool_or_an_answer() -> None:
    built = body(START, user("hi"))
    assert admits(built, reading("a"))
    assert admits(built, {"tool": "bash", "arguments": {"command": "ls"}})
    assert admits(built, {"answer": "hello"})
    assert not admits(built, {"tool": "write", "arguments": {"path": "a"}})
    assert not admits(built, {"tool": "read", "arguments": {}})
    assert not admits(built, {"tool": "read", "arguments": {"path": "a", "limit": 3}})
    assert not admits(built, "hello")
    assert "tools" not in built


def test_without_tools_only_an_answer_is_admitted() -> None:
    built = body(system(base="x"), user("hi"))
    assert admits(built, {"answer": "hello"})
    assert not admits(built, reading("a"))
    assert len(built["messages"]) == 2, "examples of a tool that is not there would mislead"


def test_the_system_prompt_is_short_and_keeps_what_is_not_about_tools() -> None:
    first = said(body(START, user("hi")))[0]
    assert "You are Relay." not in first
    assert '{"tool": "read", "arguments": {"path": "…"}}' in first
    assert "/here" in first


def test_calls_and_results_are_told_as_text_with_the_request_repeated() -> None:
    built = body(START, user("What is in a?"), answer(MODEL, call("1", path="a")), result("1", "alpha"))
    assert said(built)[-3:] == [
        "What is in a?",
        json.dumps(reading("a")),
        "Result of read a:\nalpha\n\nQuestion: What is in a?",
    ]
    assert all(message["role"] in ("system", "user", "assistant") for message in built["messages"])


def test_long_results_are_cut_to_the_window_and_say_so() -> None:
    built = body(START, user("q"), answer(MODEL, call("1", path="a")), result("1", "x" * 50_000))
    shown = said(built)[-1]
    assert len(shown) < MODEL.context_window // 4 + 200
    assert f"[{50_000 - MODEL.context_window // 4} more characters are not shown]" in shown


def test_after_a_repeated_call_only_an_answer_is_admitted() -> None:
    once: list[Message] = [START, user("q"), answer(MODEL, call("1", path="a")), result("1", "alpha")]
    assert admits(body(*once), reading("b"))
    twice: list[Message] = [*once, answer(MODEL, call("2", path="a")), result("2", "alpha")]
    assert not admits(body(*twice), reading("b"))
    assert admits(body(*twice), {"answer": "alpha"})
    assert admits(body(*twice, answer(MODEL, "alpha"), user("and b?")), reading("b")), "a new exchange"


def test_an_exchange_has_a_limit_of_calls() -> None:
    messages: list[Message] = [START, user("q")]
    for number in range(CALLS_PER_EXCHANGE):
        assert admits(body(*messages), reading("z"))
        messages += [answer(MODEL, call(str(number), path=f"f{number}")), result(str(number), "text")]
    assert not admits(body(*messages), reading("z"))


def test_a_first_failed_call_is_followed_by_another_but_a_second_may_be_answered() -> None:
    failed: list[Message] = [
        START,
        user("q"),
        answer(MODEL, call("1", path="A.txt")),
        result("1", "no", error=True),
    ]
    assert admits(body(*failed), reading("A"))
    assert not admits(body(*failed), {"answer": "there is none"})
    again: list[Message] = [*failed, answer(MODEL, call("2", path="A")), result("2", "no", error=True)]
    assert admits(body(*again), {"answer": "there is none"})


def test_examples_hold_nothing_that_the_demo_asks_for() -> None:
    shown = "\n".join(said(body(START, user("hi")))).lower()
    assert "license" not in shown
    assert "mit" not in shown


def test_a_call_becomes_a_tool_call() -> None:
    played = play(ADAPTER, MODEL, stream(json.dumps(reading("docs/ä.md"))))
    assert played.message.stop_reason == "toolUse"
    [block] = played.message.content
    assert isinstance(block, ToolCall)
    assert (block.name, block.arguments) == ("read", {"path": "docs/ä.md"})
    assert isinstance(played.events[-1], ToolCallEnd)


def test_an_answer_becomes_text() -> None:
    played = play(ADAPTER, MODEL, stream('{"answer": "Line\\n\\"two\\" \\u00e4"}'))
    assert played.message.stop_reason == "stop"
    deltas = [event.delta for event in played.events if isinstance(event, TextDelta)]
    assert "".join(deltas) == 'Line\n"two" ä'
    assert len(deltas) > 1, "an answer is told while it comes"


@given(st.text(), st.booleans())
def test_any_answer_is_told_whole_however_it_is_cut(text: str, ascii_only: bool) -> None:
    played = play(ADAPTER, MODEL, stream(json.dumps({"answer": text}, ensure_ascii=ascii_only)))
    assert text_of(played.message.content) == text
    assert "".join(event.delta for event in played.events if isinstance(event, TextDelta)) == text


def test_an_aborted_answer_keeps_what_came() -> None:
    reader = ADAPTER.reader(MODEL, CallOptions(), 1)
    for event in stream('{"answer": "half of it')[:3]:
        reader.feed(event)
    reader.abandon()
    assert text_of(reader.message.content) == "half of i"


@pytest.mark.parametrize("text", ['{"other": 1}', "no JSON", "[1]", '{"answer": 3}', "{", '{"tool": 7}'])
def test_what_fits_nothing_is_shown_as_it_came(text: str) -> None:
    played = play(ADAPTER, MODEL, stream(text))
    assert [event.delta for event in played.events if isinstance(event, TextDelta)] == [text]


def test_an_answer_cut_by_the_limit_is_shown_as_far_as_it_came() -> None:
    played = play(ADAPTER, MODEL, stream('{"answer": "a long \\"st', finish="length"))
    assert played.message.stop_reason == "length"
    assert [event.delta for event in played.events if isinstance(event, TextDelta)][-1] == "st"
    assert text_of(played.message.content) == 'a long "st'


def test_a_call_cut_by_the_limit_is_no_call() -> None:
    played = play(ADAPTER, MODEL, stream('{"tool": "read", "argum', finish="length"))
    assert played.message.stop_reason == "length"
    assert not any(isinstance(block, ToolCall) for block in played.message.content)


def test_a_broken_stream_is_an_error_and_leaves_no_half_call() -> None:
    reader = ADAPTER.reader(MODEL, CallOptions(), 1)
    for event in stream(json.dumps(reading("a")))[:2]:
        reader.feed(event)
    with pytest.raises(ProviderError):
        reader.finish()
    reader.abandon()
    assert reader.message.content == []
