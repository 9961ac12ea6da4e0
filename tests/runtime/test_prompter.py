"""Tests of what becomes of a user's message: a run, or a place in the queue."""

from __future__ import annotations

import asyncio

import pytest

from relay.agent.events import QueueUpdate
from relay.ai.testing import Reply
from relay.ai.types import ImageContent, SystemMessage, TextContent, UserMessage, text_of
from relay.runtime.prompter import user_content
from relay.runtime.run import BusyError
from relay.runtime.start import ModelOptions, SessionOptions
from tests.agent.fakes import Trace
from tests.runtime.places import Home, say

PLAIN = ModelOptions(pattern="mock/plain")
MEMORY = SessionOptions(kind="memory")


def held(text: str = "first") -> Reply:
    return Reply(text=text, gate=asyncio.Event())


def open_gate(reply: Reply) -> None:
    assert reply.gate is not None
    reply.gate.set()


async def test_a_prompt_while_a_run_is_under_way_is_refused_and_leaves_no_trace(home: Home) -> None:
    reply = held()
    async with home.running(reply, model=PLAIN, session=MEMORY) as (live, _):
        live.prompter.start(user_content("one"))
        await reply.reached.wait()
        with pytest.raises(BusyError, match="steer or follow up"):
            live.prompter.start(user_content("two"))
        open_gate(reply)
        await live.runner.settled()
        said = [text_of(item.content) for item in live.record.messages if isinstance(item, UserMessage)]
    assert said == ["one"]


async def test_a_second_prompt_is_refused_at_once_and_not_only_when_the_first_has_begun(home: Home) -> None:
    async with home.running("one", model=PLAIN, session=MEMORY) as (live, _):
        live.prompter.start(user_content("one"))
        with pytest.raises(BusyError):
            live.prompter.start(user_content("two"))
        await live.runner.settled()


async def test_what_waits_when_idle_goes_with_the_next_prompt(home: Home) -> None:
    trace = Trace()
    async with home.running("ok", "later", model=PLAIN, session=MEMORY) as (live, provider):
        live.bus.subscribe(trace)
        await live.prompter.follow_up(user_content("after"))
        await live.prompter.steer(user_content("aside"))
        assert not live.runner.busy
        await say(live, "now")
        said = [text_of(item.content) for item in live.record.messages if isinstance(item, UserMessage)]
    assert said == ["now", "aside", "after"]
    waiting = [(update.steering, update.follow_up) for update in trace.of(QueueUpdate)]
    assert waiting == [([], ["after"]), (["aside"], ["after"]), ([], ["after"]), ([], [])]
    assert len(provider.requests) == 2


async def test_the_prompts_declaration_stands_before_the_message_with_its_time(home: Home) -> None:
    async with home.running("ok", model=PLAIN, session=MEMORY) as (live, _):
        await say(live, "hi")
        first, second = live.record.messages[:2]
    assert isinstance(first, SystemMessage) and isinstance(second, UserMessage)
    assert first.timestamp == second.timestamp


async def test_images_come_after_the_text(home: Home) -> None:
    image = ImageContent(data="aGk=", mime_type="image/png")
    assert user_content("look", [image]) == [TextContent(text="look"), image]
    async with home.running("ok", model=PLAIN, session=MEMORY) as (live, provider):
        live.prompter.start(user_content("look", [image]))
        await live.runner.settled()
    last = provider.requests[0].messages[-1]
    assert isinstance(last, UserMessage) and last.content == [TextContent(text="look"), image]


async def test_an_abort_before_the_first_request_ends_in_an_aborted_answer(home: Home) -> None:
    async with home.running(model=PLAIN, session=MEMORY) as (live, provider):
        live.prompter.start(user_content("hi"))
        live.runner.abort()
        await live.runner.settled()
        answer = live.record.last_answer
    assert answer is not None and answer.stop_reason == "aborted"
    assert provider.requests == []
