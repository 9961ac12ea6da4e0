"""The vocabulary of conversations with a model: content blocks, messages, usage and tools.

All values are plain data with the camelCase names of the session file. They are frozen, except
`AssistantMessage`, which its stream owns while it grows. Timestamps are Unix milliseconds.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
THINKING_LEVELS: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high", "xhigh", "max")

StopReason = Literal["pending", "stop", "length", "toolUse", "error", "aborted", "deferred"]

JsonObject = dict[str, Any]


class Data(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Base of frozen plain data: optional fields that hold their default are not written."""


class TextContent(Data, frozen=True, tag="text", tag_field="type"):
    text: str
    text_signature: str | None = None
    """Opaque metadata of the provider that made the block."""


class ImageContent(Data, frozen=True, tag="image", tag_field="type"):
    data: str
    """Base64."""
    mime_type: str


class ThinkingContent(Data, frozen=True, tag="thinking", tag_field="type"):
    thinking: str
    thinking_signature: str | None = None
    """Opaque replay data; for Chat Completions the name of the field the text came in."""
    redacted: bool | None = None


class ToolCall(Data, frozen=True, tag="toolCall", tag_field="type"):
    id: str
    name: str
    arguments: JsonObject
    thought_signature: str | None = None
    namespace: str | None = None
    raw_arguments: str | None = None
    """The text the model sent, kept only when it was not a JSON object (`arguments` is then `{}`)."""


UserContent = TextContent | ImageContent
AssistantContent = TextContent | ThinkingContent | ToolCall


class Cost(Data, frozen=True, omit_defaults=False):
    """US dollars."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    total: float = 0


class Usage(Data, frozen=True):
    """Tokens of one call. `reasoning` is part of `output`, `cache_write_1h` part of `cache_write`."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    total_tokens: int
    cost: Cost
    cache_write_1h: int | None = msgspec.field(default=None, name="cacheWrite1h")
    reasoning: int | None = None


def no_usage() -> Usage:
    """Usage of a call that has not reported any."""
    return Usage(input=0, output=0, cache_read=0, cache_write=0, total_tokens=0, cost=Cost())


class ToolSpec(Data, frozen=True):
    """A tool as the model sees it; `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: JsonObject


class ToolReference(Data, frozen=True):
    name: str


class SystemMessage(Data, frozen=True, tag="system", tag_field="role"):
    """Declares or patches the prompt and the tools; see `relay.ai.prompt.replay`."""

    content: str | list[TextContent]
    timestamp: int
    sections: dict[str, str | None] | None = None
    tools_added: list[ToolSpec] | None = None
    tools_removed: list[ToolReference] | None = None


class UserMessage(Data, frozen=True, tag="user", tag_field="role"):
    content: str | list[UserContent]
    timestamp: int


class AssistantMessage(
    msgspec.Struct, tag="assistant", tag_field="role", rename="camel", omit_defaults=True, kw_only=True
):
    """One answer. Not frozen: the stream that makes it fills it; nobody changes it after `message_end`."""

    content: list[AssistantContent]
    api: str
    provider: str
    model: str
    usage: Usage
    stop_reason: StopReason
    timestamp: int
    thinking_level: ThinkingLevel | None = None
    provider_thinking_level: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    raw_stop_reason: str | None = None
    error_message: str | None = None
    duration_ms: int | None = None
    end_turn: bool | None = None
    diagnostics: list[JsonObject] | None = None
    deferred: JsonObject | None = None


class ToolResultMessage(Data, frozen=True, tag="toolResult", tag_field="role"):
    tool_call_id: str
    tool_name: str
    content: list[UserContent]
    is_error: bool
    timestamp: int
    details: Any = None
    usage: Usage | None = None
    duration_ms: int | None = None
    nested_calls: JsonObject | None = None


Message = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage
"""What a wire adapter accepts. The agent's own message kinds become these before a call."""


def text_of(content: str | list[UserContent] | list[TextContent] | list[AssistantContent]) -> str:
    """The text blocks of a message's content, joined by newlines; other blocks are left out."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, TextContent))
