"""The powershell tool: the shell tool over `pwsh` or `powershell`, where one of them is on PATH."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Literal

from relay.agent.tool import ToolCallContext, ToolError, ToolResult
from relay.ai.types import ToolSpec
from relay.tools.arguments import text_argument
from relay.tools.shell import Shell
from relay.tools.shell_tool import ShellOptions, run_tool_command, shell_parameters
from relay.tools.truncate import MAX_BYTES, MAX_LINES

NOT_FOUND = (
    "powershell is not available here: neither pwsh nor powershell is on PATH. "
    "Install PowerShell, or use the bash tool."
)

_FLAGS = ("-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass")

_UTF8 = (
    "[Console]::OutputEncoding = [System.Text.UTF8Encoding]::new($false); "
    "$OutputEncoding = [Console]::OutputEncoding\n"
)
"""Windows PowerShell prints in the console's code page otherwise."""

_EXIT = "\nif (-not $?) { if ($LASTEXITCODE) { exit $LASTEXITCODE } else { exit 1 } }"
"""`-Command` alone answers 1 for every failure; this gives the failed program's own code."""


def find_powershell() -> Shell | None:
    """PowerShell 7 before Windows PowerShell; None where neither is on PATH."""
    path = shutil.which("pwsh") or shutil.which("powershell")
    if path is None:
        return None
    return Shell(path, (*_FLAGS, "-Command"), suffix=".ps1", script_arguments=(*_FLAGS, "-File"))


class PowerShellTool:
    """Runs a command through PowerShell."""

    hint = "run PowerShell commands"
    rules: tuple[str, ...] = ()
    execution: Literal["parallel"] = "parallel"

    def __init__(self, cwd: Path, options: ShellOptions) -> None:
        self._cwd = str(cwd)
        self._options = options
        self.spec = ToolSpec(
            name="powershell",
            description=(
                "Run a PowerShell command in the working directory. Gives back all streams as one text; of "
                f"long output only the last {MAX_LINES} lines or {MAX_BYTES // 1024} KB, whichever is less, "
                "with the name of a file that holds all of it. A timeout in seconds may be set."
            ),
            parameters=shell_parameters("PowerShell"),
        )

    def path_written(self, arguments: dict[str, Any]) -> str | None:
        return None

    async def run(self, arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        shell = find_powershell()
        if shell is None:
            raise ToolError(NOT_FOUND)
        command = _UTF8 + text_argument(arguments, "command") + _EXIT
        return await run_tool_command(
            command, arguments.get("timeout"), shell, self._cwd, self._options, context=context
        )
