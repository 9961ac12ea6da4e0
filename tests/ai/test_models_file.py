"""models.json: what is wrong costs only what it belongs to, and is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from relay.ai.models_file import ModelsFile, load_models_file

SERVER: dict[str, Any] = {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "k"}
BUILT_IN = {"openai": None}


def load(tmp_path: Path, data: Any) -> ModelsFile:
    path = tmp_path / "models.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return load_models_file(path, BUILT_IN)


def one(tmp_path: Path, provider: Any) -> ModelsFile:
    good = {**SERVER, "models": [{"id": "good"}]}
    return load(tmp_path, {"providers": {"p": provider, "other": good}})


def test_no_file_is_an_empty_one(tmp_path: Path) -> None:
    file = load_models_file(tmp_path / "models.json", BUILT_IN)
    assert (file.providers, file.problems) == ({}, [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"providers": {\n "p": 1 2}}', ["line 2, column 9"]),
        ("", ["line 1, column 1", "empty"]),
        ("[]", ["providers"]),
        ('{"providers": []}', ["providers"]),
    ],
)
def test_a_broken_file_is_one_problem_and_no_providers(tmp_path: Path, text: str, words: list[str]) -> None:
    file = load(tmp_path, text)
    assert file.providers == {}
    (problem,) = file.problems
    assert problem.startswith(str(tmp_path / "models.json"))
    assert all(word in problem for word in words)


def test_a_file_with_comments_mark_and_last_commas_is_read(tmp_path: Path) -> None:
    text = json.dumps({"providers": {"p": {**SERVER, "models": [{"id": "m"}]}}})
    path = tmp_path / "models.json"
    path.write_text("\ufeff// mine\n" + text.removesuffix("}") + ",}")
    file = load_models_file(path, BUILT_IN)
    assert file.problems == []
    assert list(file.providers["p"].models) == ["m"]


def test_a_folder_in_its_place_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "models.json").mkdir()
    (problem,) = load_models_file(tmp_path / "models.json", BUILT_IN).problems
    assert "cannot be read" in problem


@pytest.mark.parametrize(
    ("fields", "at", "word"),
    [
        ({"contextWindow": "big"}, "contextWindow", "a whole number is wanted here, not a string"),
        ({"reasoning": 1}, "reasoning", "true or false is wanted here, not a whole number"),
        ({"input": ["text", "smell"]}, "input[1]", "smell"),
        ({"cost": {"input": 1, "output": 2, "cacheRead": 0}}, "cost", "`cacheWrite` is missing"),
        ({"cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": "x"}}, "cost.cacheWrite", "number"),
        ({"thinkingLevelMap": {"huge": "x"}}, "thinkingLevelMap", "huge"),
        ({"thinkingLevelMap": {"high": 3}}, "thinkingLevelMap", "a string"),
        ({"headers": {"X": 1}}, "headers", "a string is wanted"),
        ({"api": "wibble"}, "api", "openai-completions, openai-responses"),
        ({"compat": []}, "compat", "an object is wanted here, not a list"),
        ({"inputLimits": {"images": {"resize": {"maxWidth": "w"}}}}, "inputLimits.images.resize", "number"),
        ({"promptCache": {"short": "x"}}, "promptCache.short", "a number"),
        ({"samplingParamsByThinkingLevel": {"low": 1}}, "samplingParamsByThinkingLevel", "an object"),
        ({"id": ""}, "id", "empty"),
        ({"id": None}, "id", "a string is wanted here, not null"),
        ({"id": 5}, "id", "a string"),
    ],
)
def test_a_wrong_field_costs_its_model_only(
    tmp_path: Path, fields: dict[str, Any], at: str, word: str
) -> None:
    file = one(tmp_path, {**SERVER, "models": [{"id": "bad", **fields}, {"id": "fine"}]})
    (problem,) = file.problems
    assert f"providers.p.models[0].{at}" in problem
    assert word in problem
    assert list(file.providers["p"].models) == ["fine"]
    assert list(file.providers["other"].models) == ["good"]


@pytest.mark.parametrize(
    ("provider", "at"),
    [
        (5, "providers.p"),
        ({**SERVER, "apiKey": 7}, "providers.p.apiKey"),
        ({**SERVER, "headers": []}, "providers.p.headers"),
        ({**SERVER, "api": "mistral-conversations"}, "providers.p.api"),
        ({"api": "openai-completions", "models": [{"id": "m"}]}, "providers.p"),
    ],
)
def test_a_wrong_provider_costs_that_provider_only(tmp_path: Path, provider: Any, at: str) -> None:
    file = one(tmp_path, provider)
    (problem,) = file.problems
    assert f"{at}: " in problem
    assert "Provider p is left out." in problem
    assert list(file.providers) == ["other"]


def test_an_empty_key_is_no_key(tmp_path: Path) -> None:
    file = one(tmp_path, {**SERVER, "apiKey": "", "models": [{"id": "m"}]})
    assert "providers.p.apiKey" in file.problems[0]
    assert file.providers["p"].fields.api_key is None
    assert list(file.providers["p"].models) == ["m"]


def test_a_model_needs_a_protocol_and_an_address_from_somewhere(tmp_path: Path) -> None:
    url = {"baseUrl": "http://h"}
    no_api = one(tmp_path, {**url, "models": [{"id": "m"}, {"id": "n", "api": "anthropic-messages"}]})
    assert "`api` is missing" in no_api.problems[0]
    assert list(no_api.providers["p"].models) == ["n"]
    own = one(tmp_path, {"api": "openai-completions", "models": [{"id": "m", **url}]})
    assert own.problems == []
    built_in = load(tmp_path, {"providers": {"openai": {"models": [{"id": "m"}]}}})
    assert built_in.problems == []


def test_a_wrong_override_costs_itself(tmp_path: Path) -> None:
    overrides = {"a": {"cost": {"input": 1}}, "b": {"maxTokens": []}, "c": 3}
    file = load(tmp_path, {"providers": {"openai": {"modelOverrides": overrides}}})
    assert list(file.providers["openai"].overrides) == ["a"]
    assert [problem.split(": ")[1] for problem in file.problems] == [
        "providers.openai.modelOverrides.b.maxTokens",
        "providers.openai.modelOverrides.c",
    ]


def test_a_misspelled_field_is_named_and_other_unknown_ones_are_not(tmp_path: Path) -> None:
    model = {"id": "m", "contextwindow": 5, "releaseParty": 1}
    file = one(tmp_path, {**SERVER, "base_url": "x", "models": [model]})
    assert [problem.split(": ", 1)[1] for problem in file.problems] == [
        f"providers.p.{at}: unknown field; did you mean {name}? The field is left out."
        for at, name in (("models[0].contextwindow", "contextWindow"), ("base_url", "baseUrl"))
    ]
    assert list(file.providers["p"].models) == ["m"]


def test_numbers_without_a_fraction_are_whole(tmp_path: Path) -> None:
    file = load(tmp_path, '{"providers": {"openai": {"models": [{"id": "m", "contextWindow": 1e5}]}}}')
    assert file.problems == []
