"""Tests of the session as a run sees it: what is written, what is remembered, what is taken out again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relay.agent.events import EntryAppended, EventBus, MessageEnd
from relay.agent.messages import AgentMessage, BashExecutionMessage
from relay.ai.types import SystemMessage
from relay.runtime.record import SessionRecord
from relay.session.log import SessionLog
from tests.agent.fakes import Trace
from tests.session.samples import answer, user


class Desk:
    """A record over a log, and what was told."""

    def __init__(self, log: SessionLog) -> None:
        self.log, self.bus, self.trace = log, EventBus(), Trace()
        self.record = SessionRecord(log, self.bus)
        self.bus.subscribe(self.trace)

    async def tell(self, *messages: AgentMessage) -> None:
        for message in messages:
            await self.bus.emit(MessageEnd(message=message))

    def entries(self, since: str | None = None) -> list[str]:
        """Ids of the entries after `since`."""
        lines = self.record.entries_after(since)
        assert lines is not None
        return [json.loads(line)["id"] for line in lines]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(SessionLog.create(tmp_path, tmp_path, report=pytest.fail))


def declared(**sections: str | None) -> SystemMessage:
    return SystemMessage(content="", sections=dict(sections), timestamp=1)


async def test_a_message_is_saved_before_the_next_sink_hears_of_it(desk: Desk) -> None:
    seen: list[bytes] = []
    desk.bus.subscribe(lambda event: seen.append(desk.log.path.read_bytes() if desk.log.path else b""))
    await desk.tell(user("one"), answer("two"))
    assert [raw.count(b"\n") for raw in seen] == [2, 3]
    assert b'"two"' in seen[1]


async def test_declarations_add_up(desk: Desk) -> None:
    assert desk.record.declared.sections == {}
    await desk.tell(declared(a="1", b="2"))
    assert desk.record.declared.sections == {"a": "1", "b": "2"}
    await desk.tell(declared(a=None, c="3"), user())
    assert desk.record.declared.sections == {"b": "2", "c": "3"}
    assert desk.record.close() and desk.log.path is not None
    again = Desk(SessionLog.open(desk.log.path, cwd=desk.log.path.parent, report=pytest.fail))
    assert again.record.declared.sections == {"b": "2", "c": "3"}
    again.record.close()


async def test_an_answer_taken_out_of_the_context_is_still_the_last_one(desk: Desk) -> None:
    failed = answer("no", stop="error")
    await desk.tell(user("one"), failed)
    await desk.record.omit_last_answer()
    assert desk.record.messages == [user("one")]
    assert desk.record.last_answer == failed
    (told,) = desk.trace.of(EntryAppended)
    assert told.entry["type"] == "context_edit"
    assert told.entry["targetId"] == desk.entries()[1]
    assert told.entry["id"] == desk.entries()[2]
    assert told.entry["replacement"] is None


async def test_there_may_be_no_answer_to_take_out(desk: Desk) -> None:
    await desk.tell(user("one"))
    await desk.record.omit_last_answer()
    assert (len(desk.entries()), desk.trace.of(EntryAppended)) == (1, [])


async def test_an_answer_of_an_earlier_start_is_known_and_is_not_taken_out(desk: Desk) -> None:
    await desk.tell(user("one"), answer("old"))
    assert desk.record.close() and desk.log.path is not None
    again = Desk(SessionLog.open(desk.log.path, cwd=desk.log.path.parent, report=pytest.fail))
    assert again.record.last_answer == answer("old")
    await again.record.omit_last_answer()
    assert len(again.record.messages) == 2
    again.record.close()


async def test_entries_since_an_entry(desk: Desk) -> None:
    await desk.record.rename("Work")
    await desk.record.model_changed("p", "m")
    await desk.record.thinking_changed("low")
    await desk.tell(user("one"))
    every = desk.entries()
    assert len(every) == 4 and desk.record.leaf_id == every[-1]
    assert [desk.entries(id) for id in every] == [every[1:], every[2:], every[3:], []]
    assert desk.record.entries_after("nothing") is None
    assert desk.record.name == "Work"
    lines = [json.loads(line) for line in desk.record.entries_after(None) or ()]
    assert [line["type"] for line in lines] == [
        "session_info",
        "model_change",
        "thinking_level_change",
        "message",
    ]
    assert json.loads(desk.record.header_line)["id"] == desk.record.id


async def test_a_command_of_the_users_is_part_of_the_context(desk: Desk) -> None:
    command = BashExecutionMessage(
        command="ls", output="a", exit_code=0, cancelled=False, truncated=False, timestamp=1
    )
    await desk.tell(user("one"))
    await desk.record.add_shell(command)
    assert desk.record.messages == [user("one"), command]
    assert desk.record.unsaved == 0
