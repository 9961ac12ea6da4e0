"""One chunk of a Chat Completions stream as typed data, read leniently where a server bends the protocol."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from relay.ai.errors import ProviderError
from relay.base import jsonl


class Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: Function | None = None


class Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    refusal: str | None = None
    tool_calls: list[Call] | None = None
    reasoning_details: list[dict[str, Any]] | None = None


class Choice(msgspec.Struct):
    delta: Delta | None = None
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


class Chunk(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    object: str | None = None
    choices: list[Choice] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


_decode = msgspec.json.Decoder(Chunk).decode


def read_chunk(data: bytes) -> Chunk:
    """Raises ProviderError of kind protocol when `data` is no JSON object."""
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _lenient(data)


def _lenient(data: bytes) -> Chunk:
    """Fields of other types than the protocol's are brought to it, or ignored."""
    try:
        raw = jsonl.decode(data)
    except (ValueError, RecursionError) as error:
        shown = data[:200].decode("utf-8", "replace")
        raise ProviderError(
            f"The provider sent an event that is not valid JSON: {shown!r}.", "protocol"
        ) from error
    if not isinstance(raw, dict):
        raise ProviderError(
            f"The provider sent {type(raw).__name__} where a chunk, a JSON object, belongs.", "protocol"
        )
    choices = raw.get("choices")
    return Chunk(
        id=_text(raw.get("id")),
        model=_text(raw.get("model")),
        object=_text(raw.get("object")),
        choices=[_choice(item) for item in choices if isinstance(item, dict)]
        if isinstance(choices, list)
        else None,
        usage=_object(raw.get("usage")),
        error=raw.get("error"),
    )


def _choice(raw: dict[str, Any]) -> Choice:
    delta = raw.get("delta")
    return Choice(
        delta=_delta(delta) if isinstance(delta, dict) else None,
        finish_reason=_text(raw.get("finish_reason")),
        usage=_object(raw.get("usage")),
        error=raw.get("error"),
    )


def _delta(raw: dict[str, Any]) -> Delta:
    calls, details = raw.get("tool_calls"), raw.get("reasoning_details")
    thinking, content = _parts(raw.get("content"))
    return Delta(
        content=content,
        reasoning_content=_text(raw.get("reasoning_content")) or thinking,
        reasoning=_text(raw.get("reasoning")),
        reasoning_text=_text(raw.get("reasoning_text")),
        refusal=_text(raw.get("refusal")),
        tool_calls=[_call(item) for item in calls if isinstance(item, dict)]
        if isinstance(calls, list)
        else None,
        reasoning_details=[item for item in details if isinstance(item, dict)]
        if isinstance(details, list)
        else None,
    )


def _parts(content: Any) -> tuple[str | None, str | None]:
    """(thinking, text) of content that may come as a list of parts, as Mistral sends it."""
    if not isinstance(content, list):
        return None, _text(content)
    thinking: list[str] = []
    texts: list[str] = []
    for part in content:
        if isinstance(part, dict):
            inner = part.get("thinking")
            thinking.append((_parts(inner)[1] if isinstance(inner, list) else _text(inner)) or "")
            texts.append(_text(part.get("text")) or "")
    return "".join(thinking) or None, "".join(texts) or None


def _call(raw: dict[str, Any]) -> Call:
    index, function = raw.get("index"), raw.get("function")
    if isinstance(index, str) and index.isdecimal():
        index = int(index)
    return Call(
        index=index if isinstance(index, int) else None,
        id=_text(raw.get("id")),
        function=_function(function) if isinstance(function, dict) else None,
    )


def _function(raw: dict[str, Any]) -> Function:
    arguments = raw.get("arguments")
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)
    return Function(name=_text(raw.get("name")), arguments=_text(arguments))


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _object(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None
