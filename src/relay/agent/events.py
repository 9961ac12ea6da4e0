"""The events of a session, in the shapes of the JSON event stream, and the bus that delivers them.

Order: `agent_start`, turns, `agent_end`; a turn is `turn_start`, messages, tool executions, `turn_end`.
Every `*_start` gets its `*_end`, also on error and abort. `agent_settled` comes once per prompt, after
which nothing happens by itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from relay.agent.messages import AgentMessage
from relay.agent.tool import ToolResult
from relay.ai.events import BlockEvent
from relay.ai.types import AssistantMessage, JsonObject, ThinkingLevel, ToolResultMessage


class Event(msgspec.Struct, frozen=True, rename="camel", tag_field="type", kw_only=True, omit_defaults=True):
    """Base of all session events."""


class AgentStart(Event, frozen=True, tag="agent_start"):
    """A low-level run starts. Nothing of the run precedes it."""


class AgentEnd(Event, frozen=True, tag="agent_end"):
    """The run ended; `messages` are those it added, `will_retry` says that an automatic retry follows."""

    messages: list[AgentMessage]
    will_retry: bool


class AgentSettled(Event, frozen=True, tag="agent_settled"):
    """Last event of a prompt: no retry, recovery or queued message is left."""

    aborted: bool


class TurnStart(Event, frozen=True, tag="turn_start"):
    """One model call and its tool calls begin."""


class TurnEnd(Event, frozen=True, tag="turn_end"):
    """The turn's answer and all its tool results are there."""

    message: AssistantMessage
    tool_results: list[ToolResultMessage]


class MessageStart(Event, frozen=True, tag="message_start"):
    """A message begins; an assistant message is still `pending` and grows."""

    message: AgentMessage


class MessageUpdate(Event, frozen=True, tag="message_update"):
    """A block event of the growing `message`. On the wire only its usage is written, not the message."""

    message: AssistantMessage
    assistant_message_event: BlockEvent


class MessageEnd(Event, frozen=True, tag="message_end"):
    """The message is final; when this is read, its session entry is saved."""

    message: AgentMessage


class ToolExecutionStart(Event, frozen=True, tag="tool_execution_start"):
    """After the assistant's `message_end`; all before the first end, unless the calls run one by one."""

    tool_call_id: str
    tool_name: str
    args: Any


class ToolExecutionUpdate(Event, frozen=True, tag="tool_execution_update"):
    """A partial result; it replaces the one before."""

    tool_call_id: str
    tool_name: str
    args: Any
    partial_result: ToolResult


class ToolExecutionEnd(Event, frozen=True, tag="tool_execution_end"):
    """In the order of completion; the tool-result messages follow in the order of the calls."""

    tool_call_id: str
    tool_name: str
    result: ToolResult
    is_error: bool
    duration_ms: int


class QueueUpdate(Event, frozen=True, tag="queue_update"):
    """The whole of both queues, after every change."""

    steering: list[str]
    follow_up: list[str]


class EntryAppended(Event, frozen=True, tag="entry_appended"):
    """A custom or recovery entry was appended; `entry` is its JSON object."""

    entry: JsonObject


class SessionInfoChanged(Event, frozen=True, tag="session_info_changed"):
    """The display name changed; absent when it was cleared."""

    name: str | None = None


class ThinkingLevelChanged(Event, frozen=True, tag="thinking_level_changed"):
    """The level in force is another one; its session entry is saved already."""

    level: ThinkingLevel


class AutoRetryStart(Event, frozen=True, tag="auto_retry_start"):
    """After the failed attempt's `agent_end`; `attempt` counts retries from 1."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class AutoRetryEnd(Event, frozen=True, tag="auto_retry_end"):
    """After the `message_end` of an answer that a retry brought, or once retrying was given up or aborted."""

    success: bool
    attempt: int
    final_error: str | None = None


SessionEvent = (
    AgentStart
    | AgentEnd
    | AgentSettled
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | QueueUpdate
    | EntryAppended
    | SessionInfoChanged
    | ThinkingLevelChanged
    | AutoRetryStart
    | AutoRetryEnd
)

Sink = Callable[[SessionEvent], Awaitable[None] | None]


class EventBus:
    """Ordered delivery: each sink has seen an event before the next event is sent."""

    def __init__(self) -> None:
        self._sinks: list[Sink] = []

    def subscribe(self, sink: Sink) -> Callable[[], None]:
        """Adds a sink at the end; the returned function removes it."""
        self._sinks.append(sink)
        return lambda: self._sinks.remove(sink)

    async def emit(self, event: SessionEvent) -> None:
        for sink in tuple(self._sinks):
            waiting = sink(event)
            if waiting is not None:
                await waiting
