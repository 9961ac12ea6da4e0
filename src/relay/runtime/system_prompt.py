"""The system prompt as named sections, and the message that declares what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from relay.agent.tool import Tool
from relay.ai.prompt import Prompt
from relay.ai.types import SystemMessage, ToolReference
from relay.config.context_files import ContextFile

PREAMBLE = (
    "You are Relay, a coding agent that works in the user's terminal. You read files, run commands and "
    "change code to do what the user asks."
)

GENERAL_RULES = (
    "Answer briefly and name the files you speak of by their paths.",
    "Before you say that something works, check it.",
)


class PromptSources(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the prompt is made of, besides the tools. `preamble` None means Relay's own."""

    cwd: Path
    preamble: str | None = None
    addenda: tuple[str, ...] = ()
    context_files: tuple[ContextFile, ...] = ()


def build_sections(sources: PromptSources, tools: Mapping[str, Tool]) -> dict[str, str]:
    """Section name → text, in the order in which the model reads them."""
    sections: dict[str, str] = {}
    if sources.preamble is None:
        sections["preamble"] = PREAMBLE
        sections["tools"] = _tools_section(tools)
        sections["rules"] = _rules_section(tools)
    else:
        sections["preamble"] = sources.preamble
    if sources.addenda:
        sections["addendum"] = _tagged("addendum", "\n\n".join(sources.addenda))
    if sources.context_files:
        files = "\n".join(
            f'<project_instructions path="{file.path}">\n{file.text}\n</project_instructions>'
            for file in sources.context_files
        )
        sections["project_context"] = _tagged("project_context", f"What this project asks of you:\n\n{files}")
    sections["cwd"] = _tagged("cwd", str(sources.cwd))
    return sections


def declare(
    current: Prompt, sections: Mapping[str, str], tools: Mapping[str, Tool], timestamp: int
) -> SystemMessage | None:
    """The system message that turns `current` into the wanted state; None when nothing differs."""
    changed: dict[str, str | None] = {
        name: text for name, text in sections.items() if current.sections.get(name) != text
    }
    changed |= {name: None for name in current.sections if name not in sections}
    added = [tool.spec for name, tool in tools.items() if current.tools.get(name) != tool.spec]
    removed = [ToolReference(name=name) for name in current.tools if name not in tools]
    if not changed and not added and not removed:
        return None
    return SystemMessage(
        content="",
        sections=changed or None,
        tools_added=added or None,
        tools_removed=removed or None,
        timestamp=timestamp,
    )


def _tools_section(tools: Mapping[str, Tool]) -> str:
    lines = [f"- {name}: {tool.hint}" for name, tool in tools.items() if tool.hint]
    return _tagged("tools", "\n".join(lines) or "(none)")


def _rules_section(tools: Mapping[str, Tool]) -> str:
    rules: Sequence[str] = [*(rule for tool in tools.values() for rule in tool.rules), *GENERAL_RULES]
    return _tagged("rules", "\n".join(f"- {rule}" for rule in dict.fromkeys(rules)))


def _tagged(name: str, text: str) -> str:
    return f"<{name}>\n{text}\n</{name}>"
