"""Reads the event stream of the Anthropic Messages API into one assistant message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from relay.ai.classify import classify
from relay.ai.errors import ProviderError
from relay.ai.events import BlockEvent
from relay.ai.growing import GrowingMessage
from relay.ai.model import Model, clamp_thinking
from relay.ai.types import Cost, StopReason, ThinkingContent, ToolCall, Usage
from relay.ai.usage import priced
from relay.ai.wire.base import CallOptions, ServerEvent
from relay.ai.wire.common import count
from relay.base import jsonl

EVENTS = frozenset(
    {
        "",  # some gateways leave the event's name out
        "message",
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "error",
    }
)
"""Names of events that are read; every other event (ping, future kinds) is passed over."""

STOPS: Mapping[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "compaction": "stop",
    "max_tokens": "length",
    "tool_use": "toolUse",
    # Gateways that translate from Chat Completions sometimes leave its words in place.
    "stop": "stop",
    "length": "length",
    "tool_calls": "toolUse",
}


class _Delta(msgspec.Struct, gc=False):
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    signature: str | None = None
    stop_reason: str | None = None
    stop_details: dict[str, Any] | None = None


class _Record(msgspec.Struct):
    type: str | None = None
    index: int | None = None
    delta: _Delta | None = None
    content_block: dict[str, Any] | None = None
    message: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Record).decode


class AnthropicReader:
    """One answer. Blocks end at their `content_block_stop`; what has none ends with the stream."""

    def __init__(self, model: Model, options: CallOptions, timestamp: int) -> None:
        level = clamp_thinking(model, options.thinking)
        self._model = model
        self._growing = GrowingMessage(model, timestamp, None if level == "off" else level)
        self.message = self._growing.message
        self._open: dict[int, int] = {}
        self._inputs: dict[int, str] = {}
        self._counts: dict[str, Any] = {}
        self._details: dict[str, Any] = {}
        self._ended = False

    def feed(self, event: ServerEvent) -> list[BlockEvent]:
        """Block events of one server event. Raises ProviderError for error events and for what is no JSON."""
        if event.event not in EVENTS or not event.data or event.data == b"[DONE]":
            return []
        if event.event == "error":
            raise classify(None, event.data, {})
        try:
            record = _decode(event.data)
        except msgspec.DecodeError:
            record = _lenient(event.data, self._model)
        match record.type or event.event:
            case "content_block_delta":
                return self._delta(record)
            case "content_block_start":
                return self._start(record.index or 0, record.content_block or {})
            case "content_block_stop":
                return self._stop(record.index or 0)
            case "message_start":
                self._begin(record.message or {})
            case "message_delta":
                self._close(record)
            case "message_stop":
                self._ended = True
            case _ if record.error is not None:
                raise classify(None, event.data, {})
        return []

    def finish(self) -> list[BlockEvent]:
        """Closing block events. Raises ProviderError for a broken stream, a refusal, a full window."""
        raw = self.message.raw_stop_reason
        if raw is None and not self._ended:
            raise ProviderError(
                f"The answer of {self._model.key} broke off: the connection ended before message_stop.",
                "transport",
            )
        if raw is not None and raw not in STOPS:
            raise _unusual_end(self._model, raw, self._details)
        events = [event for wire in sorted(self._open) for event in self._stop(wire)]
        called = any(isinstance(block, ToolCall) for block in self.message.content)
        reason: StopReason = STOPS[raw] if raw is not None else "stop"
        if reason != "length":
            # Gateways say end_turn beside calls, and the API says tool_use for its own server tools.
            reason = "toolUse" if called else "stop"
        self.message.stop_reason = reason
        if raw == "pause_turn":
            self.message.end_turn = False
        return events

    def abandon(self) -> list[BlockEvent]:
        """Keeps what is whole after an abort or an error."""
        ends = [
            end for wire in [wire for wire in self._open if wire in self._inputs] for end in self._stop(wire)
        ]
        ends += self._growing.abandon()
        self._open.clear()
        return ends

    def _delta(self, record: _Record) -> list[BlockEvent]:
        delta = record.delta
        if delta is None:
            return []
        piece = delta.text or delta.thinking or delta.partial_json
        index = self._open.get(record.index or 0)
        if index is None:
            return self._orphan(record.index or 0, delta)
        if piece:
            return [self._growing.append(index, piece)]
        if delta.signature:
            self._growing.sign(index, delta.signature)
        return []

    def _orphan(self, wire: int, delta: _Delta) -> list[BlockEvent]:
        """A piece without its block's start: text and thinking open one, the rest belongs to unread kinds."""
        if delta.text:
            index, event = self._growing.start_text()
        elif delta.thinking:
            index, event = self._growing.start_thinking()
        else:
            return []
        self._open[wire] = index
        return [event, self._growing.append(index, delta.text or delta.thinking or "")]

    def _start(self, wire: int, block: dict[str, Any]) -> list[BlockEvent]:
        earlier = self._stop(wire)
        kind = block.get("type")
        if kind == "text":
            index, event = self._growing.start_text()
        elif kind == "thinking":
            index, event = self._growing.start_thinking()
            if signature := _text(block, "signature"):
                self._growing.sign(index, signature)
        elif kind == "redacted_thinking":
            return [*earlier, *self._redacted(_text(block, "data"))]
        elif kind == "tool_use":
            id = _text(block, "id") or f"call_{self.message.timestamp}_{len(self.message.content)}"
            index, event = self._growing.start_tool_call(id, _text(block, "name"))
            if isinstance(block.get("input"), dict) and block["input"]:
                self._inputs[wire] = jsonl.encode(block["input"]).decode()
        else:
            return earlier
        self._open[wire] = index
        first = _text(block, "text") or _text(block, "thinking")
        return [*earlier, event, *([self._growing.append(index, first)] if first else [])]

    def _redacted(self, data: str) -> list[BlockEvent]:
        index, start = self._growing.start_thinking()
        end = self._growing.end(index)
        self.message.content[index] = ThinkingContent(thinking="", thinking_signature=data, redacted=True)
        return [start, end]

    def _stop(self, wire: int) -> list[BlockEvent]:
        index = self._open.pop(wire, None)
        if index is None:
            return []
        events: list[BlockEvent] = []
        given = self._inputs.pop(wire, None)
        if given is not None and not self._growing.collected(index):
            events.append(self._growing.append(index, given))
        return [*events, self._growing.end(index)]

    def _begin(self, message: dict[str, Any]) -> None:
        self.message.response_id = _text(message, "id") or None
        answering = _text(message, "model")
        if answering and answering != self._model.id:
            self.message.response_model = answering
        self._count(message.get("usage"))

    def _close(self, record: _Record) -> None:
        if record.delta is not None and record.delta.stop_reason:
            self.message.raw_stop_reason = record.delta.stop_reason
            self._details = record.delta.stop_details or {}
        self._count(record.usage)

    def _count(self, usage: object) -> None:
        """Counts are totals so far: later ones replace earlier ones, absent and null ones keep them."""
        if isinstance(usage, dict):
            self._counts.update({name: value for name, value in usage.items() if value is not None})
            self.message.usage = priced(self._model, usage_of(self._counts))


def usage_of(counts: Mapping[str, Any]) -> Usage:
    """Tokens from the API's `usage` object; costs are zero."""
    creation = counts.get("cache_creation")
    creation = creation if isinstance(creation, dict) else {}
    hour = count(creation.get("ephemeral_1h_input_tokens"))
    written = counts.get("cache_creation_input_tokens")
    if written is None:
        written = hour + count(creation.get("ephemeral_5m_input_tokens"))
    details = counts.get("output_tokens_details")
    thinking = details.get("thinking_tokens") if isinstance(details, dict) else None
    usage = Usage(
        input=count(counts.get("input_tokens")),
        output=count(counts.get("output_tokens")),
        cache_read=count(counts.get("cache_read_input_tokens")),
        cache_write=count(written),
        total_tokens=0,
        cost=Cost(),
        cache_write_1h=hour,
        reasoning=None if thinking is None else count(thinking),
    )
    total = usage.input + usage.output + usage.cache_read + usage.cache_write
    return msgspec.structs.replace(usage, total_tokens=total)


def _unusual_end(model: Model, raw: str, details: Mapping[str, Any]) -> ProviderError:
    if raw in ("refusal", "sensitive"):
        category = _text(details, "category")
        said = _text(details, "explanation")
        text = f"{model.key} refused to complete this request (stop reason {raw}"
        text += f", category {category})" if category else ")"
        return ProviderError(f"{text}: {said}" if said else f"{text}.", "refusal", code=raw)
    if raw == "model_context_window_exceeded":
        return ProviderError(
            f"The answer of {model.key} was cut off because the context window is full ({raw}).",
            "overflow",
            code=raw,
        )
    return ProviderError(
        f"{model.key} ended its answer with the unknown stop reason {raw!r}.", "protocol", code=raw
    )


def _lenient(data: bytes, model: Model) -> _Record:
    """A record whose fields have odd types or hold lone surrogates: what fits is kept."""
    try:
        value = jsonl.decode(data)
    except ValueError as error:
        shown = data[:80].decode("utf-8", "replace")
        raise ProviderError(
            f"{model.key} sent an event that is not JSON ({error}): {shown!r}.", "protocol"
        ) from error
    if not isinstance(value, dict):
        return _Record()
    delta = value.get("delta")
    return _Record(
        type=_text(value, "type"),
        index=count(value.get("index")),
        delta=_Delta(
            text=_text(delta, "text"),
            thinking=_text(delta, "thinking"),
            partial_json=_text(delta, "partial_json"),
            signature=_text(delta, "signature"),
            stop_reason=_text(delta, "stop_reason") or None,
            stop_details=_object(delta, "stop_details"),
        )
        if isinstance(delta, dict)
        else None,
        content_block=_object(value, "content_block"),
        message=_object(value, "message"),
        usage=_object(value, "usage"),
        error=value.get("error"),
    )


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _object(value: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    found = value.get(name)
    return found if isinstance(found, dict) else None
