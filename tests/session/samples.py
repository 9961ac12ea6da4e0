"""Lines and messages that the session tests share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from relay.agent.messages import AgentMessage
from relay.ai.types import (
    AssistantMessage,
    StopReason,
    SystemMessage,
    TextContent,
    ThinkingLevel,
    UserMessage,
    no_usage,
)
from relay.session.entries import Entry, MessageEntry
from relay.session.log import SessionLog

WHEN = "2024-12-03T14:00:01.250Z"
WHEN_MS = 1_733_234_401_250
USAGE = {
    "input": 10,
    "output": 5,
    "cacheRead": 0,
    "cacheWrite": 0,
    "totalTokens": 15,
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
}


def user(text: str = "hello") -> UserMessage:
    return UserMessage(content=text, timestamp=1)


def system(text: str = "be kind") -> SystemMessage:
    return SystemMessage(content=text, timestamp=1)


def answer(
    text: str = "hi", *, model: str = "m1", level: ThinkingLevel | None = None, stop: StopReason = "stop"
) -> AssistantMessage:
    return AssistantMessage(
        content=[TextContent(text=text)],
        api="openai-completions",
        provider="mock",
        model=model,
        usage=no_usage(),
        stop_reason=stop,
        timestamp=2,
        thinking_level=level,
    )


def entry(message: AgentMessage) -> Entry:
    return MessageEntry(message=message)


def line(type: str, id: str, parent: str | None, **fields: Any) -> str:
    head = {"type": type, "id": id, "parentId": parent, "timestamp": WHEN}
    return json.dumps(head | fields, separators=(",", ":"))


def user_line(id: str, parent: str | None, text: str = "hello") -> str:
    return line("message", id, parent, message={"role": "user", "content": text, "timestamp": 1})


def answer_line(id: str, parent: str | None, text: str = "hi", **fields: Any) -> str:
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "api": "openai-completions",
        "provider": "mock",
        "model": "m1",
        "usage": USAGE,
        "stopReason": "stop",
        "timestamp": 2,
    }
    return line("message", id, parent, message=message | fields)


def header_line(cwd: str = "/project", id: str = "s1", version: int = 3) -> str:
    return json.dumps({"type": "session", "version": version, "id": id, "timestamp": WHEN, "cwd": cwd})


def write_session(path: Path, *lines: str, cwd: str = "/project", id: str = "s1", version: int = 3) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row}\n" for row in (header_line(cwd, id, version), *lines)), encoding="utf-8")
    return path


def opened(path: Path, told: list[str] | None = None, *, writable: bool = True) -> SessionLog:
    report = (lambda text: None) if told is None else told.append
    return SessionLog.open(path, cwd=Path("/project"), report=report, writable=writable)


def texts(log: SessionLog) -> list[str]:
    """The context as short texts."""
    return [str(getattr(message, "content", message)) for message in log.projection.messages]


def rows(path: Path) -> list[dict[str, Any]]:
    """Every line of a file as JSON; fails on a damaged one."""
    return [json.loads(row) for row in path.read_bytes().split(b"\n") if row.strip()]
