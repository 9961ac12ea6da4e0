"""A desk with a scripted model and scripted tools, and a sink that keeps what it was told."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Literal, TypeVar

from relay.agent.events import SessionEvent
from relay.agent.loop import ModelCall, RunEnd
from relay.agent.messages import AgentMessage
from relay.agent.tool import Tool, ToolCallContext, ToolResult
from relay.ai.errors import ProviderError
from relay.ai.events import Done, Failed, Start, StreamEvent, TextDelta, TextEnd, TextStart
from relay.ai.model import Model
from relay.ai.types import (
    AssistantContent,
    AssistantMessage,
    StopReason,
    TextContent,
    ThinkingLevel,
    ToolCall,
    ToolSpec,
    UserMessage,
    no_usage,
)

Kind = TypeVar("Kind")

MODEL = Model(id="m", name="m", api="fake", provider="fake", base_url="http://127.0.0.1:1")


def user(text: str) -> UserMessage:
    return UserMessage(content=[TextContent(text=text)], timestamp=1)


def answer(*content: AssistantContent, stop: StopReason = "stop") -> AssistantMessage:
    return AssistantMessage(
        content=list(content),
        api="fake",
        provider="fake",
        model="m",
        usage=no_usage(),
        stop_reason=stop,
        timestamp=1,
    )


def call(id: str, name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments)


class FakeCall:
    """Plays one answer; with a gate it waits there until it is opened or the call is aborted."""

    def __init__(
        self,
        message: AssistantMessage,
        *,
        gate: asyncio.Event | None = None,
        error: ProviderError | None = None,
    ) -> None:
        self._message = message
        self._gate = gate
        self._aborted = asyncio.Event()
        self.error = error

    def abort(self) -> None:
        self._aborted.set()

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        if self.error is not None:
            self._message.stop_reason = "error"
            self._message.error_message = str(self.error)
            yield Failed(reason="error", error=self._message)
            return
        final, self._message.stop_reason = self._message.stop_reason, "pending"
        yield Start(message=self._message)
        for index, block in enumerate(self._message.content):
            if isinstance(block, TextContent):
                yield TextStart(content_index=index)
                yield TextDelta(content_index=index, delta=block.text)
                yield TextEnd(content_index=index, content=block.text)
        if self._gate is not None:
            waits = [asyncio.create_task(event.wait()) for event in (self._gate, self._aborted)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()
        if self._aborted.is_set():
            self._message.stop_reason = "aborted"
            yield Failed(reason="aborted", error=self._message)
            return
        self._message.stop_reason = final
        yield Done(reason=final, message=self._message)


class FakeTool:
    """Runs a coroutine function of (arguments, context); records how many calls overlap."""

    rules: tuple[str, ...] = ()
    hint = ""

    def __init__(
        self,
        name: str,
        body: Callable[[dict[str, Any], ToolCallContext], Awaitable[ToolResult]],
        *,
        properties: dict[str, Any] | None = None,
        required: tuple[str, ...] = (),
        execution: Literal["parallel", "sequential"] = "parallel",
        writes: bool = False,
    ) -> None:
        parameters = {"type": "object", "properties": properties or {}, "required": list(required)}
        self.spec = ToolSpec(name=name, description=name, parameters=parameters)
        self._body = body
        self._writes = writes
        self.execution = execution
        self.running = self.most = 0

    def path_written(self, arguments: dict[str, Any]) -> str | None:
        return str(arguments["path"]) if self._writes else None

    async def run(self, arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await self._body(arguments, context)
        finally:
            self.running -= 1


class FakeDesk:
    """Hands out scripted calls in order; fails when the script runs dry."""

    model = MODEL
    thinking: ThinkingLevel = "off"

    def __init__(self, *calls: ModelCall, tools: tuple[Tool, ...] = ()) -> None:
        self._calls = deque(calls)
        self.tools: Mapping[str, Tool] = {tool.spec.name: tool for tool in tools}
        self.steering: deque[UserMessage] = deque()
        self.follow_up: deque[UserMessage] = deque()

    async def call(self) -> ModelCall:
        assert self._calls, "the loop asked for one call more than the script has"
        return self._calls.popleft()

    @property
    def unused(self) -> int:
        return len(self._calls)

    def queued(self, *, stopped: bool) -> bool:
        return bool(self.steering) or (stopped and bool(self.follow_up))

    async def take(self, *, stopped: bool) -> AsyncIterator[AgentMessage]:
        queue = self.steering or (self.follow_up if stopped else deque())
        if queue:
            yield queue.popleft()


class NoRetry:
    def will_retry(self, end: RunEnd) -> bool:
        return False


class Trace:
    """A sink; `types` are the events' tags, `texts` what messages said."""

    def __init__(self) -> None:
        self.events: list[SessionEvent] = []
        self._told = asyncio.Event()

    def __call__(self, event: SessionEvent) -> None:
        self.events.append(event)
        self._told.set()

    async def reached(self, type: str, count: int = 1) -> None:
        """Returns once `count` events of that type were told."""
        while self.types.count(type) < count:
            self._told.clear()
            await self._told.wait()

    @property
    def types(self) -> list[str]:
        return [str(type(event).__struct_config__.tag) for event in self.events]

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [event for event in self.events if isinstance(event, kind)]
