"""What a session file holds: its header and the entries of the tree, as plain data.

An entry with an empty `id` is a draft: the log stamps id, parent and time when it appends it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from relay.agent.messages import AgentMessage, KnownMessage, Unknown
from relay.ai.types import Data, JsonObject, SystemMessage, Usage, UserContent
from relay.base import jsonl

VERSION = 3
"""Of the session file format that Relay writes."""

if TYPE_CHECKING:
    StoredMessage = AgentMessage
else:
    StoredMessage = KnownMessage  # msgspec cannot decode `Unknown`; the lenient reader makes it


class Header(Data, frozen=True, kw_only=True, tag="session", tag_field="type"):
    """First line of a file. `version` is absent in version 1; `timestamp` is ISO 8601, `cwd` absolute."""

    version: int = 1
    id: str
    timestamp: str = ""
    cwd: str = ""
    parent_session: str | None = None
    """Path of the session this one was copied from."""


class _Entry(Data, frozen=True, kw_only=True, tag_field="type"):
    id: str = ""
    parent_id: str | None = ""
    """None for a root; empty where a version 1 line or a draft has none yet."""
    timestamp: str = ""
    """ISO 8601."""


class MessageEntry(_Entry, frozen=True, kw_only=True, tag="message"):
    message: StoredMessage


class ModelChangeEntry(_Entry, frozen=True, kw_only=True, tag="model_change"):
    provider: str
    model_id: str


class ThinkingLevelChangeEntry(_Entry, frozen=True, kw_only=True, tag="thinking_level_change"):
    thinking_level: str


class UsageEntry(_Entry, frozen=True, kw_only=True, tag="usage"):
    """Usage outside of the conversation; any `kind` counts."""

    kind: str
    provider: str
    model: str
    usage: Usage
    note: str | None = None


class CompactionEntry(_Entry, frozen=True, kw_only=True, tag="compaction"):
    """Replaces what came before `first_kept_entry_id` by `summary`; its own id or None keeps nothing."""

    summary: str
    first_kept_entry_id: str | None
    tokens_before: int
    system_message: SystemMessage | None = None
    """Prompt and tools at the boundary, complete; absent in older files."""
    usage: Usage | None = None
    details: Any = None
    from_hook: bool | None = None


class ContextEditEntry(_Entry, frozen=True, kw_only=True, tag="context_edit"):
    """Changes what the target gives to future requests.

    `replacement`: None leaves it out; `{"content": …}` or a bare string replaces its content.
    """

    target_id: str
    replacement: Any


class BranchSummaryEntry(_Entry, frozen=True, kw_only=True, tag="branch_summary"):
    from_id: str | None
    summary: str
    usage: Usage | None = None
    details: Any = None
    from_hook: bool | None = None


class CustomEntry(_Entry, frozen=True, kw_only=True, tag="custom"):
    """State of an extension; not part of the context."""

    custom_type: str
    data: Any = None


class CustomMessageEntry(_Entry, frozen=True, kw_only=True, tag="custom_message"):
    """A context message of an extension."""

    custom_type: str
    content: str | list[UserContent]
    display: bool
    details: Any = None


class LabelEntry(_Entry, frozen=True, kw_only=True, tag="label"):
    """A bookmark on `target_id`; no label clears it."""

    target_id: str
    label: str | None = None


class SessionInfoEntry(_Entry, frozen=True, kw_only=True, tag="session_info"):
    name: str | None = None


class UnknownEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a type, or in a shape, that this version does not know. `raw` is its JSON object."""

    id: str
    parent_id: str | None
    timestamp: str
    raw: JsonObject


KnownEntry = (
    MessageEntry
    | ModelChangeEntry
    | ThinkingLevelChangeEntry
    | UsageEntry
    | CompactionEntry
    | ContextEditEntry
    | BranchSummaryEntry
    | CustomEntry
    | CustomMessageEntry
    | LabelEntry
    | SessionInfoEntry
)
Entry = KnownEntry | UnknownEntry


def encode_entry(entry: Entry | Header) -> bytes:
    """The entry's line without its line end; unknown entries and messages come out as they were read."""
    if isinstance(entry, UnknownEntry):
        return jsonl.encode(entry.raw)
    if isinstance(entry, MessageEntry) and isinstance(entry.message, Unknown):
        shell: JsonObject = {"type": "message", "id": entry.id, "parentId": entry.parent_id}
        return jsonl.encode(shell | {"timestamp": entry.timestamp, "message": entry.message.raw})
    return jsonl.encode(entry)


def milliseconds(timestamp: str) -> int:
    """Unix milliseconds of an ISO 8601 time, UTC where it names no zone; 0 for what is no such time."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return 0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def stamp(entry: Entry, *, id: str, parent_id: str | None, timestamp: str | None = None) -> Entry:
    """The entry under a new id and parent; its time stays unless one is given."""
    when = entry.timestamp if timestamp is None else timestamp
    if isinstance(entry, UnknownEntry):
        raw = entry.raw | {"id": id, "parentId": parent_id, "timestamp": when}
        return UnknownEntry(id=id, parent_id=parent_id, timestamp=when, raw=raw)
    return msgspec.structs.replace(entry, id=id, parent_id=parent_id, timestamp=when)
