"""The official `openai` package as the judge of our request bodies and of what streams mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from openai._models import construct_type
from openai.lib.streaming.chat._completions import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

from relay.ai.events import BlockEvent
from relay.ai.wire.base import ServerEvent, StreamReader
from relay.base import jsonl

_CHAT: TypeAdapter[Any] = TypeAdapter(CompletionCreateParamsStreaming)
_RESPONSES: TypeAdapter[Any] = TypeAdapter(ResponseCreateParamsStreaming)


def accepted_chat_body(body: Mapping[str, Any]) -> Any:
    """What the SDK's types keep of a Chat Completions body; raises where a value has the wrong type."""
    return _drained(_CHAT.validate_python(body))


def accepted_responses_body(body: Mapping[str, Any]) -> Any:
    """What the SDK's types keep of a Responses body; raises where a value has the wrong type."""
    return _drained(_RESPONSES.validate_python(body))


def _drained(value: Any) -> Any:
    """pydantic checks iterables only when they are walked."""
    if isinstance(value, Mapping):
        return {key: _drained(item) for key, item in value.items()}
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return value
    return [_drained(item) for item in value]


def events_of(sse: bytes) -> list[ServerEvent]:
    """The events of a recorded stream: LF line ends, one `data` line each, an optional `event` line."""
    events: list[ServerEvent] = []
    for record in sse.split(b"\n\n"):
        name, data = "", None
        for line in record.split(b"\n"):
            if line.startswith(b"event:"):
                name = line[6:].strip().decode()
            elif line.startswith(b"data:"):
                data = line[5:].removeprefix(b" ")
        if data is not None:
            events.append(ServerEvent(name, data))
    return events


def read_all(reader: StreamReader, sse: bytes) -> list[BlockEvent]:
    """Every block event of a recorded stream, the closing ones included."""
    events: list[BlockEvent] = []
    for event in events_of(sse):
        events += reader.feed(event)
    return events + reader.finish()


def sdk_chat_completion(sse: bytes) -> ChatCompletion:
    """What the SDK's own accumulator makes of a Chat Completions stream."""
    state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
    for event in events_of(sse):
        if event.data != b"[DONE]":
            chunk = construct_type(type_=ChatCompletionChunk, value=jsonl.decode(event.data))
            assert isinstance(chunk, ChatCompletionChunk)
            state.handle_chunk(chunk)
    return state.current_completion_snapshot
