"""Reads the chunk stream of the Google Generative AI API into one assistant message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from relay.ai.classify import classify
from relay.ai.errors import ErrorKind, ProviderError
from relay.ai.events import BlockEvent
from relay.ai.growing import GrowingMessage
from relay.ai.model import Model, clamp_thinking
from relay.ai.types import Cost, ToolCall, Usage
from relay.ai.usage import priced
from relay.ai.wire.base import CallOptions, ServerEvent
from relay.ai.wire.common import count
from relay.base import jsonl

FINISHED = frozenset({"STOP", "MAX_TOKENS", "CONTINUATION"})

FAILED: Mapping[str, ErrorKind] = {
    # The model slipped; the same request may well succeed.
    "MALFORMED_FUNCTION_CALL": "transport",
    "MALFORMED_RESPONSE": "transport",
    "UNEXPECTED_TOOL_CALL": "transport",
    "OTHER": "transport",
    "TOO_MANY_TOOL_CALLS": "request",
    "MISSING_THOUGHT_SIGNATURE": "request",
}
"""Finish reasons that are failures but no refusals; every reason that is in no list is a refusal."""


class _Call(msgspec.Struct):
    name: str | None = None
    id: str | None = None
    args: dict[str, Any] | None = None


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _Call | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    index: int | None = None


class _Counts(msgspec.Struct, rename="camel", gc=False):
    """Tokens; the prompt's include what came from the cache, the candidates' include no thoughts."""

    prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None


class _Chunk(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: _Counts | None = None
    prompt_feedback: dict[str, Any] | None = None
    model_version: str | None = None
    response_id: str | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Chunk).decode


class GoogleReader:
    """One answer. Parts of one kind that follow each other make one block; a signed part ends its block."""

    def __init__(self, model: Model, options: CallOptions, timestamp: int) -> None:
        level = clamp_thinking(model, options.thinking)
        self._model = model
        self._growing = GrowingMessage(model, timestamp, None if level == "off" else level)
        self.message = self._growing.message
        self._index = -1
        self._thought = False
        self._ids: set[str] = set()
        self._counts: _Counts | None = None
        self._remark = ""

    def feed(self, event: ServerEvent) -> list[BlockEvent]:
        """Block events of one chunk. Raises ProviderError for error objects, blocked prompts and non-JSON."""
        data = event.data
        if not data or data == b"[DONE]":
            return []
        try:
            chunk = _decode(data)
        except msgspec.DecodeError:
            chunk = _lenient(data, self._model)
        if chunk.error is not None:
            raise classify(None, {"error": chunk.error}, {})
        self._note(chunk)
        events: list[BlockEvent] = []
        for candidate in chunk.candidates or ():
            if candidate.index:
                continue  # one candidate is asked for
            content = candidate.content
            for part in (content.parts if content is not None else None) or ():
                events += self._part(part)
            if candidate.finish_reason and candidate.finish_reason != "FINISH_REASON_UNSPECIFIED":
                self.message.raw_stop_reason = candidate.finish_reason
                self._remark = candidate.finish_message or ""
        return events

    def finish(self) -> list[BlockEvent]:
        """Closing block events. Raises ProviderError for a broken stream, a refusal, a failure."""
        self._settle()
        raw = self.message.raw_stop_reason
        if raw is None:
            raise ProviderError(
                f"The answer of {self._model.key} broke off: the connection ended before a finishReason.",
                "transport",
            )
        if raw not in FINISHED:
            raise _unusual_end(self._model, raw, self._remark)
        events = self._close()
        called = any(isinstance(block, ToolCall) for block in self.message.content)
        if raw == "MAX_TOKENS":
            self.message.stop_reason = "length"
        else:
            self.message.stop_reason = "toolUse" if called else "stop"
        return events

    def abandon(self) -> list[BlockEvent]:
        """Keeps what is whole after an abort or an error."""
        self._settle()
        self._index = -1
        return self._growing.abandon()

    def _part(self, part: _Part) -> list[BlockEvent]:
        if part.function_call is not None:
            return [*self._close(), *self._call(part.function_call, part.thought_signature)]
        text, signature = part.text, part.thought_signature
        if not text and not signature:
            return []
        thought = bool(part.thought)
        if self._index >= 0 and self._thought == thought and text and not signature:
            return [self._growing.append(self._index, text)]
        events: list[BlockEvent] = []
        # A signature without text belongs to the open block, of whichever kind.
        if self._index < 0 or (text and self._thought != thought):
            events = self._close()
            self._thought = thought
            self._index, event = self._growing.start_thinking() if thought else self._growing.start_text()
            events.append(event)
        if text:
            events.append(self._growing.append(self._index, text))
        if signature:
            self._growing.sign(self._index, signature)
            events += self._close()
        return events

    def _call(self, call: _Call, signature: str | None) -> list[BlockEvent]:
        """A call arrives whole. Without an id of its own it gets one that no other answer has."""
        id = call.id or ""
        if not id or id in self._ids:
            id = f"call_{self.message.timestamp}_{len(self.message.content)}"
        self._ids.add(id)
        index, start = self._growing.start_tool_call(id, call.name or "")
        delta = self._growing.append(index, jsonl.encode(call.args or {}).decode())
        if signature:
            self._growing.sign(index, signature)
        return [start, delta, self._growing.end(index)]

    def _close(self) -> list[BlockEvent]:
        if self._index < 0:
            return []
        index, self._index = self._index, -1
        return [self._growing.end(index)]

    def _settle(self) -> None:
        """The last counts as usage: servers repeat them in every chunk, so they are priced once."""
        if self._counts is not None:
            self.message.usage = priced(self._model, _usage_of(self._counts))

    def _note(self, chunk: _Chunk) -> None:
        """Ids, usage, and the verdict on a blocked prompt."""
        if chunk.response_id and self.message.response_id is None:
            self.message.response_id = chunk.response_id
        if chunk.model_version and chunk.model_version != self._model.id:
            self.message.response_model = chunk.model_version
        if chunk.usage_metadata is not None:
            self._counts = chunk.usage_metadata
        blocked = (chunk.prompt_feedback or {}).get("blockReason")
        if isinstance(blocked, str) and blocked != "BLOCKED_REASON_UNSPECIFIED":
            self.message.raw_stop_reason = blocked
            said = (chunk.prompt_feedback or {}).get("blockReasonMessage")
            text = f"{self._model.key} refused this request: the prompt was blocked ({blocked})"
            raise ProviderError(f"{text}: {said}" if said else f"{text}.", "refusal", code=blocked)


def _usage_of(counts: _Counts) -> Usage:
    cached = count(counts.cached_content_token_count)
    prompt = count(counts.prompt_token_count) + count(counts.tool_use_prompt_token_count)
    thoughts = count(counts.thoughts_token_count)
    output = count(counts.candidates_token_count) + thoughts
    fresh = max(prompt - cached, 0)
    return Usage(
        input=fresh,
        output=output,
        cache_read=cached,
        cache_write=0,
        total_tokens=fresh + cached + output,
        cost=Cost(),
        reasoning=thoughts,
    )


def _unusual_end(model: Model, raw: str, remark: str) -> ProviderError:
    kind = FAILED.get(raw, "refusal")
    verb = "refused to complete this request" if kind == "refusal" else "failed to complete this request"
    text = f"{model.key} {verb} (finish reason {raw})"
    return ProviderError(f"{text}: {remark}" if remark else f"{text}.", kind, code=raw)


def _lenient(data: bytes, model: Model) -> _Chunk:
    """A chunk whose fields have odd types or hold lone surrogates: what fits is kept."""
    try:
        value = jsonl.decode(data)
    except ValueError as error:
        shown = data[:80].decode("utf-8", "replace")
        raise ProviderError(
            f"{model.key} sent an event that is not JSON ({error}): {shown!r}.", "protocol"
        ) from error
    if isinstance(value, list) and value:
        value = value[0]  # errors come as a list of one object on some routes
    if not isinstance(value, dict):
        return _Chunk()
    return _Chunk(
        candidates=[_candidate(item) for item in _items(value.get("candidates"))],
        usage_metadata=_counts(value.get("usageMetadata")),
        prompt_feedback=_object(value.get("promptFeedback")),
        model_version=_text(value.get("modelVersion")),
        response_id=_text(value.get("responseId")),
        error=value.get("error"),
    )


def _counts(value: object) -> _Counts | None:
    if not isinstance(value, dict):
        return None
    fields = msgspec.structs.fields(_Counts)
    return _Counts(**{field.name: count(value.get(field.encode_name)) for field in fields})


def _candidate(value: dict[str, Any]) -> _Candidate:
    parts = _items((_object(value.get("content")) or {}).get("parts"))
    return _Candidate(
        content=_Content([_lenient_part(part) for part in parts]),
        finish_reason=_text(value.get("finishReason")),
        finish_message=_text(value.get("finishMessage")),
        index=count(value.get("index")),
    )


def _lenient_part(value: dict[str, Any]) -> _Part:
    call = _object(value.get("functionCall"))
    return _Part(
        text=_text(value.get("text")),
        thought=value.get("thought") is True,
        thought_signature=_text(value.get("thoughtSignature")),
        function_call=None
        if call is None
        else _Call(_text(call.get("name")), _text(call.get("id")), _object(call.get("args"))),
    )


def _items(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _object(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
