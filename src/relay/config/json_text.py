"""Changing one value inside JSON text and leaving every other byte as its author wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PLAIN = re.compile(r"[^\s,\]}]+")
_SPACE = re.compile(r"\s*")
_INDENT = re.compile(r'\n([ \t]+)"')


class NotAnObjectError(Exception):
    """The place to descend into holds another kind of value. `path` leads to it."""

    def __init__(self, path: tuple[str, ...]) -> None:
        super().__init__(".".join(path))
        self.path = path


class _Member(msgspec.Struct, frozen=True):
    """Offsets of one `"name": value` in the text."""

    name: str
    start: int
    value: int
    end: int


def set_value(text: str, path: Sequence[str], value: Any) -> str:
    """`text`, valid JSON with an object at the top, with `value` at `path`; missing objects are made.

    Of a name that stands twice the last one is set: it is the one that counts. Raises NotAnObjectError.
    """
    opening = text.index("{")
    for depth, name in enumerate(path):
        members = list(_members(text, opening))
        found = next((member for member in reversed(members) if member.name == name), None)
        if found is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _insert(text, opening, members, (name, value))
        if depth == len(path) - 1:
            return text[: found.value] + _written(text, found.start, value) + text[found.end :]
        if text[found.value] != "{":
            raise NotAnObjectError(tuple(path[: depth + 1]))
        opening = found.value
    return text


def remove_value(text: str, path: Sequence[str]) -> str:
    """`text` without the value at `path`, every one where the name stands twice."""
    while (shorter := _remove_one(text, path)) != text:
        text = shorter
    return text


def _remove_one(text: str, path: Sequence[str]) -> str:
    opening = text.index("{")
    for depth, name in enumerate(path):
        members = list(_members(text, opening))
        index = next((i for i in reversed(range(len(members))) if members[i].name == name), None)
        if index is None:
            return text
        found = members[index]
        if depth == len(path) - 1:
            if index > 0:
                return text[: members[index - 1].end] + text[found.end :]
            if len(members) > 1:
                return text[: found.start] + text[members[1].start :]
            return text[: opening + 1] + text[_end_of_value(text, opening) - 1 :]
        if text[found.value] != "{":
            return text
        opening = found.value
    return text


def _members(text: str, opening: int) -> Iterator[_Member]:
    at = _skip_space(text, opening + 1)
    while text[at] != "}":
        name_end = _end_of_string(text, at)
        value = _skip_space(text, _skip_space(text, name_end) + 1)
        end = _end_of_value(text, value)
        yield _Member(json.loads(text[at:name_end]), at, value, end)
        at = _skip_space(text, end)
        if text[at] == ",":
            at = _skip_space(text, at + 1)


def _insert(text: str, opening: int, members: Sequence[_Member], new: tuple[str, Any]) -> str:
    name, value = new
    if not members:
        indent = _indent_at(text, opening) + _unit(text)
        entry = f"{_plain(name, None)}: {_dump(text, value, indent)}"
        closing = _end_of_value(text, opening) - 1
        lines = _newline(text) + indent + entry + _newline(text) + _indent_at(text, opening)
        return text[: opening + 1] + lines + text[closing:]
    last = members[-1]
    first_gap = text[opening + 1 : members[0].start]
    indent = _indent_at(text, last.start)
    gap = _newline(text) + indent if "\n" in first_gap else " "
    entry = f"{_plain(name, None)}: {_dump(text, value, indent)}"
    return f"{text[: last.end]},{gap}{entry}{text[last.end :]}"


def _written(text: str, start: int, value: Any) -> str:
    return _dump(text, value, _indent_at(text, start))


def _dump(text: str, value: Any, indent: str) -> str:
    """Lists and plain values on one line; objects over several, in the indentation of `text`."""
    if not isinstance(value, dict):
        return _plain(value, None)
    return _plain(value, _unit(text)).replace("\n", _newline(text) + indent)


def _plain(value: Any, indent: str | None) -> str:
    written = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    try:
        written.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can hold
        return json.dumps(value, indent=indent, ensure_ascii=True, allow_nan=False)
    return written


def _end_of_value(text: str, at: int) -> int:
    if text[at] == '"':
        return _end_of_string(text, at)
    if text[at] not in "{[":
        match = _PLAIN.match(text, at)
        return match.end() if match else at
    depth = 0
    for token in _TOKEN.finditer(text, at):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token.group(), 0)
        if depth == 0:
            return token.end()
    return len(text)


def _end_of_string(text: str, at: int) -> int:
    match = _STRING.match(text, at)
    return match.end() if match else len(text)


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _indent_at(text: str, at: int) -> str:
    """The white space that begins the line of `at`."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found.group(1) if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
