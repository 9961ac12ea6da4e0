"""Reads a Responses stream: each output item becomes a block, ended when its item is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

import msgspec

from relay.ai.classify import classify
from relay.ai.errors import ProviderError
from relay.ai.events import BlockEvent, ToolCallEnd
from relay.ai.growing import GrowingMessage
from relay.ai.model import Model
from relay.ai.types import ToolCall, Usage
from relay.ai.wire.base import CallOptions, ServerEvent
from relay.ai.wire.common import count
from relay.ai.wire.openai_common import level_of, used
from relay.ai.wire.openai_responses_items import reasoning_signature, text_signature
from relay.base import jsonl

SUMMARY_DELTA = "response.reasoning_summary_text.delta"
PIECES = frozenset(
    {
        "response.output_text.delta",
        "response.refusal.delta",
        "response.function_call_arguments.delta",
        "response.reasoning_text.delta",
        SUMMARY_DELTA,
    }
)
ENDS = frozenset({"response.completed", "response.done", "response.incomplete"})
FAILURES = frozenset({"response.failed", "response.cancelled"})
KINDS = frozenset({"message", "reasoning", "function_call"})
"""Output items that become blocks; the tools that the provider runs itself do not."""


class _Event(msgspec.Struct):
    type: str = ""
    delta: str | None = None
    output_index: int | None = None
    arguments: str | None = None
    item: dict[str, Any] | None = None
    response: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(_Event).decode


class _Item:
    """An output item under way. `block` is its content index."""

    __slots__ = ("block", "kind", "pieces_of")

    def __init__(self, kind: str, block: int) -> None:
        self.kind = kind
        self.block = block
        self.pieces_of = ""
        """The delta event that feeds a reasoning block: a server may send both summary and full text."""


class ResponsesReader:
    """The reader of one answer. `response.completed` or `response.incomplete` must come before the end."""

    def __init__(self, model: Model, options: CallOptions, timestamp: int) -> None:
        self._model = model
        self._growing = GrowingMessage(
            model, timestamp, level_of(model, options) if model.reasoning else None
        )
        self.message = self._growing.message
        self._items: dict[int, _Item] = {}
        self._seen: set[int] = set()
        self._final: dict[str, Any] | None = None

    def feed(self, event: ServerEvent) -> list[BlockEvent]:
        data = event.data
        if data[:6] == b"[DONE]" or not data.strip():
            return []
        read = _read(data)
        kind = read.type or event.event
        if kind in PIECES:
            return self._piece(kind, read)
        match kind:
            case "response.output_item.added":
                return self._open(read.output_index, read.item)
            case "response.output_item.done":
                return self._close(read.output_index, read.item)
            case "response.function_call_arguments.done":
                return self._complete(read)
            case "response.reasoning_summary_part.added":
                return self._part(read)
            case "error":
                raise classify(None, data, {})
        return self._response(kind, read.response) if read.response is not None else []

    def finish(self) -> list[BlockEvent]:
        if self._final is None:
            raise ProviderError(
                "The provider's answer broke off: it ended without its last event.", "transport"
            )
        reason = str(_object(self._final.get("incomplete_details")).get("reason") or "")
        self.message.raw_stop_reason = reason or str(self._final.get("status") or "completed")
        if reason == "content_filter":
            raise ProviderError("The provider's content filter stopped the answer.", "refusal", code=reason)
        events = self._late_output()
        events += self._growing.end_all()
        called = any(isinstance(block, ToolCall) for block in self.message.content)
        if reason or self._final.get("status") == "incomplete":
            self.message.stop_reason = "length"
        else:
            self.message.stop_reason = "toolUse" if called else "stop"
        return events

    def abandon(self) -> list[BlockEvent]:
        return self._growing.abandon()

    def _piece(self, kind: str, read: _Event) -> list[BlockEvent]:
        item = self._find(read.output_index)
        if item is None or not read.delta:
            return []
        if item.kind == "reasoning":
            item.pieces_of = item.pieces_of or kind
            if item.pieces_of != kind:
                return []
        return [self._growing.append(item.block, read.delta)]

    def _part(self, read: _Event) -> list[BlockEvent]:
        """A blank line between the parts of a summary."""
        item = self._find(read.output_index)
        if item is None or item.pieces_of != SUMMARY_DELTA:
            return []
        return [self._growing.append(item.block, "\n\n")]

    def _find(self, index: int | None) -> _Item | None:
        if index is None:
            return next(reversed(self._items.values()), None)
        return self._items.get(index)

    def _open(self, index: int | None, item: dict[str, Any] | None) -> list[BlockEvent]:
        place = len(self._seen) if index is None else index
        kind = _object(item).get("type")
        if item is None or kind not in KINDS or place in self._seen:
            return []
        self._seen.add(place)
        if kind == "message":
            block, start = self._growing.start_text()
        elif kind == "reasoning":
            block, start = self._growing.start_thinking()
        else:
            block, start = self._growing.start_tool_call(_call_id(item), str(item.get("name") or ""))
        self._items[place] = _Item(kind, block)
        first = item.get("arguments") if kind == "function_call" else None
        return [start, self._growing.append(block, first)] if _filled(first) else [start]

    def _complete(self, read: _Event) -> list[BlockEvent]:
        item = self._find(read.output_index)
        return self._rest(item, read.arguments or "") if item is not None else []

    def _rest(self, item: _Item, whole: str) -> list[BlockEvent]:
        """What the finished form of a block has beyond the pieces that came."""
        came = self._growing.collected(item.block)
        if len(whole) <= len(came) or not whole.startswith(came):
            return []
        return [self._growing.append(item.block, whole[len(came) :])]

    def _close(self, index: int | None, item: dict[str, Any] | None) -> list[BlockEvent]:
        if item is None:
            return []
        events = [] if index is None and self._items else self._open(index, item)
        place = next(reversed(self._items), None) if index is None else index
        opened = self._items.pop(place, None) if place is not None else None
        if opened is None:
            return events
        events += self._rest(opened, _whole(opened.kind, item))
        signature = {"reasoning": reasoning_signature, "message": text_signature}.get(opened.kind)
        if signature is not None and (signed := signature(item)):
            self._growing.sign(opened.block, signed)
        end = self._growing.end(opened.block)
        return [*events, self._spaced(opened.block, end, item.get("namespace"))]

    def _spaced(self, block: int, end: BlockEvent, namespace: object) -> BlockEvent:
        """The end of a call with the namespace that its tool is known in."""
        if not isinstance(end, ToolCallEnd) or not _filled(namespace):
            return end
        call = msgspec.structs.replace(end.tool_call, namespace=namespace)
        self.message.content[block] = call
        return ToolCallEnd(content_index=block, tool_call=call)

    def _response(self, kind: str, response: dict[str, Any]) -> list[BlockEvent]:
        if self.message.response_id is None and _filled(response.get("id")):
            self.message.response_id = response["id"]
        if _filled(response.get("model")) and response["model"] != self._model.id:
            self.message.response_model = response["model"]
        if usage := _object(response.get("usage")):
            self.message.usage = usage_of(self._model, usage)
        if kind in FAILURES or response.get("status") in ("failed", "cancelled"):
            raise self._failure(response)
        if kind in ENDS:
            self._final = response
        return []

    def _failure(self, response: dict[str, Any]) -> ProviderError:
        self.message.raw_stop_reason = str(response.get("status") or "failed")
        error = response.get("error")
        if error:
            return classify(None, {"error": error}, {})
        return ProviderError("The provider reports that the answer failed, and no reason.", "transport")

    def _late_output(self) -> list[BlockEvent]:
        """Output that came only in the last event, as some gateways send it."""
        output = _object(self._final).get("output")
        if self.message.content or not isinstance(output, list):
            return []
        events: list[BlockEvent] = []
        for index, item in enumerate(output):
            events += self._close(index, item if isinstance(item, dict) else None)
        return events


def _read(data: bytes) -> _Event:
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _lenient(data)


def _lenient(data: bytes) -> _Event:
    """Fields of other types than the protocol's are ignored; what is no JSON object is not the protocol."""
    shown = data[:200].decode("utf-8", "replace")
    try:
        raw = jsonl.decode(data)
    except (ValueError, RecursionError) as error:
        raise ProviderError(
            f"The provider sent an event that is not valid JSON: {shown!r}.", "protocol"
        ) from error
    if not isinstance(raw, dict):
        raise ProviderError(f"The provider sent an event that is not a JSON object: {shown!r}.", "protocol")
    index = raw.get("output_index")
    texts = {name: raw[name] for name in ("type", "delta", "arguments") if isinstance(raw.get(name), str)}
    objects = {name: raw[name] for name in ("item", "response") if isinstance(raw.get(name), dict)}
    return _Event(output_index=index if isinstance(index, int) else None, **texts, **objects)


def _whole(kind: str, item: Mapping[str, Any]) -> str:
    """The text of a finished item, as far as it has one."""
    if kind == "function_call":
        arguments = item.get("arguments")
        return arguments if isinstance(arguments, str) else ""
    if kind == "message":
        return "".join(_texts(item.get("content"), "text", "refusal"))
    return "\n\n".join(_texts(item.get("summary"), "text") or _texts(item.get("content"), "text"))


def _texts(parts: object, *names: str) -> list[str]:
    found = parts if isinstance(parts, list) else []
    return [part[n] for part in found if isinstance(part, dict) for n in names if _filled(part.get(n))]


def _call_id(item: Mapping[str, Any]) -> str:
    call_id, item_id = item.get("call_id"), item.get("id")
    known = call_id if _filled(call_id) else item_id if _filled(item_id) else "call"
    return f"{known}|{item_id}" if _filled(item_id) and _filled(call_id) else str(known)


def _filled(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def usage_of(model: Model, raw: Mapping[str, Any]) -> Usage:
    """Usage of a response's `usage` object."""
    input_details = _object(raw.get("input_tokens_details"))
    output_details = _object(raw.get("output_tokens_details"))
    return used(
        model,
        prompt=count(raw.get("input_tokens")),
        output=count(raw.get("output_tokens")),
        cached=count(input_details.get("cached_tokens")),
        written=count(input_details.get("cache_write_tokens")),
        reasoning=count(output_details["reasoning_tokens"]) if "reasoning_tokens" in output_details else None,
    )
