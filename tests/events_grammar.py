"""The grammar of the JSON event stream, as one checker for every test that sees events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Record = Mapping[str, Any]


def check_events(records: Iterable[Record], *, prompts: int = 1) -> None:
    """Fails with the record at fault unless `records` are whole runs, `prompts` of them settled.

    Session headers and responses between the events are passed over.
    """
    grammar = _Grammar()
    for number, record in enumerate(records):
        kind = record["type"]
        if kind in ("session", "response"):
            continue
        try:
            getattr(grammar, f"on_{kind}")(record)
        except AssertionError as error:
            raise AssertionError(f"record {number}, {kind}: {error}") from error
    grammar.check_end(prompts)


class _Grammar:
    def __init__(self) -> None:
        self.run: list[Any] | None = None
        """Messages ended in the open run."""
        self.turn: list[Any] | None = None
        """Messages ended in the open turn."""
        self.role: str | None = None
        """Role of the open message."""
        self.blocks = Blocks()
        self.tools: dict[str, str] = {}
        """Open tool executions: call id → name."""
        self.executed: set[str] = set()
        self.retry_due = False
        self.retrying = False
        self.settled = 0
        self.active = False
        """Between the first event of a prompt and its `agent_settled`."""

    def check_end(self, prompts: int) -> None:
        assert not self.active, "the stream ends before agent_settled"
        assert self.settled == prompts, f"{self.settled} times agent_settled for {prompts} prompts"

    def on_agent_start(self, record: Record) -> None:
        assert self.run is None, "a run is open"
        assert not self.retry_due, "the retry that was announced has no auto_retry_start"
        self.active, self.run = True, []

    def on_agent_end(self, record: Record) -> None:
        assert self.run is not None, "no run is open"
        assert self.turn is None, "a turn is open"
        assert record["messages"] == self.run, "messages are not those that ended in this run"
        self.run, self.retry_due = None, record["willRetry"]

    def on_agent_settled(self, record: Record) -> None:
        assert self.active, "nothing to settle"
        assert self.run is None, "a run is open"
        assert not self.retry_due, "a retry was announced"
        assert not self.retrying, "auto_retry_end is missing"
        assert isinstance(record["aborted"], bool)
        self.active, self.settled = False, self.settled + 1

    def on_turn_start(self, record: Record) -> None:
        assert self.run is not None, "no run is open"
        assert self.turn is None, "a turn is open"
        self.turn = []

    def on_turn_end(self, record: Record) -> None:
        assert self.turn is not None, "no turn is open"
        assert self.role is None, "a message is open"
        assert not self.tools, f"tools run: {self.tools}"
        answers = [message for message in self.turn if message["role"] == "assistant"]
        assert answers == [record["message"]], "a turn has exactly one answer"
        results = [message for message in self.turn if message["role"] == "toolResult"]
        assert results == record["toolResults"], "toolResults are not the turn's"
        if results:
            asked = [block["id"] for block in answers[0]["content"] if block["type"] == "toolCall"]
            assert [result["toolCallId"] for result in results] == asked, "results are not in call order"
            assert self.executed >= set(asked), "a result without its execution"
        self.turn, self.executed = None, set()

    def on_message_start(self, record: Record) -> None:
        assert self.turn is not None, "no turn is open"
        assert self.role is None, f"a {self.role} message is open"
        assert not self.tools, f"tools run: {self.tools}"
        self.role = record["message"]["role"]
        self.blocks = Blocks()

    def on_message_update(self, record: Record) -> None:
        assert self.role == "assistant", "no assistant message is open"
        assert "message" not in record, "an update repeats the growing message"
        self.blocks.take(record["assistantMessageEvent"])

    def on_message_end(self, record: Record) -> None:
        message = record["message"]
        assert self.role == message["role"], f"the open message is {self.role}"
        assert self.turn is not None and self.run is not None
        if message["role"] == "assistant":
            assert message["stopReason"] != "pending"
            self.blocks.check_end(message)
        self.turn.append(message)
        self.run.append(message)
        self.role = None

    def on_tool_execution_start(self, record: Record) -> None:
        id = record["toolCallId"]
        assert self.turn is not None and self.role is None, "not inside a turn between messages"
        assert id not in self.tools and id not in self.executed, f"{id} starts twice"
        self.tools[id] = record["toolName"]

    def on_tool_execution_update(self, record: Record) -> None:
        assert self.tools.get(record["toolCallId"]) == record["toolName"], "the tool does not run"
        assert "content" in record["partialResult"]

    def on_tool_execution_end(self, record: Record) -> None:
        id = record["toolCallId"]
        assert self.tools.pop(id, None) == record["toolName"], "the tool does not run"
        assert isinstance(record["isError"], bool)
        self.executed.add(id)

    def on_auto_retry_start(self, record: Record) -> None:
        assert self.retry_due and self.run is None, "agent_end announced no retry"
        self.retry_due, self.retrying = False, True

    def on_auto_retry_end(self, record: Record) -> None:
        assert self.retrying, "no retry is under way"
        self.retrying = False

    def on_queue_update(self, record: Record) -> None:
        assert isinstance(record["steering"], list) and isinstance(record["followUp"], list)

    def on_entry_appended(self, record: Record) -> None:
        assert record["entry"]["id"], "an entry without an id"

    def on_session_info_changed(self, record: Record) -> None:
        """May come at any time."""

    def on_thinking_level_changed(self, record: Record) -> None:
        """May come at any time."""


class Blocks:
    """The block events of one assistant message: they must add up to its content."""

    def __init__(self) -> None:
        self._open: dict[int, str] = {}
        self._pieces: dict[int, list[str]] = {}
        self._ended: set[int] = set()

    def take(self, event: Record) -> None:
        kind, stage = event["type"].rsplit("_", 1)
        index = event["contentIndex"]
        if stage == "start":
            assert index not in self._open and index not in self._ended, f"block {index} starts twice"
            self._open[index], self._pieces[index] = kind, []
        elif stage == "delta":
            assert self._open.get(index) == kind, f"block {index} is not an open {kind}"
            self._pieces[index].append(event["delta"])
        else:
            assert stage == "end" and self._open.pop(index, None) == kind, f"block {index} is not open"
            self._ended.add(index)
            if kind in ("text", "thinking"):
                assert event["content"] == self._streamed(index), (
                    "the content is not what its deltas add up to"
                )

    def check_end(self, message: Record) -> None:
        if message["stopReason"] in ("error", "aborted"):
            return
        assert not self._open, f"blocks without an end: {self._open}"
        for index, block in enumerate(message["content"]):
            if block["type"] == "toolCall" and self._streamed(index):
                self._check_arguments(self._streamed(index), block["arguments"])
            elif block["type"] == "text" and index in self._pieces:
                assert block["text"] == self._streamed(index), f"block {index} is not what was streamed"

    def _streamed(self, index: int) -> str:
        return "".join(self._pieces.get(index, ()))

    @staticmethod
    def _check_arguments(streamed: str, arguments: Any) -> None:
        try:
            value = json.loads(streamed, strict=False)
        except (ValueError, RecursionError):
            # A model's broken arguments: what is made of them is the adapter's affair.
            return
        if isinstance(value, dict):
            assert arguments in (value, {}), "the arguments are not what was streamed"
