"""Tests of the model and the thinking level that a session starts with, and of whose key `--api-key` is."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from relay.ai.errors import ProviderError
from relay.ai.types import UserMessage
from relay.runtime.start import ModelOptions, StartError
from relay.runtime.startup_model import StartModel, choose_model
from relay.runtime.surroundings import Surroundings, look_around
from relay.session.entries import MessageEntry, ModelChangeEntry, ThinkingLevelChangeEntry
from relay.session.log import SessionLog
from relay.session.projection import Projection
from tests.runtime.places import PROVIDERS, Home, say

GGUF = b"GGUF" + struct.pack("<I", 3)


def chosen(home: Home, past: Projection | None = None, **model: Any) -> StartModel:
    options = home.options(model=ModelOptions(**model))
    around = look_around(options, home.told.append)
    return choose_model(options.model, around, past or Projection(), home.told.append)


def keys(start: StartModel) -> list[str]:
    """The models for cycling."""
    return [choice.model.key for choice in start.scope]


def past(home: Home, model: str | None = None, level: str | None = None) -> Projection:
    """What is left of a session that used this model and level."""
    log = SessionLog.memory(home.cwd, report=home.told.append)
    if model is not None:
        provider, _, id = model.partition("/")
        log.append(ModelChangeEntry(provider=provider, model_id=id))
    if level is not None:
        log.append(ThinkingLevelChangeEntry(thinking_level=level))
    log.append(MessageEntry(message=UserMessage(content="hi", timestamp=1)))
    return log.projection


def test_the_option_wins_then_the_session_then_the_scope_then_the_settings(home: Home) -> None:
    home.write_settings(defaultProvider="other", defaultModel="wide")
    session = past(home, "mock/deep")
    scope = ("mock/plain", "mock/deep")
    assert chosen(home, session, pattern="other/wide", scope=scope).model.key == "other/wide"
    assert chosen(home, session, scope=("mock/plain",)).model.key == "mock/deep"
    assert chosen(home, scope=scope).model.key == "mock/plain"
    assert chosen(home).model.key == "other/wide"
    assert home.told == []


def test_the_default_provider_decides(home: Home) -> None:
    home.write_settings(defaultProvider="other")
    assert chosen(home).model.key == "other/wide"
    assert home.told == []


def test_the_default_model_decides(home: Home) -> None:
    home.write_settings(defaultProvider="mock", defaultModel="plain")
    assert chosen(home).model.key == "mock/plain"
    home.write_settings(defaultProvider="mock", defaultModel="deep")
    assert chosen(home).model.key == "mock/deep"
    assert home.told == []


def test_a_default_that_cannot_be_used_is_told_and_another_takes_over(home: Home) -> None:
    home.write_settings(defaultProvider="keyless", defaultModel="locked")
    assert chosen(home).model.provider in ("mock", "other")
    (sentence,) = home.told
    assert "keyless/locked" in sentence and "credentials" in sentence


def test_without_any_wish_the_first_provider_with_a_key_serves(home: Home) -> None:
    home.write_models({"keyless": PROVIDERS["keyless"], "other": PROVIDERS["other"]})
    assert chosen(home).model.key == "other/wide"


def test_no_model_at_all_names_three_ways(home: Home) -> None:
    home.write_models({})
    with pytest.raises(StartError) as raised:
        chosen(home)
    for way in ("ANTHROPIC_API_KEY", "relay local pull smollm2", str(home.agent / "models.json")):
        assert way in str(raised.value)


def test_an_unknown_provider_and_a_pattern_without_a_match_name_what_is_near(home: Home) -> None:
    with pytest.raises(ProviderError, match='no provider "mok".*mock'):
        chosen(home, pattern="plain", provider="mok")
    with pytest.raises(ProviderError, match='No model matches "plian".*plain'):
        chosen(home, pattern="plian")


def test_a_session_whose_model_is_gone_goes_on_with_the_default(home: Home) -> None:
    home.write_settings(defaultProvider="mock", defaultModel="deep")
    for key in ("gone/model", "keyless/locked"):
        home.told.clear()
        assert chosen(home, past(home, key)).model.key == "mock/deep"
        (sentence,) = home.told
        assert key in sentence and "--model" in sentence


def test_a_session_keeps_a_model_that_its_provider_does_not_list(home: Home) -> None:
    assert chosen(home, past(home, "mock/newer")).model.key == "mock/newer"
    assert home.told == []


@pytest.mark.parametrize(
    ("given", "level"),
    [
        ({"pattern": "mock/deep:low", "thinking": "high", "session": "off"}, "high"),
        ({"pattern": "mock/deep:low", "session": "off"}, "low"),
        ({"pattern": "mock/deep", "session": "off"}, "off"),
        ({"pattern": "mock/deep"}, "xhigh"),
        ({"pattern": "other/wide"}, "minimal"),
        ({"scope": ("mock/deep:low",)}, "low"),
        ({"session": "high", "model": "mock/deep"}, "high"),
    ],
)
def test_levels_from_the_strongest_wish_to_the_weakest(home: Home, given: dict[str, Any], level: str) -> None:
    home.write_settings(modelThinkingLevels={"mock/deep": "xhigh"}, defaultThinkingLevel="minimal")
    session = past(home, given.pop("model", None), given.pop("session", None))
    assert chosen(home, session, **given).level == level


def test_the_default_thinking_level_holds_where_nothing_else_does(home: Home) -> None:
    assert chosen(home, pattern="mock/deep").level == "medium"
    home.write_settings(defaultThinkingLevel="high")
    assert chosen(home, pattern="mock/deep").level == "high"


def test_a_models_own_level_comes_before_the_default_one(home: Home) -> None:
    home.write_settings(defaultThinkingLevel="high", modelThinkingLevels={"mock/deep": "low"})
    assert chosen(home, pattern="mock/deep").level == "low"
    assert chosen(home, pattern="other/wide").level == "high"


@pytest.mark.parametrize(
    ("model", "asked", "used"),
    [
        ("mock/plain", "high", "off"),
        ("mock/deep", "max", "xhigh"),
        ("mock/deep", "minimal", "off"),
        ("other/wide", "xhigh", "high"),
        ("other/wide", "minimal", "minimal"),
    ],
)
async def test_a_session_uses_the_nearest_level_that_the_model_accepts(
    home: Home, model: str, asked: str, used: str
) -> None:
    async with home.running("ok", model=ModelOptions(pattern=f"{model}:{asked}")) as (live, provider):
        assert live.choice.thinking == used
        await say(live, "hi")
    assert provider.requests[0].options.thinking == used


def test_the_scope_holds_the_models_for_cycling(home: Home) -> None:
    found = chosen(home, scope=("mock/*", "other/wide:low"))
    assert keys(found) == ["mock/plain", "mock/deep", "other/wide"]
    assert [choice.thinking for choice in found.scope] == [None, None, "low"]
    assert chosen(home).scope == ()


def test_enabled_models_are_the_scope_where_no_option_says_otherwise(home: Home) -> None:
    home.write_settings(enabledModels=["other/*"])
    assert chosen(home).model.key == "other/wide"
    assert keys(chosen(home)) == ["other/wide"]
    assert keys(chosen(home, scope=("mock/plain",))) == ["mock/plain"]
    assert chosen(home, scope=()).scope == ()


def test_enabled_models_that_mean_none_are_told_and_everything_stays_usable(home: Home) -> None:
    home.write_settings(enabledModels=["nonsense"], defaultProvider="mock", defaultModel="deep")
    found = chosen(home)
    assert (found.model.key, found.scope) == ("mock/deep", ())
    assert len(home.told) == 1 and '"nonsense"' in home.told[0]


@pytest.mark.parametrize("more", [{}, {"pattern": "mock/plain"}])
def test_models_that_mean_none_are_an_error_that_names_each_and_what_is_near(
    home: Home, more: dict[str, Any]
) -> None:
    with pytest.raises(StartError) as raised:
        chosen(home, scope=("mock/deap", "zzz", "keyless/*"), **more)
    for part in ('"mock/deap"', "mock/deep", '"zzz"', '"keyless/*"', "--list-models"):
        assert part in str(raised.value)
    assert home.told == []


def test_of_several_patterns_one_is_enough(home: Home) -> None:
    assert keys(chosen(home, scope=("zzz", "deep"))) == ["mock/deep"]
    assert len(home.told) == 1 and '"zzz"' in home.told[0]


def test_a_file_on_this_machine_is_named_by_its_path(home: Home) -> None:
    path = home.cwd / "mine.gguf"
    path.write_bytes(GGUF)
    assert chosen(home, pattern=f"local/{path}").model.id == str(path)
    assert chosen(home, pattern=str(path), provider="local").model.key == f"local/{path}"
    assert chosen(home, past(home, f"local/{path}")).model.key == f"local/{path}"
    home.write_settings(defaultProvider="local", defaultModel=str(path))
    assert chosen(home).model.key == f"local/{path}"
    home.write_settings(defaultProvider="mock")
    assert home.told == []
    path.unlink()
    with pytest.raises(ProviderError, match=r"local pull|GGUF"):
        chosen(home, pattern=f"local/{path}")
    assert chosen(home, past(home, f"local/{path}")).model.provider == "mock"
    assert len(home.told) == 1 and str(path) in home.told[0]


def test_a_pulled_model_is_found_by_its_name(home: Home) -> None:
    (home.agent / "models").mkdir()
    (home.agent / "models" / "small.gguf").write_bytes(GGUF)
    for pattern, provider in (("local/small", None), ("small", "local")):
        assert chosen(home, pattern=pattern, provider=provider).model.key == "local/small"
    leveled = chosen(home, pattern="local/small:off")
    assert (leveled.model.key, leveled.level) == ("local/small", "off")
    with pytest.raises(ProviderError, match=r"smollm2 is not on this machine.*relay local pull smollm2"):
        chosen(home, pattern="smollm2", provider="local")
    assert chosen(home, past(home, "local/small")).model.key == "local/small"
    home.write_settings(defaultProvider="local", defaultModel="small")
    assert chosen(home).model.key == "local/small"
    assert home.told == []


async def key_of(around: Surroundings, provider: str) -> str | None:
    (model,) = around.catalog.models(provider)[:1]
    return (await around.credentials.resolve(model)).api_key


@pytest.mark.parametrize(("named", "owner"), [(None, "other"), ("mock", "mock")])
async def test_a_key_belongs_to_the_chosen_model_or_to_the_provider_named(
    home: Home, named: str | None, owner: str
) -> None:
    options = home.options(model=ModelOptions(pattern="other/wide", api_key="secret", key_provider=named))
    around = look_around(options, pytest.fail)
    choose_model(options.model, around, Projection(), pytest.fail)
    for provider in ("mock", "other"):
        assert await key_of(around, provider) == ("secret" if provider == owner else "k")


def test_a_key_given_with_a_model_counts_for_the_scope(home: Home) -> None:
    found = chosen(home, pattern="keyless/locked", scope=("keyless/*",), api_key="secret")
    assert keys(found) == ["keyless/locked"]
    assert (chosen(home, scope=("keyless/*",), api_key="secret")).model.key == "keyless/locked"
