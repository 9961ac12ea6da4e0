"""The agent loop: one model call, its tool calls, next turn."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

import msgspec

from relay.agent.abort import Abort, Aborted
from relay.agent.dispatch import Dispatcher
from relay.agent.events import (
    AgentEnd,
    AgentStart,
    EventBus,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    TurnEnd,
    TurnStart,
)
from relay.agent.hooks import Hooks
from relay.agent.messages import AgentMessage
from relay.agent.tool import Tool
from relay.ai.errors import ProviderError
from relay.ai.events import Done, Failed, Start, StreamEvent
from relay.ai.model import Model
from relay.ai.types import AssistantMessage, StopReason, ThinkingLevel, ToolCall, ToolResultMessage, no_usage
from relay.base.clock import now_ms

_log = logging.getLogger(__name__)

ABORTED = "The run was aborted."
CUT_OFF = (
    "This call was not run: the answer was cut off at the output limit, and part of the arguments may be "
    "missing. Make the call again, in smaller pieces if it is long."
)


class ModelCall(Protocol):
    """One call under way: its events, the error behind a `Failed`, and how it is stopped."""

    @property
    def error(self) -> ProviderError | None: ...

    def __aiter__(self) -> AsyncIterator[StreamEvent]: ...

    def abort(self) -> None: ...


class Desk(Protocol):
    """What the loop asks of the session that runs it.

    `call` starts a model call over the conversation as it now stands. `queued` tells whether messages wait
    that belong into this run: steering, and follow-ups too once the model has stopped by itself. `take`
    yields them one by one, telling of each removal before it yields.
    """

    @property
    def model(self) -> Model: ...

    @property
    def thinking(self) -> ThinkingLevel: ...

    @property
    def tools(self) -> Mapping[str, Tool]: ...

    async def call(self) -> ModelCall: ...

    def queued(self, *, stopped: bool) -> bool: ...

    def take(self, *, stopped: bool) -> AsyncIterator[AgentMessage]: ...


class RunEnd(msgspec.Struct, frozen=True):
    """How a run ended: its last answer and, if that failed, why."""

    answer: AssistantMessage
    error: ProviderError | None


class RetryPlan(Protocol):
    """Asked before `agent_end`, because that event already says whether a retry follows."""

    def will_retry(self, end: RunEnd) -> bool: ...


class Loop:
    """Runs turns until the model stops, fails or is aborted. Holds nothing between two runs."""

    def __init__(self, bus: EventBus, hooks: Hooks, desk: Desk, plan: RetryPlan) -> None:
        self._bus = bus
        self._hooks = hooks
        self._desk = desk
        self._plan = plan
        self._dispatcher = Dispatcher(bus, hooks)

    async def run(self, opening: Sequence[AgentMessage], abort: Abort) -> RunEnd:
        """One low-level run that begins with the messages of `opening`, already in order."""
        added: list[AgentMessage] = []
        await self._bus.emit(AgentStart())
        end = await self._turns(opening, abort, added)
        await self._bus.emit(AgentEnd(messages=added, will_retry=self._plan.will_retry(end)))
        return end

    async def _turns(
        self, opening: Sequence[AgentMessage], abort: Abort, added: list[AgentMessage]
    ) -> RunEnd:
        await self._bus.emit(TurnStart())
        for message in opening:
            await self._add(message, added)
        await self._take_queued(added, stopped=False)
        while True:
            end = await self._answer(abort, added)
            results = await self._run_tools(end.answer, abort)
            for result in results:
                await self._add(result, added)
            await self._bus.emit(TurnEnd(message=end.answer, tool_results=results))
            if end.answer.stop_reason in ("error", "aborted"):
                return end
            if not results and not self._desk.queued(stopped=True):
                return end
            await self._bus.emit(TurnStart())
            await self._take_queued(added, stopped=not results)

    async def _take_queued(self, added: list[AgentMessage], *, stopped: bool) -> None:
        if self._desk.queued(stopped=stopped):
            async for message in self._desk.take(stopped=stopped):
                await self._add(message, added)

    async def _add(self, message: AgentMessage, added: list[AgentMessage]) -> None:
        await self._bus.emit(MessageStart(message=message))
        await self._bus.emit(MessageEnd(message=message))
        added.append(message)

    async def _answer(self, abort: Abort, added: list[AgentMessage]) -> RunEnd:
        """Streams one answer; its `message_start` is told when the server begins to answer."""
        answer, error = await self._streamed(abort)
        await self._bus.emit(MessageEnd(message=answer))
        added.append(answer)
        await self._hooks.answered(answer)
        return RunEnd(answer, error)

    async def _unanswered(self, reason: StopReason, text: str) -> AssistantMessage:
        """The answer of a call that was never made."""
        model = self._desk.model
        answer = AssistantMessage(
            content=[],
            api=model.api,
            provider=model.provider,
            model=model.id,
            usage=no_usage(),
            stop_reason=reason,
            error_message=text,
            thinking_level=self._desk.thinking,
            timestamp=now_ms(),
        )
        await self._bus.emit(MessageStart(message=answer))
        return answer

    async def _streamed(self, abort: Abort) -> tuple[AssistantMessage, ProviderError | None]:
        try:
            call = await abort.run(self._desk.call())
        except Aborted:
            return await self._unanswered("aborted", ABORTED), None
        except ProviderError as error:
            return await self._unanswered("error", str(error)), error
        except Exception as error:  # noqa: BLE001  a hook may raise anything; the run ends in order all the same
            _log.exception("a model call could not be prepared")
            text = f"The call could not be prepared: {type(error).__name__}: {error}"
            return await self._unanswered("error", text), None
        emit, told = self._bus.emit, False
        growing: AssistantMessage | None = None
        with abort.stopping(call.abort):
            async for event in call:
                if isinstance(event, Start):
                    growing, told = event.message, True
                    await emit(MessageStart(message=growing))
                elif isinstance(event, Done | Failed):
                    growing = event.message if isinstance(event, Done) else event.error
                elif growing is not None:
                    await emit(MessageUpdate(message=growing, assistant_message_event=event))
        if growing is None:
            raise RuntimeError("a model call ended without an answer")
        if not told:
            await emit(MessageStart(message=growing))
        return growing, call.error

    async def _run_tools(self, answer: AssistantMessage, abort: Abort) -> list[ToolResultMessage]:
        calls = [block for block in answer.content if isinstance(block, ToolCall)]
        if not calls or answer.stop_reason in ("error", "aborted"):
            return []
        if answer.stop_reason == "length":
            return await self._dispatcher.refuse_all(calls, CUT_OFF)
        return await self._dispatcher.run_all(calls, self._desk.tools, abort)
