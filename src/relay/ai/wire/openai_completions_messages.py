"""Prepared messages in the form of Chat Completions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile

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
from relay.ai.wire.openai_common import arguments_text
from relay.ai.wire.openai_completions_compat import Compat

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""Fields of a delta that servers send thinking in, in the order they are looked at."""

NO_OUTPUT = "(no output)"
IMAGE_FOLLOWS = "(the image is in the next message)"
RESULT_IMAGES = "Images from the tool results above:"
BRIDGE = "I have the tool results."


def chat_messages(messages: Sequence[Message], model: Model, compat: Compat) -> list[JsonObject]:
    """`messages`, which `relay.ai.convert.prepare` has made, as the request's `messages`."""
    sent: list[JsonObject] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        if isinstance(message, ToolResultMessage):
            run = [m for m in takewhile(_is_result, messages[position:]) if isinstance(m, ToolResultMessage)]
            sent += _results(run, compat)
            position += len(run)
            continue
        position += 1
        match message:
            case SystemMessage():
                sent += _system(message, model, compat)
            case UserMessage():
                sent += _bridge(sent, compat)
                sent.append({"role": "user", "content": _user_content(message.content)})
            case AssistantMessage():
                sent += _assistant(message, model, compat)
    return sent


def _is_result(message: Message) -> bool:
    return isinstance(message, ToolResultMessage)


def _system(message: SystemMessage, model: Model, compat: Compat) -> list[JsonObject]:
    text = text_of(message.content)
    role = "developer" if model.reasoning and compat.supports_developer_role else "system"
    return [{"role": role, "content": text}] if text else []


def _bridge(sent: list[JsonObject], compat: Compat) -> list[JsonObject]:
    """Some servers refuse a user message right after tool results."""
    after_result = bool(sent) and sent[-1]["role"] == "tool"
    wanted = after_result and compat.requires_assistant_after_tool_result
    return [{"role": "assistant", "content": BRIDGE}] if wanted else []


def _user_content(content: str | list[UserContent]) -> str | list[JsonObject]:
    """Text alone is sent as a string, which every server takes."""
    if isinstance(content, str):
        return content
    if not content:
        return ""
    if len(content) == 1 and isinstance(content[0], TextContent):
        return content[0].text
    return [_part(block) for block in content]


def _part(block: UserContent) -> JsonObject:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": f"data:{block.mime_type};base64,{block.data}"}}


def _assistant(message: AssistantMessage, model: Model, compat: Compat) -> list[JsonObject]:
    """At most one message; an answer of nothing but thinking is left out, for no server takes it."""
    texts = [block.text for block in message.content if isinstance(block, TextContent)]
    thinking = [block for block in message.content if isinstance(block, ThinkingContent)]
    calls = [block for block in message.content if isinstance(block, ToolCall)]
    if compat.requires_thinking_as_text:
        spoken = [f"<thinking>\n{block.thinking}\n</thinking>" for block in thinking if block.thinking]
        texts, thinking = [*spoken, *texts], []
    if not texts and not calls:
        return []
    empty = "" if compat.requires_non_null_assistant_content else None
    sent: JsonObject = {"role": "assistant", "content": "\n\n".join(texts) if texts else empty}
    sent.update(_reasoning(thinking))
    if compat.requires_reasoning_content_on_assistant_messages and model.reasoning:
        sent.setdefault("reasoning_content", "")
    if calls:
        sent["tool_calls"] = [_call(block) for block in calls]
        if details := [detail for block in calls if (detail := _detail(block.thought_signature))]:
            sent["reasoning_details"] = details
    return [sent]


def _reasoning(blocks: Sequence[ThinkingContent]) -> JsonObject:
    """Thinking goes back in the field that it came in; what came in none stays out."""
    fields: JsonObject = {}
    for block in blocks:
        name = block.thinking_signature
        if name in REASONING_FIELDS and block.thinking:
            fields[name] = f"{fields[name]}\n{block.thinking}" if name in fields else block.thinking
    return fields


def _call(block: ToolCall) -> JsonObject:
    function = {"name": block.name, "arguments": arguments_text(block)}
    return {"id": block.id, "type": "function", "function": function}


def _detail(signature: str | None) -> JsonObject | None:
    """The encrypted reasoning that was kept with a call; other protocols' signatures are none."""
    try:
        detail = json.loads(signature) if signature else None
    except ValueError:
        return None
    return detail if isinstance(detail, dict) and "type" in detail else None


def _results(run: Sequence[ToolResultMessage], compat: Compat) -> list[JsonObject]:
    """Results in a row; their images follow in one user message, for a result holds only text."""
    sent: list[JsonObject] = []
    images: list[JsonObject] = []
    for message in run:
        own = [_part(block) for block in message.content if isinstance(block, ImageContent)]
        images += own
        text = text_of(message.content) or (IMAGE_FOLLOWS if own else NO_OUTPUT)
        result: JsonObject = {"role": "tool", "content": text, "tool_call_id": message.tool_call_id}
        if compat.requires_tool_result_name:
            result["name"] = message.tool_name
        sent.append(result)
    if images:
        sent += _bridge(sent, compat)
        sent.append({"role": "user", "content": [{"type": "text", "text": RESULT_IMAGES}, *images]})
    return sent


def mark_for_cache(messages: list[JsonObject], tools: list[JsonObject], control: JsonObject) -> None:
    """Sets Anthropic's cache marker on the prompt, the last tool and the last text of the conversation."""
    prompt = next((m for m in messages[:1] if m["role"] in ("system", "developer")), None)
    last = next(
        (m for m in reversed(messages) if m["role"] not in ("system", "developer") and _mark(m, control)),
        None,
    )
    if prompt is not None and prompt is not last:
        _mark(prompt, control)
    if tools:
        tools[-1]["cache_control"] = control


def _mark(message: JsonObject, control: JsonObject) -> bool:
    """Marks the message's last text; False when it has none."""
    content = message.get("content")
    if isinstance(content, str) and content:
        message["content"] = [{"type": "text", "text": content, "cache_control": control}]
        return True
    for part in reversed(content if isinstance(content, list) else []):
        if part.get("type") == "text":
            part["cache_control"] = control
            return True
    return False
