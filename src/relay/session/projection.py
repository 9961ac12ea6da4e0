"""From a branch to what the model sees: compaction, edits, and the model and thinking level that hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from relay.agent.messages import AgentMessage, BranchSummaryMessage, CompactionSummaryMessage, CustomMessage
from relay.ai.types import AssistantMessage, SystemMessage, ToolResultMessage, UserMessage
from relay.session.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    ModelChangeEntry,
    ThinkingLevelChangeEntry,
    milliseconds,
)
from relay.session.lenient import Misfit, fit


class ModelRef(NamedTuple):
    provider: str
    id: str


class ProjectedEntry(NamedTuple):
    """An entry of the context and the messages it gives to the model, edits applied."""

    entry: Entry
    messages: tuple[AgentMessage, ...]


class Context(NamedTuple):
    """What a request is built from. `model` and `thinking_level` come from the whole path."""

    messages: list[AgentMessage]
    model: ModelRef | None
    thinking_level: str | None


def context_entries(path: Sequence[Entry]) -> list[Entry]:
    """The active entries of a path (root first): the latest compaction, what it keeps, what follows."""
    last = next((i for i in reversed(range(len(path))) if isinstance(path[i], CompactionEntry)), None)
    if last is None:
        return list(path)
    boundary = path[last]
    assert isinstance(boundary, CompactionEntry)
    kept = boundary.first_kept_entry_id
    first = next((i for i in range(last) if path[i].id == kept), last)
    middle = [entry for entry in path[first:last] if not _is_system(entry)]
    return [boundary, *middle, *path[last + 1 :]]


def project(path: Sequence[Entry]) -> list[ProjectedEntry]:
    """The context entries with their messages; the latest edit of each target wins."""
    entries = context_entries(path)
    edits = _edits(path)
    lead = entries[0] if entries and isinstance(entries[0], CompactionEntry) else None
    return [
        ProjectedEntry(entry, ())
        if isinstance(entry, CompactionEntry) and entry is not lead
        else ProjectedEntry(entry, entry_messages(entry, edits.get(entry.id)))
        for entry in entries
    ]


def session_context(path: Sequence[Entry]) -> Context:
    """Messages, model and thinking level at the end of a path."""
    messages = [message for item in project(path) for message in item.messages]
    state = State()
    for entry in path:
        state.note(entry)
    return Context(messages, state.model, state.thinking_level)


def entry_messages(entry: Entry, edit: ContextEditEntry | None = None) -> tuple[AgentMessage, ...]:
    """What one entry gives to the model. No edit hides system messages: they are state."""
    match entry:
        case MessageEntry():
            return _edited(entry.message, edit)
        case CustomMessageEntry():
            return _edited(
                CustomMessage(
                    custom_type=entry.custom_type,
                    content=entry.content,
                    display=entry.display,
                    details=entry.details,
                    timestamp=milliseconds(entry.timestamp),
                ),
                edit,
            )
        case BranchSummaryEntry():
            if not entry.summary:
                return ()
            when = milliseconds(entry.timestamp)
            summary = BranchSummaryMessage(summary=entry.summary, from_id=entry.from_id, timestamp=when)
            return _edited(summary, edit)
        case CompactionEntry():
            checkpoint = () if entry.system_message is None else (entry.system_message,)
            text = CompactionSummaryMessage(
                summary=entry.summary,
                tokens_before=entry.tokens_before,
                timestamp=milliseconds(entry.timestamp),
            )
            return (*checkpoint, *_edited(text, edit))
        case _:
            return ()


class State:
    """The model and thinking level that hold after the entries noted so far, oldest first.

    The model is that of the later of the last `model_change` and the last answer. The level is that of the
    last `thinking_level_change`; where none is known, the one stamped on the last answer.
    """

    def __init__(self) -> None:
        self.model: ModelRef | None = None
        self._level: str | None = None
        self._stamped: str | None = None

    @property
    def thinking_level(self) -> str | None:
        return self._stamped if self._level is None else self._level

    def note(self, entry: Entry) -> None:
        match entry:
            case ModelChangeEntry():
                self.model = ModelRef(entry.provider, entry.model_id)
            case ThinkingLevelChangeEntry():
                self._level = entry.thinking_level
            case MessageEntry(message=AssistantMessage() as answer):
                self.model = ModelRef(answer.provider, answer.model)
                self._stamped = answer.thinking_level or self._stamped


class Projection:
    """The context of a growing branch. Appending costs the same at any length.

    An edit costs the distance from the end to its target; a compaction is a new `Projection` of its path.
    `messages` is the live list: copy it to keep a moment of it, and never change it.
    """

    def __init__(self, path: Iterable[Entry] = ()) -> None:
        whole = list(path)
        self.items = project(whole)
        self.messages = [message for item in self.items for message in item.messages]
        self._positions = {item.entry.id: index for index, item in enumerate(self.items)}
        self._state = State()
        for entry in whole:
            self._state.note(entry)

    @property
    def model(self) -> ModelRef | None:
        return self._state.model

    @property
    def thinking_level(self) -> str | None:
        return self._state.thinking_level

    def append(self, entry: Entry) -> bool:
        """Adds the branch's next entry; False for a compaction, which needs the whole path again."""
        if isinstance(entry, CompactionEntry):
            return False
        self._state.note(entry)
        messages = entry_messages(entry)
        self._positions[entry.id] = len(self.items)
        self.items.append(ProjectedEntry(entry, messages))
        self.messages.extend(messages)
        if isinstance(entry, ContextEditEntry):
            self._edit(entry)
        return True

    def _edit(self, edit: ContextEditEntry) -> None:
        index = self._positions.get(edit.target_id)
        if index is None:  # its target is not part of the context
            return
        target, old = self.items[index]
        if isinstance(target, CompactionEntry) and index > 0:  # an older boundary gives nothing
            return
        new = entry_messages(target, edit)
        end = len(self.messages) - sum(len(item.messages) for item in self.items[index + 1 :])
        self.messages[end - len(old) : end] = new
        self.items[index] = ProjectedEntry(target, new)


def _edits(path: Sequence[Entry]) -> dict[str, ContextEditEntry]:
    """The latest edit of each target; an edit is about an earlier entry."""
    seen: set[str] = set()
    edits: dict[str, ContextEditEntry] = {}
    for entry in path:
        if isinstance(entry, ContextEditEntry) and entry.target_id in seen:
            edits[entry.target_id] = entry
        seen.add(entry.id)
    return edits


def _is_system(entry: Entry) -> bool:
    return isinstance(entry, MessageEntry) and isinstance(entry.message, SystemMessage)


def _edited(message: AgentMessage, edit: ContextEditEntry | None) -> tuple[AgentMessage, ...]:
    if edit is None or isinstance(message, SystemMessage):
        return (message,)
    if edit.replacement is None:
        return ()
    content: Any = edit.replacement
    if isinstance(content, dict):
        content = content.get("content")
    match message:
        case UserMessage() | CustomMessage() | AssistantMessage() | ToolResultMessage():
            return (_with_content(message, content),)
        case _:
            return (message,)


def _with_content(
    message: UserMessage | CustomMessage | AssistantMessage | ToolResultMessage, content: Any
) -> AgentMessage:
    """The message with new content of its own kind; content that cannot be read changes nothing."""
    kind = next(field.type for field in msgspec.structs.fields(message) if field.name == "content")
    try:
        return msgspec.structs.replace(message, content=fit(content, kind))
    except Misfit:
        return message
