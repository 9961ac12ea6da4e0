from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from relay.ai.errors import ProviderError
from relay.ai.events import (
    BlockEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from relay.ai.model import Model, Pricing
from relay.ai.types import AssistantMessage, TextContent, ThinkingContent, ToolCall
from relay.ai.wire.base import CallOptions, ServerEvent, StreamReader
from relay.ai.wire.openai_completions import ADAPTER
from tests.ai.wire.openai_oracle import read_all, sdk_chat_completion

FIXTURES = Path(__file__).parents[2] / "fixtures" / "wire" / "openai-completions"
MODEL = Model(
    id="m1",
    name="M",
    api="openai-completions",
    provider="mock",
    base_url="http://x.test/v1",
    reasoning=True,
    cost=Pricing(input=1, output=2, cache_read=0.5),
)


def reader_of(**compat: Any) -> StreamReader:
    return ADAPTER.reader(
        msgspec.structs.replace(MODEL, compat=compat), CallOptions(thinking="low"), timestamp=7
    )


def sse(*chunks: Any, done: bool = True) -> bytes:
    lines = [chunk if isinstance(chunk, str) else json.dumps(chunk) for chunk in chunks]
    return b"".join(b"data: " + line.encode() + b"\n\n" for line in [*lines, *["[DONE]"] * done])


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"id": "c1", "model": "m1", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def piece(
    index: int | None, arguments: Any = "", id: str | None = None, name: str | None = None
) -> dict[str, Any]:
    whole = {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}
    return delta(tool_calls=[{key: value for key, value in whole.items() if value is not None}])


def message_of(stream: bytes, **compat: Any) -> AssistantMessage:
    reader = reader_of(**compat)
    read_all(reader, stream)
    return reader.message


def calls_of(message: AssistantMessage) -> list[tuple[str, str, Any]]:
    return [(b.id, b.name, b.arguments) for b in message.content if isinstance(b, ToolCall)]


WHOLE = ["text", "thinking", "tools", "raw-arguments", "length", "interleaved", "both-in-one-chunk"]


@pytest.mark.parametrize("name", WHOLE)
def test_a_stream_means_what_the_sdk_makes_of_it(name: str) -> None:
    stream = (FIXTURES / f"{name}.sse").read_bytes()
    message = message_of(stream)
    theirs = sdk_chat_completion(stream)
    choice = theirs.choices[0]
    texts = [b.text for b in message.content if isinstance(b, TextContent)]
    assert "".join(texts) == (choice.message.content or "")
    thinking = [b.thinking for b in message.content if isinstance(b, ThinkingContent)]
    assert "".join(thinking) == (getattr(choice.message, "reasoning_content", None) or "")
    calls = [b for b in message.content if isinstance(b, ToolCall)]
    wanted = [
        (item.id, item.function.name, item.function.arguments)
        for item in choice.message.tool_calls or []
        if item.type == "function"
    ]
    assert [
        (b.id, b.name, b.raw_arguments if b.raw_arguments is not None else b.arguments) for b in calls
    ] == [
        (id, name, text if call.raw_arguments is not None else json.loads(text))
        for (id, name, text), call in zip(wanted, calls, strict=True)
    ]
    assert message.raw_stop_reason == choice.finish_reason
    assert message.response_id == theirs.id
    if theirs.usage is not None:
        assert message.usage.total_tokens == theirs.usage.total_tokens


@pytest.mark.parametrize("name", WHOLE)
def test_events_reassemble_to_the_message(name: str) -> None:
    reader = reader_of()
    events = read_all(reader, (FIXTURES / f"{name}.sse").read_bytes())
    started: list[int] = []
    pieces: dict[int, str] = {}
    ended: list[int] = []
    for event in events:
        if type(event).__name__.endswith("Start"):
            assert event.content_index == len(started)
            started.append(event.content_index)
        elif type(event).__name__.endswith("Delta"):
            assert not ended, "every end comes when the stream ends"
            pieces[event.content_index] = pieces.get(event.content_index, "") + getattr(event, "delta", "")
        else:
            ended.append(event.content_index)
            if isinstance(event, ToolCallEnd):
                raw = event.tool_call.raw_arguments
                assert pieces[event.content_index] == raw or json.loads(pieces[event.content_index]) == (
                    event.tool_call.arguments
                )
            elif isinstance(event, TextEnd | ThinkingEnd):
                assert pieces[event.content_index] == event.content
    assert ended == started == list(range(len(reader.message.content)))


def test_a_call_starts_with_a_delta_even_when_it_is_empty() -> None:
    events = read_all(reader_of(), sse(piece(0, id="a", name="ls"), delta("tool_calls")))
    assert [type(event) for event in events] == [ToolCallStart, ToolCallDelta, ToolCallEnd]
    assert isinstance(events[2], ToolCallEnd) and events[2].tool_call.arguments == {}


def test_usage_cost_and_names() -> None:
    message = message_of((FIXTURES / "text.sse").read_bytes())
    usage = message.usage
    assert (usage.input, usage.output, usage.cache_read, usage.total_tokens) == (12, 5, 3, 20)
    assert usage.cost.total == pytest.approx((12 + 10 + 1.5) / 1e6)
    assert (message.stop_reason, message.thinking_level, message.timestamp) == ("stop", "low", 7)
    assert message.response_model is None
    other = {**delta("stop", content="a"), "model": "m1-2026"}
    assert message_of(sse(other)).response_model == "m1-2026"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 22,
          "completion_tokens_details": {"reasoning_tokens": 7}}, (10, 12, 0, 0, 7)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}, (6, 5, 4, 0, None)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 3}, (7, 5, 3, 0, None)),
        ({"prompt_tokens": 10, "completion_tokens": 5,
          "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2}}, (4, 5, 4, 2, None)),
        ({"prompt_tokens": None, "completion_tokens": 5.0, "prompt_tokens_details": 0}, (0, 5, 0, 0, None)),
    ],
)  # fmt: skip
def test_spellings_of_usage(raw: dict[str, Any], expected: tuple[int, ...]) -> None:
    for place in ({"usage": raw}, {"choices": [{"usage": raw}]}):
        usage = message_of(sse(delta("stop", content="a"), place)).usage
        found = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning)
        assert found == expected


def test_interleaved_pieces_go_to_the_call_of_their_index() -> None:
    for name in ("interleaved", "both-in-one-chunk"):
        commands = [a["command"] for _, _, a in calls_of(message_of((FIXTURES / f"{name}.sse").read_bytes()))]
        assert commands == ["echo AAA", "echo BBB"]


def test_calls_without_an_index_are_told_apart_by_id_or_order() -> None:
    stream = sse(
        piece(None, '{"a":', id="x", name="one"),
        piece(None, '{"b":', id="y", name="two"),
        piece(None, "1}", id="x"),
        piece(None, "2}"),
        delta("tool_calls"),
    )
    assert calls_of(message_of(stream)) == [("x", "one", {"a": 1}), ("y", "two", {"b": 2})]


def test_calls_that_all_have_index_zero_are_told_apart_by_id() -> None:
    stream = sse(
        piece(0, '{"a":1}', id="x", name="one"), piece(0, '{"b":2}', id="y", name="two"), delta("stop")
    )
    message = message_of(stream)
    assert calls_of(message) == [("x", "one", {"a": 1}), ("y", "two", {"b": 2})]
    assert message.stop_reason == "toolUse"


def test_ids_and_names_that_come_late_or_never() -> None:
    stream = sse(
        piece(0, '{"a"', id="x"), piece(0, ":1}", name="one"), piece(1, "{}", name="two"), piece(2, "{}"),
        delta("tool_calls"),
    )  # fmt: skip
    assert calls_of(message_of(stream)) == [
        ("x", "one", {"a": 1}),
        ("call_7_2", "two", {}),
        ("call_7_3", "", {}),
    ]


def test_a_name_that_is_repeated_in_every_piece_is_one_call() -> None:
    stream = sse(
        piece(0, '{"a"', id="x", name="one"), piece(0, ":1}", id="x", name="one"), delta("tool_calls")
    )
    assert calls_of(message_of(stream)) == [("x", "one", {"a": 1})]


def test_lenient_chunks() -> None:
    events = read_all(reader := reader_of(), (FIXTURES / "lenient.sse").read_bytes())
    assert reader.message.content == [TextContent(text="hello")]
    assert (reader.message.usage.input, reader.message.usage.output) == (100, 5)
    assert [type(event) for event in events] == [TextStart, TextDelta, TextDelta, TextEnd]


@pytest.mark.parametrize(
    "odd",
    [
        {"id": 5, "choices": [{"delta": {"content": "x"}}]},
        {"choices": [{"index": "0", "delta": {"content": "x", "tool_calls": {}}}], "usage": []},
        {"choices": [None, {"delta": {"content": "x"}}]},
        {"choices": [{"delta": {"content": [{"type": "text", "text": "x"}]}}]},
        {"choices": [{"delta": {"content": "x", "reasoning_details": [1, None]}}], "created": "now"},
        {"choices": [{"delta": {"content": "x", "reasoning": {"a": 1}}, "finish_reason": False}]},
    ],
)
def test_fields_of_other_types_are_read_or_ignored(odd: dict[str, Any]) -> None:
    assert message_of(sse(odd, delta("stop"))).content == [TextContent(text="x")]


def test_arguments_that_come_as_an_object() -> None:
    stream = sse(piece(0, {"a": "ü"}, id="x", name="one"), delta("tool_calls"))
    assert calls_of(message_of(stream)) == [("x", "one", {"a": "ü"})]


def test_thinking_that_comes_as_parts_of_the_content() -> None:
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    message = message_of(sse(delta(content=[part]), delta("stop", content="so")))
    assert message.content == [
        ThinkingContent(thinking="hm", thinking_signature="reasoning_content"),
        TextContent(text="so"),
    ]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text"])
def test_the_field_of_the_thinking_is_its_signature(name: str) -> None:
    message = message_of(sse(delta(**{name: "a"}), delta(**{name: "b"}), delta("stop", content="c")))
    assert message.content == [
        ThinkingContent(thinking="ab", thinking_signature=name),
        TextContent(text="c"),
    ]


def test_a_server_that_sends_the_thinking_in_two_fields_is_read_once() -> None:
    message = message_of(sse(delta(reasoning="a", reasoning_content="a"), delta("stop", content="c")))
    assert message.content[0] == ThinkingContent(thinking="a", thinking_signature="reasoning_content")


def test_encrypted_reasoning_stays_with_its_call() -> None:
    detail = {"type": "reasoning.encrypted", "id": "x", "data": "abc", "index": 0}
    stream = sse(
        delta(reasoning_details=[detail, {"type": "reasoning.text", "text": "t"}]),
        piece(0, "{}", id="w", name="one"),
        piece(1, "{}", id="x", name="two"),
        delta("tool_calls"),
    )
    calls = [b for b in message_of(stream).content if isinstance(b, ToolCall)]
    assert calls[0].thought_signature is None
    assert json.loads(calls[1].thought_signature or "") == detail


def test_a_refusal_is_text() -> None:
    assert message_of(sse(delta("stop", refusal="I will not."))).content == [TextContent(text="I will not.")]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "stop"),
        ("function_call", "stop"),
        ("something_new", "stop"),
    ],
)
def test_finish_reasons_of_text(reason: str, stop: str) -> None:
    message = message_of(sse(delta(content="a"), delta(reason)))
    assert (message.stop_reason, message.raw_stop_reason) == (stop, reason)


@pytest.mark.parametrize(
    ("reason", "stop"), [("stop", "toolUse"), ("tool_calls", "toolUse"), ("length", "length")]
)
def test_finish_reasons_after_calls(reason: str, stop: str) -> None:
    assert message_of(sse(piece(0, "{}", id="x", name="one"), delta(reason))).stop_reason == stop


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("content_filter", "refusal"),
        ("network_error", "transport"),
        ("insufficient_system_resource", "overload"),
        ("model_context_window_exceeded", "overflow"),
    ],
)
def test_finish_reasons_that_are_failures(reason: str, kind: str) -> None:
    reader = reader_of()
    with pytest.raises(ProviderError) as caught:
        read_all(reader, sse(delta(content="half"), delta(reason)))
    assert (caught.value.kind, caught.value.code) == (kind, reason)
    reader.abandon()
    assert reader.message.content == [TextContent(text="half")]
    assert reader.message.raw_stop_reason == reason


BROKEN_OFF = [
    sse(delta(content="half"), done=False),
    sse(done=False),
    sse(done=True),
    sse(piece(0, '{"a":', id="x", name="one"), done=False),
    sse(piece(0, '{"a":1}', id="x", name="one"), done=False),
    sse(piece(0, '{"a":', id="x", name="one"), done=True),
]


@pytest.mark.parametrize("stream", BROKEN_OFF)
def test_a_stream_without_a_finish_reason_broke_off(stream: bytes) -> None:
    reader = reader_of()
    with pytest.raises(ProviderError) as caught:
        read_all(reader, stream)
    assert caught.value.kind == "transport" and caught.value.retryable
    reader.abandon()
    assert not any(isinstance(block, ToolCall) for block in reader.message.content)


def test_done_without_a_reason_ends_a_whole_answer() -> None:
    assert message_of(sse(delta(content="whole"))).stop_reason == "stop"
    called = message_of(sse(piece(0, '{"a":1}', id="x", name="one")))
    assert called.stop_reason == "toolUse" and called.raw_stop_reason is None


def test_a_server_that_gives_no_finish_reasons_ends_with_its_stream() -> None:
    assert (
        message_of(sse(delta(content="whole"), done=False), supportsFinishReason=False).stop_reason == "stop"
    )
    with pytest.raises(ProviderError):
        message_of(sse(done=False), supportsFinishReason=False)


@pytest.mark.parametrize("data", ["{broken", "[1, 2]", '"text"', "null", '{"a": "\\q"}'])
def test_what_is_not_the_protocol_says_so(data: str) -> None:
    with pytest.raises(ProviderError) as caught:
        reader_of().feed(ServerEvent("", data.encode()))
    assert caught.value.kind == "protocol" and not caught.value.retryable


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("", {"error": {"message": "the engine fell over", "code": "server_error"}}),
        ("error", {"message": "the engine fell over", "code": "server_error"}),
        ("", {"object": "error", "message": "the engine fell over", "code": "server_error"}),
        ("", {"choices": [{"error": {"message": "the engine fell over", "code": "server_error"}}]}),
    ],
)
def test_an_error_inside_the_stream_is_raised(name: str, data: dict[str, Any]) -> None:
    reader = reader_of()
    reader.feed(ServerEvent("", json.dumps(delta(content="half")).encode()))
    with pytest.raises(ProviderError, match="the engine fell over"):
        reader.feed(ServerEvent(name, json.dumps(data).encode()))
    reader.abandon()
    assert reader.message.content == [TextContent(text="half")]


def test_blank_data_is_a_keep_alive() -> None:
    assert reader_of().feed(ServerEvent("", b"  ")) == []


def test_an_abort_drops_calls_that_are_not_complete() -> None:
    reader = reader_of()
    events: list[BlockEvent] = []
    for chunk in (
        delta(content="on it"),
        piece(0, '{"a":', id="x", name="one"),
        {"usage": {"prompt_tokens": 3}},
    ):
        events += reader.feed(ServerEvent("", json.dumps(chunk).encode()))
    reader.abandon()
    assert reader.message.content == [TextContent(text="on it")]
    assert reader.message.usage.input == 3


def test_surrogates_in_a_stream_are_read() -> None:
    message = message_of(sse('{"choices":[{"delta":{"content":"a\\ud83d"},"finish_reason":"stop"}]}'))
    assert message.content == [TextContent(text="a\ud83d")]
