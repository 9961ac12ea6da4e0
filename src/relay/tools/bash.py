"""The bash tool: runs a command in the working directory and returns the end of what it printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from relay.agent.tool import ToolCallContext, ToolResult
from relay.ai.types import ToolSpec
from relay.tools.arguments import text_argument
from relay.tools.shell import find_shell
from relay.tools.shell_tool import ShellOptions, prefixed, run_tool_command, shell_parameters
from relay.tools.truncate import MAX_BYTES, MAX_LINES


class BashTool:
    """Runs a command through the user's Bash."""

    hint = "run shell commands: builds, tests, git, file management"
    rules: tuple[str, ...] = ()
    execution: Literal["parallel"] = "parallel"

    def __init__(self, cwd: Path, options: ShellOptions) -> None:
        self._cwd = str(cwd)
        self._options = options
        self.spec = ToolSpec(
            name="bash",
            description=(
                "Run a Bash command in the working directory. Gives back stdout and stderr as one text; of "
                f"long output only the last {MAX_LINES} lines or {MAX_BYTES // 1024} KB, whichever is less, "
                "naming a file that holds all of it. stdin is empty. A timeout in seconds may be set."
            ),
            parameters=shell_parameters("Bash"),
        )

    def path_written(self, arguments: dict[str, Any]) -> str | None:
        return None

    async def run(self, arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        shell = find_shell(self._options.shell_path)
        command = prefixed(text_argument(arguments, "command"), self._options.command_prefix)
        return await run_tool_command(
            command, arguments.get("timeout"), shell, self._cwd, self._options, context=context
        )
