"""The session as a run sees it: writes what happens to the log and knows what the context holds."""

from __future__ import annotations

from pathlib import Path

import msgspec

from relay.agent.events import EntryAppended, EventBus, MessageEnd, SessionEvent
from relay.agent.messages import AgentMessage, BashExecutionMessage
from relay.ai.prompt import Prompt, replay
from relay.ai.types import AssistantMessage, SystemMessage, ThinkingLevel
from relay.session.entries import (
    ContextEditEntry,
    Entry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
    encode_entry,
)
from relay.session.log import SessionLog


class SessionRecord:
    """Must be the first sink of the bus: who reads a `message_end` then reads what is already saved."""

    def __init__(self, log: SessionLog, bus: EventBus) -> None:
        self._log = log
        self._bus = bus
        messages = log.projection.messages
        self._system = [message for message in messages if isinstance(message, SystemMessage)]
        self._declared: Prompt | None = None
        self._answer: AssistantMessage | None = next(
            (message for message in reversed(messages) if isinstance(message, AssistantMessage)), None
        )
        self._answer_id: str | None = None
        bus.subscribe(self._note)

    @property
    def log(self) -> SessionLog:
        """The session, for what reads or copies it; only the record writes it."""
        return self._log

    @property
    def id(self) -> str:
        return self._log.id

    @property
    def file(self) -> Path | None:
        return self._log.path

    @property
    def name(self) -> str | None:
        return self._log.name

    @property
    def leaf_id(self) -> str | None:
        return self._log.leaf_id

    @property
    def unsaved(self) -> int:
        """Entries that could not be written yet."""
        return self._log.unsaved

    @property
    def messages(self) -> list[AgentMessage]:
        """The live context; copy it to keep a moment of it."""
        return self._log.projection.messages

    @property
    def last_answer(self) -> AssistantMessage | None:
        """The newest assistant message, also one that failed and is left out of the context."""
        return self._answer

    @property
    def declared(self) -> Prompt:
        """The prompt and tools that the context's system messages add up to."""
        if self._declared is None:
            self._declared = replay(self._system)
        return self._declared

    @property
    def header_line(self) -> bytes:
        return encode_entry(self._log.header)

    def entries_after(self, since: str | None) -> list[bytes] | None:
        """The lines of all entries, or of those after the entry `since`; None when there is no such entry."""
        self._log.load_rest()
        records = self._log.records
        first = 0
        if since is not None:
            found = (index for index in range(len(records) - 1, -1, -1) if records[index].entry.id == since)
            first = next(found, -1) + 1
            if first == 0:
                return None
        return [self._log.raw(record) for record in records[first:]]

    async def model_changed(self, provider: str, model_id: str) -> None:
        self._log.append(ModelChangeEntry(provider=provider, model_id=model_id))

    async def thinking_changed(self, level: ThinkingLevel) -> None:
        self._log.append(ThinkingLevelChangeEntry(thinking_level=level))

    async def rename(self, name: str) -> None:
        self._log.append(SessionInfoEntry(name=name))

    async def add_shell(self, message: BashExecutionMessage) -> None:
        """Saves a command of the user's; the next model call includes it."""
        self._log.append(MessageEntry(message=message))

    async def omit_last_answer(self) -> None:
        if self._answer_id is None:
            return
        entry = self._log.append(ContextEditEntry(target_id=self._answer_id, replacement=None))
        await self._bus.emit(EntryAppended(entry=_plain(entry)))

    def close(self) -> bool:
        """Saves what is left; False when entries stay unsaved."""
        return self._log.close()

    def _note(self, event: SessionEvent) -> None:
        if not isinstance(event, MessageEnd):
            return
        message = event.message
        entry = self._log.append(MessageEntry(message=message))
        if isinstance(message, SystemMessage):
            self._system.append(message)
            self._declared = None
        elif isinstance(message, AssistantMessage):
            self._answer, self._answer_id = message, entry.id


def _plain(entry: Entry) -> dict[str, object]:
    plain = msgspec.to_builtins(entry)
    return plain if isinstance(plain, dict) else {}
