"""The kinds of values a setting can hold: what fits, what a user is told, and the JSON Schema of each."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

LARGEST_INTEGER = 2**53 - 1
"""The largest whole number that every JSON program reads exactly."""


class Boolean(msgspec.Struct, frozen=True):
    """true or false."""


class Text(msgspec.Struct, frozen=True):
    """A string; `blank` False refuses one without visible characters."""

    blank: bool = True


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """A number from `minimum` to `maximum`; `whole` refuses fractions, `open` excludes both ends."""

    minimum: float | None = None
    maximum: float | None = None
    whole: bool = True
    open: bool = False


class Timeout(msgspec.Struct, frozen=True):
    """Milliseconds; 0 and the word "disabled" switch it off, both are kept as 0."""


class Choice(msgspec.Struct, frozen=True):
    """One of a few constants."""

    values: tuple[str | int | bool, ...]


class Listing(msgspec.Struct, frozen=True):
    """A list; with `independent` a wrong item is left out alone, otherwise it spoils the whole list."""

    item: Kind
    independent: bool = False


class Table(msgspec.Struct, frozen=True):
    """An object whose keys the user chooses (or takes from `names`); a wrong entry is left out alone."""

    value: Kind
    names: tuple[str, ...] = ()


class Record(msgspec.Struct, frozen=True):
    """An object of named fields, each optional but for those in `required`; other fields are ignored."""

    fields: tuple[tuple[str, Kind], ...]
    required: tuple[str, ...] = ()


class OneOf(msgspec.Struct, frozen=True):
    """The first of several kinds that fits."""

    kinds: tuple[Kind, ...]


Kind = Boolean | Text | Number | Timeout | Choice | Listing | Table | Record | OneOf


class Fault(msgspec.Struct, frozen=True):
    """A value that does not fit. `at` is its place below the setting (`""`, `[2]`, `["a/b"].field`)."""

    at: str
    wanted: str
    found: Any

    def sentence(self, key: str) -> str:
        """The fault of the setting `key`, without a full stop."""
        return f"{key}{self.at} must be {self.wanted}, not {show(self.found)}"


Checked = tuple[Any, tuple[Fault, ...]]
"""The usable part of a value (UNSET when nothing of it is) and what is wrong with the rest."""


def check(kind: Kind, value: Any, at: str = "") -> Checked:
    """What of `value` can be used as `kind`; `at` is the place named in faults."""
    match kind:
        case Listing():
            return _check_listing(kind, value, at)
        case Table():
            return _check_table(kind, value, at)
        case Record():
            return _check_record(kind, value, at)
        case OneOf(kinds=kinds):
            return _check_one_of(kind, kinds, value, at)
        case _:
            return _check_plain(kind, value, at)


def _check_plain(kind: Boolean | Text | Number | Timeout | Choice, value: Any, at: str) -> Checked:
    wrong = (UNSET, (Fault(at, wanted(kind), value),))
    if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_INTEGER:
        value = int(value)  # JavaScript programs may write 5 as 5.0
    match kind:
        case Boolean():
            return (value, ()) if isinstance(value, bool) else wrong
        case Text(blank=blank):
            return (value, ()) if isinstance(value, str) and (blank or value.strip()) else wrong
        case Choice(values=values):
            fits = any(type(value) is type(choice) and value == choice for choice in values)
            return (value, ()) if fits else wrong
        case Timeout():
            if value == "disabled":
                return 0, ()
            return (value, ()) if _in_range(Number(minimum=0), value) else wrong
        case Number():
            return (value, ()) if _in_range(kind, value) else wrong


def _in_range(kind: Number, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    if kind.whole and (not isinstance(value, int) or abs(value) > LARGEST_INTEGER):
        return False
    if kind.open and value in (kind.minimum, kind.maximum):
        return False
    return (kind.minimum is None or value >= kind.minimum) and (kind.maximum is None or value <= kind.maximum)


def _check_listing(kind: Listing, value: Any, at: str) -> Checked:
    if not isinstance(value, list | tuple):
        return UNSET, (Fault(at, wanted(kind), value),)
    kept: list[Any] = []
    faults: list[Fault] = []
    for index, item in enumerate(value):
        good, wrong = check(kind.item, item, f"{at}[{index}]")
        faults += wrong
        if good is not UNSET:
            kept.append(good)
    if faults and not kind.independent:
        return UNSET, tuple(faults)
    return tuple(kept), tuple(faults)


def _check_table(kind: Table, value: Any, at: str) -> Checked:
    if not isinstance(value, Mapping):
        return UNSET, (Fault(at, wanted(kind), value),)
    kept: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, item in value.items():
        if kind.names and name not in kind.names:
            continue
        good, wrong = check(kind.value, item, f"{at}[{json.dumps(name)}]")
        faults += wrong
        if good is not UNSET:
            kept[name] = good
    return kept, tuple(faults)


def _check_record(kind: Record, value: Any, at: str) -> Checked:
    if not isinstance(value, Mapping):
        return UNSET, (Fault(at, wanted(kind), value),)
    kept: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, field in kind.fields:
        if name not in value:
            if name in kind.required:
                return UNSET, (Fault(at, f"an object that has {json.dumps(name)}", value),)
            continue
        good, wrong = check(field, value[name], f"{at}.{name}")
        faults += wrong
        if good is not UNSET:
            kept[name] = good
        elif name in kind.required:
            return UNSET, tuple(faults)
    return kept, tuple(faults)


def _check_one_of(kind: Kind, kinds: tuple[Kind, ...], value: Any, at: str) -> Checked:
    partly: Checked | None = None
    for one in kinds:
        good, faults = check(one, value, at)
        if not faults:
            return good, ()
        if isinstance(one, Record) and isinstance(value, Mapping):
            partly = (good, faults)
    return partly or (UNSET, (Fault(at, wanted(kind), value),))


def wanted(kind: Kind) -> str:
    """What fits, as words that follow “must be”."""
    match kind:
        case Boolean():
            return "true or false"
        case Text(blank=blank):
            return "a text in quotes" if blank else "a text in quotes that is not empty"
        case Number():
            return ("a whole number" if kind.whole else "a number") + _range_words(kind)
        case Timeout():
            return 'a whole number of milliseconds (0 or "disabled" for no limit)'
        case Choice(values=values):
            return " or ".join(json.dumps(value) for value in values)
        case Listing(item=item):
            return f"a list in which each item is {wanted(item)}"
        case Table(value=value):
            return f"an object in which each value is {wanted(value)}"
        case Record(fields=fields):
            return f"an object with {', '.join(name for name, _ in fields)}"
        case OneOf(kinds=kinds):
            return " or ".join(wanted(one) for one in kinds)


def _range_words(kind: Number) -> str:
    low, high = kind.minimum, kind.maximum
    if kind.open:
        return f" between {low:g} and {high:g}, both excluded"
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    return "" if low is None else f" that is {low:g} or more"


def printable(text: str) -> str:
    """`text` with everything that could steer a terminal (or that it cannot show) as a JSON escape."""
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def show(value: Any) -> str:
    """A value found in a file, short enough for a sentence and harmless to a terminal."""
    match value:
        case None | True | False:
            return json.dumps(value)
        case str():
            short = value if len(value) <= 40 else value[:39] + "…"
            return f"the text {printable(json.dumps(short, ensure_ascii=False))}"
        case int() | float():
            digits = str(value) if isinstance(value, float) or abs(value) < 10**40 else "too large to show"
            return f"the number {digits}"
        case list() | tuple():
            return "a list"
        case _:
            return "an object"


def label(kind: Kind) -> str:
    """The type in the notation of the reference tables."""
    match kind:
        case Boolean():
            return "boolean"
        case Text():
            return "string"
        case Number():
            return "number"
        case Timeout():
            return 'number | "disabled"'
        case Choice(values=values):
            return " | ".join(json.dumps(value) for value in values)
        case Listing(item=Text() | Choice()):
            return "string[]"
        case Listing():
            return "array"
        case Table() | Record():
            return "object"
        case OneOf(kinds=kinds):
            return " | ".join(label(one) for one in kinds)


def json_schema(kind: Kind) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a value."""
    match kind:
        case Boolean():
            return {"type": "boolean"}
        case Text(blank=blank):
            return {"type": "string"} if blank else {"type": "string", "minLength": 1}
        case Number():
            return _number_schema(kind)
        case Timeout():
            return {"anyOf": [json_schema(Number(minimum=0)), {"const": "disabled"}]}
        case Choice(values=values):
            return {"enum": list(values)}
        case Listing(item=item):
            return {"type": "array", "items": json_schema(item)}
        case Table(value=value, names=names):
            if names:
                return {"type": "object", "properties": {name: json_schema(value) for name in names}}
            return {"type": "object", "additionalProperties": json_schema(value)}
        case Record(fields=fields, required=required):
            properties = {name: json_schema(field) for name, field in fields}
            needed = {"required": list(required)} if required else {}
            return {"type": "object", "properties": properties, **needed}
        case OneOf(kinds=kinds):
            return {"anyOf": [json_schema(one) for one in kinds]}


def _number_schema(kind: Number) -> dict[str, Any]:
    low, high = ("exclusiveMinimum", "exclusiveMaximum") if kind.open else ("minimum", "maximum")
    limits = {low: kind.minimum, high: kind.maximum}
    return {
        "type": "integer" if kind.whole else "number",
        **{name: limit for name, limit in limits.items() if limit is not None},
    }
