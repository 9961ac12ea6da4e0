"""Tool declarations of the Anthropic Messages API: what it takes of a JSON Schema, and what may be strict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from relay.ai.model import Model
from relay.ai.types import JsonObject, ToolSpec

STRICT_TOOLS = 20
STRICT_OPTIONAL = 24
"""Limits of one request over all strict tools: their number, and their optional parameters."""

_STRICT_KEYWORDS = frozenset(
    {
        "type",
        "title",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "default",
        "$schema",
    }
)
_COMBINED = ("anyOf", "oneOf", "allOf")


def declare(
    tools: Iterable[ToolSpec], model: Model, *, deferred: frozenset[str] = frozenset()
) -> list[JsonObject]:
    """The `tools` field. Tools named in `deferred` are declared without being offered yet."""
    eager = model.compat.get("supportsEagerToolInputStreaming", True)
    allowance = _Allowance() if model.compat.get("supportsStrictTools", False) else None
    declared: list[JsonObject] = []
    for tool in tools:
        entry: JsonObject = {"name": tool.name, "description": tool.description}
        if eager:
            entry["eager_input_streaming"] = True
        entry["input_schema"] = input_schema(tool.parameters)
        if allowance is not None and allowance.admit(tool.parameters):
            entry["strict"] = True
        if tool.name in deferred:
            entry["defer_loading"] = True
        declared.append(entry)
    return declared


def input_schema(schema: JsonObject) -> JsonObject:
    """An object schema without the top-level combinations that the API refuses.

    The variants' properties are merged; only what every one of them requires (any, for allOf) stays required.
    """
    plain = {key: value for key, value in schema.items() if key not in _COMBINED}
    plain["type"] = "object"
    properties = dict(plain.get("properties") or {})
    required = set(plain.get("required") or ())
    for keyword in _COMBINED:
        variants = [variant for variant in schema.get(keyword) or () if isinstance(variant, dict)]
        for variant in variants:
            for name, value in (variant.get("properties") or {}).items():
                properties.setdefault(name, value)
        demands = [set(variant.get("required") or ()) for variant in variants]
        if demands:
            required |= set.union(*demands) if keyword == "allOf" else set.intersection(*demands)
    if not any(keyword in schema for keyword in _COMBINED):
        return {**plain, "properties": properties}
    return {**plain, "properties": properties, "required": sorted(required & properties.keys())}


class _Allowance:
    """Counts strict tools of one request; a schema is admitted unchanged or not at all."""

    def __init__(self) -> None:
        self._tools = 0
        self._optional = 0

    def admit(self, schema: JsonObject) -> bool:
        optional = _optional_parameters(schema)
        if optional is None or self._tools >= STRICT_TOOLS or self._optional + optional > STRICT_OPTIONAL:
            return False
        self._tools += 1
        self._optional += optional
        return True


def _optional_parameters(schema: Any) -> int | None:
    """How many parameters are optional; None when strict mode would refuse the schema."""
    if not isinstance(schema, dict) or not schema.keys() <= _STRICT_KEYWORDS:
        return None
    children = [*(schema.get("anyOf") or ())]
    if "items" in schema:
        children.append(schema["items"])
    own = 0
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return None
        properties = schema.get("properties") or {}
        children += properties.values()
        own = len(properties.keys() - set(schema.get("required") or ()))
    counts = [_optional_parameters(child) for child in children]
    known = [count for count in counts if count is not None]
    return own + sum(known) if len(known) == len(counts) else None
