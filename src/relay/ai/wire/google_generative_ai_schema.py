"""Reduces a tool's JSON Schema to what Google's function declarations accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay.ai.types import JsonObject

_KEPT = frozenset(
    {
        "type",
        "format",
        "title",
        "description",
        "enum",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
        "nullable",
        "propertyOrdering",
    }
)
_SCHEMAS = ("items", "additionalProperties")
_LISTS = ("anyOf", "oneOf", "prefixItems")
_MAPS = ("properties", "$defs")


def clean_schema(schema: JsonObject) -> JsonObject:
    """An object schema of accepted keywords only.

    Constraints that the API does not know are left out, since arguments are validated here in any case;
    `const` becomes an `enum` of one, `allOf` is merged, `definitions` move to `$defs`, and `required` names
    only declared properties.
    """
    cleaned = _clean(schema)
    if cleaned.get("type") != "object":
        cleaned = {"type": "object", "properties": {}, **{k: v for k, v in cleaned.items() if k != "type"}}
    return cleaned


def _clean(schema: Any) -> JsonObject:
    if not isinstance(schema, dict):
        return {}  # true and false schemas: anything goes
    schema = _merged(schema)
    if isinstance(schema.get("$ref"), str):
        return {"$ref": schema["$ref"].replace("#/definitions/", "#/$defs/")}
    cleaned: JsonObject = {key: value for key, value in schema.items() if key in _KEPT}
    if "const" in schema and "enum" not in cleaned:
        cleaned["enum"] = [schema["const"]]
    if "definitions" in schema:
        schema = {**schema, "$defs": {**_object(schema["definitions"]), **_object(schema.get("$defs"))}}
    for key in _MAPS:
        if isinstance(schema.get(key), dict):
            cleaned[key] = {name: _clean(value) for name, value in schema[key].items()}
    for key in _SCHEMAS:
        if isinstance(schema.get(key), dict):
            cleaned[key] = _clean(schema[key])
        elif schema.get(key) is False and key == "additionalProperties":
            cleaned[key] = False
    for key in _LISTS:
        if isinstance(schema.get(key), list) and schema[key]:
            cleaned[key] = [_clean(value) for value in schema[key]]
    required = [name for name in _names(schema.get("required")) if name in (cleaned.get("properties") or {})]
    if required:
        cleaned["required"] = required
    return cleaned


def _merged(schema: JsonObject) -> JsonObject:
    """The schema with its `allOf` parts merged into it; its own keywords win."""
    parts = schema.get("allOf")
    if not isinstance(parts, list):
        return schema
    merged: JsonObject = {}
    for part in (*parts, {key: value for key, value in schema.items() if key != "allOf"}):
        if not isinstance(part, Mapping):
            continue
        properties = {**_object(merged.get("properties")), **_object(part.get("properties"))}
        required = dict.fromkeys([*_names(merged.get("required")), *_names(part.get("required"))])
        merged |= part
        if properties:
            merged["properties"] = properties
        if required:
            merged["required"] = list(required)
    return _merged(merged) if "allOf" in merged else merged


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
