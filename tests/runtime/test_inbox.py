"""Queues: modes, order, and that every change is told whole."""

from __future__ import annotations

import pytest

from relay.agent.events import EventBus, QueueUpdate
from relay.ai.types import text_of
from relay.runtime.inbox import Inbox, QueueMode
from tests.agent.fakes import Trace, user


def inbox(mode: QueueMode = "one-at-a-time") -> tuple[Inbox, Trace]:
    bus, trace = EventBus(), Trace()
    bus.subscribe(trace)
    return Inbox(bus, steering_mode=mode, follow_up_mode=mode), trace


async def taken(box: Inbox, *, stopped: bool) -> list[str]:
    return [text_of(message.content) async for message in box.take(stopped=stopped)]  # type: ignore[union-attr]  # user messages


async def test_one_at_a_time_leaves_the_rest() -> None:
    box, trace = inbox()
    for text in ("a", "b"):
        await box.steer(user(text))
    assert await taken(box, stopped=False) == ["a"]
    assert box.size == 1
    assert [event.steering for event in trace.of(QueueUpdate)] == [["a"], ["a", "b"], ["b"]]


async def test_all_takes_everything_and_tells_each_removal() -> None:
    box, trace = inbox("all")
    for text in ("a", "b"):
        await box.follow_up(user(text))
    assert await taken(box, stopped=True) == ["a", "b"]
    assert [event.follow_up for event in trace.of(QueueUpdate)][-2:] == [["b"], []]


@pytest.mark.parametrize("stopped", [False, True])
async def test_steering_goes_first_and_follow_ups_wait_for_the_stop(stopped: bool) -> None:
    box, _ = inbox("all")
    await box.follow_up(user("later"))
    assert box.queued(stopped=stopped) is stopped
    await box.steer(user("now"))
    assert await taken(box, stopped=stopped) == ["now"]
    assert await taken(box, stopped=stopped) == (["later"] if stopped else [])


async def test_clear_gives_the_texts_back() -> None:
    box, trace = inbox()
    await box.steer(user("a"))
    await box.follow_up(user("b"))
    assert await box.clear() == (["a"], ["b"])
    assert box.size == 0
    assert trace.of(QueueUpdate)[-1] == QueueUpdate(steering=[], follow_up=[])
