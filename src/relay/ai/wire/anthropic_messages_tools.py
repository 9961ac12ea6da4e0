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
        schema = input_schema(tool.parameters)
        closed = allowance.admit(schema) if allowance is not None else None
        entry["input_schema"] = schema if closed is None else closed
        if closed is not None:
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
    properties, required = dict(_object(plain.get("properties"))), set(_names(plain.get("required")))
    combined = False
    for keyword in _COMBINED:
        variants = [variant for variant in _list(schema.get(keyword)) if isinstance(variant, dict)]
        for variant in variants:
            for name, value in _object(variant.get("properties")).items():
                properties.setdefault(name, value)
        demands = [set(_names(variant.get("required"))) for variant in variants]
        if demands:
            required |= set.union(*demands) if keyword == "allOf" else set.intersection(*demands)
        combined = combined or keyword in schema
    merged = {**plain, "type": "object", "properties": properties}
    if combined or not isinstance(plain.get("required", []), list):
        merged["required"] = sorted(required & properties.keys())
    return merged


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _names(value: object) -> list[str]:
    return [name for name in _list(value) if isinstance(name, str)]


class _Allowance:
    """Counts the strict tools of one request."""

    def __init__(self) -> None:
        self._tools = 0
        self._optional = 0

    def admit(self, schema: JsonObject) -> JsonObject | None:
        """The schema as strict mode takes it; None when it is not fit, or the request has its share."""
        closed = _closed(schema)
        if closed is None or self._tools >= STRICT_TOOLS:
            return None
        optional = _optional(closed)
        if self._optional + optional > STRICT_OPTIONAL:
            return None
        self._tools += 1
        self._optional += optional
        return closed


def _closed(schema: Any) -> JsonObject | None:
    """A copy whose objects take no other properties; None when strict mode has no place for the schema."""
    if not isinstance(schema, dict) or not schema.keys() <= _STRICT_KEYWORDS:
        return None
    if not isinstance(schema.get("type", ""), str) or not schema.keys() & {"type", "anyOf", "enum", "const"}:
        return None
    copy = dict(schema)
    children: list[JsonObject | None] = []
    if schema.get("type") == "object":
        if schema.get("additionalProperties", False) is not False:
            return None
        copy["additionalProperties"] = False
        copy["properties"] = {name: _closed(part) for name, part in _object(schema.get("properties")).items()}
        children += copy["properties"].values()
    if "items" in schema:
        copy["items"] = _closed(schema["items"])
        children.append(copy["items"])
    if "anyOf" in schema:
        copy["anyOf"] = [_closed(part) for part in _list(schema["anyOf"])]
        children += copy["anyOf"]
    return None if any(child is None for child in children) else copy


def _optional(schema: JsonObject) -> int:
    """How many parameters of a closed schema may be left out, on all levels."""
    properties = schema.get("properties", {})
    below = [
        *properties.values(),
        *schema.get("anyOf", ()),
        *([schema["items"]] if "items" in schema else []),
    ]
    return len(properties.keys() - set(_names(schema.get("required")))) + sum(
        _optional(part) for part in below
    )
