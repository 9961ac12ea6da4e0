"""The text of `relay --help`."""

from __future__ import annotations

from relay.cli.options import GROUPS, LIST_MODELS, Option

_HEAD = """\
Relay is a coding agent for your terminal.

Usage:
  relay [options] [--] [@files...] [messages...]
  relay auth login|logout|check        keys of providers
  relay config get|set|unset|list      read and change settings
  relay local pull|list|remove         models that run on this machine

Piped input is put before the first message; @path adds a file or image to it.
"""

_TAIL = """
Examples:
  relay -p "Why does the build fail?"
  git diff | relay -p "Review this change"
  relay -p --model anthropic/claude-sonnet-4-5:high @notes.md "Do what the notes say"
  relay --mode json "List the files" > events.jsonl
"""


def help_text() -> str:
    groups = {
        name: (*options, LIST_MODELS) if name == "Models" else options for name, options in GROUPS.items()
    }
    parts = [_HEAD]
    for name, options in groups.items():
        parts.append(f"\n{name}:\n")
        parts += [_line(option) for option in options]
    parts.append(_TAIL)
    return "".join(parts)


def _line(option: Option) -> str:
    spelled = ", ".join(option.names) + (f" {option.value}" if option.value else "")
    if len(spelled) > 30:
        return f"  {spelled}\n{'':34}{option.help}\n"
    return f"  {spelled:<30}  {option.help}\n"
