"""How many tokens messages take where no server has counted them: four characters are one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay.agent.messages import (
    AgentMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    Unknown,
)
from relay.ai.types import ImageContent, SystemMessage, TextContent, ThinkingContent, ToolCall
from relay.base import jsonl

CHARACTERS_PER_TOKEN = 4
IMAGE_CHARACTERS = 4800
"""What an image counts as, whatever its size."""


def estimate_tokens(message: AgentMessage) -> int:
    """Tokens of one message, rounded up; 0 for what no model gets."""
    return -(-_characters(message) // CHARACTERS_PER_TOKEN)


def _characters(message: AgentMessage) -> int:
    match message:
        case Unknown():
            return 0
        case BashExecutionMessage():
            return 0 if message.exclude_from_context else len(message.command) + len(message.output)
        case BranchSummaryMessage() | CompactionSummaryMessage():
            return len(message.summary)
        case SystemMessage():
            return len(jsonl.encode(message))
        case _:
            return _content(message.content)


def _content(content: str | Sequence[Any]) -> int:
    return len(content) if isinstance(content, str) else sum(_block(block) for block in content)


def _block(block: Any) -> int:
    match block:
        case TextContent():
            return len(block.text)
        case ThinkingContent():
            return len(block.thinking)
        case ImageContent():
            return IMAGE_CHARACTERS
        case ToolCall():
            return len(block.name) + len(jsonl.encode(block.arguments))
        case _:
            return 0
