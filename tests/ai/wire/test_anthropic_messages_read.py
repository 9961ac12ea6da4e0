from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message, RawMessageStreamEvent
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from relay.ai.errors import ProviderError
from relay.ai.events import BlockEvent, TextDelta, ToolCallDelta, ToolCallStart
from relay.ai.model import Model, Pricing
from relay.ai.types import AssistantMessage, TextContent, ThinkingContent, ToolCall
from relay.ai.wire.anthropic_messages import ADAPTER
from relay.ai.wire.base import CallOptions, ServerEvent
from tests.ai.wire.streams import TIMESTAMP, play, recorded, server_events

API = "anthropic-messages"
MODEL = Model(
    id="claude-test",
    name="Test",
    api=API,
    provider="anthropic",
    base_url="https://api.anthropic.com",
    reasoning=True,
    cost=Pricing(input=3, output=15, cache_read=0.3, cache_write=3.75),
)
WHOLE = [
    "lab-text",
    "lab-thinking-tools",
    "lab-length",
    "interleaved",
    "server-tool",
    "pause-turn",
    "signature-only",
]
EVENT: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)
TYPES = (
    "message_start message_delta message_stop content_block_start content_block_delta content_block_stop "
    "text thinking redacted_thinking tool_use end_turn error"
).split()
FIELDS = (
    "index delta content_block message usage id name input data text thinking signature partial_json "
    "stop_reason stop_details input_tokens cache_creation ephemeral_1h_input_tokens "
    "output_tokens_details thinking_tokens error code"
).split()
VALUES = (
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats() | st.sampled_from(["", "a", '{"b"', *TYPES])
)
DEEP = st.recursive(
    VALUES,
    lambda v: st.lists(v, max_size=2) | st.dictionaries(st.sampled_from([*FIELDS, "type"]), v, max_size=5),
)
RECORD = st.fixed_dictionaries({"type": st.sampled_from(TYPES)}, optional=dict.fromkeys(FIELDS[:5], DEEP))
NONSENSE = st.lists(RECORD | DEEP, max_size=6)


def event(**record: Any) -> ServerEvent:
    return ServerEvent(str(record["type"]), json.dumps(record).encode())


def begun(**usage: int) -> ServerEvent:
    return event(type="message_start", message={"id": "m", "model": MODEL.id, "usage": usage})


def text_block(*pieces: str, index: int = 0) -> list[ServerEvent]:
    deltas = [
        event(type="content_block_delta", index=index, delta={"type": "text_delta", "text": piece})
        for piece in pieces
    ]
    start = event(type="content_block_start", index=index, content_block={"type": "text", "text": ""})
    return [start, *deltas, event(type="content_block_stop", index=index)]


def ended(reason: str | None, **usage: int) -> list[ServerEvent]:
    return [
        event(type="message_delta", delta={"stop_reason": reason}, usage=usage),
        event(type="message_stop"),
    ]


def accumulated(events: list[ServerEvent]) -> Message:
    """What the vendor's own package makes of the stream."""
    message = None
    buffers: dict[int, bytes] = {}
    known = ("message_start", "message_delta", "message_stop", "content_block_")
    for item in events:
        if item.event.startswith(known):
            parsed = EVENT.validate_json(item.data)
            message = accumulate_event(event=parsed, current_snapshot=message, json_bufs=buffers)
    assert message is not None
    return message


def as_blocks(message: AssistantMessage) -> list[dict[str, Any]]:
    """Our blocks in the API's form."""
    blocks: list[dict[str, Any]] = []
    for block in message.content:
        match block:
            case TextContent():
                blocks.append({"type": "text", "text": block.text})
            case ThinkingContent(redacted=True):
                blocks.append({"type": "redacted_thinking", "data": block.thinking_signature})
            case ThinkingContent():
                signature = block.thinking_signature or ""
                blocks.append({"type": "thinking", "thinking": block.thinking, "signature": signature})
            case ToolCall():
                blocks.append(
                    {"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments}
                )
    return blocks


@pytest.mark.parametrize("name", WHOLE)
def test_a_stream_gives_the_message_of_the_vendors_accumulator(name: str) -> None:
    events = recorded(API, name)
    ours, theirs = play(ADAPTER, MODEL, events).message, accumulated(events)
    fields = ("type", "text", "thinking", "signature", "data", "id", "name", "input")
    kept = ("text", "thinking", "redacted_thinking", "tool_use")
    expected = [
        {key: value for key, value in block.to_dict().items() if key in fields}
        for block in theirs.content
        if block.type in kept
    ]
    assert as_blocks(ours) == expected
    assert ours.response_id == theirs.id
    assert (ours.response_model or MODEL.id) == theirs.model
    assert ours.raw_stop_reason == theirs.stop_reason
    assert ours.usage.input == theirs.usage.input_tokens
    assert ours.usage.output == theirs.usage.output_tokens
    assert ours.usage.cache_read == (theirs.usage.cache_read_input_tokens or 0)
    assert ours.usage.cache_write == (theirs.usage.cache_creation_input_tokens or 0)


def test_blocks_end_before_the_next_begins() -> None:
    kinds = [item.__struct_config__.tag for item in play(ADAPTER, MODEL, recorded(API, "interleaved")).events]
    assert [kind for kind in kinds if not str(kind).endswith("delta")] == [
        f"{kind}_{edge}"
        for kind in ("thinking", "thinking", "text", "toolcall", "toolcall")
        for edge in ("start", "end")
    ]


def test_usage_counts_hours_reasoning_and_cost() -> None:
    usage = play(ADAPTER, MODEL, recorded(API, "interleaved")).message.usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (101, 50, 7, 30)
    assert (usage.cache_write_1h, usage.reasoning, usage.total_tokens) == (20, 12, 188)
    assert usage.cost.input == pytest.approx(101 * 3 / 1e6)
    assert usage.cost.cache_write == pytest.approx((10 * 3.75 + 20 * 6) / 1e6)
    assert usage.cost.total > usage.cost.input


@pytest.mark.parametrize(
    ("raw", "reason"),
    [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"), ("pause_turn", "stop")],
)
def test_stop_reasons(raw: str, reason: str) -> None:
    message = play(ADAPTER, MODEL, [begun(), *text_block("hi"), *ended(raw)]).message
    assert (message.stop_reason, message.raw_stop_reason) == (reason, raw)
    assert message.end_turn is (False if raw == "pause_turn" else None)


@pytest.mark.parametrize(
    ("raw", "kind", "word"),
    [
        ("refusal", "refusal", "refused"),
        ("sensitive", "refusal", "refused"),
        ("model_context_window_exceeded", "overflow", "context window"),
        ("moon_phase", "protocol", "moon_phase"),
    ],
)
def test_stops_that_are_errors_keep_text_and_usage(raw: str, kind: str, word: str) -> None:
    reader = ADAPTER.reader(MODEL, CallOptions(), TIMESTAMP)
    for item in [begun(input_tokens=4), *text_block("so far"), *ended(raw, output_tokens=2)]:
        reader.feed(item)
    with pytest.raises(ProviderError, match=word) as caught:
        reader.finish()
    reader.abandon()
    assert caught.value.kind == kind
    assert reader.message.content == [TextContent(text="so far")]
    assert reader.message.usage.total_tokens == 6
    assert reader.message.raw_stop_reason == raw


def test_a_refusal_tells_its_category_and_explanation() -> None:
    with pytest.raises(ProviderError, match=r"category bio\): not this") as caught:
        play(ADAPTER, MODEL, recorded(API, "refusal"))
    assert caught.value.code == "refusal"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("overloaded", "overload"),
        ("malformed", "protocol"),
        ("lab-no-finish", "transport"),
        ("cut-tool", "transport"),
    ],
)
def test_streams_that_do_not_end_well(name: str, kind: str) -> None:
    with pytest.raises(ProviderError) as caught:
        play(ADAPTER, MODEL, recorded(API, name))
    assert caught.value.kind == kind


def test_abandon_drops_the_call_that_was_cut() -> None:
    reader = ADAPTER.reader(MODEL, CallOptions(), TIMESTAMP)
    for item in recorded(API, "cut-tool"):
        reader.feed(item)
    reader.abandon()
    assert reader.message.content == [TextContent(text="Writing")]
    assert reader.message.usage.input == 100


def test_a_call_cut_at_the_output_limit_keeps_its_text() -> None:
    start = event(
        type="content_block_start", index=0, content_block={"type": "tool_use", "id": "t", "name": "write"}
    )
    piece = event(
        type="content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": '{"a": "b'}
    )
    message = play(ADAPTER, MODEL, [begun(), start, piece, *ended("max_tokens")]).message
    assert message.stop_reason == "length"
    assert message.content == [ToolCall(id="t", name="write", arguments={}, raw_arguments='{"a": "b')]


def test_input_given_with_the_start_is_the_arguments() -> None:
    block = {"type": "tool_use", "id": "", "name": "read", "input": {"path": "a"}}
    start = event(type="content_block_start", index=0, content_block=block)
    stop = event(type="content_block_stop", index=0)
    played = play(ADAPTER, MODEL, [begun(), start, stop, *ended("end_turn")])
    (call,) = played.message.content
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments) == ("read", {"path": "a"})
    assert call.id
    assert played.message.stop_reason == "toolUse"
    assert any(isinstance(item, ToolCallDelta) for item in played.events)


def test_odd_events_are_read_leniently() -> None:
    odd = [
        ServerEvent("ping", b"not json at all"),
        ServerEvent("", b'{"type":"message_start","message":null}'),
        ServerEvent("", b"[1, 2]"),
        ServerEvent(
            "content_block_start", b'{"type":"content_block_start","index":"0","content_block":null}'
        ),
        ServerEvent(
            "", b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud83d"}}'
        ),
        ServerEvent("", b'{"type":"content_block_delta","index":0,"delta":{"text":7}}'),
        ServerEvent("", b'{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":[]}'),
        ServerEvent("", b"[DONE]"),
    ]
    message = play(ADAPTER, MODEL, odd).message
    assert message.content == [TextContent(text="a\ud83d")]
    assert message.stop_reason == "stop"


def test_an_error_object_without_a_type_is_an_error() -> None:
    with pytest.raises(ProviderError) as caught:
        play(
            ADAPTER, MODEL, [ServerEvent("", b'{"error":{"type":"rate_limit_error","message":"slow down"}}')]
        )
    assert caught.value.kind == "rate_limit"


def test_message_stop_alone_ends_an_answer() -> None:
    assert (
        play(ADAPTER, MODEL, [begun(), *text_block("x"), event(type="message_stop")]).message.stop_reason
        == "stop"
    )


def test_the_level_asked_for_is_kept() -> None:
    stream = recorded(API, "lab-text")
    assert play(ADAPTER, MODEL, stream, CallOptions(thinking="high")).message.thinking_level == "high"
    assert play(ADAPTER, MODEL, stream).message.thinking_level is None


def test_any_cut_of_a_stream_is_told(subtests: pytest.Subtests) -> None:
    stream = recorded(API, "interleaved")
    for length in range(len(stream) - 2):
        with subtests.test(length=length):
            reader = ADAPTER.reader(MODEL, CallOptions(), TIMESTAMP)
            for item in stream[:length]:
                reader.feed(item)
            with pytest.raises(ProviderError) as caught:
                reader.finish()
            reader.abandon()
            assert caught.value.kind == "transport"
            assert all(not isinstance(b, ToolCall) or b.raw_arguments is None for b in reader.message.content)


@given(NONSENSE)
def test_nonsense_is_never_more_than_a_provider_error(records: list[Any]) -> None:
    reader = ADAPTER.reader(MODEL, CallOptions(), TIMESTAMP)
    try:
        for value in records:
            reader.feed(ServerEvent("", json.dumps(value).encode()))
        reader.finish()
    except ProviderError:
        reader.abandon()
    assert reader.message.usage.total_tokens >= 0


def test_many_deltas_are_collected_in_one_piece() -> None:
    data = b"".join(b"data: " + item.data + b"\n\n" for item in text_block(*["word "] * 5000))
    played = play(ADAPTER, MODEL, [begun(), *server_events(data), *ended("end_turn")])
    assert played.message.content == [TextContent(text="word " * 5000)]
    assert sum(isinstance(item, TextDelta) for item in played.events) == 5000


def test_tool_ids_and_names_come_with_the_start() -> None:
    events: list[BlockEvent] = play(ADAPTER, MODEL, recorded(API, "lab-thinking-tools")).events
    starts = [(item.id, item.tool_name) for item in events if isinstance(item, ToolCallStart)]
    assert starts == [("toolu_01", "read"), ("toolu_02", "bash")]
