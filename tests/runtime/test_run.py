"""The run state machine: settled once, retries, waits, aborts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from relay.agent.events import AgentEnd, AgentSettled, AutoRetryEnd, AutoRetryStart, EventBus
from relay.agent.hooks import Hooks
from relay.agent.messages import AgentMessage
from relay.ai.errors import ErrorKind, ProviderError
from relay.ai.types import TextContent
from relay.runtime.policies import RetryLimits, RetryPolicy
from relay.runtime.run import BusyError, Runner, RunState
from tests.agent.fakes import FakeCall, FakeDesk, Trace, answer, user


class FakeJournal:
    def __init__(self) -> None:
        self.omitted = 0

    async def omit_last_answer(self) -> None:
        self.omitted += 1


def limits(
    *, enabled: bool = True, retries: int = 3, base: int = 1, most: int = 60_000, server: int = 60_000
) -> RetryLimits:
    return RetryLimits(
        enabled=enabled,
        max_retries=retries,
        base_delay_ms=base,
        max_delay_ms=most,
        max_server_delay_ms=server,
    )


class Stage:
    def __init__(self, *calls: FakeCall, retry: RetryLimits | None = None) -> None:
        self.trace, self.journal, self.desk = Trace(), FakeJournal(), FakeDesk(*calls)
        bus = EventBus()
        bus.subscribe(self.trace)
        policy = RetryPolicy(retry or limits())
        self.runner = Runner(bus, Hooks(), self.desk, journal=self.journal, retry=policy)

    def start(self) -> None:
        async def opening() -> Sequence[AgentMessage]:
            return [user("go")]

        self.runner.start(opening)

    async def run(self) -> None:
        self.start()
        await self.runner.settled()


def good(text: str = "fine") -> FakeCall:
    return FakeCall(answer(TextContent(text=text)))


def bad(kind: ErrorKind = "overload", *, after: int | None = None) -> FakeCall:
    return FakeCall(answer(), error=ProviderError("529 overloaded", kind, retry_after_ms=after))


async def test_a_prompt_settles_once_and_last() -> None:
    stage = Stage(good())
    await stage.run()
    assert stage.trace.types.count("agent_settled") == 1
    assert stage.trace.types[-1] == "agent_settled"
    assert stage.runner.state is RunState.IDLE


async def test_a_second_start_is_refused_while_busy() -> None:
    stage = Stage(good())
    stage.start()
    with pytest.raises(BusyError, match="abort the run first"):
        stage.start()
    await stage.runner.settled()


async def test_failures_are_retried_with_a_doubling_wait_and_left_out_of_the_context() -> None:
    stage = Stage(bad(), bad(), good())
    await stage.run()
    assert [event.delay_ms for event in stage.trace.of(AutoRetryStart)] == [1, 2]
    assert [event.will_retry for event in stage.trace.of(AgentEnd)] == [True, True, False]
    assert stage.trace.of(AutoRetryEnd) == [AutoRetryEnd(success=True, attempt=2)]
    assert stage.journal.omitted == 2
    types = stage.trace.types
    assert types[types.index("auto_retry_end") - 1] == "message_end"
    assert types[types.index("auto_retry_end") + 1] == "turn_end"


async def test_retries_run_out() -> None:
    stage = Stage(bad(), bad(), retry=limits(retries=1))
    await stage.run()
    assert stage.trace.of(AutoRetryEnd) == [
        AutoRetryEnd(success=False, attempt=1, final_error="529 overloaded")
    ]
    assert stage.trace.types[-2:] == ["auto_retry_end", "agent_settled"]
    assert stage.journal.omitted == 1


@pytest.mark.parametrize("kind", ["auth", "request", "quota", "protocol", "overflow", "refusal"])
async def test_what_waiting_does_not_mend_is_not_retried(kind: ErrorKind) -> None:
    stage = Stage(bad(kind))
    await stage.run()
    assert "auto_retry_start" not in stage.trace.types
    assert stage.journal.omitted == 0


async def test_retry_can_be_switched_off() -> None:
    stage = Stage(bad(), retry=limits(enabled=False))
    await stage.run()
    assert "auto_retry_start" not in stage.trace.types


@pytest.mark.parametrize(
    ("asked", "most", "server", "waited"),
    [(5, 60_000, 60_000, 5), (5, 2, 60_000, 5), (None, 2, 60_000, 2), (5, 60_000, 0, 5)],
)
def test_the_wait_is_at_least_what_the_server_asks(
    asked: int | None, most: int, server: int, waited: int
) -> None:
    policy = RetryPolicy(limits(base=4, most=most, server=server))
    policy.attempt = 1
    error = ProviderError("429", "rate_limit", retry_after_ms=asked)
    assert policy.wants(error)
    assert policy.delay_ms(error) == waited


def test_a_wait_longer_than_allowed_gives_up() -> None:
    policy = RetryPolicy(limits(server=1000))
    assert not policy.wants(ProviderError("429", "rate_limit", retry_after_ms=1001))


async def test_abort_during_the_wait_ends_the_prompt() -> None:
    stage = Stage(bad(), retry=limits(base=3_600_000, most=3_600_000))
    stage.start()
    await stage.trace.reached("auto_retry_start")
    assert stage.runner.state is RunState.WAITING
    stage.runner.abort()
    await stage.runner.settled()
    assert stage.trace.of(AutoRetryEnd)[0].success is False
    assert stage.trace.of(AgentSettled) == [AgentSettled(aborted=True)]


async def test_a_cut_off_answer_leaves_the_context() -> None:
    stage = Stage(FakeCall(answer(TextContent(text="cut"), stop="length")))
    await stage.run()
    assert stage.journal.omitted == 1


async def test_a_broken_opening_still_settles() -> None:
    stage = Stage()

    async def opening() -> Sequence[AgentMessage]:
        raise OSError("disk gone")

    stage.runner.start(opening)
    with pytest.raises(OSError, match="disk gone"):
        await stage.runner.settled()
    assert stage.trace.types == ["agent_settled"]
    assert not stage.runner.busy


async def test_abort_while_idle_does_nothing() -> None:
    stage = Stage(good())
    stage.runner.abort()
    await stage.run()
    assert stage.trace.of(AgentSettled) == [AgentSettled(aborted=False)]


async def test_settled_can_be_awaited_by_many() -> None:
    stage = Stage(good())
    stage.start()
    await asyncio.gather(stage.runner.settled(), stage.runner.settled())
    assert not stage.runner.busy
