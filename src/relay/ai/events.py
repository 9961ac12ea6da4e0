"""The events of one model call.

Grammar: `start`, then blocks, then exactly one `done` or `error`. A block is its `*_start`, any number of
`*_delta` and one `*_end`; blocks may overlap only where the protocol interleaves them. `content_index` is
the block's position in the message. Deltas never copy the growing message: the stream owns it.
"""

from __future__ import annotations

import msgspec

from relay.ai.types import AssistantMessage, StopReason, ToolCall


class _Event(msgspec.Struct, frozen=True, rename="camel", tag_field="type", kw_only=True):
    pass


class Start(_Event, frozen=True, tag="start"):
    """First event of every stream; `message` is the growing message, owned by the stream."""

    message: AssistantMessage


class TextStart(_Event, frozen=True, tag="text_start"):
    content_index: int


class TextDelta(_Event, frozen=True, tag="text_delta"):
    content_index: int
    delta: str


class TextEnd(_Event, frozen=True, tag="text_end"):
    """After the block's last delta; `content` is authoritative."""

    content_index: int
    content: str


class ThinkingStart(_Event, frozen=True, tag="thinking_start"):
    content_index: int


class ThinkingDelta(_Event, frozen=True, tag="thinking_delta"):
    content_index: int
    delta: str


class ThinkingEnd(_Event, frozen=True, tag="thinking_end"):
    content_index: int
    content: str


class ToolCallStart(_Event, frozen=True, tag="toolcall_start"):
    content_index: int
    id: str
    tool_name: str


class ToolCallDelta(_Event, frozen=True, tag="toolcall_delta"):
    """A piece of the arguments' JSON text; may be empty."""

    content_index: int
    delta: str


class ToolCallEnd(_Event, frozen=True, tag="toolcall_end"):
    content_index: int
    tool_call: ToolCall


class Done(_Event, frozen=True, tag="done"):
    """The stream ended well: stop, length or toolUse. Nothing follows."""

    reason: StopReason
    message: AssistantMessage


class Failed(_Event, frozen=True, tag="error"):
    """The stream ended in an error or an abort; `error` is the message as far as it came. Nothing follows."""

    reason: StopReason
    error: AssistantMessage


BlockEvent = (
    TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
)
StreamEvent = Start | BlockEvent | Done | Failed
