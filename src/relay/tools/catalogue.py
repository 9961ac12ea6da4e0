"""Which tools exist and which of them a session starts with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from relay.agent.tool import Tool
from relay.base.errors import RelayError
from relay.config.tool_selection import apply_selection, is_change
from relay.tools.bash import BashTool
from relay.tools.edit import EditTool
from relay.tools.find import FindTool
from relay.tools.grep import GrepTool
from relay.tools.local import LocalOperations
from relay.tools.ls import ListTool
from relay.tools.powershell import NOT_FOUND, PowerShellTool, find_powershell
from relay.tools.read import ReadTool
from relay.tools.shell_tool import ShellOptions
from relay.tools.write import WriteTool

BUILTIN_NAMES = ("read", "bash", "powershell", "edit", "write", "grep", "find", "ls")


class ToolOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings say about the built-in tools."""

    shell: ShellOptions
    resize_images: bool = True
    block_images: bool = False


def builtin_tools(cwd: Path, options: ToolOptions) -> dict[str, Tool]:
    """Every built-in tool of this machine by name; powershell only where PowerShell is on PATH."""
    files = LocalOperations()
    tools: list[Tool] = [
        ReadTool(cwd, files, auto_resize=options.resize_images, block_images=options.block_images),
        BashTool(cwd, options.shell),
        EditTool(cwd, files),
        WriteTool(cwd, files),
        GrepTool(cwd),
        FindTool(cwd),
        ListTool(cwd, files),
    ]
    if find_powershell() is not None:
        tools.append(PowerShellTool(cwd, options.shell))
    return {tool.spec.name: tool for tool in tools}


class ToolSelectionError(RelayError):
    """A command-line option for tools that cannot be meant."""


class OtherTool(msgspec.Struct, frozen=True):
    """A tool of an extension or of the SDK's user; an inactive one waits to be named."""

    name: str
    active: bool = True


class ToolSelection(msgspec.Struct, frozen=True):
    """The names a session declares, in order, and a sentence for each name that means nothing."""

    names: list[str]
    problems: list[str]


def select_tools(
    *,
    available: Iterable[str],
    others: Sequence[OtherTool] = (),
    defaults: Sequence[str] = (),
    tools: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    no_tools: bool = False,
    no_builtin_tools: bool = False,
) -> ToolSelection:
    """Applies the setting `defaultTools` and the command line's options.

    `available` are the built-in tools of this machine (the keys of `builtin_tools`), `defaults` the setting
    in effect. Active tools of extensions stay selected unless it says `-name`. `tools`, `exclude`:
    the entries of `--tools` and `--exclude-tools`, where `*` matches any characters. An option overrides
    the settings; `--exclude-tools` comes last. Raises ToolSelectionError for `+name` or `-name` in `tools`.
    """
    known = _Known(available, others)
    if tools is not None:
        _refuse_changes(tools)
        names = known.matching(tools, "--tools")
    elif no_tools:
        names = []
    else:
        names = known.chosen(() if no_builtin_tools else defaults)
    excluded = set(known.matching(exclude, "--exclude-tools", removing=True))
    return ToolSelection([name for name in names if name not in excluded], known.problems)


def _refuse_changes(tools: Sequence[str]) -> None:
    signed = list(filter(is_change, tools))
    if signed:
        raise ToolSelectionError(
            f"--tools takes plain names and patterns, not {signed[0]}. To change the default selection put "
            f'"{signed[0]}" into the setting defaultTools; --exclude-tools takes tools away for one run.'
        )


class _Known:
    """The names that mean something here; collects a problem for each that does not."""

    def __init__(self, available: Iterable[str], others: Sequence[OtherTool]) -> None:
        here = set(available)
        self._others = [other.name for other in others]
        self._active_others = [other.name for other in others if other.active]
        self._names = list(dict.fromkeys([*(n for n in BUILTIN_NAMES if n in here), *self._others]))
        self.problems: list[str] = []

    def matching(self, entries: Sequence[str], source: str, *, removing: bool = False) -> list[str]:
        """The known tools that the entries (names or `*` patterns) mean, each once, in the entries' order."""
        found: dict[str, None] = {}
        for entry in entries:
            pattern = re.compile(".*".join(map(re.escape, entry.split("*"))), re.DOTALL)
            hits = [name for name in self._names if pattern.fullmatch(name)]
            found.update(dict.fromkeys(hits))
            # Tools of MCP servers may come later, when their server has started.
            if not hits and not entry.startswith("mcp__"):
                self._miss(entry, source, removing=removing)
        return list(found)

    def chosen(self, entries: Sequence[str]) -> list[str]:
        """The known tools that the setting `defaultTools` means, and the active ones of extensions."""
        for entry in entries:
            name = entry[1:] if is_change(entry) else entry
            if name not in self._names:
                self._miss(name, "The setting defaultTools", removing=entry.startswith("-"))
        names = apply_selection(entries, self._active_others)
        return [name for name in names if name in self._names]

    def _miss(self, name: str, source: str, *, removing: bool) -> None:
        if removing and name in BUILTIN_NAMES:
            return
        if name == "powershell":
            problem = NOT_FOUND
        else:
            known = ", ".join(self._names)
            problem = f'{source} names "{name}", but there is no such tool. Known: {known}.'
        if problem not in self.problems:
            self.problems.append(problem)
