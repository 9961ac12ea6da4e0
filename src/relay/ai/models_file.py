"""models.json: the user's own providers and models, checked entry by entry."""

# No postponed annotations here: msgspec would have to evaluate each of them at every start.

import difflib
import re
from collections.abc import Container
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import msgspec

from relay.ai.model import Api, CostTier
from relay.ai.types import ThinkingLevel
from relay.base.files import JsonFileError, read_json

APIS: tuple[str, ...] = get_args(Api)

Count = int
"""Tokens, bytes, pixels or images."""


class _Entry(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Base of the shapes that check an entry; a field that is null counts as not given."""


_Shape = TypeVar("_Shape", bound=_Entry)


class Resize(_Entry, frozen=True):
    max_width: Count | None = None
    max_height: Count | None = None
    max_bytes: Count | None = None
    jpeg_quality: int | None = None


class ImageLimits(_Entry, frozen=True):
    resize: Resize | None = None
    max_per_message: Count | None = None
    max_per_request: Count | None = None


class InputLimits(_Entry, frozen=True):
    max_request_bytes: Count | None = None
    images: ImageLimits | None = None


class PromptCache(_Entry, frozen=True):
    """Seconds."""

    short: float | None = None
    long: float | None = None


class PricingOverride(_Entry, frozen=True):
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    tiers: list[CostTier] | None = None


class WholePricing(_Entry, frozen=True):
    """Prices of a new model: all four are required."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    tiers: list[CostTier] = []


class _ModelFields(_Entry, frozen=True):
    """What a new model and an override of a known one may both say."""

    name: str | None = None
    reasoning: bool | None = None
    thinking_level_map: dict[ThinkingLevel, str | None] | None = None
    input: list[Literal["text", "image"]] | None = None
    input_limits: InputLimits | None = None
    prompt_cache: PromptCache | None = None
    context_window: Count | None = None
    max_tokens: Count | None = None
    sampling_params: dict[str, Any] | None = None
    sampling_params_by_thinking_level: dict[ThinkingLevel, dict[str, Any]] | None = None
    headers: dict[str, str] | None = None
    compat: dict[str, Any] | None = None


class OverrideEntry(_ModelFields, frozen=True):
    """One value of `modelOverrides`."""

    cost: PricingOverride | None = None


class ModelEntry(_ModelFields, frozen=True, kw_only=True):
    """One member of `models`; what is left out takes the defaults of `relay.ai.model.Model`."""

    id: str
    api: str | None = None
    base_url: str | None = None
    cost: WholePricing | None = None


class ProviderFields(_Entry, frozen=True):
    """The fields of a provider but for its models."""

    name: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    api: str | None = None
    oauth: str | None = None
    headers: dict[str, str] | None = None
    compat: dict[str, Any] | None = None
    auth_header: bool | None = None


class ProviderEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A provider as configured: `models` and `overrides` are id → the given fields under their JSON names."""

    id: str
    fields: ProviderFields
    models: dict[str, dict[str, Any]] = {}
    overrides: dict[str, dict[str, Any]] = {}


class ModelsFile(msgspec.Struct, frozen=True, kw_only=True):
    path: Path
    providers: dict[str, ProviderEntry] = {}
    problems: list[str] = []
    """Finished sentences for the user; each names the file and what was left out because of it."""


def load_models_file(path: Path, built_in: Container[str], hosts: Container[str] = ()) -> ModelsFile:
    """Everything in `path` that is right; no file is an empty one.

    `built_in` providers have an address and a protocol without it; `hosts` ones have at least models.
    """
    try:
        data = read_json(path, comments=True)
    except FileNotFoundError:
        return ModelsFile(path=path)
    except JsonFileError as error:
        return ModelsFile(
            path=path, problems=[f"{error} Nothing in this file is used until it is corrected."]
        )
    except OSError as error:
        return ModelsFile(path=path, problems=[f"{path} cannot be read: {error.strerror or error}."])
    return _Reader(path, built_in, hosts).read(_with_whole_numbers(data))


class _Reader:
    """Reads one file; collects what is wrong with it."""

    def __init__(self, path: Path, built_in: Container[str], hosts: Container[str]) -> None:
        self._path = path
        self._built_in = built_in
        self._hosts = hosts
        self._problems: list[str] = []

    def read(self, data: Any) -> ModelsFile:
        providers = data.get("providers", {}) if isinstance(data, dict) else None
        if not isinstance(providers, dict):
            self._report("providers", "the file must be an object whose `providers` is an object", "The file")
            providers = {}
        found = {}
        for id, raw in providers.items():
            entry = self._provider(id, raw)
            if entry is not None:
                found[id] = entry
        return ModelsFile(path=self._path, providers=found, problems=self._problems)

    def _provider(self, id: str, raw: Any) -> ProviderEntry | None:
        at = f"providers.{id}"
        left_out = f"Provider {id}"
        if not isinstance(raw, dict):
            self._report(at, f"an object is wanted here, not {_kind(raw)}", left_out)
            return None
        plain = {key: value for key, value in raw.items() if key not in ("models", "modelOverrides")}
        if plain.get("apiKey") == "":
            self._report(f"{at}.apiKey", "it is empty; a server that needs no key takes any text", "The key")
            plain.pop("apiKey")
        fields = self._check(plain, ProviderFields, at, left_out)
        if fields is None or not self._known_api(fields.api, at, left_out):
            return None
        known = id in self._built_in or id in self._hosts
        if not (known or fields.base_url or _each_has(raw.get("models"), "baseUrl")):
            self._report(at, "`baseUrl` is missing, and this is not a provider that Relay knows", left_out)
            return None
        models = self._models(id, raw.get("models", []), fields)
        overrides = self._overrides(at, raw.get("modelOverrides", {}))
        self._hint(plain, ProviderFields, at, ("models", "modelOverrides"))
        return ProviderEntry(id=id, fields=fields, models=models, overrides=overrides)

    def _models(self, provider: str, raw: Any, fields: ProviderFields) -> dict[str, dict[str, Any]]:
        at = f"providers.{provider}.models"
        if not isinstance(raw, list):
            self._report(at, f"a list is wanted here, not {_kind(raw)}", "The list")
            return {}
        models = {}
        for index, item in enumerate(raw):
            place = f"{at}[{index}]"
            named = item.get("id") if isinstance(item, dict) else None
            left_out = f"Model {named}" if isinstance(named, str) else "This model"
            entry = self._check(item, ModelEntry, place, left_out)
            if entry is None or not self._known_api(entry.api, place, left_out):
                continue
            if not entry.id:
                self._report(f"{place}.id", "it is empty", left_out)
            elif not (entry.api or fields.api or provider in self._built_in):
                self._report(place, f"`api` is missing here and in providers.{provider}", left_out)
            elif not (entry.base_url or fields.base_url or provider in self._built_in):
                self._report(place, f"`baseUrl` is missing here and in providers.{provider}", left_out)
            else:
                self._hint(item, ModelEntry, place)
                models[entry.id] = item
        return models

    def _overrides(self, provider_at: str, raw: Any) -> dict[str, dict[str, Any]]:
        at = f"{provider_at}.modelOverrides"
        if not isinstance(raw, dict):
            self._report(at, f"an object is wanted here, not {_kind(raw)}", "The overrides")
            return {}
        overrides = {}
        for id, item in raw.items():
            if self._check(item, OverrideEntry, f"{at}.{id}", f"The override of {id}") is not None:
                self._hint(item, OverrideEntry, f"{at}.{id}")
                overrides[id] = item
        return overrides

    def _check(self, raw: Any, shape: type[_Shape], at: str, left_out: str) -> _Shape | None:
        try:
            return msgspec.convert(raw, shape)
        except msgspec.ValidationError as error:
            reason, where = _COMPLAINT.fullmatch(str(error)).groups("")  # type: ignore[union-attr]  # matches all
            self._report(at + where, _plain(reason), left_out)
            return None

    def _known_api(self, api: str | None, at: str, left_out: str) -> bool:
        if api is None or api in APIS:
            return True
        self._report(f"{at}.api", f"{api!r} is not one of {', '.join(APIS)}", left_out)
        return False

    def _hint(self, raw: dict[str, Any], shape: type[_Entry], at: str, more: tuple[str, ...] = ()) -> None:
        """Report a key that is unknown but nearly right; other unknown keys may belong to a newer version."""
        known = {field.encode_name.lower(): field.encode_name for field in msgspec.structs.fields(shape)}
        known |= {name.lower(): name for name in more}
        for key in (key for key in raw if key not in known.values()):
            near = difflib.get_close_matches(key.lower(), known, 1, 0.85)
            if near:
                self._report(f"{at}.{key}", f"unknown field; did you mean {known[near[0]]}?", "The field")

    def _report(self, at: str, reason: str, left_out: str) -> None:
        self._problems.append(f"{self._path}: {at}: {reason}. {left_out} is left out.".replace("?.", "?"))


def _with_whole_numbers(value: Any) -> Any:
    """`value` with 1e5 and 2.0 as the whole numbers that they are in JSON."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _with_whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(item) for item in value]
    return value


def _each_has(models: Any, key: str) -> bool:
    return (
        isinstance(models, list)
        and bool(models)
        and all(isinstance(model, dict) and model.get(key) for model in models)
    )


def _kind(value: Any) -> str:
    """What a JSON value is, with its article."""
    if value is None:
        return "null"
    names: dict[type, str] = {
        bool: "true or false",
        str: "a string",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), "another kind of value")


_COMPLAINT = re.compile(r"(.*?)(?: - at `(?:key` in `)?\$(.*)`)?", re.DOTALL)
"""What the decoder dislikes, and where below the value it was given."""

_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


def _plain(reason: str) -> str:
    """A complaint of the decoder in the words of the JSON format."""
    if reason.startswith("Expected "):
        wanted, _, got = reason.removeprefix("Expected ").partition(", got ")
        options = [_WORDS.get(word, word) for word in wanted.strip("`").split(" | ") if word != "null"]
        actual = _WORDS.get(got.strip("`"), got)
        return f"{' or '.join(options)} is wanted here, not {actual}" if got else reason
    if reason.startswith("Object missing required field"):
        return f"{reason.rpartition(' ')[2]} is missing"
    if reason.startswith("Invalid enum value"):
        return f"{reason.removeprefix('Invalid enum value ')} is not among the values of this field"
    return reason
