"""Whatever a server sends, a reader answers with events or with one explained error."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.ai.errors import ProviderError
from relay.ai.model import Model
from relay.ai.wire.base import CallOptions, ServerEvent, WireAdapter
from relay.ai.wire.openai_completions import ADAPTER as COMPLETIONS
from relay.ai.wire.openai_responses import ADAPTER as RESPONSES

KEYS = st.sampled_from(
    """id model object choices usage error index delta finish_reason content reasoning_content
    reasoning refusal tool_calls reasoning_details function name arguments prompt_tokens
    prompt_tokens_details cached_tokens type text output_index item response status output
    summary encrypted_content call_id incomplete_details reason namespace phase message code
    data""".split()
)
WORDS = st.sampled_from(
    """stop tool_calls length error reasoning message function_call output_text summary_text
    reasoning.encrypted response.output_item.added response.output_item.done
    response.output_text.delta response.completed response.function_call_arguments.delta
    response.function_call_arguments.done response.incomplete
    response.reasoning_summary_text.delta response.reasoning_summary_part.added {} a""".split()
)
LEAVES = st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | WORDS
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)


def play(adapter: WireAdapter, api: str, values: list[Any]) -> None:
    model = Model(id="m", name="M", api=api, provider="mock", base_url="http://x.test/v1")
    reader = adapter.reader(model, CallOptions(), timestamp=7)
    try:
        for value in values:
            reader.feed(ServerEvent("", json.dumps(value).encode()))
        reader.finish()
    except ProviderError as error:
        assert str(error)
        reader.abandon()
    msgspec.json.encode(reader.message)
    assert reader.message.usage.input >= 0


@given(st.lists(VALUES, max_size=6))
def test_completions(values: list[Any]) -> None:
    play(COMPLETIONS, "openai-completions", values)


@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=8), max_size=4))
def test_completions_with_choices(deltas: list[Any]) -> None:
    play(COMPLETIONS, "openai-completions", [{"choices": [{"delta": delta}]} for delta in deltas])


@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=8), max_size=6))
def test_responses(values: list[Any]) -> None:
    play(RESPONSES, "openai-responses", values)


ITEMS = st.fixed_dictionaries(
    {"type": st.sampled_from(["reasoning", "message", "function_call"])},
    optional={
        "id": VALUES,
        "call_id": VALUES,
        "name": VALUES,
        "arguments": VALUES,
        "summary": VALUES,
        "content": VALUES,
    },
)


@given(
    st.lists(st.tuples(st.sampled_from(["added", "done"]), st.none() | st.integers(0, 2), ITEMS), max_size=6)
)
def test_responses_with_items(events: list[tuple[str, int | None, Any]]) -> None:
    values = [
        {"type": f"response.output_item.{kind}", "output_index": n, "item": item} for kind, n, item in events
    ]
    play(RESPONSES, "openai-responses", [*values, {"type": "response.completed", "response": {}}])


@given(st.binary(max_size=40))
@pytest.mark.parametrize("adapter", [COMPLETIONS, RESPONSES])
def test_bytes(adapter: WireAdapter, data: bytes) -> None:
    model = Model(id="m", name="M", api="x", provider="mock", base_url="http://x.test/v1")
    reader = adapter.reader(model, CallOptions(), timestamp=7)
    try:
        reader.feed(ServerEvent("", data))
    except ProviderError as error:
        assert error.kind == "protocol"
