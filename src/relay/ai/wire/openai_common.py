"""What both OpenAI protocols share: headers, tools, cache keys, sampling, usage and effort words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import msgspec

from relay.ai.errors import ProviderError
from relay.ai.model import Model, clamp_thinking
from relay.ai.types import (
    Data,
    JsonObject,
    Message,
    SystemMessage,
    ThinkingLevel,
    ToolCall,
    ToolSpec,
    no_usage,
)
from relay.ai.types import Usage as TokenUsage
from relay.ai.usage import priced
from relay.ai.wire.base import CallOptions
from relay.ai.wire.common import ATTRIBUTION, is_openrouter

Affinity = Literal["openai", "openai-nosession", "openrouter"]
CacheKeyMode = Literal["auto", "enabled", "disabled"]

_Compat = TypeVar("_Compat", bound=Data)


def convert_compat(model: Model, known: Mapping[str, object], kind: type[_Compat]) -> _Compat:
    """The model's own switches over `known` ones; ProviderError (config) names one that has a wrong value."""
    try:
        return msgspec.convert({**known, **model.compat}, kind)
    except msgspec.ValidationError as error:
        raise ProviderError(
            f"The compat switches of {model.key} in models.json are wrong: {error}.", "config"
        ) from error


def endpoint(model: Model, path: str) -> str:
    """`path` under the base URL, which holds the version; a query of the base URL is kept."""
    parts = urlsplit(model.base_url)
    base = parts.path.rstrip("/")
    return parts._replace(path=base if base.endswith(path) else base + path).geturl()


def headers(model: Model, options: CallOptions, extra: Mapping[str, str]) -> dict[str, str]:
    """Headers of a call; those of the model win over ours, whatever their case."""
    own = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    if options.api_key:
        own["Authorization"] = f"Bearer {options.api_key}"
    own.update(extra)
    if options.attribution and is_openrouter(model):
        own["X-Title"] = ATTRIBUTION
    named = {name.lower() for name in model.headers}
    return {**{k: v for k, v in own.items() if k.lower() not in named}, **model.headers}


def level_of(model: Model, options: CallOptions) -> ThinkingLevel:
    """The thinking level that the call has: the wanted one as far as the model accepts it."""
    return clamp_thinking(model, options.thinking)


def effort_of(model: Model, level: ThinkingLevel, *, off: str | None) -> str | None:
    """The provider's word for a level: mapped, else the level itself, and `off` for off; None sends none."""
    return model.thinking_level_map.get(level, off if level == "off" else level)


def sampling(model: Model, level: ThinkingLevel, options: CallOptions) -> JsonObject:
    """Free-form sampling fields: the model's, then its level's, then the call's."""
    merged = {**model.sampling_params, **model.sampling_params_by_thinking_level.get(level, {})}
    if options.temperature is not None:
        merged["temperature"] = options.temperature
    return merged


def tools_of(messages: list[Message]) -> list[ToolSpec]:
    """The tools of a prepared conversation, which its leading system message holds."""
    leading = messages[0] if messages else None
    return (leading.tools_added or []) if isinstance(leading, SystemMessage) else []


def function_of(tool: ToolSpec, strict: bool) -> JsonObject:
    """A tool as a function declaration; `strict` also tells whether the server checks arguments itself."""
    parameters: JsonObject = tool.parameters or {"type": "object", "properties": {}}
    function: JsonObject = {"name": tool.name, "description": tool.description, "parameters": parameters}
    if strict:
        closed = strict_schema(parameters)
        function["parameters"] = parameters if closed is None else closed
        function["strict"] = closed is not None
    return function


_STRICT_KEYS = frozenset({"type", "description", "title", "enum", "const", "properties", "required", "items"})


def strict_schema(schema: Any) -> JsonObject | None:
    """`schema` closed to other properties, as strict mode wants it; None when it is not fit for strict mode.

    Fit are objects that require each of their properties, and plain values and lists in them: to make an
    optional property required would change what the tool is given.
    """
    if not isinstance(schema, dict) or not _STRICT_KEYS.issuperset(schema.keys() - {"additionalProperties"}):
        return None
    kind = schema.get("type")
    if kind == "array":
        items = strict_schema(schema.get("items"))
        return None if items is None else {**schema, "items": items}
    if kind != "object":
        return schema if isinstance(kind, str) else None
    properties = schema.get("properties", {})
    if schema.get("additionalProperties", False) is not False or not isinstance(properties, dict):
        return None
    if set(schema.get("required", [])) != set(properties):
        return None
    closed = {name: strict_schema(part) for name, part in properties.items()}
    if any(part is None for part in closed.values()):
        return None
    return {**schema, "properties": closed, "required": list(properties), "additionalProperties": False}


def arguments_text(call: ToolCall) -> str:
    """A call's arguments as the JSON object that servers parse again."""
    return msgspec.json.encode(call.arguments).decode()


def cache_key(session_id: str) -> str:
    """A session's key for the prompt cache; the API takes at most 64 characters."""
    return session_id[:64]


def used(
    model: Model,
    *,
    prompt: int,
    output: int,
    cached: int = 0,
    written: int = 0,
    reasoning: int | None = None,
) -> TokenUsage:
    """Usage with cost; `prompt` includes the tokens that the cache read (`cached`) and took (`written`)."""
    cached = min(cached, prompt)
    written = min(written, prompt - cached)
    usage = msgspec.structs.replace(
        no_usage(),
        input=prompt - cached - written,
        output=output,
        cache_read=cached,
        cache_write=written,
        reasoning=reasoning,
        total_tokens=prompt + output,
    )
    return priced(model, usage)
