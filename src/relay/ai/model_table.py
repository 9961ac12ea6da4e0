"""The table that `--list-models` prints."""

from __future__ import annotations

import re
from collections.abc import Sequence

from relay.ai.model import Model

_HEAD = ("provider", "model", "context", "max-out", "thinking", "images")
_SPLIT = re.compile(r"[^a-z0-9]+")

NO_MODELS = (
    "No model can be used: no provider has credentials. Store a key with `relay auth login PROVIDER`, set a "
    "variable such as ANTHROPIC_API_KEY, or add a provider with its key to models.json."
)


def render_models(models: Sequence[Model], search: str | None = None) -> str:
    """Aligned lines, one per model, sorted by provider and id; or a sentence when there is none.

    Ends in a line break. `models` are those that can be used. `search` keeps what contains all of its words,
    punctuation aside, and when that is nothing, what contains the letters of each word in this order.
    """
    if not models:
        return NO_MODELS + "\n"
    found = search_models(models, search) if search and search.strip() else list(models)
    if not found:
        return f'No model that can be used matches "{search}".\n'
    rows = [_HEAD, *(_row(model) for model in sorted(found, key=lambda m: (m.provider, m.id.casefold())))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def search_models(models: Sequence[Model], search: str) -> list[Model]:
    """The models that fit a loose search, in the given order."""
    words = [word for word in (_letters(part) for part in search.split()) if word]
    texts = [(model, _letters(f"{model.provider} {model.id} {model.name}")) for model in models]
    close = [model for model, text in texts if all(word in text for word in words)]
    return close or [model for model, text in texts if all(_in_order(word, text) for word in words)]


def count(tokens: int) -> str:
    """`200K`, `16.4K`, `1M`: three digits at most before the unit."""
    for unit, size, least in (("M", 1_000_000, 999_950), ("K", 1_000, 1_000)):
        if tokens >= least:
            return f"{tokens / size:.1f}".removesuffix(".0") + unit
    return str(tokens)


def _row(model: Model) -> tuple[str, ...]:
    return (
        model.provider,
        model.id,
        count(model.context_window),
        count(model.max_tokens),
        "yes" if model.reasoning else "no",
        "yes" if "image" in model.input else "no",
    )


def _letters(text: str) -> str:
    return _SPLIT.sub("", text.casefold())


def _in_order(word: str, text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in word)
