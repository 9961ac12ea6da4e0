"""What the shell tools and the user's own commands share: options, one call, and the words of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from relay.agent.tool import ToolCallContext, ToolError, ToolResult
from relay.ai.types import JsonObject, TextContent
from relay.base.processes import ProcessInfo, ProcessTracker, signal_name
from relay.tools.shell import Shell, ShellOutcome, parse_timeout, run_shell
from relay.tools.shell_output import Snapshot
from relay.tools.truncate import format_size

LISTED_PROCESSES = 10


def no_environment() -> Mapping[str, str]:
    """The additions to a command's environment where there is no session."""
    return {}


class ShellOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How commands run, for the tools and for the user's own commands.

    `environment` gives the additions (`RELAY_MODEL` and so on) as they are when a command starts.
    """

    tracker: ProcessTracker
    shell_path: str | None = None
    command_prefix: str | None = None
    environment: Callable[[], Mapping[str, str]] = no_environment
    output_folder: str | None = None
    """Where files with long outputs go; None is the system's folder for temporary files."""


def prefixed(command: str, prefix: str | None) -> str:
    """The command with the lines of the setting `shellCommandPrefix` before it."""
    return f"{prefix}\n{command}" if prefix else command


def shell_parameters(language: str) -> JsonObject:
    """The JSON Schema of a shell tool's arguments."""
    return {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": f"The {language} command to run"},
            "timeout": {
                "type": "number",
                "description": "Stop the command after this many seconds (no limit if left out)",
            },
        },
        "required": ["command"],
    }


async def run_tool_command(
    command: str,
    timeout_argument: Any,
    shell: Shell,
    cwd: str,
    options: ShellOptions,
    *,
    context: ToolCallContext,
) -> ToolResult:
    """One call of a shell tool: partial results while it runs, then a result or a ToolError."""
    time_limit = parse_timeout(timeout_argument)

    def update(snapshot: Snapshot) -> None:
        content = TextContent(text=output_text(snapshot))
        context.update(ToolResult(content=[content], details=output_details(snapshot)))

    outcome = await run_shell(
        command,
        cwd=cwd,
        shell=shell,
        tracker=options.tracker,
        time_limit=time_limit,
        environment=options.environment(),
        on_update=update,
        output_folder=options.output_folder,
    )
    return _result(outcome, time_limit)


def _result(outcome: ShellOutcome, time_limit: float | None) -> ToolResult:
    text = output_text(outcome.output)
    details = output_details(outcome.output)
    ending = _ending(outcome, time_limit)
    left = _left_text(outcome.still_running)
    if ending is not None:
        parts = (text.rstrip("\n"), left, ending)
        raise ToolError("\n\n".join(part for part in parts if part), details)
    if left:
        text = f"{text.rstrip()}\n\n{left}" if text else left
    return ToolResult(content=[TextContent(text=text or "(no output)")], details=details)


def _ending(outcome: ShellOutcome, time_limit: float | None) -> str | None:
    """How the command failed; None when it ended well."""
    if outcome.timed_out:
        seconds = f"{time_limit:g} second" + ("" if time_limit == 1 else "s")
        return f"The command reached its timeout of {seconds} and was stopped with all its processes."
    if outcome.exit_code == 0:
        return None
    by = f" (ended by {signal_name(outcome.signal)})" if outcome.signal else ""
    return f"The command ended with exit code {outcome.exit_code}{by}."


def _left_text(left: tuple[ProcessInfo, ...]) -> str:
    if not left:
        return ""
    names = [f"{process.name} (pid {process.pid})" for process in left[:LISTED_PROCESSES]]
    if len(left) > LISTED_PROCESSES:
        names.append(f"{len(left) - LISTED_PROCESSES} more")
    return f"[Still running in the background: {', '.join(names)}. Their further output is not shown.]"


def output_text(output: Snapshot) -> str:
    """The shown output, with a last line that tells what is missing and where all of it is."""
    cut = output.truncation
    if cut is None:
        return output.text
    if cut.last_line_partial:
        shown = f"the last {format_size(cut.output_bytes)} of line {cut.total_lines}"
    else:
        shown = f"lines {cut.total_lines - cut.output_lines + 1} to {cut.total_lines} of {cut.total_lines}"
    limit = f"{cut.max_lines} lines" if cut.truncated_by == "lines" else format_size(cut.max_bytes)
    where = (
        f"the whole output could not be kept: {output.full_output_problem}"
        if output.full_output_problem
        else f"whole output: {output.full_output_path}"
    )
    return f"{output.text.rstrip()}\n\n[Above: {shown} (limit {limit}); {where}]"


def output_details(output: Snapshot) -> JsonObject | None:
    """`truncation` and `fullOutputPath` of a result, None when everything is shown."""
    if output.truncation is None:
        return None
    details: JsonObject = {"truncation": msgspec.to_builtins(output.truncation)}
    if output.full_output_path is not None:
        details["fullOutputPath"] = output.full_output_path
    return details
