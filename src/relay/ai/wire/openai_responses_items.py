"""Prepared messages as the input items of the Responses API, and the signatures that items are kept in."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from relay.ai.model import Model
from relay.ai.types import (
    AssistantMessage,
    ImageContent,
    JsonObject,
    Message,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserContent,
    UserMessage,
    text_of,
)
from relay.ai.wire.openai_common import arguments_text, effort_of
from relay.ai.wire.openai_responses_compat import Compat

NO_OUTPUT = "(no output)"
ID_LENGTH = 64


class Efforts:
    """The effort told last, so that a change becomes an item in the conversation and keeps the cache."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.base = effort_of(model, "medium", off=None)
        """What `reasoning.effort` says in every request of the conversation."""
        self._current = self.base

    def change_to(self, effort: str | None) -> list[JsonObject]:
        """The item that tells of a new effort; none when nothing changes."""
        if effort is None or effort == self._current:
            return []
        self._current = effort
        return [{"type": "configuration_update", "reasoning": {"effort": effort}}]

    def of_answer(self, message: AssistantMessage) -> list[JsonObject]:
        level = message.thinking_level
        return self.change_to(effort_of(self._model, level, off="none")) if level else []


def input_items(
    messages: Sequence[Message], model: Model, compat: Compat, efforts: Efforts | None = None
) -> list[JsonObject]:
    """`messages`, which `relay.ai.convert.prepare` has made, as the request's `input`."""
    items: list[JsonObject] = []
    role = "developer" if model.reasoning and compat.supports_developer_role else "system"
    for number, message in enumerate(messages):
        match message:
            case SystemMessage():
                if text := text_of(message.content):
                    items.append({"role": role, "content": text})
            case UserMessage():
                items.append({"role": "user", "content": _user_parts(message.content)})
            case AssistantMessage():
                if efforts is not None:
                    items += efforts.of_answer(message)
                items += _answer_items(message, number)
            case ToolResultMessage():
                items.append(_output_item(message))
    return items


def _user_parts(content: str | list[UserContent]) -> list[JsonObject]:
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}]
    return [_part(block) for block in content]


def _part(block: UserContent) -> JsonObject:
    if isinstance(block, TextContent):
        return {"type": "input_text", "text": block.text}
    url = f"data:{block.mime_type};base64,{block.data}"
    return {"type": "input_image", "detail": "auto", "image_url": url}


def _answer_items(message: AssistantMessage, number: int) -> list[JsonObject]:
    """Reasoning is sent only before the item that came of it: the API refuses it alone."""
    items: list[JsonObject] = []
    reasoning: list[JsonObject] = []
    for place, block in enumerate(message.content):
        if isinstance(block, ThinkingContent):
            item = reasoning_item(block.thinking_signature)
            reasoning += [item] if item else []
            continue
        if isinstance(block, TextContent):
            if not block.text:
                continue
            item = _message_item(block, f"msg_{number}_{place}")
        else:
            item = _call_item(block)
        items += [*reasoning, item]
        reasoning = []
    return items


def _message_item(block: TextContent, fallback: str) -> JsonObject:
    signed = read_text_signature(block.text_signature)
    item: JsonObject = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": block.text, "annotations": []}],
        "status": "completed",
        "id": (signed.get("id") or fallback)[:ID_LENGTH],
    }
    if phase := signed.get("phase"):
        item["phase"] = phase
    return item


def _call_item(block: ToolCall) -> JsonObject:
    call_id, _, item_id = block.id.partition("|")
    item: JsonObject = {
        "type": "function_call",
        "call_id": call_id,
        "name": block.name,
        "arguments": arguments_text(block),
    }
    if item_id.startswith("fc") and len(item_id) <= ID_LENGTH:
        item["id"] = item_id
    if block.namespace:
        item["namespace"] = block.namespace
    return item


def _output_item(message: ToolResultMessage) -> JsonObject:
    output: str | list[JsonObject] = text_of(message.content) or NO_OUTPUT
    if any(isinstance(block, ImageContent) for block in message.content):
        output = [_part(block) for block in message.content]
    call_id = message.tool_call_id.partition("|")[0]
    return {"type": "function_call_output", "call_id": call_id, "output": output}


_OUTSIDE = re.compile(r"[^a-zA-Z0-9_-]")


def call_ids(original: str, attempt: int, own: bool) -> str:
    """Ids as `call|item`; the item's id goes back only to the model whose reasoning led to it."""
    call_id, _, item_id = original.partition("|")
    suffix = f"_{attempt}" if attempt else ""
    base = _OUTSIDE.sub("_", call_id) or "call"
    call_id = base[: ID_LENGTH - len(suffix)] + suffix
    return f"{call_id}|{item_id}" if own and item_id else call_id


def text_signature(item: Mapping[str, Any]) -> str | None:
    """What replays a message item: its id and phase, as JSON with a version."""
    kept = {name: item[name] for name in ("id", "phase") if item.get(name)}
    return json.dumps({"v": 1, **kept}, separators=(",", ":")) if kept else None


def read_text_signature(signature: str | None) -> dict[str, str]:
    """The id and phase in a text signature; older sessions hold the bare id."""
    if not signature:
        return {}
    if not signature.startswith("{"):
        return {"id": signature}
    try:
        value = json.loads(signature)
    except ValueError:
        return {}
    return {name: value[name] for name in ("id", "phase") if isinstance(value.get(name), str)}


def reasoning_signature(item: Mapping[str, Any]) -> str:
    """A whole reasoning item as JSON; nulls are left out, which the API does not take back."""
    kept = {name: value for name, value in item.items() if value is not None and name != "status"}
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=False)


def reasoning_item(signature: str | None) -> JsonObject | None:
    """The item in a thinking signature; None when it is not one of this API."""
    try:
        item = json.loads(signature) if signature else None
    except ValueError:
        return None
    return item if isinstance(item, dict) and item.get("type") == "reasoning" else None
