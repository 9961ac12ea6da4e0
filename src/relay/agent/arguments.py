"""Checks the arguments of a tool call against the tool's JSON Schema, with errors a model can act on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import fastjsonschema

from relay.agent.tool import ToolError
from relay.ai.types import JsonObject, ToolSpec

_SHOWN = 400
"""Characters of malformed arguments shown to the model; enough to see where it went wrong."""


class ArgumentChecker:
    """Compiles each tool's schema once, at its first call."""

    def __init__(self) -> None:
        self._compiled: dict[str, tuple[JsonObject, Callable[[Any], Any]]] = {}

    def check(self, spec: ToolSpec, arguments: JsonObject, raw: str | None) -> JsonObject:
        """The arguments to run with: values in the form that models often give them are converted.

        Numbers, booleans, lists and objects may come as text, a list of one object as that object, and what
        is left out as null. `raw` is the text of arguments that were no JSON object. Raises ToolError naming
        the field.
        """
        if raw is not None:
            shown = raw if len(raw) <= _SHOWN else raw[:_SHOWN] + "…"
            raise ToolError(
                f"The arguments of {spec.name} must be one JSON object, but this was sent:\n{shown}\n"
                f"Call {spec.name} again with {_wanted(spec)}."
            )
        converted: JsonObject = _converted(arguments, spec.parameters)
        try:
            self._validator(spec)(converted)
        except fastjsonschema.JsonSchemaValueException as error:
            message = error.message.replace("data.", "", 1).replace("data ", "the arguments ", 1)
            raise ToolError(
                f"Invalid arguments for {spec.name}: {message}. Call it again with {_wanted(spec)}."
            ) from error
        return converted

    def _validator(self, spec: ToolSpec) -> Callable[[Any], Any]:
        known = self._compiled.get(spec.name)
        if known is None or known[0] is not spec.parameters:
            compiled = fastjsonschema.compile(spec.parameters, use_default=False)
            known = (spec.parameters, compiled)
            self._compiled[spec.name] = known
        return known[1]


def _wanted(spec: ToolSpec) -> str:
    properties = spec.parameters.get("properties") or {}
    required = spec.parameters.get("required") or []
    parts = [f"{name} ({'required' if name in required else 'optional'})" for name in properties]
    return ", ".join(parts) if parts else "no arguments"


def _converted(value: Any, schema: Any) -> Any:
    if not isinstance(schema, dict):
        return value
    kind = schema.get("type")
    if isinstance(value, str) and kind in ("number", "integer", "boolean"):
        return _from_text(value, kind)
    if isinstance(value, str) and kind in ("array", "object"):
        value = _from_json(value, (list, dict) if kind == "array" else (dict,))
    if isinstance(value, dict) and kind == "array" and _takes_objects(schema):
        value = [value]
    if isinstance(value, dict) and isinstance(schema.get("properties"), dict):
        return _converted_object(value, schema)
    if isinstance(value, list) and "items" in schema:
        return [_converted(item, schema["items"]) for item in value]
    return value


def _converted_object(value: JsonObject, schema: JsonObject) -> JsonObject:
    properties, required = schema["properties"], schema.get("required") or ()
    return {
        key: _converted(item, properties.get(key))
        for key, item in value.items()
        if item is not None or key in required or not _lacks_null(properties.get(key))
    }


def _lacks_null(schema: Any) -> bool:
    """Whether null can only mean that the property is left out."""
    return isinstance(schema, dict) and isinstance(schema.get("type"), str) and schema["type"] != "null"


def _takes_objects(schema: JsonObject) -> bool:
    items = schema.get("items")
    return isinstance(items, dict) and items.get("type") == "object"


def _from_json(text: str, wanted: tuple[type, ...]) -> Any:
    """Some models send a list or an object as JSON text inside of their JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, wanted) else text


def _from_text(text: str, kind: str) -> Any:
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else (text if kind == "integer" else number)
