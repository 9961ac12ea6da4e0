"""Chooses the model and thinking level to start with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from relay.ai.local import library as local
from relay.ai.model import Model
from relay.ai.patterns import Choice, default_model, resolve_model, resolve_scope
from relay.ai.types import THINKING_LEVELS, ThinkingLevel
from relay.runtime.start import ModelOptions, StartError
from relay.runtime.surroundings import Report, Surroundings
from relay.session.projection import Projection


class StartModel(NamedTuple):
    """`level` is what is wanted, not yet fitted to the model; `scope` is for cycling, empty = all."""

    model: Model
    level: ThinkingLevel
    scope: tuple[Model, ...]


def choose_model(options: ModelOptions, around: Surroundings, past: Projection, report: Report) -> StartModel:
    """From the strongest wish to the weakest: the options, the resumed session, the settings, what has a key.

    Raises ProviderError or StartError when nothing fits.
    """
    if options.api_key is not None and options.key_provider is not None:
        around.credentials.override(options.key_provider, options.api_key)
    has_key = around.credentials.has
    settings = around.settings
    patterns = options.scope if options.scope is not None else settings.enabled_models
    scope: Sequence[Choice] = ()
    if patterns:
        found = resolve_scope(around.catalog, patterns, has_key=has_key)
        scope = found.choices
        _report_all(found.warnings, report)
    if options.pattern is not None and options.pattern.startswith(f"{local.PROVIDER}/"):
        choice = _local(options.pattern.removeprefix(f"{local.PROVIDER}/"), around)
    elif options.pattern is not None:
        choice = resolve_model(around.catalog, options.pattern, provider=options.provider, has_key=has_key)
    else:
        choice = _resumed(past, around, report) or _default(around, scope)
    _report_all(choice.warnings, report)
    if options.api_key is not None and options.key_provider is None:
        around.credentials.override(choice.model.provider, options.api_key)
    level = options.thinking or choice.thinking or _level(past, choice.model, around)
    return StartModel(choice.model, level, tuple(item.model for item in scope))


def _local(model_id: str, around: Surroundings) -> Choice:
    """A pulled model, as models.json may have changed it, or any GGUF file by its path."""
    around.library.find(model_id)
    return Choice(around.catalog.get(local.PROVIDER, model_id) or local.describe(model_id))


def _report_all(sentences: Sequence[str], report: Report) -> None:
    for sentence in sentences:
        report(sentence)


def _resumed(past: Projection, around: Surroundings, report: Report) -> Choice | None:
    """The model that the session used last, if it still exists and has credentials."""
    if past.model is None:
        return None
    provider, model_id = past.model
    model = around.catalog.get(provider, model_id) or around.catalog.made_up(provider, model_id)
    if model is not None and around.credentials.has(provider):
        return Choice(model)
    report(
        f"The session's model {provider}/{model_id} cannot be used (no such provider, or no key for it): "
        "the default model takes over. --model chooses another."
    )
    return None


def _default(around: Surroundings, scope: Sequence[Choice]) -> Choice:
    settings = around.settings
    choice = default_model(
        around.catalog,
        provider=settings.default_provider,
        model=settings.default_model,
        scope=scope,
        has_key=around.credentials.has,
    )
    if choice is None:
        raise StartError(
            "No model can be used yet. Three ways: set a provider's key, such as ANTHROPIC_API_KEY or "
            "OPENAI_API_KEY; run `relay local pull smollm2` for a small model on this machine; or describe "
            f"an endpoint in {around.agent / 'models.json'}."
        )
    return choice


def _level(past: Projection, model: Model, around: Surroundings) -> ThinkingLevel:
    level = past.thinking_level
    if level in THINKING_LEVELS:
        return level
    settings = around.settings
    return settings.model_thinking_levels.get(model.key, settings.default_thinking_level)
