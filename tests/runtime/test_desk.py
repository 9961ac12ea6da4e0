"""Tests of what a model call is made of: conversation, level, session, and what hooks made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from relay.agent.events import EventBus, MessageEnd
from relay.agent.hooks import Hooks
from relay.ai.model import Model
from relay.ai.testing import ScriptedProvider
from relay.ai.types import Message
from relay.ai.wire.base import CallOptions
from relay.runtime.desk import SessionDesk
from relay.runtime.inbox import Inbox
from relay.runtime.model_choice import ModelChoice
from relay.runtime.record import SessionRecord
from relay.session.log import SessionLog
from tests.session.samples import user

DEEP = Model(id="deep", name="deep", api="fake", provider="p", base_url="http://127.0.0.1:1", reasoning=True)


class Place:
    """A desk over an unsaved session with one user message."""

    def __init__(self, cwd: Path) -> None:
        self.bus, self.hooks = EventBus(), Hooks()
        self.provider = ScriptedProvider(["ok", "ok"])
        self.record = SessionRecord(SessionLog.memory(cwd, report=pytest.fail), self.bus)
        self.choice = ModelChoice(self.bus, self.record, model=DEEP, wanted="low", per_model={})
        self.desk = SessionDesk(
            self.choice,
            Inbox(self.bus, steering_mode="all", follow_up_mode="all"),
            self.record,
            provider=self.provider,
            hooks=self.hooks,
            tools={},
            options=CallOptions(block_images=True, cache_retention="long"),
        )

    async def answer(self) -> None:
        async for _ in await self.desk.call():
            pass


@pytest.fixture
async def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    await made.bus.emit(MessageEnd(message=user("hi")))
    return made


async def test_a_call_has_the_model_the_level_and_the_session_of_its_moment(place: Place) -> None:
    await place.answer()
    await place.choice.set_thinking("high")
    await place.answer()
    first, second = place.provider.requests
    assert (first.model, first.messages) == (DEEP, (user("hi"),))
    assert first.options == CallOptions(
        thinking="low", session_id=place.record.id, block_images=True, cache_retention="long"
    )
    assert second.options.thinking == place.desk.thinking == "high"
    assert place.desk.model == DEEP


async def test_hooks_shape_the_messages_of_the_request_and_not_the_conversation(place: Place) -> None:
    async def twice(messages: list[Message]) -> list[Message]:
        return [*messages, user("and this")]

    place.hooks.context.append(twice)
    await place.answer()
    assert place.provider.requests[0].messages == (user("hi"), user("and this"))
    assert place.record.messages == [user("hi")]


async def test_hooks_shape_the_body_also_when_they_come_late(place: Place) -> None:
    async def marked(body: dict[str, object], model: Model) -> dict[str, object]:
        return {**body, "mark": model.id}

    await place.answer()
    place.hooks.payload.append(marked)
    await place.answer()
    assert ["mark" in body for body in place.provider.bodies] == [False, True]
    assert place.provider.bodies[1]["mark"] == "deep"
