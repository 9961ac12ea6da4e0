"""What the tokens of a call cost, by the prices of its model."""

from __future__ import annotations

import msgspec

from relay.ai.model import CostTier, Model, Pricing
from relay.ai.types import Cost, Usage

PER = 1_000_000
"""Prices are US dollars per this many tokens."""

HOUR_WRITE = 2.0
"""A cache write that lasts an hour costs this many times the input price."""


def priced(model: Model, usage: Usage) -> Usage:
    """`usage` with its cost in US dollars; tokens are left as they are."""
    rate = rates(model.cost, usage.input + usage.cache_read + usage.cache_write)
    hour = min(usage.cache_write_1h or 0, usage.cache_write)
    input = rate.input * usage.input / PER
    output = rate.output * usage.output / PER
    cache_read = rate.cache_read * usage.cache_read / PER
    cache_write = (rate.cache_write * (usage.cache_write - hour) + rate.input * HOUR_WRITE * hour) / PER
    cost = Cost(
        input=input,
        output=output,
        cache_read=cache_read,
        cache_write=cache_write,
        total=input + output + cache_read + cache_write,
    )
    return msgspec.structs.replace(usage, cost=cost)


def rates(pricing: Pricing, input_tokens: int) -> Pricing | CostTier:
    """The prices for that much input: the tier of the highest threshold below it, or the base."""
    passed = [tier for tier in pricing.tiers if input_tokens > tier.input_tokens_above]
    return max(passed, key=lambda tier: tier.input_tokens_above) if passed else pricing
