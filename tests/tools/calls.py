"""Calling a tool in a test and looking at the processes it leaves."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from relay.agent.tool import Tool, ToolCallContext, ToolResult
from relay.ai.types import TextContent


def context(updates: list[ToolResult] | None = None) -> ToolCallContext:
    return ToolCallContext(call_id="c1", update=(updates if updates is not None else []).append)


def text_of(result: ToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def call(tool: Tool, **arguments: Any) -> str:
    """The text of a call that works."""
    return text_of(await tool.run(arguments, context()))


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


async def read_fifo(path: Path) -> str:
    """What the next writer of a named pipe writes, without keeping a thread waiting when it never comes."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(fd, lambda: None if ready.done() else ready.set_result(None))
    try:
        async with asyncio.timeout(10):
            await ready
        return os.read(fd, 4096).decode()
    finally:
        loop.remove_reader(fd)
        os.close(fd)


def recorded_calls(stream: Path) -> list[dict[str, Any]]:
    """The arguments of the tool calls in a recorded Chat Completions stream."""
    pieces: dict[int, str] = {}
    for line in stream.read_text().splitlines():
        if not line.startswith("data: {"):
            continue
        for choice in json.loads(line.removeprefix("data: "))["choices"]:
            for piece in choice["delta"].get("tool_calls", ()):
                pieces[piece["index"]] = pieces.get(piece["index"], "") + piece["function"]["arguments"]
    return [json.loads(text) for text in pieces.values()]
