"""The second reader: lines that are JSON but not in today's shapes still become entries.

Missing fields get their defaults, numbers and texts in a neighbouring form are converted, content blocks of
unknown kinds are left out of the decoded entry (its line keeps them), and what fits nothing becomes unknown.
"""

from __future__ import annotations

import json
import math
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from relay.agent.messages import AgentMessage, KnownMessage, Unknown
from relay.ai.types import JsonObject, StopReason
from relay.session.entries import Entry, Header, KnownEntry, MessageEntry, UnknownEntry, milliseconds

_ENTRY_KINDS = {str(kind.__struct_config__.tag): kind for kind in get_args(KnownEntry)}
_MESSAGE_KINDS = {str(kind.__struct_config__.tag): kind for kind in get_args(KnownMessage)}


class Misfit(Exception):
    """A value that cannot be read as the wanted kind."""


def read_object(line: bytes) -> JsonObject | None:
    """The JSON object of a line, lone surrogates and broken UTF-8 included; None when there is none."""
    try:
        value = json.loads(line.decode("utf-8", "replace"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_header(line: bytes) -> Header | None:
    value = read_object(line.removeprefix(b"\xef\xbb\xbf"))
    if value is None or value.get("type") != "session" or not isinstance(value.get("id"), str):
        return None
    header: Header = fit(value, Header)
    return header


def read_entry(line: bytes) -> Entry | None:
    """The entry of a line, or None when the line is damaged: no JSON object, or one that is no entry."""
    value = read_object(line)
    if value is None or not isinstance(value.get("type"), str) or value["type"] == "session":
        return None
    kind = _ENTRY_KINDS.get(value["type"])
    try:
        if kind is None:
            return _unknown(value)
        if kind is MessageEntry:
            return _message_entry(value)
        entry: Any = _struct(value, kind, whole=True)
        return entry  # type: ignore[no-any-return]  # kind is one of the entry classes
    except (Misfit, RecursionError):
        return _unknown(value)


def fit(value: Any, kind: Any) -> Any:
    """`value`, plain data, as `kind`; raises Misfit when nothing of it can be kept."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return _bend(value, kind)


def _message_entry(value: JsonObject) -> Entry:
    raw = value.get("message")
    if not isinstance(raw, dict):
        return _unknown(value)
    message = _message(raw, milliseconds(str(value.get("timestamp", ""))))
    shell = {key: item for key, item in value.items() if key != "message"}
    base = _unknown(shell)
    return MessageEntry(id=base.id, parent_id=base.parent_id, timestamp=base.timestamp, message=message)


def _message(raw: JsonObject, entry_ms: int) -> AgentMessage:
    role = raw.get("role")
    if role == "hookMessage":  # the name that version 2 files use
        role = "custom"
    kind = _MESSAGE_KINDS.get(role) if isinstance(role, str) else None
    if kind is None:
        return Unknown(raw)
    value = {"timestamp": entry_ms} | raw | {"role": role}
    if role == "assistant" and value.get("stopReason") not in get_args(StopReason):
        value["stopReason"] = "stop"
    try:
        message: AgentMessage = fit(value, kind)
    except Misfit:
        return Unknown(raw)
    return message


def _unknown(value: JsonObject) -> UnknownEntry:
    id, parent, when = value.get("id"), value.get("parentId", ""), value.get("timestamp")
    return UnknownEntry(
        id=id if isinstance(id, str) else "",
        parent_id=parent if parent is None or isinstance(parent, str) else "",
        timestamp=when if isinstance(when, str) else "",
        raw=value,
    )


def _bend(value: Any, kind: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _choose(value, get_args(kind))
    if origin is list:
        return _list(value, get_args(kind)[0])
    if origin is dict and isinstance(value, dict):
        item = get_args(kind)[1]
        return {key: fitted for key, part in value.items() if (fitted := _try(part, item)) is not _LOST}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _struct(value, kind)
    if kind is int and isinstance(value, float) and math.isfinite(value):
        return int(value)
    raise Misfit


_LOST = object()


def _try(value: Any, kind: Any) -> Any:
    try:
        return fit(value, kind)
    except Misfit:
        return _LOST


def _choose(value: Any, options: tuple[Any, ...]) -> Any:
    """The option that fits best: a Struct by its tag, a list for a list, then whatever bends."""
    for option in options:
        if isinstance(option, type) and issubclass(option, msgspec.Struct) and isinstance(value, dict):
            config = option.__struct_config__
            if config.tag_field is None or value.get(config.tag_field) == config.tag:
                return _struct(value, option, whole=config.tag_field is not None)
    for option in options:
        if get_origin(option) is list or option in (int, float):
            fitted = _try(value, option)
            if fitted is not _LOST:
                return fitted
    raise Misfit


def _list(value: Any, item: Any) -> list[Any]:
    if isinstance(value, str):  # content that older or other writers keep as one text
        value = [{"type": "text", "text": value}] if value else []
    if not isinstance(value, list):
        raise Misfit
    return [fitted for part in value if (fitted := _try(part, item)) is not _LOST]


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)  # resolves annotations each time


def _struct(value: Any, kind: type[msgspec.Struct], *, whole: bool = False) -> msgspec.Struct:
    """A Struct from what fits. `whole`: texts without a default must be there (a block without its data)."""
    if not isinstance(value, dict):
        raise Misfit
    filled = {}
    for field in _fields(kind):
        fitted = _try(value[field.encode_name], field.type) if field.encode_name in value else _LOST
        if fitted is _LOST and field.required:
            fitted = _blank(field.type, whole=whole)
        if fitted is not _LOST:
            filled[field.name] = fitted
    return kind(**filled)


def _blank(kind: Any, *, whole: bool) -> Any:
    """What stands for a required value that is missing or unreadable."""
    origin = get_origin(kind)
    options = get_args(kind) if origin in (Union, UnionType) else ()
    if kind is Any or type(None) in options:
        return None
    if origin is dict:
        return {}
    if kind in (int, float, bool):
        return kind()
    if whole or origin is Literal:
        raise Misfit
    if options:
        return _blank(options[0], whole=False)
    if origin is list:
        return []
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _struct({}, kind)
    if kind is str:
        return ""
    raise Misfit


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON value")
