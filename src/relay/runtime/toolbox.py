"""The tools of a session: which exist here, and which it starts with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from relay.agent.tool import Tool
from relay.base.processes import ProcessTracker
from relay.config.settings import Settings
from relay.runtime.start import ToolOptions
from relay.runtime.surroundings import Report
from relay.tools.catalogue import ToolOptions as BuiltinOptions
from relay.tools.catalogue import builtin_tools, select_tools
from relay.tools.shell_tool import ShellOptions


def shell_options(
    settings: Settings, tracker: ProcessTracker, environment: Callable[[], Mapping[str, str]]
) -> ShellOptions:
    """How commands run, the model's and the user's."""
    return ShellOptions(
        tracker=tracker,
        shell_path=settings.shell_path,
        command_prefix=settings.shell_command_prefix,
        environment=environment,
    )


def build_tools(cwd: Path, settings: Settings, shell: ShellOptions) -> dict[str, Tool]:
    """Every built-in tool of this machine, by name, as the settings shape it."""
    images = settings.images
    return builtin_tools(
        cwd, BuiltinOptions(shell=shell, resize_images=images.auto_resize, block_images=images.block_images)
    )


def choose_tools(
    tools: Mapping[str, Tool], settings: Settings, options: ToolOptions, report: Report
) -> dict[str, Tool]:
    """Those of `tools` that the settings and options select. Raises ToolSelectionError."""
    selection = select_tools(
        available=tools,
        defaults=settings.default_tools,
        tools=options.only,
        exclude=options.exclude,
        no_tools=options.none,
        no_builtin_tools=options.no_builtin,
    )
    for problem in selection.problems:
        report(problem)
    return {name: tools[name] for name in selection.names if name in tools}
