"""The tool `write`: gives a file a whole new content."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from relay.agent.tool import ToolCallContext, ToolError, ToolResult
from relay.ai.types import TextContent, ToolSpec
from relay.tools.arguments import file_text_argument, text_argument
from relay.tools.operations import Operations
from relay.tools.paths import explain, real_path, resolve_path
from relay.tools.truncate import format_size


class WriteTool:
    """Writes files below and outside of `cwd`; relative paths start there. Satisfies `Tool`."""

    hint = "Create a file or replace its whole content"
    rules = ("Use write for new files and complete rewrites only; change parts of a file with edit.",)
    execution: Literal["parallel"] = "parallel"

    def __init__(self, cwd: Path, operations: Operations) -> None:
        self._cwd = cwd
        self._operations = operations
        self.spec = ToolSpec(
            name="write",
            description=(
                "Write text to a file. An existing file loses its old content; missing directories are made."
            ),
            parameters={
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, absolute or relative to the cwd"},
                    "content": {"type": "string", "description": "The whole text of the file"},
                },
                "required": ["path", "content"],
            },
        )

    def path_written(self, arguments: dict[str, Any]) -> str | None:
        return real_path(arguments.get("path"), self._cwd, self._operations, near=False)

    async def run(self, arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        written = text_argument(arguments, "path")
        content = file_text_argument(arguments.get("content"), "content")
        path = resolve_path(written, self._cwd)
        if written.endswith(("/", "\\")):
            raise ToolError(f"Cannot write {written}: it names a directory; add a file name.")
        data = content.encode("utf-8")
        try:
            created = await self._operations.write(path, data)
        except OSError as error:
            raise explain(error, written, "write") from error
        count = content.count("\n") + (1 if content and not content.endswith("\n") else 0)
        lines = "1 line" if count == 1 else f"{count} lines"
        verb = "Created" if created else "Replaced"
        text = f"{verb} {written}: {lines}, {format_size(len(data))}."
        return ToolResult(content=[TextContent(text=text)])
