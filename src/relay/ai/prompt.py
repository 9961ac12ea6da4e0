"""Replays system messages into the prompt and the tools that hold at the end of a conversation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from relay.ai.types import Message, SystemMessage, ToolSpec, text_of


class Prompt(NamedTuple):
    """State of prompt and tools: `sections` in the order they were first named, `notes` appended texts."""

    sections: dict[str, str]
    notes: tuple[str, ...]
    tools: dict[str, ToolSpec]

    @property
    def text(self) -> str:
        """The system prompt as one text, sections and notes separated by blank lines."""
        return "\n\n".join(part for part in (*self.sections.values(), *self.notes) if part)


def replay(messages: Iterable[Message]) -> Prompt:
    """Sections are patched by name (None removes one), tools added and removed, in order."""
    sections: dict[str, str] = {}
    notes: list[str] = []
    tools: dict[str, ToolSpec] = {}
    for message in messages:
        if not isinstance(message, SystemMessage):
            continue
        text = text_of(message.content)
        if text:
            notes.append(text)
        for name, section in (message.sections or {}).items():
            if section is None:
                sections.pop(name, None)
            else:
                sections[name] = section
        for gone in message.tools_removed or ():
            tools.pop(gone.name, None)
        for tool in message.tools_added or ():
            tools[tool.name] = tool
    return Prompt(sections, tuple(notes), tools)
