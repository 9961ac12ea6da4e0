"""RPC commands that read: state, messages, entries."""

from __future__ import annotations

from typing import Any

import msgspec

from relay.ai.types import text_of
from relay.modes.rpc.records import Command, CommandError
from relay.runtime.live import LiveSession


async def get_state(session: LiveSession, command: Command) -> Any:
    record, choice, inbox = session.record, session.choice, session.inbox
    return {
        "model": choice.model,
        "thinkingLevel": choice.thinking,
        "isStreaming": session.runner.busy,
        "isCompacting": False,
        "steeringMode": inbox.steering_mode,
        "followUpMode": inbox.follow_up_mode,
        **({"sessionFile": str(record.file)} if record.file is not None else {}),
        "sessionId": record.id,
        **({"sessionName": record.name} if record.name is not None else {}),
        "autoCompactionEnabled": session.settings.compaction.enabled,
        "messageCount": len(record.messages),
        "pendingMessageCount": inbox.size,
    }


async def get_messages(session: LiveSession, command: Command) -> Any:
    return {"messages": session.record.messages}


async def get_entries(session: LiveSession, command: Command) -> Any:
    since = command.optional_text("since")
    lines = session.record.entries_after(since)
    if lines is None:
        raise CommandError(
            f"get_entries: no entry has the id {since}. Leave `since` out to get all entries, "
            "or pass the id of an entry of this session."
        )
    return {"entries": [msgspec.Raw(line) for line in lines], "leafId": session.record.leaf_id}


async def get_last_assistant_text(session: LiveSession, command: Command) -> Any:
    answer = session.record.last_answer
    text = text_of(answer.content) if answer is not None else ""
    return {"text": text or None}
