"""The messages that wait: steering for the running turn, follow-ups for when the model stops."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from typing import Literal

from relay.agent.events import EventBus, QueueUpdate
from relay.agent.messages import AgentMessage
from relay.ai.types import UserMessage, text_of

QueueMode = Literal["all", "one-at-a-time"]


class Inbox:
    """The only owner of accepted input that is not yet in the conversation; nothing else drains it."""

    def __init__(self, bus: EventBus, *, steering_mode: QueueMode, follow_up_mode: QueueMode) -> None:
        self._bus = bus
        self._steering: deque[UserMessage] = deque()
        self._follow_up: deque[UserMessage] = deque()
        self.steering_mode = steering_mode
        self.follow_up_mode = follow_up_mode

    @property
    def size(self) -> int:
        return len(self._steering) + len(self._follow_up)

    async def steer(self, message: UserMessage) -> None:
        """Delivered before the next model call of the run, or with the next prompt."""
        self._steering.append(message)
        await self._tell()

    async def follow_up(self, message: UserMessage) -> None:
        """Delivered when the model has stopped and no steering waits."""
        self._follow_up.append(message)
        await self._tell()

    async def clear(self) -> tuple[list[str], list[str]]:
        """Empties both queues; the texts of (steering, follow-up)."""
        taken = _texts(self._steering), _texts(self._follow_up)
        self._steering.clear()
        self._follow_up.clear()
        await self._tell()
        return taken

    def queued(self, *, stopped: bool) -> bool:
        """Whether something waits for this point; `stopped`: the model has nothing more to do by itself."""
        return bool(self._steering) or (stopped and bool(self._follow_up))

    async def take(self, *, stopped: bool) -> AsyncIterator[AgentMessage]:
        """The messages due now, as the queue's mode says; each removal is told before the message comes."""
        if self._steering:
            queue, mode = self._steering, self.steering_mode
        elif stopped:
            queue, mode = self._follow_up, self.follow_up_mode
        else:
            return
        for _ in range(len(queue) if mode == "all" else min(1, len(queue))):
            if not queue:
                return
            message = queue.popleft()
            await self._tell()
            yield message

    async def _tell(self) -> None:
        await self._bus.emit(QueueUpdate(steering=_texts(self._steering), follow_up=_texts(self._follow_up)))


def _texts(queue: deque[UserMessage]) -> list[str]:
    return [text_of(message.content) for message in queue]
