from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from relay.ai.errors import ProviderError
from relay.ai.events import TextDelta, ToolCallEnd
from relay.ai.model import Model, Pricing
from relay.ai.types import AssistantMessage, TextContent, ThinkingContent, ToolCall
from relay.ai.wire.base import CallOptions, ServerEvent
from relay.ai.wire.google_generative_ai import ADAPTER
from tests.ai.wire.streams import FIXTURES, TIMESTAMP, play, recorded

API = "google-generative-ai"
MODEL = Model(
    id="gemini-3-flash",
    name="Test",
    api=API,
    provider="google",
    base_url="https://generativelanguage.googleapis.com/v1beta",
    reasoning=True,
    cost=Pricing(input=1, output=4, cache_read=0.1),
)
WHOLE = ["lab-text", "lab-thinking-tools", "lab-length", "signed-tools", "signed-text", "odd-chunks"]
VALID = [
    path.stem
    for path in sorted((FIXTURES / API).glob("*.sse"))
    if path.stem not in ("malformed", "error-object")
]
FIELDS = (
    "candidates content parts text thought thoughtSignature functionCall name id args finishReason "
    "index usageMetadata promptTokenCount cachedContentTokenCount"
    " promptFeedback blockReason modelVersion responseId error code message"
).split()
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just("STOP")
NONSENSE = st.lists(
    st.recursive(
        VALUES, lambda v: st.lists(v, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), v, max_size=4)
    ),
    max_size=5,
)


def chunk(*parts: dict[str, Any], **candidate: Any) -> ServerEvent:
    content = {"role": "model", "parts": list(parts)}
    return ServerEvent("", json.dumps({"candidates": [{"content": content, **candidate}]}).encode())


def ended(reason: str = "STOP") -> ServerEvent:
    return chunk(finishReason=reason)


def parsed(events: list[ServerEvent]) -> list[types.GenerateContentResponse]:
    return [types.GenerateContentResponse.model_validate_json(event.data) for event in events]


def joined(responses: list[types.GenerateContentResponse]) -> list[tuple[Any, ...]]:
    """The vendor's parts, neighbours of one kind joined: (kind, text or name, arguments)."""
    found: list[tuple[Any, ...]] = []
    for response in responses:
        for candidate in response.candidates or ():
            for part in (candidate.content.parts if candidate.content else None) or ():
                if part.function_call is not None:
                    found.append(("call", part.function_call.name, part.function_call.args or {}))
                elif part.text:
                    kind = "thinking" if part.thought else "text"
                    if found and found[-1][0] == kind:
                        found[-1] = (kind, found[-1][1] + part.text)
                    else:
                        found.append((kind, part.text))
    return found


def as_parts(message: AssistantMessage) -> list[tuple[Any, ...]]:
    parts: list[tuple[Any, ...]] = []
    for block in message.content:
        match block:
            case TextContent():
                parts.append(("text", block.text))
            case ThinkingContent():
                parts.append(("thinking", block.thinking))
            case ToolCall():
                parts.append(("call", block.name, block.arguments))
    return parts


@pytest.mark.parametrize("name", VALID)
def test_each_recorded_chunk_is_one_of_the_vendors(name: str) -> None:
    assert parsed(recorded(API, name))


@pytest.mark.parametrize("name", WHOLE)
def test_a_stream_gives_the_vendors_joined_parts(name: str) -> None:
    events = recorded(API, name)
    message, responses = play(ADAPTER, MODEL, events).message, parsed(events)
    assert as_parts(message) == joined(responses)
    assert message.response_id == next((r.response_id for r in responses if r.response_id), None)
    assert (message.response_model or MODEL.id) == next(r.model_version for r in responses if r.model_version)
    usage = [response.usage_metadata for response in responses if response.usage_metadata][-1]
    assert message.usage.cache_read == (usage.cached_content_token_count or 0)
    assert message.usage.input + message.usage.cache_read == usage.prompt_token_count
    if usage.total_token_count:
        assert message.usage.total_tokens == usage.total_token_count


def test_usage_counts_thoughts_as_output() -> None:
    usage = play(ADAPTER, MODEL, recorded(API, "signed-tools")).message.usage
    assert (usage.input, usage.cache_read, usage.output, usage.reasoning) == (10, 40, 50, 30)
    assert usage.cost.output == pytest.approx(50 * 4 / 1e6)
    assert usage.cost.total > usage.cost.output


def test_signatures_stay_with_their_parts() -> None:
    calls = [
        block
        for block in play(ADAPTER, MODEL, recorded(API, "signed-tools")).message.content
        if isinstance(block, ToolCall)
    ]
    assert [call.thought_signature for call in calls] == [base64.b64encode(b"Sig-1").decode(), None, None]
    text = play(ADAPTER, MODEL, recorded(API, "signed-text")).message.content
    assert text == [
        ThinkingContent(thinking="Hm."),
        TextContent(text="All good.", text_signature=base64.b64encode(b"Sig-2").decode()),
    ]


def test_a_signed_part_ends_its_block() -> None:
    message = play(
        ADAPTER, MODEL, [chunk({"text": "a", "thoughtSignature": "QQ=="}), chunk({"text": "b"}), ended()]
    ).message
    assert message.content == [TextContent(text="a", text_signature="QQ=="), TextContent(text="b")]


def test_a_signature_behind_a_call_keeps_a_place() -> None:
    call = {"functionCall": {"name": "read", "args": {}}}
    message = play(
        ADAPTER, MODEL, [chunk(call), chunk({"text": "", "thoughtSignature": "QQ=="}), ended()]
    ).message
    assert message.content[1] == TextContent(text="", text_signature="QQ==")


def test_ids_of_calls_are_unique() -> None:
    played = play(ADAPTER, MODEL, recorded(API, "signed-tools"))
    ids = [event.tool_call.id for event in played.events if isinstance(event, ToolCallEnd)]
    assert ids[0] == "fc-a"
    assert len(set(ids)) == 3
    assert all(ids)


@pytest.mark.parametrize(("raw", "reason"), [("STOP", "stop"), ("MAX_TOKENS", "length")])
def test_finish_reasons(raw: str, reason: str) -> None:
    message = play(ADAPTER, MODEL, [chunk({"text": "x"}), ended(raw)]).message
    assert (message.stop_reason, message.raw_stop_reason) == (reason, raw)
    assert play(ADAPTER, MODEL, recorded(API, "signed-tools")).message.stop_reason == "toolUse"


REFUSALS = [
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "LANGUAGE",
    "IMAGE_SAFETY",
    "MODEL_ARMOR",
]


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        *((raw, "refusal") for raw in REFUSALS),
        ("MALFORMED_FUNCTION_CALL", "transport"),
        ("OTHER", "transport"),
        ("MISSING_THOUGHT_SIGNATURE", "request"),
    ],
)
def test_finish_reasons_that_are_errors_keep_what_came(raw: str, kind: str) -> None:
    reader = ADAPTER.reader(MODEL, CallOptions(), TIMESTAMP)
    reader.feed(chunk({"text": "so far"}))
    reader.feed(ended(raw))
    with pytest.raises(ProviderError, match=raw) as caught:
        reader.finish()
    reader.abandon()
    assert (caught.value.kind, caught.value.code) == (kind, raw)
    assert reader.message.content == [TextContent(text="so far")]


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("safety", "refusal", "Stopped by a safety filter"),
        ("malformed-call", "transport", "Malformed function call"),
        ("blocked-prompt", "refusal", "PROHIBITED_CONTENT"),
        ("error-object", "overload", "overloaded"),
        ("malformed", "protocol", "not JSON"),
        ("lab-no-finish", "transport", "finishReason"),
    ],
)
def test_streams_that_do_not_end_well(name: str, kind: str, words: str) -> None:
    with pytest.raises(ProviderError, match=words) as caught:
        play(ADAPTER, MODEL, recorded(API, name))
    assert caught.value.kind == kind


def test_a_blocked_prompt_still_counts_its_tokens() -> None:
    reader = ADAPTER.reader(MODEL, CallOptions(), TIMESTAMP)
    (event,) = recorded(API, "blocked-prompt")
    with pytest.raises(ProviderError):
        reader.feed(event)
    reader.abandon()
    assert reader.message.usage.input == 9


def test_odd_chunks_are_read_leniently() -> None:
    odd = [
        ServerEvent("", b""),
        ServerEvent("", b"[]"),
        ServerEvent("", b'{"candidates":null}'),
        ServerEvent(
            "", b'{"candidates":[{"content":{"parts":[{"text":7},{"text":"a\\ud83d"},{}]},"index":"0"}]}'
        ),
        ServerEvent("", b'{"candidates":[{"content":{"parts":[{"text":"other"}]},"index":1}]}'),
        ServerEvent(
            "", b'{"candidates":[{"content":{"parts":null},"finishReason":"STOP"}],"usageMetadata":[]}'
        ),
        ServerEvent("", b"[DONE]"),
    ]
    assert play(ADAPTER, MODEL, odd).message.content == [TextContent(text="a\ud83d")]


def test_an_error_in_a_list_is_an_error() -> None:
    body = [{"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}]
    with pytest.raises(ProviderError) as caught:
        play(ADAPTER, MODEL, [ServerEvent("", json.dumps(body).encode())])
    assert caught.value.kind == "overload"


def test_the_level_asked_for_is_kept() -> None:
    stream = recorded(API, "lab-text")
    assert play(ADAPTER, MODEL, stream, CallOptions(thinking="high")).message.thinking_level == "high"
    assert play(ADAPTER, MODEL, stream).message.thinking_level is None


def test_abandon_keeps_text_and_whole_calls() -> None:
    reader = ADAPTER.reader(MODEL, CallOptions(), TIMESTAMP)
    reader.feed(chunk({"functionCall": {"name": "read", "args": {"path": "a"}, "id": "1"}}))
    reader.feed(chunk({"text": "half a se"}))
    reader.abandon()
    assert reader.message.content == [
        ToolCall(id="1", name="read", arguments={"path": "a"}),
        TextContent(text="half a se"),
    ]


@given(NONSENSE)
def test_nonsense_is_never_more_than_a_provider_error(chunks: list[Any]) -> None:
    reader = ADAPTER.reader(MODEL, CallOptions(), TIMESTAMP)
    try:
        for value in chunks:
            reader.feed(ServerEvent("", json.dumps(value).encode()))
        reader.finish()
    except ProviderError:
        reader.abandon()
    assert reader.message.usage.total_tokens >= 0


def test_many_deltas_are_collected_in_one_piece() -> None:
    played = play(ADAPTER, MODEL, [*[chunk({"text": "word "})] * 5000, ended()])
    assert played.message.content == [TextContent(text="word " * 5000)]
    assert sum(isinstance(event, TextDelta) for event in played.events) == 5000
