"""Chooses the model and thinking level to start with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from relay.ai.errors import ProviderError
from relay.ai.local import library as local
from relay.ai.model import Model
from relay.ai.patterns import Choice, Scope, default_model, resolve_model, resolve_scope
from relay.ai.types import THINKING_LEVELS, ThinkingLevel
from relay.runtime.start import ModelOptions, StartError
from relay.runtime.surroundings import Report, Surroundings
from relay.session.projection import Projection


class StartModel(NamedTuple):
    """`level` is what is wanted, not yet fitted to the model; `scope` is for cycling, empty = all."""

    model: Model
    level: ThinkingLevel
    scope: tuple[Choice, ...]


def choose_model(options: ModelOptions, around: Surroundings, past: Projection, report: Report) -> StartModel:
    """From the strongest wish to the weakest: the options, the resumed session, the settings, what has a key.

    Raises ProviderError or StartError when nothing fits.
    """
    named = _named(options.pattern, options.provider, around) if options.pattern is not None else None
    owner = options.key_provider or (named.model.provider if named is not None else None)
    if owner is not None:
        _give_key(options, owner, around)
    scope = _scope(options, around, report)
    choice = named or _resumed(past, around, report) or _default(around, scope)
    if owner is None:
        _give_key(options, choice.model.provider, around)
    _report_all(choice.warnings, report)
    level = options.thinking or choice.thinking or _level(past, choice.model, around)
    return StartModel(choice.model, level, tuple(scope))


def _give_key(options: ModelOptions, provider: str, around: Surroundings) -> None:
    if options.api_key is not None:
        around.credentials.override(provider, options.api_key)


def _scope(options: ModelOptions, around: Surroundings, report: Report) -> Sequence[Choice]:
    """The models of --models, else of enabledModels. Raises StartError when --models means none at all."""
    asked = options.scope is not None
    patterns = options.scope if asked else around.settings.enabled_models
    if not patterns:
        return ()
    found = resolve_scope(around.catalog, patterns, has_key=around.credentials.has)
    if asked and not found.choices and options.api_key is not None:
        found = _with_key_given(patterns, around)
    if asked and not found.choices:
        hint = "`relay --list-models` shows the models that can be used."
        raise StartError(" ".join((*found.warnings, hint)))
    _report_all(found.warnings, report)
    return found.choices


def _with_key_given(patterns: Sequence[str], around: Surroundings) -> Scope:
    """The scope where only --api-key gives credentials: models of one provider, the first one's."""
    found = resolve_scope(around.catalog, patterns, has_key=lambda provider: True)
    ours = (choice for choice in found.choices if choice.model.provider == found.choices[0].model.provider)
    return Scope(tuple(ours), found.warnings)


def _named(pattern: str, provider: str | None, around: Surroundings) -> Choice:
    prefix = f"{local.PROVIDER}/"
    if pattern.startswith(prefix) or provider == local.PROVIDER:
        return _local(pattern.removeprefix(prefix), around)
    return resolve_model(around.catalog, pattern, provider=provider, has_key=around.credentials.has)


def _local(name: str, around: Surroundings) -> Choice:
    """A pulled model, as models.json may have changed it, or any GGUF file by its path; perhaps with a level.

    Raises ProviderError when there is no such file.
    """
    id, level = name, None
    head, _, tail = name.rpartition(":")
    if head and not around.library.place(name).is_file():
        level = next((known for known in THINKING_LEVELS if known == tail), None)
        id = head if level is not None else name
    around.library.find(id)
    return Choice(around.catalog.get(local.PROVIDER, id) or local.describe(id), level)


def _report_all(sentences: Sequence[str], report: Report) -> None:
    for sentence in sentences:
        report(sentence)


def _resumed(past: Projection, around: Surroundings, report: Report) -> Choice | None:
    """The model that the session used last, if it still exists and has credentials."""
    if past.model is None:
        return None
    provider, model_id = past.model
    choice = _remembered(provider, model_id, around)
    if choice is not None:
        return choice
    report(
        f"The session's model {provider}/{model_id} cannot be used (no such provider, or no key for it): "
        "the default model takes over. --model chooses another."
    )
    return None


def _remembered(provider: str, model_id: str, around: Surroundings) -> Choice | None:
    """The model of exactly this name if it can be called, listed or not."""
    if provider == local.PROVIDER:
        try:
            return _local(model_id, around)
        except ProviderError:
            return None
    model = around.catalog.get(provider, model_id) or around.catalog.made_up(provider, model_id)
    return Choice(model) if model is not None and around.credentials.has(provider) else None


def _default(around: Surroundings, scope: Sequence[Choice]) -> Choice:
    settings = around.settings
    if settings.default_provider == local.PROVIDER and settings.default_model and not scope:
        here = _remembered(local.PROVIDER, settings.default_model, around)
        if here is not None:
            return here
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
