"""Tests of the model and level in use: switching, cycling, what is written and told of it."""

from __future__ import annotations

from collections.abc import Sequence

from relay.agent.events import EventBus
from relay.ai.model import Model
from relay.ai.patterns import Choice
from relay.ai.types import ThinkingLevel
from relay.runtime.model_choice import ModelChoice
from tests.agent.fakes import Trace


class FakeRecord:
    """Keeps what would be written, in order."""

    def __init__(self) -> None:
        self.written: list[str] = []

    async def model_changed(self, provider: str, model_id: str) -> None:
        self.written.append(f"{provider}/{model_id}")

    async def thinking_changed(self, level: ThinkingLevel) -> None:
        self.written.append(level)


def model(id: str, *, reasoning: bool = True, **mapped: str | None) -> Model:
    return Model(
        id=id,
        name=id,
        api="fake",
        provider="p",
        base_url="http://127.0.0.1:1",
        reasoning=reasoning,
        thinking_level_map=mapped,
    )


PLAIN, DEEP, WIDE = model("plain", reasoning=False), model("deep", xhigh="xhigh"), model("wide", low=None)


class Desk:
    def __init__(
        self,
        start: Model = DEEP,
        wanted: ThinkingLevel = "high",
        *,
        scope: Sequence[Choice] = (),
        **per_model: ThinkingLevel,
    ) -> None:
        self.record, self.trace = FakeRecord(), Trace()
        bus = EventBus()
        bus.subscribe(self.trace)
        levels = {f"p/{id}": level for id, level in per_model.items()}
        self.choice = ModelChoice(bus, self.record, model=start, wanted=wanted, per_model=levels, scope=scope)
        self.available: list[Model] = [PLAIN, DEEP, WIDE]

    async def cycle(self) -> str | None:
        async def available() -> Sequence[Model]:
            return self.available

        found = await self.choice.cycle(available)
        return found.id if found is not None else None

    @property
    def now(self) -> tuple[str, ThinkingLevel]:
        return self.choice.model.id, self.choice.thinking


async def test_a_switch_is_written_and_a_changed_level_is_written_and_told() -> None:
    desk = Desk()
    await desk.choice.set_model(WIDE)
    assert desk.now == ("wide", "high")
    assert (desk.record.written, desk.trace.types) == (["p/wide"], [])
    await desk.choice.set_model(PLAIN)
    assert desk.now == ("plain", "off")
    assert desk.record.written == ["p/wide", "p/plain", "off"]
    assert desk.trace.types == ["thinking_level_changed"]


async def test_the_level_in_force_is_fitted_to_each_model() -> None:
    desk = Desk(DEEP, "xhigh")
    await desk.choice.set_model(WIDE)
    assert desk.now == ("wide", "high")
    await desk.choice.set_thinking("low")
    assert desk.now == ("wide", "minimal")
    await desk.choice.set_model(PLAIN)
    await desk.choice.set_model(DEEP)
    assert desk.now == ("deep", "off")


async def test_a_level_given_with_the_model_wins_over_its_own_over_the_one_in_force() -> None:
    desk = Desk(PLAIN, "high", deep="medium")
    await desk.choice.set_model(DEEP, "minimal")
    assert desk.now == ("deep", "minimal")
    await desk.choice.set_model(DEEP)
    assert desk.now == ("deep", "medium")
    await desk.choice.set_model(WIDE)
    assert desk.now == ("wide", "medium")


async def test_setting_the_level_that_holds_writes_nothing() -> None:
    desk = Desk(PLAIN, "high")
    assert desk.now == ("plain", "off")
    await desk.choice.set_thinking("max")
    await desk.choice.set_thinking("off")
    assert (desk.record.written, desk.trace.types, desk.choice.levels) == ([], [], ["off"])


async def test_cycling_goes_round_all_that_are_available() -> None:
    desk = Desk(WIDE)
    assert [await desk.cycle() for _ in range(4)] == ["plain", "deep", "wide", "plain"]


async def test_cycling_begins_at_the_front_where_the_model_in_use_is_no_part() -> None:
    desk = Desk(model("elsewhere"))
    assert await desk.cycle() == "plain"


async def test_cycling_stays_in_the_scope_and_takes_its_levels() -> None:
    scope = (Choice(DEEP, "xhigh"), Choice(WIDE))
    desk = Desk(WIDE, "low", scope=scope, deep="medium")
    seen = []
    for _ in range(3):
        await desk.cycle()
        seen.append(desk.now)
    assert seen == [("deep", "xhigh"), ("wide", "high"), ("deep", "xhigh")]
    assert desk.choice.scope == (DEEP, WIDE)


async def test_there_is_nothing_to_cycle_to() -> None:
    desk = Desk(DEEP, scope=(Choice(DEEP),))
    assert await desk.cycle() is None
    alone = Desk(DEEP)
    alone.available = [DEEP]
    assert await alone.cycle() is None
    assert desk.record.written == alone.record.written == []
