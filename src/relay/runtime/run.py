"""The run state machine: the one place that knows when a run starts, ends and is settled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum, auto
from typing import Protocol

from relay.agent.abort import Abort
from relay.agent.events import AgentSettled, AutoRetryEnd, AutoRetryStart, EventBus
from relay.agent.hooks import Hooks
from relay.agent.loop import Desk, Loop, RunEnd
from relay.agent.messages import AgentMessage
from relay.ai.errors import ProviderError
from relay.ai.types import AssistantMessage, ToolCall
from relay.base.errors import RelayError
from relay.runtime.policies import RetryPolicy


class RunState(Enum):
    """IDLE → RUNNING → (WAITING → RUNNING)* → IDLE; only `Runner` moves it."""

    IDLE = auto()
    RUNNING = auto()
    WAITING = auto()
    """Between a failed attempt and its retry."""


class BusyError(RelayError):
    """A prompt came while a run was under way."""


class Journal(Protocol):
    """What a run needs of the session's record."""

    async def omit_last_answer(self) -> None:
        """Takes the newest assistant message out of future context, with a `context_edit` entry."""
        ...


class Runner:
    """Owns the state, the abort of the current run and its task. `settled` waits for the end."""

    def __init__(
        self, bus: EventBus, hooks: Hooks, desk: Desk, *, journal: Journal, retry: RetryPolicy
    ) -> None:
        self._bus = bus
        self._journal = journal
        self._retry = retry
        self._loop = Loop(bus, hooks, desk, self)
        self._abort = Abort()
        self._task: asyncio.Task[None] | None = None
        self.state = RunState.IDLE
        hooks.answer.append(self._note_recovery)

    @property
    def busy(self) -> bool:
        return self.state is not RunState.IDLE

    def start(self, opening: Callable[[], Awaitable[Sequence[AgentMessage]]]) -> None:
        """Begins a run whose first messages `opening` makes. Raises BusyError while one is under way."""
        if self.busy:
            raise BusyError(
                "A run is under way: queue the message (steer or follow up), or abort the run first."
            )
        self.state = RunState.RUNNING
        self._abort = Abort()
        self._retry.reset()
        self._task = asyncio.create_task(self._drive(opening))

    def abort(self) -> None:
        """Asks the current run to end; nothing happens when idle."""
        if self.busy:
            self._abort.request()

    async def settled(self) -> None:
        """Returns once no run is under way; raises what ended a run that broke."""
        if self._task is not None:
            await asyncio.shield(self._task)

    def will_retry(self, end: RunEnd) -> bool:
        return not self._abort.requested and self._retry.wants(end.error)

    async def _drive(self, opening: Callable[[], Awaitable[Sequence[AgentMessage]]]) -> None:
        try:
            end = await self._loop.run(await opening(), self._abort)
            while self.will_retry(end) and end.error is not None:
                if not await self._pause(end.error):
                    break
                end = await self._loop.run((), self._abort)
            await self._close(end)
        finally:
            self.state = RunState.IDLE
            await self._bus.emit(AgentSettled(aborted=self._abort.requested))

    async def _pause(self, error: ProviderError) -> bool:
        """Waits before a retry; False when the wait was aborted."""
        await self._journal.omit_last_answer()
        self._retry.attempt += 1
        delay = self._retry.delay_ms(error)
        self.state = RunState.WAITING
        await self._bus.emit(
            AutoRetryStart(
                attempt=self._retry.attempt,
                max_attempts=self._retry.max_attempts,
                delay_ms=delay,
                error_message=str(error),
            )
        )
        stopped = asyncio.Event()
        with self._abort.stopping(stopped.set):
            try:
                await asyncio.wait_for(stopped.wait(), delay / 1000)
            except TimeoutError:
                self.state = RunState.RUNNING
                return True
        return False

    async def _close(self, end: RunEnd) -> None:
        """Tells of retries given up, and takes a cut-off answer out of the context."""
        if self._retry.attempt and (end.error is not None or self._abort.requested):
            final = str(end.error) if end.error is not None else end.answer.error_message
            if self.state is RunState.WAITING:
                final = "The retry was aborted."
            await self._bus.emit(AutoRetryEnd(success=False, attempt=self._retry.attempt, final_error=final))
        if _cut_off(end.answer):
            await self._journal.omit_last_answer()

    async def _note_recovery(self, answer: AssistantMessage) -> None:
        if self._retry.attempt and answer.stop_reason not in ("error", "aborted"):
            await self._bus.emit(AutoRetryEnd(success=True, attempt=self._retry.attempt))
            self._retry.reset()


def _cut_off(answer: AssistantMessage) -> bool:
    return answer.stop_reason == "length" and not any(isinstance(block, ToolCall) for block in answer.content)
