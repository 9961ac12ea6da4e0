"""The file tools on a temporary directory, and operations that keep account of what is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from relay.agent.tool import Tool, ToolError, ToolResult
from relay.tools.edit import EditTool
from relay.tools.local import LocalOperations
from relay.tools.ls import ListTool
from relay.tools.operations import Entry, FileInfo, Operations
from relay.tools.read import ReadTool
from relay.tools.write import WriteTool
from tests.tools.calls import context


class CountingOperations:
    """Local files, with the number of bytes that were read."""

    def __init__(self) -> None:
        self.local = LocalOperations()
        self.bytes_read = 0

    def real_path(self, path: Path, *, must_exist: bool = False) -> Path:
        return self.local.real_path(path, must_exist=must_exist)

    async def stat(self, path: Path) -> FileInfo:
        return await self.local.stat(path)

    async def read(self, path: Path, start: int = 0, size: int | None = None) -> bytes:
        data = await self.local.read(path, start, size)
        self.bytes_read += len(data)
        return data

    async def write(self, path: Path, data: bytes) -> bool:
        return await self.local.write(path, data)

    async def list_directory(self, path: Path) -> list[Entry]:
        return await self.local.list_directory(path)


def tool(name: str, cwd: Path, operations: Operations | None = None) -> Tool:
    place = operations or LocalOperations()
    tools: list[Tool] = [
        ReadTool(cwd, place),
        WriteTool(cwd, place),
        EditTool(cwd, place),
        ListTool(cwd, place),
    ]
    return next(tool for tool in tools if tool.spec.name == name)


async def run(name: str, cwd: Path, **arguments: Any) -> ToolResult:
    return await tool(name, cwd).run(arguments, context())


async def fail(name: str, cwd: Path, **arguments: Any) -> str:
    """The text of a call that must fail."""
    with pytest.raises(ToolError) as caught:
        await run(name, cwd, **arguments)
    return str(caught.value)


def recorded_calls(stream: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and arguments of the tool calls in a recorded Chat Completions stream."""
    for line in stream.read_text().splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                for call in choice["delta"].get("tool_calls", []):
                    yield call["function"]["name"], json.loads(call["function"]["arguments"])


def names(folder: Path) -> list[str]:
    """What is in a directory, hidden entries included."""
    return sorted(entry.name for entry in folder.iterdir())
