"""Faults that users reported, played from the shared folder through the adapter and back into a request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from relay.ai.errors import ProviderError
from relay.ai.model import Model
from relay.ai.types import AssistantMessage, Message, ToolCall
from relay.ai.wire.base import CallOptions
from relay.ai.wire.openai_completions import ADAPTER
from tests.ai.wire.cases import result, user
from tests.ai.wire.openai_oracle import read_all
from tests.shared import shared

pytestmark = pytest.mark.shared

MODEL = Model(id="m", name="M", api="openai-completions", provider="mock", base_url="http://x.test/v1")


def read(path: Path) -> AssistantMessage:
    reader = ADAPTER.reader(MODEL, CallOptions(), timestamp=7)
    read_all(reader, path.read_bytes())
    return reader.message


def request_after(message: AssistantMessage) -> list[dict[str, Any]]:
    results = [result(b.id, "x", name=b.name) for b in message.content if isinstance(b, ToolCall)]
    body: Any = ADAPTER.build(MODEL, [user("go"), message, *results], CallOptions()).body
    return list(body["messages"])


@pytest.mark.parametrize(
    "form", [".", "brace", "empty", "quoted_json", "python_dict", "raw_newline", "array", "null"]
)
def test_odd_arguments_go_back_as_an_object(form: str) -> None:
    message = read(shared("field/inputs/P09") / form / "01.sse")
    sent = [item for m in request_after(message) for item in m.get("tool_calls", [])]
    assert sent
    for item in sent:
        assert isinstance(json.loads(item["function"]["arguments"]), dict)


@pytest.mark.parametrize("form", ["eof", "eof_in_tool", "empty", "reset"])
def test_streams_that_broke_off_are_failures_to_retry(form: str) -> None:
    with pytest.raises(ProviderError) as caught:
        read(shared("field/inputs/P04") / form / "01.sse")
    assert caught.value.retryable


def test_done_without_a_reason_is_accepted() -> None:
    assert read(shared("field/inputs/P04/done_no_reason/01.sse")).stop_reason == "stop"


@pytest.mark.parametrize("name", ["session_toolcall_without_result", "session_result_without_call"])
def test_every_call_of_a_torn_session_is_answered(name: str) -> None:
    lines = shared(f"field/inputs/S06/{name}.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    raw = [entry["message"] for entry in entries if entry["type"] == "message"]
    messages = msgspec.convert(raw, list[Message])
    body: Any = ADAPTER.build(MODEL, [*messages, user("go on")], CallOptions()).body
    waiting: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting
            waiting = [item["id"] for item in message.get("tool_calls", [])]
    assert not waiting
