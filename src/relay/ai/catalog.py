"""Which providers and models there are: built-in ones, those of models.json, and those that a host adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from relay.ai.builtin_models import BuiltInModels, assemble
from relay.ai.model import Model, Pricing
from relay.ai.models_file import ModelsFile, ProviderEntry, load_models_file
from relay.ai.overlay import family
from relay.ai.providers import PROVIDERS, Endpoint, Provider

FILE_NAME = "models.json"

_NOT_MODEL_FIELDS = ("headers", "compat")
"""Fields of an entry that are merged on their own; headers are resolved when a request needs them."""


class ConfiguredValue(msgspec.Struct, frozen=True):
    """A template from models.json and the place it came from, for messages."""

    value: str
    where: str


class Catalog:
    """A snapshot: models.json is read once, the built-in models when the first question needs them."""

    def __init__(self, file: ModelsFile, built_in: BuiltInModels, extra: Iterable[Model] = ()) -> None:
        self._file = file
        self._built_in = built_in
        self._extra: dict[str, list[Model]] = {}
        for model in extra:
            self._extra.setdefault(model.provider, []).append(model)
        self._providers = self._all_providers()
        self._models: dict[str, dict[str, Model]] = {}

    @property
    def path(self) -> Path:
        """The models.json that was read, or would have been."""
        return self._file.path

    @property
    def problems(self) -> list[str]:
        """Finished sentences about what is wrong; the rest works. May grow when models are first read."""
        more = [self._built_in.problem] if self._built_in.problem else []
        return [*self._file.problems, *more]

    def providers(self) -> list[Provider]:
        """Built-in ones in order of preference, then those of models.json, then the host's."""
        return list(self._providers.values())

    def provider(self, name: str) -> Provider | None:
        """The provider with this id, whatever its case."""
        found = self._providers.get(name)
        if found is None:
            folded = name.casefold()
            found = next((p for id, p in self._providers.items() if id.casefold() == folded), None)
        return found

    def get(self, provider: str, id: str) -> Model | None:
        """The model with exactly these names. Reads the data package only for a built-in provider."""
        entry = self._file.providers.get(provider)
        if entry is not None and id in entry.models and provider in self._providers:
            return self._own_model(self._providers[provider], entry, id)
        return self._of(provider).get(id)

    def models(self, provider: str | None = None) -> list[Model]:
        """All models, or those of one provider, in the order of their providers and then as listed."""
        ids = list(self._providers) if provider is None else [provider]
        return [model for id in ids for model in self._of(id).values()]

    def released(self, model: Model) -> str:
        """ISO date of a built-in model, possibly without its end; "" where it is not known."""
        return self._built_in.released(model)

    def default_model(self, provider: str) -> Model | None:
        """The model when only the provider is chosen: its preferred one, or the newest, or the first."""
        known = self._providers.get(provider)
        if known is None:
            return None
        if known.default_model and (model := self.get(provider, known.default_model)) is not None:
            return model
        return max(self.models(provider), key=self.released, default=None)

    def made_up(self, provider: str, id: str) -> Model | None:
        """A model that no list has, like the provider's default one but for what is not known: its prices.

        None when nothing says where the provider is or which protocol it speaks.
        """
        known = self._providers.get(provider)
        if known is None:
            return None
        like = self.default_model(provider)
        if like is None:
            return self._configured(known, assemble(known, id, {})) if known.api and known.base_url else None
        levels, switches = family(id, like.api)
        return msgspec.structs.replace(
            like,
            id=id,
            name=id,
            cost=Pricing(),
            thinking_level_map=dict(levels) or like.thinking_level_map,
            compat={**like.compat, **switches},
        )

    def key_value(self, provider: str) -> ConfiguredValue | None:
        """`apiKey` of models.json, not resolved."""
        entry = self._file.providers.get(provider)
        if entry is None or entry.fields.api_key is None:
            return None
        return ConfiguredValue(entry.fields.api_key, f"{self.path}: providers.{provider}.apiKey")

    def header_values(self, model: Model) -> dict[str, ConfiguredValue]:
        """The headers that models.json gives the model, not resolved; a model's own beat its provider's."""
        entry = self._file.providers.get(model.provider)
        if entry is None:
            return {}
        at = f"{self.path}: providers.{model.provider}"
        levels = (
            (entry.fields.headers, at),
            (entry.models.get(model.id, {}).get("headers"), f"{at}.models.{model.id}"),
            (entry.overrides.get(model.id, {}).get("headers"), f"{at}.modelOverrides.{model.id}"),
        )
        found: dict[str, tuple[str, ConfiguredValue]] = {}
        for headers, place in levels:
            for name, value in (headers or {}).items():
                found[name.lower()] = (name, ConfiguredValue(value, f"{place}.headers.{name}"))
        return dict(found.values())

    def _all_providers(self) -> dict[str, Provider]:
        providers = {}
        for id, provider in PROVIDERS.items():
            entry = self._file.providers.get(id)
            providers[id] = provider if entry is None else _changed(provider, entry)
        for id, entry in self._file.providers.items():
            if id not in providers:
                providers[id] = _changed(Provider(id=id, name=id), entry)
        for id in self._extra:
            providers.setdefault(id, Provider(id=id, name=id, needs_key=False))
        return providers

    def _of(self, id: str) -> dict[str, Model]:
        models = self._models.get(id)
        if models is None and id in self._providers:
            models = self._build(self._providers[id])
            self._models[id] = models
        return models or {}

    def _build(self, provider: Provider) -> dict[str, Model]:
        entry = self._file.providers.get(provider.id)
        listed = self._built_in.of(provider) if provider.id in PROVIDERS else {}
        models = {id: self._configured(provider, model) for id, model in listed.items()}
        for model in self._extra.get(provider.id, ()):
            models[model.id] = self._configured(provider, model)
        for id in entry.models if entry else ():
            models[id] = self._own_model(provider, entry, id) if entry else models[id]
        return models

    def _own_model(self, provider: Provider, entry: ProviderEntry, id: str) -> Model:
        """The model that an entry of `models` describes; a listed model of the same id lends it nothing."""
        given = {
            key: value
            for key, value in entry.models[id].items()
            if value is not None and key not in _NOT_MODEL_FIELDS
        }
        values: dict[str, Any] = {
            "name": id,
            "api": provider.api,
            "baseUrl": provider.base_url,
            "headers": provider.headers,
            **given,
            "provider": provider.id,
        }
        values["baseUrl"] = values["baseUrl"].rstrip("/")
        compat = provider.compat if values["api"] == provider.api else {}
        own = entry.models[id].get("compat") or {}
        model = msgspec.convert({**values, "compat": compat}, Model)
        return self._configured(provider, model, own)

    def _configured(self, provider: Provider, model: Model, own: Mapping[str, Any] | None = None) -> Model:
        """`model` under what models.json says about its provider, `own` compat, and its override."""
        entry = self._file.providers.get(provider.id)
        if entry is None:
            return model
        compat = {**model.compat, **(entry.fields.compat or {}), **(own or {})}
        changed = msgspec.structs.replace(model, compat=compat, auth_header=bool(entry.fields.auth_header))
        override = entry.overrides.get(model.id)
        return changed if override is None else _overridden(changed, override)


def load_catalog(
    agent_dir: Path, *, extra: Iterable[Model] = (), built_in: BuiltInModels | None = None
) -> Catalog:
    """The catalog of `agent_dir`. Reads its models.json; what is wrong there is in `problems`.

    `extra` are models of the host's, such as those that Relay serves itself; their provider needs no key
    unless models.json gives it one.
    """
    added = list(extra)
    file = load_models_file(agent_dir / FILE_NAME, PROVIDERS, {model.provider for model in added})
    return Catalog(file, built_in or BuiltInModels(), added)


def _changed(provider: Provider, entry: ProviderEntry) -> Provider:
    """`provider` with the fields that `entry` gives it, but for compat and headers, which models get."""
    fields = entry.fields
    own_url = (fields.base_url or "").rstrip("/")
    base_url = own_url or provider.base_url
    endpoints = {sdk: Endpoint(at.api, own_url or at.base_url) for sdk, at in provider.endpoints.items()}
    return msgspec.structs.replace(
        provider,
        name=fields.name or provider.name,
        base_url=base_url,
        api=fields.api or provider.api,
        endpoints={} if fields.api else endpoints,
        needs=tuple(name for name in provider.needs if f"{{{name}}}" in base_url),
    )


def _overridden(model: Model, override: Mapping[str, Any]) -> Model:
    given = {key: value for key, value in override.items() if value is not None and key != "headers"}
    return msgspec.convert(_merged(msgspec.to_builtins(model), given), Model)


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `over` on top: objects field by field, everything else replaced."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        result[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
