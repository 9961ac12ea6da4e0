"""The tool `ls`: the names in a directory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

from relay.agent.tool import ToolCallContext, ToolResult
from relay.ai.types import TextContent, ToolSpec
from relay.tools.arguments import count_argument, text_argument
from relay.tools.operations import Entry, Operations
from relay.tools.paths import explain, locate
from relay.tools.truncate import MAX_BYTES, truncate_head

DEFAULT_LIMIT = 500


class ListTool:
    """Lists directories below and outside of `cwd`; relative paths start there. Satisfies `Tool`."""

    hint = "List a directory"
    rules: tuple[str, ...] = ()
    execution: Literal["parallel"] = "parallel"

    def __init__(self, cwd: Path, operations: Operations) -> None:
        self._cwd = cwd
        self._operations = operations
        self.spec = ToolSpec(
            name="ls",
            description=(
                "List a directory in alphabetical order, hidden names included; directories end in a slash. "
                f"Gives {DEFAULT_LIMIT} names unless a limit is set, and at most {MAX_BYTES // 1024} KB."
            ),
            parameters={
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The directory; without it the cwd"},
                    "limit": {"type": "integer", "description": "How many names to give at most"},
                },
            },
        )

    def path_written(self, arguments: dict[str, Any]) -> str | None:
        return None

    async def run(self, arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        written = text_argument(arguments, "path", ".") or "."
        limit = count_argument(arguments, "limit") or DEFAULT_LIMIT
        path = await asyncio.to_thread(locate, written, self._cwd, self._operations)
        try:
            entries = await self._operations.list_directory(path)
        except NotADirectoryError as error:
            raise explain(
                error, written, "list", reason="it is not a directory; look at it with read"
            ) from error
        except OSError as error:
            raise explain(error, written, "list") from error
        if not entries:
            return ToolResult(content=[TextContent(text=f"[{written} is an empty directory.]")])
        names = [_shown(entry) for entry in sorted(entries, key=_order)]
        return _result(names, limit)


def _order(entry: Entry) -> tuple[str, str]:
    return entry.name.lower(), entry.name


def _shown(entry: Entry) -> str:
    """One line, whatever the name: bytes that are not UTF-8 as U+FFFD, line breaks as escapes."""
    name = entry.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    name = name.replace("\n", "\\n").replace("\r", "\\r")
    return f"{name}/" if entry.is_directory else name


def _result(names: list[str], limit: int) -> ToolResult:
    kept = truncate_head(names[:limit], max_lines=limit, max_bytes=MAX_BYTES)
    if kept.shown_lines == len(names):
        return ToolResult(content=[TextContent(text=kept.content)])
    if kept.truncated:
        how = f"The limit of {MAX_BYTES // 1024} KB is reached: use find or list subdirectories."
    else:
        how = "Set a higher limit to see more."
    notice = f"[{kept.shown_lines} of {len(names)} names. {how}]"
    details = {"truncatedBy": "bytes" if kept.truncated else "limit", "total": len(names)}
    return ToolResult(content=[TextContent(text=f"{kept.content}\n\n{notice}")], details=details)
