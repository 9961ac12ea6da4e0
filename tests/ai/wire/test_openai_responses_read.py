from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from openai._models import construct_type
from openai.types.responses import Response

from relay.ai.errors import ProviderError
from relay.ai.events import (
    BlockEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from relay.ai.model import Model
from relay.ai.types import AssistantMessage, TextContent, ThinkingContent, ToolCall
from relay.ai.wire.base import CallOptions, ServerEvent, StreamReader
from relay.ai.wire.openai_responses import ADAPTER
from tests.ai.wire.cases import result, user
from tests.ai.wire.openai_oracle import events_of, read_all

FIXTURES = Path(__file__).parents[2] / "fixtures" / "wire" / "openai-responses"
MODEL = Model(
    id="m1", name="M", api="openai-responses", provider="mock", base_url="http://x.test/v1", reasoning=True
)


def reader_of() -> StreamReader:
    return ADAPTER.reader(MODEL, CallOptions(thinking="low"), timestamp=7)


def event(type: str, **fields: Any) -> dict[str, Any]:
    return {"type": type, **fields}


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


def added(index: int, **item: Any) -> dict[str, Any]:
    return event("response.output_item.added", output_index=index, item=item)


def done(index: int, **item: Any) -> dict[str, Any]:
    return event("response.output_item.done", output_index=index, item=item)


def ended(status: str = "completed", **response: Any) -> dict[str, Any]:
    return event(f"response.{status}", response={"id": "r1", "model": "m1", "status": status, **response})


def message_of(stream: bytes) -> AssistantMessage:
    reader = reader_of()
    read_all(reader, stream)
    return reader.message


WHOLE = ["text", "thinking", "tools", "raw-arguments", "length"]


@pytest.mark.parametrize("name", WHOLE)
def test_a_stream_means_what_the_final_response_says(name: str) -> None:
    stream = (FIXTURES / f"{name}.sse").read_bytes()
    message = message_of(stream)
    last = json.loads(events_of(stream)[-1].data)["response"]
    theirs = construct_type(type_=Response, value=last)
    assert isinstance(theirs, Response)
    assert "".join(b.text for b in message.content if isinstance(b, TextContent)) == theirs.output_text
    for item, block in zip(theirs.output, message.content, strict=True):
        if item.type == "reasoning":
            assert isinstance(block, ThinkingContent)
            assert block.thinking == item.summary[0].text
            assert json.loads(block.thinking_signature or "")["encrypted_content"] == item.encrypted_content
        elif item.type == "function_call":
            assert isinstance(block, ToolCall)
            assert (block.id, block.name) == (f"{item.call_id}|{item.id}", item.name)
            assert block.raw_arguments == item.arguments or json.loads(item.arguments) == block.arguments
    assert message.response_id == theirs.id
    assert theirs.usage is not None and message.usage.total_tokens == theirs.usage.total_tokens


@pytest.mark.parametrize("name", WHOLE)
def test_each_block_ends_before_the_next_starts(name: str) -> None:
    reader = reader_of()
    open_block: int | None = None
    for block_event in read_all(reader, (FIXTURES / f"{name}.sse").read_bytes()):
        kind = type(block_event).__name__
        if kind.endswith("Start"):
            assert open_block is None
            open_block = block_event.content_index
        assert block_event.content_index == open_block
        if kind.endswith("End"):
            open_block = None
    assert open_block is None


@pytest.mark.parametrize("name", WHOLE)
def test_what_was_read_goes_back_as_it_came(name: str) -> None:
    stream = (FIXTURES / f"{name}.sse").read_bytes()
    message = message_of(stream)
    if name == "raw-arguments":
        return
    output = json.loads(events_of(stream)[-1].data)["response"]["output"]
    results = [result(b.id, "x", name=b.name) for b in message.content if isinstance(b, ToolCall)]
    body: Any = ADAPTER.build(MODEL, [user("a"), message, *results], CallOptions()).body
    sent = [item for item in body["input"][1:] if item["type"] != "function_call_output"]
    for item, original in zip(sent, output, strict=True):
        if item["type"] == "function_call":
            assert json.loads(item.pop("arguments")) == json.loads(original.pop("arguments"))
            original.pop("status")
        assert item == original


def test_stop_reasons() -> None:
    text = [added(0, type="message", id="m"), event("response.output_text.delta", output_index=0, delta="a")]
    whole = message_of(sse(*text, ended()))
    assert (whole.stop_reason, whole.raw_stop_reason, whole.thinking_level) == ("stop", "completed", "low")
    cut = message_of(sse(*text, ended("incomplete", incomplete_details={"reason": "max_output_tokens"})))
    assert (cut.stop_reason, cut.raw_stop_reason) == ("length", "max_output_tokens")
    called = message_of(
        sse(added(0, type="function_call", id="f", call_id="c", name="n", arguments="{}"), ended())
    )
    assert called.stop_reason == "toolUse"


def test_usage() -> None:
    usage = {
        "input_tokens": 20,
        "output_tokens": 7,
        "input_tokens_details": {"cached_tokens": 12, "cache_write_tokens": 3},
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    found = message_of(sse(ended(usage=usage))).usage
    assert (found.input, found.output, found.cache_read, found.cache_write) == (5, 7, 12, 3)
    assert (found.reasoning, found.total_tokens) == (4, 27)


def test_summary_parts_are_kept_apart_and_the_signature_is_the_item() -> None:
    summary = [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]
    events = read_all(
        reader := reader_of(),
        sse(
            added(0, type="reasoning", id="rs", summary=[]),
            event("response.reasoning_summary_part.added", output_index=0, summary_index=0),
            event("response.reasoning_summary_text.delta", output_index=0, delta="one"),
            event("response.reasoning_summary_part.added", output_index=0, summary_index=1),
            event("response.reasoning_summary_text.delta", output_index=0, delta="two"),
            event("response.reasoning_text.delta", output_index=0, delta="full text"),
            done(0, type="reasoning", id="rs", summary=summary, encrypted_content="e", status=None),
            ended(),
        ),
    )
    block = reader.message.content[0]
    assert isinstance(block, ThinkingContent) and block.thinking == "one\n\ntwo"
    assert json.loads(block.thinking_signature or "") == {
        "type": "reasoning",
        "id": "rs",
        "summary": summary,
        "encrypted_content": "e",
    }
    kinds = [ThinkingStart, ThinkingDelta, ThinkingDelta, ThinkingDelta, ThinkingEnd]
    assert [type(e) for e in events] == kinds


def test_full_reasoning_text_of_open_models() -> None:
    message = message_of(
        sse(
            added(0, type="reasoning", id="rs"),
            event("response.reasoning_text.delta", output_index=0, delta="hm"),
            done(0, type="reasoning", id="rs", content=[{"type": "reasoning_text", "text": "hm"}]),
            ended(),
        )
    )
    assert isinstance(message.content[0], ThinkingContent) and message.content[0].thinking == "hm"


def test_a_refusal_is_text_and_the_phase_is_kept() -> None:
    part = {"type": "refusal", "refusal": "I will not."}
    message = message_of(
        sse(
            added(0, type="message", id="msg_1"),
            event("response.refusal.delta", output_index=0, delta="I will"),
            done(0, type="message", id="msg_1", phase="final_answer", content=[part]),
            ended(),
        )
    )
    signature = '{"v":1,"id":"msg_1","phase":"final_answer"}'
    assert message.content == [TextContent(text="I will not.", text_signature=signature)]


def test_arguments_that_come_only_when_they_are_done() -> None:
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "n"}
    for closing in (
        [event("response.function_call_arguments.done", output_index=0, arguments='{"a":1}')],
        [done(0, **call, arguments='{"a":1}')],
        [
            event("response.function_call_arguments.delta", output_index=0, delta='{"a"'),
            done(0, **call, arguments='{"a":1}'),
        ],
    ):
        events = read_all(reader := reader_of(), sse(added(0, **call, arguments=""), *closing, ended()))
        pieces = "".join(e.delta for e in events if isinstance(e, ToolCallDelta))
        assert pieces == '{"a":1}'
        assert reader.message.content == [ToolCall(id="c|fc", name="n", arguments={"a": 1})]


def test_interleaved_items_are_told_apart_by_their_index() -> None:
    stream = sse(
        added(0, type="function_call", id="f0", call_id="c0", name="n"),
        added(1, type="function_call", id="f1", call_id="c1", name="n"),
        event("response.function_call_arguments.delta", output_index=0, delta='{"a":'),
        event("response.function_call_arguments.delta", output_index=1, delta='{"b":'),
        event("response.function_call_arguments.delta", output_index=0, delta="1}"),
        event("response.function_call_arguments.delta", output_index=1, delta="2}"),
        done(0, type="function_call"),
        done(1, type="function_call"),
        ended(),
    )
    calls = [b.arguments for b in message_of(stream).content if isinstance(b, ToolCall)]
    assert calls == [{"a": 1}, {"b": 2}]


def test_a_namespace_stays_with_its_call() -> None:
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "n", "arguments": "{}"}
    events = read_all(reader := reader_of(), sse(added(0, **call), done(0, **call, namespace="ns"), ended()))
    block = reader.message.content[0]
    assert isinstance(block, ToolCall) and block.namespace == "ns"
    assert isinstance(events[-1], ToolCallEnd) and events[-1].tool_call is block


def test_what_the_provider_runs_itself_is_passed_over() -> None:
    stream = sse(
        event("response.created", response={"id": "r1", "status": "in_progress"}),
        event("response.queued", response={"id": "r1", "status": "queued"}),
        added(0, type="web_search_call", id="ws"),
        event("response.web_search_call.searching", output_index=0),
        done(0, type="web_search_call", id="ws"),
        added(1, type="custom_tool_call", id="ct"),
        event("response.custom_tool_call_input.delta", output_index=1, delta="x"),
        added(2, type="message", id="m"),
        event("response.output_text.delta", output_index=2, delta="a"),
        event("response.output_text.annotation.added", output_index=2, annotation={}),
        event("response.something.new", delta={"not": "text"}, output_index="2"),
        done(2, type="message", id="m"),
        ended(),
    )
    assert [b.text for b in message_of(stream).content if isinstance(b, TextContent)] == ["a"]


def test_output_that_comes_only_at_the_end() -> None:
    output = [
        {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "a"}]},
        {"type": "function_call", "id": "fc", "call_id": "c", "name": "n", "arguments": "{}"},
    ]
    events = read_all(reader := reader_of(), sse(ended(output=output)))
    kinds = [TextStart, TextDelta, TextEnd, ToolCallStart, ToolCallDelta, ToolCallEnd]
    assert [type(e) for e in events] == kinds
    assert reader.message.stop_reason == "toolUse"


def test_the_event_name_counts_where_the_data_has_no_type() -> None:
    reader = reader_of()
    events: list[BlockEvent] = []
    for name, data in (
        ("response.output_item.added", {"output_index": 0, "item": {"type": "message", "id": "m"}}),
        ("response.output_text.delta", {"output_index": 0, "delta": "a"}),
        ("response.completed", {"response": {"status": "completed"}}),
    ):
        events += reader.feed(ServerEvent(name, json.dumps(data).encode()))
    reader.finish()
    assert [b.text for b in reader.message.content if isinstance(b, TextContent)] == ["a"]


@pytest.mark.parametrize(
    "failure",
    [
        ended("failed", error={"code": "server_error", "message": "the engine fell over"}),
        event("error", code="server_error", message="the engine fell over", param=None),
        event("error", error={"code": "server_error", "message": "the engine fell over"}),
    ],
)
def test_an_error_inside_the_stream_is_raised(failure: dict[str, Any]) -> None:
    reader = reader_of()
    start = [
        added(0, type="message", id="m"),
        event("response.output_text.delta", output_index=0, delta="half"),
    ]
    with pytest.raises(ProviderError, match="the engine fell over"):
        read_all(reader, sse(*start, failure))
    reader.abandon()
    assert [b.text for b in reader.message.content if isinstance(b, TextContent)] == ["half"]


def test_failures_without_words() -> None:
    with pytest.raises(ProviderError, match="no reason") as caught:
        message_of(sse(ended("failed", error=None)))
    assert caught.value.kind == "transport"
    with pytest.raises(ProviderError) as filtered:
        message_of(sse(ended("incomplete", incomplete_details={"reason": "content_filter"})))
    assert filtered.value.kind == "refusal"


def test_a_stream_without_its_last_event_broke_off() -> None:
    reader = reader_of()
    with pytest.raises(ProviderError) as caught:
        read_all(reader, (FIXTURES / "cut.sse").read_bytes())
    assert caught.value.kind == "transport"
    reader.abandon()
    assert len(reader.message.content) == 1


@pytest.mark.parametrize("data", ["{broken", "[1]", '"text"', "null"])
def test_what_is_not_the_protocol_says_so(data: str) -> None:
    with pytest.raises(ProviderError) as caught:
        reader_of().feed(ServerEvent("", data.encode()))
    assert caught.value.kind == "protocol"
