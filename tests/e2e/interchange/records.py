"""A session file with every kind of entry, and with what crashes and older programs leave in one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WHEN = 1796098577000
"""Milliseconds since 1970; entries are a second apart."""

ZERO = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
USAGE = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": ZERO}


class Written:
    """Collects entries, each the child of the one before unless `parent` says otherwise."""

    def __init__(self, cwd: Path, model: str) -> None:
        self.api, _, self.model = model.partition("/")
        self.last: str | None = None
        self._count = 0
        head = {"type": "session", "version": 3, "id": "01a22fd1-5647-7642-bf53-5e15c87c88ce"}
        self.lines = [json.dumps({**head, "timestamp": self._time(), "cwd": str(cwd)})]

    def _time(self) -> str:
        return f"2026-12-01T04:{self._count // 60:02}:{self._count % 60:02}.000Z"

    def add(self, type: str, *, parent: str | None = None, **fields: Any) -> str:
        """Returns the new entry's id."""
        self._count += 1
        id = f"{self._count:08x}"
        entry = {"type": type, "id": id, "parentId": parent or self.last, "timestamp": self._time(), **fields}
        self.lines.append(json.dumps(entry))
        self.last = id
        return id

    def message(self, role: str, content: Any, *, parent: str | None = None, **fields: Any) -> str:
        spoken = {"role": role, "content": content, "timestamp": WHEN + 1000 * self._count, **fields}
        return self.add("message", parent=parent, message=spoken)

    def user(self, text: str, *, parent: str | None = None) -> str:
        return self.message("user", text, parent=parent)

    def answer(self, *content: dict[str, Any], stop: str = "stop", **fields: Any) -> str:
        about = {
            "api": self.api,
            "provider": self.api,
            "model": self.model,
            "usage": USAGE,
            "stopReason": stop,
        }
        return self.message("assistant", list(content), **{**about, **fields})

    def result(self, call: str, text: str, name: str = "read") -> str:
        content = [{"type": "text", "text": text}]
        return self.message("toolResult", content, toolCallId=call, toolName=name, isError=False)

    def save(self, path: Path) -> Path:
        path.write_text("".join(f"{line}\n" for line in self.lines))
        return path


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def call(id: str, path: str = "a.txt") -> dict[str, Any]:
    return {"type": "toolCall", "id": id, "name": "read", "arguments": {"path": path}}


def every_kind(session: Written) -> None:
    """Model, level, name, label, custom data and message, unknown and damaged lines, edits, branches."""
    session.add("model_change", provider=session.api, modelId=session.model)
    session.add("thinking_level_change", thinkingLevel="high")
    session.user("first question")
    fork = session.answer(said("first answer"))
    session.user("a question of the other branch")
    session.answer(said("an answer of the other branch"))
    session.add("mystery", parent=fork, secret="of a later version")
    session.lines.append('{"type":"message", damaged')
    session.add("custom", customType="notes", data={"secret": "not for the model"})
    session.add("custom_message", customType="notes", content="note of an extension", display=True)
    session.add("label", targetId=fork, label="here")
    session.add("session_info", name="a name")
    session.answer(call("call_1"), stop="toolUse")
    session.result("call_1", "old result")
    edited = session.result("call_1", "second result")
    session.add("context_edit", targetId=edited, replacement=None)
    hidden = session.user("hidden question")
    shortened = session.answer(said("a long answer"))
    session.add("context_edit", targetId=hidden, replacement=None)
    session.add("context_edit", targetId=shortened, replacement={"content": [said("short")]})
    session.user("last question")
    session.answer(said("last answer"))


def damage(session: Written) -> None:
    """Calls without results, results without calls, answers without content or that failed."""
    session.user("look")
    session.answer(said("two files"), call("call_1"), call("call_2", "b.txt"), stop="toolUse")
    session.result("call_2", "result of b")
    session.user("the run died between; go on")
    session.answer(said("again"), call("call_3"), stop="toolUse")
    session.result("call_3", "result of a")
    session.result("call_9", "result of nothing")
    session.answer(said("  "))
    session.answer(said("done"))
    session.answer(said("cut off"), call("call_4"), stop="error", errorMessage="broke")
    session.result("call_4", "result of a failed answer")
    session.user("still there?")
    session.answer(stop="aborted", errorMessage="aborted")
