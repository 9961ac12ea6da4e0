"""Tests of the user's own commands beside a conversation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from relay.agent.events import AgentSettled, SessionEvent
from relay.agent.messages import BashExecutionMessage
from relay.agent.tool import ToolError
from relay.ai.testing import ScriptedProvider
from relay.runtime.assembly import open_session
from relay.runtime.live import LiveSession
from relay.runtime.prompter import user_content
from relay.runtime.start import SessionOptions
from tests.runtime.test_sessions import start


async def opened(home: Path, *script: str) -> LiveSession:
    options = start(home, SessionOptions(kind="memory"))
    return await open_session(options, pytest.fail, provider=ScriptedProvider(list(script)))


def recorded(live: LiveSession) -> list[BashExecutionMessage]:
    return [message for message in live.record.messages if isinstance(message, BashExecutionMessage)]


async def test_output_comes_in_pieces_and_is_recorded(own_home: Path) -> None:
    live = await opened(own_home)
    pieces: list[str] = []
    done = await live.shell.run("echo alpha; exit 4", on_text=pieces.append)
    assert "".join(pieces) == "alpha\n"
    assert (done.exit_code, done.cancelled, done.truncated) == (4, False, False)
    assert recorded(live) == [done]
    hidden = await live.shell.run("echo b", exclude=True)
    assert hidden.exclude_from_context is True
    await live.close()


async def test_an_aborted_command_keeps_its_output_and_ends_its_processes(own_home: Path) -> None:
    live = await opened(own_home)
    begun = asyncio.Event()
    task = asyncio.create_task(live.shell.run("echo alpha; sleep 300", on_text=lambda text: begun.set()))
    await begun.wait()
    assert live.shell.busy
    live.shell.abort()
    await live.shell.settled()
    assert len(recorded(live)) == 1
    done = await task
    assert (done.output.strip(), done.cancelled, done.exit_code) == ("alpha", True, None)
    await live.close()


async def test_during_a_run_it_is_recorded_after_the_run_and_before_it_is_settled(own_home: Path) -> None:
    live = await opened(own_home, "answer")
    order: list[str] = []

    async def meanwhile(event: SessionEvent) -> None:
        if type(event).__name__ == "MessageStart" and not order:
            order.append("ran")
            await live.shell.run("echo beside")
            assert recorded(live) == []
        if isinstance(event, AgentSettled):
            order.append(f"recorded {len(recorded(live))}")

    live.bus.subscribe(meanwhile)
    live.prompter.start(user_content("hi"))
    await live.runner.settled()
    assert order == ["ran", "recorded 1"]
    assert isinstance(live.record.messages[-1], BashExecutionMessage)
    await live.close()


async def test_a_command_that_cannot_start_records_nothing(own_home: Path) -> None:
    live = await opened(own_home)
    with pytest.raises(ToolError, match="NUL"):
        await live.shell.run("echo \0")
    assert recorded(live) == []
    assert not live.shell.busy
    await live.close()


async def test_closing_ends_and_records_what_runs(own_home: Path) -> None:
    live = await opened(own_home)
    begun = asyncio.Event()
    task = asyncio.create_task(live.shell.run("echo a; sleep 300", on_text=lambda text: begun.set()))
    await begun.wait()
    assert await live.close()
    assert (await task).cancelled
    assert len(recorded(live)) == 1
