"""What `--model`, `--models` and the default settings mean."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from relay.ai.builtin_models import BuiltInModels
from relay.ai.catalog import Catalog, load_catalog
from relay.ai.errors import ProviderError
from relay.ai.patterns import HasKey, default_model, near_matches, resolve_model, resolve_scope

SERVER: dict[str, Any] = {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions"}
IDS = {
    "aa": "m1 m2 claude-x-20250101 claude-x claude-x-20250301 foo:bar foo:high",
    "bb": "m1 org/deep/model only-b aa/tricky",
    "cc": "m9 only-b",
}


def listed(id: str, released: str) -> dict[str, Any]:
    return {
        "id": id,
        "name": id,
        "tool_call": True,
        "release_date": released,
        "modalities": {"input": ["text"], "output": ["text"]},
    }


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    names = {"m2": "Super Duper"}
    providers = {
        provider: {**SERVER, "models": [{"id": id, "name": names.get(id, id)} for id in ids.split()]}
        for provider, ids in IDS.items()
    }
    (tmp_path / "models.json").write_text(json.dumps({"providers": providers}))
    old = [
        listed("claude-3-5-haiku-latest", "2024"),
        listed("claude-haiku-4-5", "2025-10"),
        listed("claude-haiku-4-5-20251001", "2025-10"),
    ]
    routed = [listed("anthropic/claude-haiku-4.5", "2026-01")]
    data = {
        "anthropic": {"models": {model["id"]: model for model in old}},
        "openrouter": {"models": {model["id"]: model for model in routed}},
    }
    path = tmp_path / "data.json.gz"
    path.write_bytes(gzip.compress(json.dumps(data).encode()))
    return load_catalog(tmp_path, built_in=BuiltInModels(path))


def having(*providers: str) -> HasKey:
    return lambda provider: provider in providers


OWN = having("aa", "bb")


@pytest.mark.parametrize(
    ("pattern", "key", "thinking"),
    [
        ("aa/m1", "aa/m1", None),
        ("AA/M1", "aa/m1", None),
        ("m2", "aa/m2", None),
        ("m2:high", "aa/m2", "high"),
        ("aa/m1:MAX", "aa/m1", "max"),
        ("foo:high", "aa/foo:high", None),
        ("foo:high:high", "aa/foo:high", "high"),
        ("foo:bar:low", "aa/foo:bar", "low"),
        ("aa/foo:bar", "aa/foo:bar", None),
        ("org/deep/model", "bb/org/deep/model", None),
        ("bb/org/deep/model:low", "bb/org/deep/model", "low"),
        ("deep", "bb/org/deep/model", None),
        ("super", "aa/m2", None),
        ("claude-x", "aa/claude-x", None),
        ("aa/claude", "aa/claude-x", None),
        ("2025", "aa/claude-x-20250301", None),
        ("claude:high", "aa/claude-x", "high"),
        ("only-b", "bb/only-b", None),
        ("aa/tricky", "bb/aa/tricky", None),
        ("m9", "cc/m9", None),
        ("haiku-4", "anthropic/claude-haiku-4-5", None),
    ],
)
def test_a_pattern_means_one_model(catalog: Catalog, pattern: str, key: str, thinking: str | None) -> None:
    choice = resolve_model(catalog, pattern, has_key=OWN)
    assert (choice.model.key, choice.thinking, choice.warnings) == (key, thinking, ())


@pytest.mark.parametrize(
    ("provider", "pattern", "key"),
    [("aa", "m1", "aa/m1"), ("BB", "m1", "bb/m1"), ("aa", "aa/m1", "aa/m1"), ("aa", "claude", "aa/claude-x"),
     ("bb", "aa/tricky", "bb/aa/tricky")],
)  # fmt: skip
def test_a_provider_limits_the_search(catalog: Catalog, provider: str, pattern: str, key: str) -> None:
    assert resolve_model(catalog, pattern, provider=provider, has_key=OWN).model.key == key


def test_credentials_decide_between_providers(catalog: Catalog) -> None:
    assert resolve_model(catalog, "m1", has_key=having("bb")).model.key == "bb/m1"
    assert resolve_model(catalog, "m1", has_key=having()).model.key == "aa/m1"
    assert resolve_model(catalog, "haiku", has_key=having("openrouter")).model.provider == "openrouter"
    assert (
        resolve_model(catalog, "haiku", has_key=having("openrouter", "anthropic")).model.provider
        == "anthropic"
    )
    with pytest.raises(ProviderError, match=r"aa/m1 or bb/m1.*--provider"):
        resolve_model(catalog, "m1", has_key=OWN)


def test_another_providers_id_needs_credentials_to_win_over_the_one_named(catalog: Catalog) -> None:
    id = "anthropic/claude-haiku-4.5"
    assert resolve_model(catalog, id, has_key=having("openrouter")).model.key == f"openrouter/{id}"
    choice = resolve_model(catalog, id, has_key=having("anthropic"))
    assert choice.model.key == id
    assert "claude-haiku-4-5" in choice.warnings[0]


@pytest.mark.parametrize(
    ("pattern", "id", "thinking"),
    [("aa/nope", "nope", None), ("aa/nope:high", "nope", "high"), ("aa/m2:bogus", "m2:bogus", None)],
)
def test_an_unknown_id_of_a_known_provider_is_taken_with_a_warning(
    catalog: Catalog, pattern: str, id: str, thinking: str | None
) -> None:
    choice = resolve_model(catalog, pattern, has_key=OWN)
    assert (choice.model.provider, choice.model.id, choice.thinking) == ("aa", id, thinking)
    assert choice.model.base_url == "http://127.0.0.1:9/v1"
    assert f'"{id}"' in choice.warnings[0]
    assert resolve_model(catalog, "nope", provider="aa", has_key=OWN).model.id == "nope"
    near = resolve_model(catalog, "aa/cloude-y", has_key=OWN).warnings[0]
    assert "Did you mean claude-x" in near


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("only-c", ["only-b"]),
        ("*x*", ["--list-models"]),
        ("", ["--list-models"]),
        ("bbb/m1", ['no provider "bbb"', "bb"]),
        ("m2:bogus", ['"bogus" is no thinking level', "xhigh"]),
    ],
)
def test_no_match_is_an_error_with_what_is_near(catalog: Catalog, pattern: str, words: list[str]) -> None:
    with pytest.raises(ProviderError) as caught:
        resolve_model(catalog, pattern, has_key=OWN)
    assert caught.value.kind == "config"
    assert all(word in str(caught.value) for word in [f'"{pattern}"', *words])


def test_an_unknown_provider_is_an_error_with_what_is_near(catalog: Catalog) -> None:
    with pytest.raises(ProviderError, match='no provider "antropic". Did you mean anthropic?'):
        resolve_model(catalog, "m1", provider="antropic", has_key=OWN)


def test_a_model_of_the_users_own_is_found_without_reading_the_rest(tmp_path: Path) -> None:
    (tmp_path / "models.json").write_text(
        json.dumps({"providers": {"mock": {**SERVER, "models": [{"id": "m1"}]}}})
    )
    built_in = BuiltInModels(tmp_path / "never-read")
    own = load_catalog(tmp_path, built_in=built_in)
    assert resolve_model(own, "mock/m1", has_key=having("mock")).model.key == "mock/m1"
    assert resolve_model(own, "mock/m1:high", has_key=having("mock")).thinking == "high"
    assert resolve_model(own, "m1", provider="mock", has_key=having("mock")).model.key == "mock/m1"
    chosen = default_model(own, provider="mock", model="m1", has_key=having("mock"))
    assert chosen is not None and chosen.model.key == "mock/m1"
    assert resolve_scope(own, ["mock/*", "m1"], has_key=having("mock")).choices
    assert built_in.problem is None


@pytest.mark.parametrize(
    ("patterns", "keys"),
    [
        ("aa/foo*", "aa/foo:bar aa/foo:high"),
        ("AA/M[12]", "aa/m1 aa/m2"),
        ("m?:high", "aa/m1:high aa/m2:high bb/m1:high"),
        ("*deep*", "bb/org/deep/model"),
        ("bb/*", "bb/m1 bb/org/deep/model bb/only-b bb/aa/tricky"),
        ("M2:low,aa/foo:high,m2", "aa/m2:low aa/foo:high"),
        ("only-b", "bb/only-b"),
        ("claude:low", "aa/claude-x:low"),
        ("aa/super", "aa/m2"),
        (" m2 ,, ", "aa/m2"),
    ],
)
def test_a_scope_holds_what_its_patterns_mean(catalog: Catalog, patterns: str, keys: str) -> None:
    scope = resolve_scope(catalog, patterns.split(","), has_key=OWN)
    found = [c.model.key + (f":{c.thinking}" if c.thinking else "") for c in scope.choices]
    assert (" ".join(found), scope.warnings) == (keys, ())


def test_a_scope_takes_an_id_from_every_provider_and_says_so(catalog: Catalog) -> None:
    scope = resolve_scope(catalog, ["m1"], has_key=OWN)
    assert [choice.model.key for choice in scope.choices] == ["aa/m1", "bb/m1"]
    assert "several providers (aa, bb)" in scope.warnings[0]


def test_a_scope_leaves_out_what_cannot_be_used(catalog: Catalog) -> None:
    scope = resolve_scope(catalog, ["m9", "nope", "aa/m2"], has_key=OWN)
    assert [choice.model.key for choice in scope.choices] == ["aa/m2"]
    assert [warning.split('"')[1] for warning in scope.warnings] == ["m9", "nope"]


@pytest.mark.parametrize(
    ("provider", "model", "key", "warned"),
    [
        (None, None, "anthropic/claude-opus-5-5", False),
        ("aa", "m2", "aa/m2", False),
        ("AA", "M2", "aa/m2", False),
        ("bb", None, "bb/m1", False),
        (None, "m2", "aa/m2", False),
        ("aa", "nope", "aa/nope", True),
        ("cc", "m9", "anthropic/claude-opus-5-5", True),
        ("gone", "m9", "anthropic/claude-opus-5-5", True),
        (None, "m1", "anthropic/claude-opus-5-5", True),
    ],
)
def test_the_default_model(
    catalog: Catalog, provider: str | None, model: str | None, key: str, warned: bool
) -> None:
    choice = default_model(catalog, provider=provider, model=model, has_key=having("aa", "bb", "anthropic"))
    assert choice is not None
    assert choice.model.key == key
    assert bool(choice.warnings) == warned


def test_a_scope_limits_the_default(catalog: Catalog) -> None:
    scope = resolve_scope(catalog, ["aa/claude*", "aa/m*:low"], has_key=OWN).choices
    inside = default_model(catalog, provider="aa", model="m2", scope=scope, has_key=OWN)
    outside = default_model(catalog, provider="bb", model="m1", scope=scope, has_key=OWN)
    assert inside is not None and outside is not None
    assert (inside.model.key, inside.thinking) == ("aa/m2", "low")
    assert outside.model.key == "aa/claude-x-20250101"


def test_there_is_no_default_without_credentials(catalog: Catalog) -> None:
    assert default_model(catalog, provider="aa", model="m1", has_key=having()) is None
    custom = default_model(catalog, has_key=OWN)
    assert custom is not None and custom.model.key == "aa/m1"


def test_near_matches_ignore_case_and_vendor_prefixes() -> None:
    names = ["openai/GPT-5.5", "google/gemini-3.5-flash", "x/other"]
    assert near_matches(names, "gpt-55") == ["openai/GPT-5.5"]
    assert near_matches(names, "zzzzzz") == []
