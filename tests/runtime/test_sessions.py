"""Tests of the exchange of one running session for another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from relay.agent.events import AgentSettled, MessageEnd, QueueUpdate, SessionEvent
from relay.ai.testing import Reply, ScriptedProvider
from relay.ai.types import AssistantMessage, UserMessage, text_of
from relay.base.errors import RelayError
from relay.runtime.assembly import open_session
from relay.runtime.prompter import user_content
from relay.runtime.sessions import SessionHost, SwitchError
from relay.runtime.start import ModelOptions, SessionOptions, StartOptions
from relay.session.errors import SessionBusy, SessionError
from relay.session.log import SessionLog
from tests.session.samples import rows

MODEL = {"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions", "apiKey": "k"}
MODELS = {
    "providers": {
        "mock": {**MODEL, "models": [{"id": "m1"}, {"id": "m2:free", "reasoning": True}]},
        "other": {**MODEL, "models": [{"id": "m1"}]},
    }
}


def start(home: Path, session: SessionOptions | None = None, **model: Any) -> StartOptions:
    agent = home / ".relay" / "agent"
    agent.mkdir(parents=True, exist_ok=True)
    (agent / "models.json").write_text(json.dumps(MODELS))
    return StartOptions(
        cwd=home,
        environ={"HOME": str(home)},
        model=ModelOptions(**({"pattern": "mock/m1"} | model)),
        session=session or SessionOptions(name="First"),
    )


@asynccontextmanager
async def hosting(
    options: StartOptions, *scripts: list[str | Reply], told: list[str] | None = None
) -> AsyncIterator[SessionHost]:
    """A host whose first, second, … session gets these answers; each must be used up."""
    providers = [ScriptedProvider(script) for script in scripts]
    waiting = iter(providers)
    report = pytest.fail if told is None else told.append
    live = await open_session(options, report, provider=next(waiting))
    host = SessionHost(live, options, report, provider=lambda: next(waiting))
    yield host
    assert await host.close()
    for provider in providers:
        provider.assert_finished()


async def say(host: SessionHost, text: str) -> None:
    live = await host.ready()
    live.prompter.start(user_content(text))
    await live.runner.settled()


def said(host: SessionHost) -> list[str]:
    """The texts of the context's user messages and answers."""
    messages = host.live.record.messages
    return [text_of(item.content) for item in messages if isinstance(item, UserMessage | AssistantMessage)]


def file_of(host: SessionHost) -> Path:
    assert host.live.record.file is not None
    return host.live.record.file


async def test_events_go_on_from_the_new_session_and_no_more_from_the_old(own_home: Path) -> None:
    seen: list[SessionEvent] = []
    async with hosting(start(own_home), ["one"], ["two"]) as host:
        host.subscribe(lambda event: seen.append(event))
        await say(host, "a")
        old = host.live
        await host.new()
        await say(host, "b")
        assert sum(isinstance(event, AgentSettled) for event in seen) == 2
        await old.bus.emit(AgentSettled(aborted=False))
        assert host.live.record.id != old.record.id
        assert host.live.record.name is None


async def test_the_lock_of_the_old_session_is_given_back(own_home: Path) -> None:
    async with hosting(start(own_home), ["one"], ["two"]) as host:
        await say(host, "a")
        old = file_of(host)
        with pytest.raises(SessionBusy):
            SessionLog.open(old, cwd=own_home, report=pytest.fail)
        await host.new(parent=str(old))
        SessionLog.open(old, cwd=own_home, report=pytest.fail).close()
        await say(host, "b")
        assert rows(file_of(host))[0]["parentSession"] == str(old)


async def test_new_sessions_keep_the_model_the_level_and_the_modes(own_home: Path) -> None:
    async with hosting(start(own_home), [], []) as host:
        model = next(model for model in await host.live.available() if model.id == "m2:free")
        await host.live.choice.set_model(model, "high")
        host.live.inbox.steering_mode = "all"
        host.live.retry.enabled = False
        await host.new()
        live = host.live
        assert (live.choice.model.key, live.choice.thinking) == ("mock/m2:free", "high")
        assert (live.inbox.steering_mode, live.retry.enabled) == ("all", False)


async def test_a_session_that_is_switched_to_brings_its_model_and_directory(own_home: Path) -> None:
    elsewhere = own_home / "elsewhere"
    elsewhere.mkdir()
    async with hosting(start(own_home), ["one"], [], ["two"]) as host:
        await say(host, "a")
        first = file_of(host)
        await host.new()
        model = next(model for model in await host.live.available() if model.key == "other/m1")
        await host.live.choice.set_model(model)
        lines = first.read_text().splitlines()
        header = json.dumps(json.loads(lines[0]) | {"cwd": str(elsewhere), "id": "moved"})
        moved = own_home / "moved.jsonl"
        moved.write_text("\n".join([header, *lines[1:]]) + "\n")
        await host.switch(Path("moved.jsonl"))
        assert host.live.choice.model.key == "mock/m1"
        assert host.live.record.id == "moved"
        done = await host.live.shell.run("pwd")
        assert done.output.strip() == str(elsewhere)
        await say(host, "b")
        assert said(host) == ["a", "one", "b", "two"]


async def test_a_failed_switch_leaves_the_old_session_usable(own_home: Path) -> None:
    bad = own_home / "bad.jsonl"
    bad.write_text("no session\n")
    async with hosting(start(own_home), ["one", "two"], []) as host:
        await say(host, "a")
        id = host.live.record.id
        with pytest.raises(SessionError, match="is not a session"):
            await host.switch(bad)
        assert host.live.record.id == id
        await say(host, "b")
        assert said(host) == ["a", "one", "b", "two"]
    assert bad.read_text() == "no session\n"


async def test_a_session_that_another_process_writes_is_not_switched_to(own_home: Path) -> None:
    async with hosting(start(own_home), ["one"], ["two"], []) as host:
        await say(host, "a")
        first = file_of(host)
        await host.new()
        other = SessionLog.open(first, cwd=own_home, report=pytest.fail)
        with pytest.raises(SessionBusy):
            await host.switch(first)
        other.close()
        await say(host, "b")


async def test_switching_to_the_open_session_changes_nothing(own_home: Path) -> None:
    async with hosting(start(own_home), ["one", "two"]) as host:
        await say(host, "a")
        live = host.live
        await host.switch(file_of(host))
        assert host.live is live
        await say(host, "b")


async def test_a_missing_file_becomes_a_new_session_there(own_home: Path) -> None:
    async with hosting(start(own_home), [], ["one"]) as host:
        await host.switch(own_home / "sub" / "new.jsonl")
        await say(host, "a")
        assert file_of(host) == own_home / "sub" / "new.jsonl"
        assert file_of(host).exists()


async def test_forks_and_clones_leave_the_original_alone(own_home: Path) -> None:
    async with hosting(start(own_home), ["one", "two"], ["three"], ["four"]) as host:
        await say(host, "a")
        await say(host, "b")
        original = file_of(host)
        before = original.read_bytes()
        ids = [row["id"] for row in rows(original) if row.get("message", {}).get("role") == "user"]
        assert await host.fork(ids[1]) == "b"
        assert said(host) == ["a", "one"]
        await say(host, "c")
        forked = file_of(host)
        await host.clone()
        await say(host, "d")
        assert said(host) == ["a", "one", "c", "three", "d", "four"]
        assert original.read_bytes() == before
        assert rows(file_of(host))[0]["parentSession"] == str(forked)


async def test_what_cannot_be_copied_is_said_and_nothing_stops(own_home: Path) -> None:
    async with hosting(start(own_home), ["one"]) as host:
        with pytest.raises(SwitchError, match="nothing to clone"):
            await host.clone()
        await say(host, "a")
        with pytest.raises(SwitchError, match="nosuch"):
            await host.fork("nosuch")


async def test_an_unsaved_session_stays_unsaved(own_home: Path) -> None:
    async with hosting(start(own_home, SessionOptions(kind="memory")), ["one"], ["two"], []) as host:
        await say(host, "a")
        await host.clone()
        await say(host, "b")
        assert said(host) == ["a", "one", "b", "two"]
        await host.new()
        assert host.live.record.file is None
    assert not (own_home / ".relay" / "agent" / "sessions").exists()


async def test_what_waited_in_the_old_session_is_told_as_gone(own_home: Path) -> None:
    seen: list[SessionEvent] = []
    async with hosting(start(own_home), [], []) as host:
        host.subscribe(lambda event: seen.append(event))
        await host.live.prompter.steer(user_content("later"))
        await host.new()
        assert [event.steering for event in seen if isinstance(event, QueueUpdate)] == [["later"], []]


async def test_commands_during_a_switch_wait_for_the_new_session(own_home: Path) -> None:
    async with hosting(start(own_home), [], []) as host:
        old = host.live
        switching = asyncio.create_task(host.new())
        await asyncio.sleep(0)
        assert (await host.ready()) is not old
        await switching


async def test_a_run_that_broke_does_not_tie_to_its_session(own_home: Path) -> None:
    def break_down(event: SessionEvent) -> None:
        if isinstance(event, MessageEnd) and isinstance(event.message, UserMessage):
            raise RuntimeError("broken")

    async with hosting(start(own_home), [], ["one"]) as host:
        host.live.bus.subscribe(break_down)
        with pytest.raises(RuntimeError, match="broken"):
            await say(host, "a")
        old = file_of(host)
        await host.new()
        SessionLog.open(old, cwd=own_home, report=pytest.fail).close()
        await say(host, "b")
        assert said(host) == ["b", "one"]


async def test_no_start_is_tried_with_what_the_options_do_not_hold(own_home: Path) -> None:
    options = start(own_home)
    async with hosting(options, [], []) as host:
        (own_home / ".relay" / "agent" / "models.json").write_text(json.dumps({"providers": {}}))
        live = host.live
        with pytest.raises(RelayError):
            await host.new()
        assert host.live is live
        (own_home / ".relay" / "agent" / "models.json").write_text(msgspec.json.encode(MODELS).decode())
