"""Figures of a session: its messages, what its calls used, and how full the context is."""

from __future__ import annotations

from collections.abc import Iterator

from relay.ai.types import AssistantMessage, JsonObject, ToolCall, ToolResultMessage, Usage, UserMessage
from relay.session.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    Entry,
    MessageEntry,
    UsageEntry,
)
from relay.session.estimate import estimate_tokens
from relay.session.log import SessionLog


def session_stats(log: SessionLog, window: int) -> JsonObject:
    """Counts over every branch, in the shape of the RPC protocol. Costs are US dollars.

    `contextUsage` is left out when the model's `window` is not known (0).
    """
    log.load_rest()
    stats: JsonObject = {"sessionFile": str(log.path)} if log.path is not None else {}
    stats["sessionId"] = log.id
    stats |= _counts(log.tree.entries)
    stats |= _totals(log.tree.entries)
    if window > 0:
        tokens = context_tokens(log)
        percent = None if tokens is None else tokens / window * 100
        stats["contextUsage"] = {"tokens": tokens, "contextWindow": window, "percent": percent}
    return stats


def context_tokens(log: SessionLog) -> int | None:
    """Tokens of the active context: what the last call reported, and estimates of what came after it.

    None after a compaction that no answer has followed yet. All is estimated while no call has reported any.
    """
    edited: set[str] = set()
    since = 0
    for entry in reversed(log.branch()):
        if isinstance(entry, CompactionEntry):
            return None
        if isinstance(entry, ContextEditEntry):
            edited.add(entry.target_id)
        elif isinstance(entry, MessageEntry) and entry.id not in edited:
            reported = _reported(entry)
            if reported:
                return reported + since
            since += estimate_tokens(entry.message)
    return sum(estimate_tokens(message) for message in log.projection.messages)


def _reported(entry: MessageEntry) -> int:
    message = entry.message
    if not isinstance(message, AssistantMessage) or message.stop_reason in ("error", "aborted"):
        return 0
    usage = message.usage
    return usage.total_tokens or usage.input + usage.output + usage.cache_read + usage.cache_write


def _counts(entries: list[Entry]) -> JsonObject:
    messages = [entry.message for entry in entries if isinstance(entry, MessageEntry)]
    answers = [message for message in messages if isinstance(message, AssistantMessage)]
    return {
        "userMessages": sum(isinstance(message, UserMessage) for message in messages),
        "assistantMessages": len(answers),
        "toolCalls": sum(isinstance(block, ToolCall) for answer in answers for block in answer.content),
        "toolResults": sum(isinstance(message, ToolResultMessage) for message in messages),
        "totalMessages": len(messages),
    }


def _totals(entries: list[Entry]) -> JsonObject:
    tokens = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    cost = 0.0
    for usage in _usages(entries):
        tokens["input"] += usage.input
        tokens["output"] += usage.output
        tokens["cacheRead"] += usage.cache_read
        tokens["cacheWrite"] += usage.cache_write
        cost += usage.cost.total
    return {"tokens": {**tokens, "total": sum(tokens.values())}, "cost": cost}


def _usages(entries: list[Entry]) -> Iterator[Usage]:
    for entry in entries:
        usage: Usage | None = None
        match entry:
            case MessageEntry(message=AssistantMessage() | ToolResultMessage() as message):
                usage = message.usage
            case UsageEntry() | CompactionEntry() | BranchSummaryEntry():
                usage = entry.usage
        if usage is not None:
            yield usage
