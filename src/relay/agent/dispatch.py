"""Runs the tool calls of one answer: in parallel unless a tool says otherwise, one writer per file."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any
from weakref import WeakValueDictionary

from relay.agent.abort import Abort, Aborted
from relay.agent.arguments import ArgumentChecker
from relay.agent.events import EventBus, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from relay.agent.hooks import Hooks
from relay.agent.tool import Tool, ToolCallContext, ToolError, ToolResult
from relay.ai.types import TextContent, ToolCall, ToolResultMessage, UserContent
from relay.base.clock import now_ms

_log = logging.getLogger(__name__)

ABORTED = "The call was aborted before it finished."


class Dispatcher:
    """Owns the locks of files being changed and the compiled schemas; one per session."""

    def __init__(self, bus: EventBus, hooks: Hooks) -> None:
        self._bus = bus
        self._hooks = hooks
        self._checker = ArgumentChecker()
        self._writers: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run_all(
        self, calls: Sequence[ToolCall], tools: Mapping[str, Tool], abort: Abort
    ) -> list[ToolResultMessage]:
        """The results in the order of the calls. Never raises for a failing call."""
        sequential = any(
            (tool := tools.get(call.name)) is not None and tool.execution == "sequential" for call in calls
        )
        if sequential:
            results = []
            for call in calls:
                await self._announce(call)
                results.append(await self._run_one(call, tools, abort))
            return results
        for call in calls:
            await self._announce(call)
        return list(await asyncio.gather(*(self._run_one(call, tools, abort) for call in calls)))

    async def refuse_all(self, calls: Sequence[ToolCall], reason: str) -> list[ToolResultMessage]:
        """Failed results for calls that must not run, with the same events as if they had."""
        results = []
        for call in calls:
            await self._announce(call)
            results.append(await self._close(call, failed(reason), 0))
        return results

    async def _announce(self, call: ToolCall) -> None:
        await self._bus.emit(
            ToolExecutionStart(tool_call_id=call.id, tool_name=call.name, args=call.arguments)
        )

    async def _run_one(self, call: ToolCall, tools: Mapping[str, Tool], abort: Abort) -> ToolResultMessage:
        started = time.monotonic()
        result = await self._outcome(call, tools, abort)
        return await self._close(call, result, int((time.monotonic() - started) * 1000))

    async def _close(self, call: ToolCall, result: ToolResult, took_ms: int) -> ToolResultMessage:
        is_error = bool(result.is_error)
        await self._bus.emit(
            ToolExecutionEnd(
                tool_call_id=call.id,
                tool_name=call.name,
                result=result,
                is_error=is_error,
                duration_ms=took_ms,
            )
        )
        return ToolResultMessage(
            tool_call_id=call.id,
            tool_name=call.name,
            content=result.content,
            details=result.details,
            usage=result.usage,
            is_error=is_error,
            duration_ms=took_ms,
            timestamp=now_ms(),
        )

    async def _outcome(self, call: ToolCall, tools: Mapping[str, Tool], abort: Abort) -> ToolResult:
        tool = tools.get(call.name)
        if tool is None:
            return failed(_unknown(call.name, tools))
        try:
            arguments = self._checker.check(tool.spec, call.arguments, call.raw_arguments)
            objection = await self._hooks.admit(call, arguments)
            result = (
                failed(objection.reason)
                if objection is not None
                else await self._guarded(tool, call, arguments, abort)
            )
            return await self._hooks.finish(call, result)
        except ToolError as error:
            return failed(str(error), error.details)
        except Exception as error:  # noqa: BLE001  a tool or hook of anybody's may raise anything; the run goes on
            _log.exception("tool %s failed", call.name)
            return failed(f"{call.name} failed unexpectedly: {type(error).__name__}: {error}")

    async def _guarded(
        self, tool: Tool, call: ToolCall, arguments: dict[str, Any], abort: Abort
    ) -> ToolResult:
        path = tool.path_written(arguments)
        if path is None:
            return await self._cancellable(tool, call, arguments, abort)
        lock = self._writers.setdefault(path, asyncio.Lock())
        async with lock:
            return await self._cancellable(tool, call, arguments, abort)

    async def _cancellable(
        self, tool: Tool, call: ToolCall, arguments: dict[str, Any], abort: Abort
    ) -> ToolResult:
        progress = _Progress(self._bus, call)
        context = ToolCallContext(call_id=call.id, update=progress.report)
        try:
            return await abort.run(tool.run(arguments, context))
        except Aborted:
            return _interrupted(progress.latest)
        finally:
            await progress.delivered()


class _Progress:
    """Turns a tool's synchronous reports into events, in order, before the call's end is told."""

    def __init__(self, bus: EventBus, call: ToolCall) -> None:
        self._bus = bus
        self._call = call
        self._sending: asyncio.Task[None] | None = None
        self._waiting: ToolResult | None = None
        self.latest: ToolResult | None = None

    def report(self, partial: ToolResult) -> None:
        """A report that was not sent yet is replaced: each one holds all there is."""
        self.latest = self._waiting = partial
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def delivered(self) -> None:
        if self._sending is not None:
            await self._sending

    async def _send(self) -> None:
        while self._waiting is not None:
            partial, self._waiting = self._waiting, None
            call = self._call
            await self._bus.emit(
                ToolExecutionUpdate(
                    tool_call_id=call.id, tool_name=call.name, args=call.arguments, partial_result=partial
                )
            )


def failed(text: str, details: Any = None) -> ToolResult:
    """A failed result that says `text`."""
    return ToolResult(content=[TextContent(text=text)], details=details, is_error=True)


def _interrupted(partial: ToolResult | None) -> ToolResult:
    """What a call had produced when it was aborted, and the note that it was."""
    if partial is None:
        return failed(ABORTED)
    texts = [block.text.rstrip("\n") for block in partial.content if isinstance(block, TextContent)]
    others: list[UserContent] = [block for block in partial.content if not isinstance(block, TextContent)]
    text = "\n".join([*(text for text in texts if text), ABORTED])
    return ToolResult(content=[TextContent(text=text), *others], details=partial.details, is_error=True)


def _unknown(name: str, tools: Mapping[str, Tool]) -> str:
    near = get_close_matches(name, tools, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    known = ", ".join(tools) or "none"
    return f"There is no tool named {name}.{hint} Tools you can call: {known}."
