"""Tests of whose key `--api-key` is."""

from __future__ import annotations

from pathlib import Path

import pytest

from relay.runtime.start import ModelOptions
from relay.runtime.startup_model import choose_model
from relay.runtime.surroundings import Surroundings, look_around
from relay.session.projection import Projection
from tests.runtime.test_sessions import start


async def key_of(around: Surroundings, provider: str) -> str | None:
    model = around.catalog.get(provider, "m1")
    assert model is not None
    return (await around.credentials.resolve(model)).api_key


@pytest.mark.parametrize(("named", "owner"), [(None, "other"), ("mock", "mock")])
async def test_a_key_belongs_to_the_chosen_model_or_to_the_provider_named(
    own_home: Path, named: str | None, owner: str
) -> None:
    around = look_around(start(own_home), pytest.fail)
    options = ModelOptions(pattern="other/m1", api_key="secret", key_provider=named)
    choose_model(options, around, Projection(), pytest.fail)
    for provider in ("mock", "other"):
        assert await key_of(around, provider) == ("secret" if provider == owner else "k")
