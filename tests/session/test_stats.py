from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from relay.session.entries import CompactionEntry, ContextEditEntry
from relay.session.stats import context_tokens, session_stats
from tests.session.samples import (
    USAGE,
    answer,
    answer_line,
    entry,
    line,
    opened,
    user,
    user_line,
    write_session,
)


def used(total: int, cost: float = 0.0) -> dict[str, Any]:
    costs = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": cost}
    return USAGE | {"input": total - 5, "totalTokens": total, "cost": costs}


def test_everything_that_was_paid_counts_on_every_branch(tmp_path: Path) -> None:
    result = {
        "role": "toolResult",
        "toolCallId": "c",
        "toolName": "read",
        "content": [],
        "isError": False,
        "timestamp": 1,
        "usage": used(15, 1),
    }
    lines = [
        user_line("a", None),
        answer_line("b", "a", usage=used(15, 1)),
        answer_line("c", "a", usage=used(15, 1), stopReason="error"),
        line("message", "d", "c", message=result),
        line("usage", "e", "d", kind="any", provider="p", model="m", usage=used(15, 1)),
        line("branch_summary", "f", "e", fromId="b", summary="s", usage=used(15, 1)),
        line("compaction", "g", "f", summary="s", firstKeptEntryId="g", tokensBefore=1, usage=used(15, 1)),
    ]
    log = opened(write_session(tmp_path / "s.jsonl", *lines))
    stats = session_stats(log, 1000)
    assert stats["cost"] == 6
    assert stats["tokens"] == {"input": 60, "output": 30, "cacheRead": 0, "cacheWrite": 0, "total": 90}
    assert (stats["userMessages"], stats["assistantMessages"], stats["toolResults"]) == (1, 2, 1)
    assert stats["totalMessages"] == 4
    assert stats["contextUsage"] == {"tokens": None, "contextWindow": 1000, "percent": None}
    assert "contextUsage" not in session_stats(log, 0)
    assert json.dumps(stats)
    log.close()


def test_the_context_is_what_the_last_good_answer_reported_and_what_followed(tmp_path: Path) -> None:
    lines = [
        user_line("a", None),
        answer_line("b", "a", usage=used(100)),
        answer_line("c", "b", text="x" * 40, usage=used(900), stopReason="error"),
        user_line("d", "c", "y" * 40),
    ]
    log = opened(write_session(tmp_path / "s.jsonl", *lines))
    assert context_tokens(log) == 100 + 10 + 10
    log.append(ContextEditEntry(target_id="c", replacement=None))
    assert context_tokens(log) == 100 + 10
    log.append(CompactionEntry(summary="s", first_kept_entry_id="d", tokens_before=1))
    assert context_tokens(log) is None
    log.append(entry(answer("no usage reported")))
    assert context_tokens(log) is None
    log.close()


def test_without_any_report_all_is_estimated(tmp_path: Path) -> None:
    log = opened(write_session(tmp_path / "s.jsonl"))
    assert context_tokens(log) == 0
    log.append(entry(user("x" * 41)))
    assert context_tokens(log) == 11
    log.close()
