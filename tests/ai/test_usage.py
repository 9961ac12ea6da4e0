import pytest

from relay.ai.model import CostTier, Model, Pricing
from relay.ai.types import Cost, Usage
from relay.ai.usage import priced

TIERS = [
    CostTier(input_tokens_above=200_000, input=6, output=20, cache_read=0.6, cache_write=7),
    CostTier(input_tokens_above=500_000, input=12, output=40, cache_read=1.2, cache_write=14),
]
MODEL = Model(
    id="m",
    name="M",
    api="anthropic-messages",
    provider="p",
    base_url="https://x.test",
    cost=Pricing(input=3, output=15, cache_read=0.3, cache_write=3.75, tiers=TIERS),
)


def usage(input: int, output: int, read: int = 0, write: int = 0, hour: int | None = None) -> Usage:
    return Usage(
        input=input,
        output=output,
        cache_read=read,
        cache_write=write,
        cache_write_1h=hour,
        total_tokens=input + output + read + write,
        cost=Cost(),
    )


def test_each_kind_of_token_has_its_price() -> None:
    cost = priced(MODEL, usage(1000, 200, 5000, 400)).cost
    assert cost.input == pytest.approx(0.003)
    assert cost.output == pytest.approx(0.003)
    assert cost.cache_read == pytest.approx(0.0015)
    assert cost.cache_write == pytest.approx(0.0015)
    assert cost.total == pytest.approx(0.009)


def test_hour_long_cache_writes_cost_twice_the_input() -> None:
    cost = priced(MODEL, usage(0, 0, 0, 1000, hour=600)).cost
    assert cost.cache_write == pytest.approx((400 * 3.75 + 600 * 6) / 1e6)


@pytest.mark.parametrize(
    ("input", "read", "rate"), [(200_000, 0, 3), (200_001, 0, 6), (1, 200_000, 6), (400_000, 100_001, 12)]
)
def test_the_highest_tier_passed_prices_the_whole_request(input: int, read: int, rate: float) -> None:
    assert priced(MODEL, usage(input, 0, read)).cost.input == pytest.approx(rate * input / 1e6)


def test_tokens_are_left_alone() -> None:
    before = usage(1, 2, 3, 4)
    after = priced(MODEL, before)
    assert (after.input, after.output, after.cache_read, after.cache_write, after.total_tokens) == (
        1,
        2,
        3,
        4,
        10,
    )
