"""Reads a Chat Completions stream: one block of text, one of thinking, and one per tool call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay.ai.classify import classify
from relay.ai.errors import ErrorKind, ProviderError
from relay.ai.events import BlockEvent
from relay.ai.growing import GrowingMessage, parse_arguments
from relay.ai.model import Model
from relay.ai.types import StopReason, ToolCall, Usage
from relay.ai.wire.base import CallOptions, ServerEvent
from relay.ai.wire.common import count
from relay.ai.wire.openai_common import level_of, used
from relay.ai.wire.openai_completions_calls import OpenCalls
from relay.ai.wire.openai_completions_chunks import Chunk, Delta, read_chunk
from relay.ai.wire.openai_completions_compat import compat_of
from relay.ai.wire.openai_completions_messages import REASONING_FIELDS

STOPS: Mapping[str, StopReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "completed": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "toolUse",
    "function_call": "toolUse",
    "tool_use": "toolUse",
}

FAILURES: Mapping[str, tuple[ErrorKind, str]] = {
    "content_filter": ("refusal", "The provider's content filter stopped the answer."),
    "sensitive": ("refusal", "The provider's content filter stopped the answer."),
    "network_error": ("transport", "The provider lost the connection to its model."),
    "insufficient_system_resource": ("overload", "The provider ran out of capacity during the answer."),
    "abort": ("transport", "The server aborted the answer."),
    "error": ("transport", "The provider ended the answer with an error."),
    "model_context_window_exceeded": ("overflow", "The answer ran out of the model's context window."),
}
"""Finish reasons that make the answer a failed one."""


class CompletionsReader:
    """The reader of one answer. Blocks start in the order they come and all end in `finish`."""

    def __init__(self, model: Model, options: CallOptions, timestamp: int) -> None:
        self._model = model
        self._compat = compat_of(model)
        self._growing = GrowingMessage(
            model, timestamp, level_of(model, options) if model.reasoning else None
        )
        self.message = self._growing.message
        self._calls = OpenCalls(self._growing, timestamp)
        self._text: int | None = None
        self._thinking: int | None = None
        self._reason: str | None = None
        self._done = False
        self._usage: dict[str, Any] | None = None

    def feed(self, event: ServerEvent) -> list[BlockEvent]:
        data = event.data
        if data[:6] == b"[DONE]" or not data.strip():
            self._done = self._done or bool(data.strip())
            return []
        chunk = read_chunk(data)
        if chunk.error or event.event == "error" or chunk.object == "error":
            raise classify(None, data, {})
        if self.message.response_id is None:
            self._identify(chunk)
        if chunk.usage:
            self._usage = chunk.usage
        if not chunk.choices:
            return []
        choice = chunk.choices[0]
        if choice.error:
            raise classify(None, {"error": choice.error}, {})
        if choice.usage and not chunk.usage:
            self._usage = choice.usage
        if choice.finish_reason:
            self._reason = choice.finish_reason
        return self._delta(choice.delta) if choice.delta is not None else []

    def finish(self) -> list[BlockEvent]:
        self._settle_usage()
        self.message.raw_stop_reason = self._reason
        if (failure := FAILURES.get(self._reason or "")) is not None:
            raise ProviderError(failure[1], failure[0], code=self._reason)
        events = self._calls.name_all()
        if self._reason is None:
            self._check_end()
        events += self._growing.end_all()
        self.message.stop_reason = self._stop()
        return events

    def abandon(self) -> list[BlockEvent]:
        self._settle_usage()
        self.message.raw_stop_reason = self._reason
        return self._growing.abandon()

    def _identify(self, chunk: Chunk) -> None:
        self.message.response_id = chunk.id or None
        if chunk.model and chunk.model != self._model.id:
            self.message.response_model = chunk.model

    def _delta(self, delta: Delta) -> list[BlockEvent]:
        events: list[BlockEvent] = []
        thinking = delta.reasoning_content or delta.reasoning or delta.reasoning_text
        if thinking:
            self._think(thinking, delta, events)
        text = delta.content or delta.refusal
        if text:
            if self._text is None:
                self._text, start = self._growing.start_text()
                events.append(start)
            events.append(self._growing.append(self._text, text))
        if delta.tool_calls:
            for call in delta.tool_calls:
                events += self._calls.take(call)
        if delta.reasoning_details:
            self._calls.keep_details(delta.reasoning_details)
        return events

    def _think(self, piece: str, delta: Delta, events: list[BlockEvent]) -> None:
        if self._thinking is None:
            self._thinking, start = self._growing.start_thinking()
            name = next(name for name in REASONING_FIELDS if getattr(delta, name))
            self._growing.sign(self._thinking, name)
            events.append(start)
        events.append(self._growing.append(self._thinking, piece))

    def _check_end(self) -> None:
        """A stream without a finish reason broke off, unless the server said that it was done.

        Some local servers close well without ever giving a reason. The answer then counts when it is
        whole: something came, and each call's arguments are a JSON object.
        """
        whole = bool(self.message.content) and all(
            parse_arguments(text) is not None for text in self._calls.collected()
        )
        if whole and (self._done or not self._compat.supports_finish_reason):
            return
        raise ProviderError("The provider's answer broke off: it ended without a finish reason.", "transport")

    def _stop(self) -> StopReason:
        """Servers say stop after tool calls, and tool_calls without any: the content decides."""
        called = any(isinstance(block, ToolCall) for block in self.message.content)
        stop = STOPS.get(self._reason or "stop", "stop")
        if stop == "length":
            return stop
        return "toolUse" if called else "stop"

    def _settle_usage(self) -> None:
        if self._usage is not None:
            self.message.usage = usage_of(self._model, self._usage)


def usage_of(model: Model, raw: Mapping[str, Any]) -> Usage:
    """Usage of a chunk's `usage` object, in the spellings of several servers."""
    prompt_details = _object(raw.get("prompt_tokens_details"))
    output_details = _object(raw.get("completion_tokens_details"))
    prompt, output = count(raw.get("prompt_tokens")), count(raw.get("completion_tokens"))
    reasoning = count(output_details.get("reasoning_tokens"))
    if reasoning and count(raw.get("total_tokens")) == prompt + output + reasoning:
        output += reasoning  # some servers count reasoning beside the completion, not in it
    return used(
        model,
        prompt=prompt,
        output=output,
        cached=count(prompt_details.get("cached_tokens"))
        or count(raw.get("prompt_cache_hit_tokens"))
        or count(raw.get("cached_tokens")),
        written=count(prompt_details.get("cache_write_tokens")),
        reasoning=reasoning if "reasoning_tokens" in output_details else None,
    )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
