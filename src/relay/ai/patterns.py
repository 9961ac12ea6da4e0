"""From what a user types to a model: ids, parts of names, globs, and a thinking level behind a colon."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from relay.ai.catalog import Catalog
from relay.ai.errors import ProviderError
from relay.ai.model import Model
from relay.ai.providers import Provider
from relay.ai.types import THINKING_LEVELS, ThinkingLevel

HasKey = Callable[[str], bool]
"""Whether the provider with this id has credentials."""

_DATED = re.compile(r"-(\d{8}|\d{4}-\d\d-\d\d)$|@\d{8}$")


class Choice(msgspec.Struct, frozen=True):
    """A model that was asked for; `thinking` is the level asked for with it, not yet fitted to the model."""

    model: Model
    thinking: ThinkingLevel | None = None
    warnings: tuple[str, ...] = ()


class Scope(msgspec.Struct, frozen=True):
    """The models of `--models` or `enabledModels` in the order of the patterns, each once."""

    choices: tuple[Choice, ...]
    warnings: tuple[str, ...] = ()


def resolve_model(catalog: Catalog, pattern: str, *, provider: str | None = None, has_key: HasKey) -> Choice:
    """The model that `--model pattern` (and `--provider`) mean.

    An id that contains a colon wins over an id and a level. An id that its provider's list does not have is
    taken, with a warning. Raises ProviderError (config) with near matches when nothing fits, and when several
    providers with credentials offer the id.
    """
    known = _provider(catalog, provider) if provider is not None else None
    for find in (_exact_in_named, _exact_anywhere):
        for text, level in _readings(pattern):
            model = find(catalog, text, known, has_key)
            if model is not None:
                return Choice(model, level)
    named, rest = _named_provider(catalog, pattern, known)
    for text, level in _readings(rest):
        model = _similar(catalog, text, named, has_key)
        if model is not None:
            return Choice(model, level)
    if named is not None and rest:
        return _made_up(catalog, named, rest)
    raise _not_found(catalog, pattern)


def resolve_scope(catalog: Catalog, patterns: Iterable[str], *, has_key: HasKey) -> Scope:
    """The models with credentials that the patterns mean; a pattern that means none gives a warning."""
    chosen: dict[str, Choice] = {}
    warnings = []
    available = available_models(catalog, has_key)
    for pattern in (text.strip() for text in patterns):
        if not pattern:
            continue
        choices = _matching(catalog, available, pattern)
        providers = sorted({choice.model.provider for choice in choices})
        if not choices:
            warnings.append(f'No model with credentials matches "{pattern}".{_near(available, pattern)}')
        elif len(providers) > 1 and not _is_glob(pattern):
            warnings.append(
                f'"{pattern}" is offered by several providers ({", ".join(providers)}), and all of them are '
                f"in the scope. Write {providers[0]}/{choices[0].model.id} to mean one."
            )
        for choice in choices:
            chosen.setdefault(choice.model.key, choice)
    return Scope(tuple(chosen.values()), tuple(warnings))


def default_model(
    catalog: Catalog,
    *,
    provider: str | None = None,
    model: str | None = None,
    scope: Sequence[Choice] = (),
    has_key: HasKey,
) -> Choice | None:
    """The model to start with when none was asked for; None when no provider has credentials.

    `provider` and `model` are the settings defaultProvider and defaultModel. A scope limits the choice: the
    default if it is in it, else its first model. A default that cannot be used is named in a warning.
    """
    wanted = _saved_default(catalog, provider, model, has_key)
    if scope:
        inside = (choice for choice in scope if wanted is not None and choice.model.key == wanted.model.key)
        return next(inside, scope[0])
    if wanted is not None and has_key(wanted.model.provider):
        return wanted
    for known in catalog.providers():
        if has_key(known.id) and (first := catalog.default_model(known.id)) is not None:
            return Choice(first, None, _unusable_default(provider, model, wanted, first))
    return None


def available_models(catalog: Catalog, has_key: HasKey) -> list[Model]:
    """All models of the providers that have credentials."""
    return [
        model
        for provider in catalog.providers()
        if has_key(provider.id)
        for model in catalog.models(provider.id)
    ]


def near_matches(names: Iterable[str], wanted: str, count: int = 3) -> list[str]:
    """The names most like `wanted`, best first, whatever their case."""
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(name.casefold(), name)
        folded.setdefault(name.casefold().rpartition("/")[2], name)
    found = difflib.get_close_matches(wanted.casefold(), folded, 2 * count, 0.6)
    return list(dict.fromkeys(folded[name] for name in found))[:count]


def _readings(pattern: str) -> list[tuple[str, ThinkingLevel | None]]:
    """`pattern` as it is, and without the thinking level at its end if it has one."""
    head, colon, tail = pattern.rpartition(":")
    level = next((level for level in THINKING_LEVELS if level == tail.lower()), None)
    whole: list[tuple[str, ThinkingLevel | None]] = [(pattern, None)]
    return [*whole, (head, level)] if colon and head and level else whole


def _provider(catalog: Catalog, name: str) -> Provider:
    known = catalog.provider(name)
    if known is None:
        ids = [provider.id for provider in catalog.providers()]
        near = near_matches(ids, name) or ids[:5]
        raise ProviderError(
            f'There is no provider "{name}". Did you mean {_either(near)}? '
            "`relay --list-models` shows the models that can be used.",
            "config",
        )
    return known


def _named_provider(catalog: Catalog, pattern: str, known: Provider | None) -> tuple[Provider | None, str]:
    """The provider that limits the search, and the pattern without it."""
    head, slash, rest = pattern.partition("/")
    if known is not None:
        return known, rest if slash and rest and head.casefold() == known.id.casefold() else pattern
    named = catalog.provider(head) if slash and rest else None
    return named, rest if named is not None else pattern


def _exact_in_named(catalog: Catalog, text: str, known: Provider | None, _has_key: HasKey) -> Model | None:
    """The model of which `text` is the id, in the provider that is given or that it starts with.

    Reads the models of no other provider.
    """
    named, rest = _named_provider(catalog, text, known)
    found = _in_provider(catalog, named, rest) if named is not None else None
    if found is None and known is not None:
        found = _in_provider(catalog, known, text)
    return found


def _exact_anywhere(catalog: Catalog, text: str, known: Provider | None, has_key: HasKey) -> Model | None:
    """The model of which `text` is the whole id, where no provider is given."""
    if known is not None:
        return None
    named, _ = _named_provider(catalog, text, None)
    folded = text.casefold()
    found = [model for model in catalog.models() if model.id.casefold() == folded]
    usable = [model for model in found if has_key(model.provider)]
    if len(usable) > 1:
        raise ProviderError(
            f'Several providers with credentials offer "{text}": {_either([m.key for m in usable])}. '
            "Write one of these, or add --provider.",
            "config",
        )
    return next(iter(usable or ([] if named else found)), None)


def _in_provider(catalog: Catalog, provider: Provider, id: str) -> Model | None:
    found = catalog.get(provider.id, id)
    if found is None:
        folded = id.casefold()
        found = next((m for m in catalog.models(provider.id) if m.id.casefold() == folded), None)
    return found


def _similar(catalog: Catalog, text: str, named: Provider | None, has_key: HasKey) -> Model | None:
    """The best model whose id, or else name, contains `text`."""
    models = catalog.models(named.id if named else None)
    usable = [model for model in models if has_key(model.provider)]
    return _best(catalog, usable, text) or _best(catalog, models, text)


def _best(catalog: Catalog, models: Sequence[Model], text: str) -> Model | None:
    """Of the models that contain `text`: one provider's, the alias before dated versions, the newest."""
    folded = text.casefold()
    if not folded:
        return None
    found = [model for model in models if folded in model.id.casefold()]
    found = found or [model for model in models if folded in model.name.casefold()]
    if not found:
        return None
    ours = [model for model in found if model.provider == found[0].provider]
    aliases = [model for model in ours if not _DATED.search(model.id)]
    return max(aliases or ours, key=lambda model: (catalog.released(model), _natural(model.id)))


def _natural(id: str) -> list[tuple[int, str]]:
    """A key that puts `x-10` after `x-9`, and a shorter id after its longer variants."""
    parts = re.findall(r"\d+|\D+", id.casefold())
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts] + [(1 << 30, "")]


def _made_up(catalog: Catalog, provider: Provider, pattern: str) -> Choice:
    text, level = _readings(pattern)[-1]
    model = catalog.made_up(provider.id, text)
    if model is None:
        raise ProviderError(
            f"{catalog.path}: provider {provider.id} lists no model {text}, and it names no `baseUrl` and "
            "`api` to reach it by. Add them, or add the model to its `models`.",
            "config",
        )
    known = [listed.id for listed in catalog.models(provider.id)]
    near = near_matches(known, text)
    hint = f" Did you mean {_either(near)}?" if near else ""
    warning = f'{provider.name} lists no model "{text}"; it is used as it is.{hint}'
    return Choice(model, level, (warning,))


def _not_found(catalog: Catalog, pattern: str) -> ProviderError:
    models = catalog.models()
    hints = _near(models, pattern)
    head, slash, _ = pattern.partition("/")
    if slash and catalog.provider(head) is None:
        near = near_matches((provider.id for provider in catalog.providers()), head)
        hints += f' There is no provider "{head}" either' + (f"; {_either(near)} is one." if near else ".")
    before, colon, level = pattern.rpartition(":")
    if colon and any(before.casefold() in (m.id.casefold(), m.key.casefold()) for m in models):
        hints += f' "{level}" is no thinking level; these are {", ".join(THINKING_LEVELS)}.'
    return ProviderError(
        f'No model matches "{pattern}".{hints} `relay --list-models` shows the models that can be used.',
        "config",
    )


def _near(models: Sequence[Model], pattern: str) -> str:
    wanted = _readings(pattern)[-1][0]
    near = near_matches((model.key for model in models), wanted)
    return f" Did you mean {_either(near)}?" if near else ""


def _either(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _is_glob(pattern: str) -> bool:
    return any(char in pattern for char in "*?[")


def _matching(catalog: Catalog, available: Sequence[Model], pattern: str) -> list[Choice]:
    """What one pattern of a scope means among the models that can be used."""
    for text, level in _readings(pattern):
        if _is_glob(text):
            found = _globbed(catalog, available, text)
        else:
            folded = text.casefold()
            found = [model for model in available if folded in (model.id.casefold(), model.key.casefold())]
        if found:
            return [Choice(model, level) for model in found]
    for text, level in _readings(pattern):
        named, rest = _named_provider(catalog, text, None)
        among = [model for model in available if named is None or model.provider == named.id]
        if not _is_glob(text) and (best := _best(catalog, among, rest)) is not None:
            return [Choice(best, level)]
    return []


def _globbed(catalog: Catalog, available: Sequence[Model], pattern: str) -> list[Model]:
    """Models whose `provider/id` matches; a pattern that names no provider may match the id alone."""
    matches = re.compile(fnmatch.translate(pattern.casefold())).match
    named, _ = _named_provider(catalog, pattern, None)
    return [
        model
        for model in available
        if matches(model.key.casefold()) or (named is None and matches(model.id.casefold()))
    ]


def _saved_default(
    catalog: Catalog, provider: str | None, model: str | None, has_key: HasKey
) -> Choice | None:
    """What the settings mean; an id that a known provider does not list is taken, as on the command line."""
    known = catalog.provider(provider) if provider else None
    if provider and known is None:
        return None
    if not model:
        first = catalog.default_model(known.id) if known else None
        return Choice(first) if first else None
    try:
        found = _exact_in_named(catalog, model, known, has_key)
        found = found or _exact_anywhere(catalog, model, known, has_key)
        if found is not None:
            return Choice(found)
        return _made_up(catalog, known, model) if known else None
    except ProviderError:
        return None


def _unusable_default(
    provider: str | None, model: str | None, wanted: Choice | None, instead: Model
) -> tuple[str, ...]:
    """A warning when the settings name a default that is not the one taken."""
    if not provider and not model:
        return ()
    name = "/".join(part for part in (provider, model) if part)
    reason = (
        f"cannot be used without credentials for {wanted.model.provider}"
        if wanted is not None
        else "is not a known model"
    )
    return (f"The default model {name} {reason}, so {instead.key} is used.",)
