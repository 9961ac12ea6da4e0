"""Turns a prepared conversation into the `contents` of the Google Generative AI API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import cast

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
    text_of,
)

UNSIGNED = "skip_thought_signature_validator"
"""The value that Gemini 3 takes in place of the signature of a call that it did not make itself."""

_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?(?:-|$)")


def generation(model: Model) -> tuple[int, int] | None:
    """Version of a Gemini model, (2, 5) for gemini-2.5-pro; None for ids that do not tell."""
    found = _VERSION.search(model.id)
    return (int(found[1]), int(found[2] or 0)) if found else None


def contents(messages: Sequence[Message], model: Model) -> list[JsonObject]:
    """The turns of a prepared conversation. Results of one answer's calls share one user turn."""
    version = generation(model)
    modern = version is not None and version >= (3, 0)
    wire: list[JsonObject] = []
    for kind, group in groupby(messages, type):
        if kind is ToolResultMessage:
            wire += _results(cast("list[ToolResultMessage]", list(group)), modern, ids=_takes_ids(version))
            continue
        for message in group:
            if isinstance(message, SystemMessage | ToolResultMessage):
                continue
            if isinstance(message, AssistantMessage):
                role, parts = "model", _answer_parts(message, modern, ids=_takes_ids(version))
            else:
                role, parts = "user", user_parts(message.content)
            if parts:
                wire.append({"role": role, "parts": parts})
    return wire


def user_parts(content: str | list[UserContent]) -> list[JsonObject]:
    """Parts of user content; empty texts are left out."""
    if isinstance(content, str):
        return [{"text": content}] if content.strip() else []
    parts: list[JsonObject] = []
    for block in content:
        if isinstance(block, ImageContent):
            parts.append(_inline(block))
        elif block.text.strip():
            parts.append({"text": block.text})
    return parts


def _takes_ids(version: tuple[int, int] | None) -> bool:
    """Gemini before 3 matches calls and results by name and order."""
    return version is None or version >= (3, 0)


def _answer_parts(message: AssistantMessage, modern: bool, *, ids: bool) -> list[JsonObject]:
    parts: list[JsonObject] = []
    for block in message.content:
        if isinstance(block, ToolCall):
            call: JsonObject = {"name": block.name, "args": block.arguments}
            if ids:
                call["id"] = block.id
            parts.append(_signed({"functionCall": call}, block.thought_signature))
        elif isinstance(block, TextContent):
            parts.append(_signed({"text": block.text}, block.text_signature))
        elif isinstance(block, ThinkingContent):
            parts.append(_signed({"text": block.thinking, "thought": True}, block.thinking_signature))
    calls = [part for part in parts if "functionCall" in part]
    if modern and calls and not any("thoughtSignature" in part for part in calls):
        calls[0]["thoughtSignature"] = UNSIGNED
    return parts


def _signed(part: JsonObject, signature: str | None) -> JsonObject:
    return {**part, "thoughtSignature": signature} if signature else part


def _results(group: Sequence[ToolResultMessage], modern: bool, *, ids: bool) -> list[JsonObject]:
    """One turn of responses. From Gemini 3 on images go inside; before, they follow in their own turn."""
    responses: list[JsonObject] = []
    behind: list[JsonObject] = []
    for message in group:
        images = [_inline(block) for block in message.content if isinstance(block, ImageContent)]
        text = text_of(message.content)
        if not text.strip():
            text = "(see the image)" if images else "(no output)"
        response: JsonObject = {
            "name": message.tool_name,
            "response": {"error" if message.is_error else "output": text},
        }
        if ids:
            response["id"] = message.tool_call_id
        if images and modern:
            response["parts"] = images
        elif images:
            behind += [{"text": f"Images of the result of {message.tool_name}:"}, *images]
        responses.append({"functionResponse": response})
    turns: list[JsonObject] = [{"role": "user", "parts": responses}]
    return [*turns, {"role": "user", "parts": behind}] if behind else turns


def _inline(block: ImageContent) -> JsonObject:
    return {"inlineData": {"mimeType": block.mime_type, "data": block.data}}
