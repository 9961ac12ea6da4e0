"""The table of `--list-models`."""

from __future__ import annotations

import pytest

from relay.ai.model import Model
from relay.ai.model_table import NO_MODELS, count, render_models


def model(
    key: str, *, name: str = "", context: int = 128_000, output: int = 16_384, image: bool = False
) -> Model:
    provider, _, id = key.partition("/")
    return Model(
        id=id,
        name=name or id,
        api="openai-completions",
        provider=provider,
        base_url="",
        reasoning=image,
        input=("text", "image") if image else ("text",),
        context_window=context,
        max_tokens=output,
    )


MODELS = [
    model("openai/gpt-5-mini", context=400_000, output=128_000, image=True),
    model("anthropic/claude-sonnet-4-5", name="Claude Sonnet 4.5", context=1_000_000, output=64_000),
    model("anthropic/Claude-haiku"),
]


def test_columns_are_aligned_and_sorted() -> None:
    table = render_models(MODELS)
    assert table.endswith("\n")
    assert table.splitlines() == [
        "provider   model              context  max-out  thinking  images",
        "anthropic  Claude-haiku       128K     16.4K    no        no",
        "anthropic  claude-sonnet-4-5  1M       64K      no        no",
        "openai     gpt-5-mini         400K     128K     yes       yes",
    ]


@pytest.mark.parametrize(
    ("search", "ids"),
    [
        ("sonnet45", ["claude-sonnet-4-5"]),
        ("Sonnet 4.5", ["claude-sonnet-4-5"]),
        ("mini gpt", ["gpt-5-mini"]),
        ("anthropic", ["Claude-haiku", "claude-sonnet-4-5"]),
        ("opgptmi", ["gpt-5-mini"]),
        ("  ", ["Claude-haiku", "claude-sonnet-4-5", "gpt-5-mini"]),
    ],
)
def test_a_search_is_loose(search: str, ids: list[str]) -> None:
    lines = render_models(MODELS, search).splitlines()[1:]
    assert [line.split()[1] for line in lines] == ids


def test_nothing_to_show_is_a_sentence() -> None:
    assert render_models([]) == f"{NO_MODELS}\n"
    assert render_models(MODELS, "zzzz") == 'No model that can be used matches "zzzz".\n'


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1K"),
        (16_384, "16.4K"),
        (262_144, "262.1K"),
        (999_999, "1M"),
        (1_048_576, "1M"),
        (2_500_000, "2.5M"),
    ],
)
def test_counts_are_short(tokens: int, text: str) -> None:
    assert count(tokens) == text
