"""The growing assistant message of one stream: collects pieces without copying what came before."""

from __future__ import annotations

import json
import math
from typing import Any

from relay.ai.events import (
    BlockEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from relay.ai.model import Model
from relay.ai.types import AssistantMessage, TextContent, ThinkingContent, ThinkingLevel, ToolCall, no_usage

DEEPEST = 100
"""Levels of nesting in a tool call's arguments; no tool of ours has more than four."""


class _Open:
    """A block that still grows: its pieces, and for tool calls who it is."""

    __slots__ = ("id", "kind", "name", "pieces", "signature")

    def __init__(self, kind: str, id: str = "", name: str = "") -> None:
        self.kind = kind
        self.id = id
        self.name = name
        self.pieces: list[str] = []
        self.signature: str | None = None


class GrowingMessage:
    """Builds one `AssistantMessage` from pieces; every method returns the block event that tells of it.

    Blocks are addressed by their content index. While a block is open, `message.content` holds an empty
    placeholder of its kind; `end_*` replaces it by the finished block.
    """

    def __init__(self, model: Model, timestamp: int, thinking: ThinkingLevel | None = None) -> None:
        self.message = AssistantMessage(
            content=[],
            api=model.api,
            provider=model.provider,
            model=model.id,
            usage=no_usage(),
            stop_reason="pending",
            timestamp=timestamp,
            thinking_level=thinking,
        )
        self._open: dict[int, _Open] = {}

    def start_text(self) -> tuple[int, BlockEvent]:
        self.message.content.append(TextContent(text=""))
        index = self._opened(_Open("text"))
        return index, TextStart(content_index=index)

    def start_thinking(self) -> tuple[int, BlockEvent]:
        self.message.content.append(ThinkingContent(thinking=""))
        index = self._opened(_Open("thinking"))
        return index, ThinkingStart(content_index=index)

    def start_tool_call(self, id: str, name: str) -> tuple[int, BlockEvent]:
        self.message.content.append(ToolCall(id=id, name=name, arguments={}))
        index = self._opened(_Open("toolCall", id, name))
        return index, ToolCallStart(content_index=index, id=id, tool_name=name)

    def append(self, index: int, piece: str) -> BlockEvent:
        """Adds text, thinking or argument JSON to an open block."""
        block = self._open[index]
        block.pieces.append(piece)
        if block.kind == "text":
            return TextDelta(content_index=index, delta=piece)
        if block.kind == "thinking":
            return ThinkingDelta(content_index=index, delta=piece)
        return ToolCallDelta(content_index=index, delta=piece)

    def sign(self, index: int, signature: str) -> None:
        """Sets the opaque signature of an open block."""
        self._open[index].signature = signature

    def collected(self, index: int) -> str:
        """What an open block holds so far."""
        return "".join(self._open[index].pieces)

    def end(self, index: int) -> BlockEvent:
        """Closes an open block."""
        block = self._open.pop(index)
        text = "".join(block.pieces)
        content = self.message.content
        if block.kind == "text":
            content[index] = TextContent(text=text, text_signature=block.signature)
            return TextEnd(content_index=index, content=text)
        if block.kind == "thinking":
            content[index] = ThinkingContent(thinking=text, thinking_signature=block.signature)
            return ThinkingEnd(content_index=index, content=text)
        call = finished_call(block.id, block.name, text, block.signature)
        content[index] = call
        return ToolCallEnd(content_index=index, tool_call=call)

    def end_all(self) -> list[BlockEvent]:
        """Closes every open block, in content order."""
        return [self.end(index) for index in sorted(self._open)]

    def abandon(self) -> list[BlockEvent]:
        """Keeps what came of text and thinking; drops tool calls that are not complete, and empty blocks.

        The ends of the blocks that were kept.
        """
        ends: list[BlockEvent] = []
        dropped: set[int] = set()
        for index in sorted(self._open):
            if self._open[index].kind == "toolCall" or not self._open[index].pieces:
                dropped.add(index)
                del self._open[index]
            else:
                ends.append(self.end(index))
        if dropped:
            kept = [block for index, block in enumerate(self.message.content) if index not in dropped]
            self.message.content = kept
        return ends

    def _opened(self, block: _Open) -> int:
        index = len(self.message.content) - 1
        self._open[index] = block
        return index


def finished_call(id: str, name: str, text: str, signature: str | None = None) -> ToolCall:
    """A tool call from its argument text; text that is no JSON object is kept in `raw_arguments`."""
    arguments = parse_arguments(text)
    raw = text if arguments is None else None
    return ToolCall(
        id=id, name=name, arguments=arguments or {}, thought_signature=signature, raw_arguments=raw
    )


def parse_arguments(text: str) -> dict[str, Any] | None:
    """The JSON object in `text`; None when it is none. Empty text is `{}`; raw newlines in strings pass."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text, strict=False, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not _too_deep(value) else None


def _finite(number: str) -> float:
    """Refuses what JSON cannot write: NaN, Infinity, and numbers too large for a float."""
    if not math.isfinite(value := float(number)):
        raise ValueError(f"{number} is no number of JSON")
    return value


def _too_deep(value: dict[str, Any]) -> bool:
    """Whether `value` is nested deeper than the code that checks, saves and sends it can walk."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        inner = (item.values() if isinstance(item, dict) else item for item in level)
        level = [child for children in inner for child in children if isinstance(child, dict | list)]
        if not level:
            return False
    return True
