"""Reading one settings file: what it says, what is wrong with it, and that it is never lost."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from relay.base.files import JsonFileError, parse_json_bytes
from relay.config.kinds import Fault, check, printable, show
from relay.config.resources import Scope
from relay.config.schema import SECTIONS, SETTINGS
from relay.config.setting import Setting

SETTINGS_FILE = "settings.json"
BOM = b"\xef\xbb\xbf"
"""The byte order mark that some editors put before UTF-8 text."""


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """One file's part of the settings. `values` holds what can be used, `problems` finished sentences."""

    scope: Scope
    path: Path
    values: Mapping[str, Any] = {}
    """Setting key → checked plain value."""
    problems: tuple[str, ...] = ()

    @property
    def base(self) -> Path:
        """Where relative resource paths of this file start."""
        return self.path.parent


class Document(msgspec.Struct, frozen=True):
    """The object in a settings file; None when the file cannot be used, and `problems` says why."""

    data: Mapping[str, Any] | None
    problems: tuple[str, ...] = ()
    raw: bytes = b""
    """The bytes from which `data` was read."""


def read_document(path: Path) -> Document:
    """The object in `path`; a missing or empty file is an empty object."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "not an ordinary file"
            return _unusable(f"{path} is {what}; settings are read from a JSON file.")
        raw = path.read_bytes()
        data = parse_json_bytes(raw, path) if raw.removeprefix(BOM).strip() else {}
    except FileNotFoundError:
        return Document({})
    except JsonFileError as error:
        return _unusable(str(error))
    except OSError as error:
        return _unusable(f"{path} cannot be read: {error.strerror or error}.")
    if not isinstance(data, Mapping):
        return _unusable(f"{path} must hold one object in braces, not {show(data)}.")
    return Document(data, tuple(_repeated(raw, path)), raw)


def _unusable(sentence: str) -> Document:
    return Document(None, (f"{sentence} It is left as it is, and its settings are not used until then.",))


def _repeated(raw: bytes, path: Path) -> Iterator[str]:
    """Names that an object of the file holds twice: legal, but the first value has no effect."""
    names: dict[str, None] = {}

    def collect(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                names[name] = None
            seen.add(name)

    if raw.removeprefix(BOM).strip():
        json.loads(raw.decode("utf-8-sig"), object_pairs_hook=collect)
    for name in names:
        yield f"{path}: {printable(name)} stands there twice in the same object; the last one counts."


def read_layer(path: Path, scope: Scope, user_file: Path) -> Layer:
    """The settings in `path`. `user_file` is named where a project sets what only the user may."""
    document = read_document(path)
    if document.data is None:
        return Layer(scope=scope, path=path, problems=document.problems)
    problems = list(document.problems)
    for section in SECTIONS:
        found = _look_up(document.data, section)
        if found is not UNSET and not isinstance(found, Mapping):
            key = ".".join(section)
            problems.append(f"{path}: {Fault('', 'an object in braces', found).sentence(key)}.")
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        found = _look_up(document.data, setting.path)
        if found is UNSET or (found is None and setting.default is None):
            continue
        if setting.global_only and scope == "project":
            problems.append(f"{path}: {setting.key} can only be set in {user_file}; it is ignored here.")
            continue
        value, faults = check(setting.kind, found)
        problems += (f"{path}: {_complain(setting, fault, value)}" for fault in faults)
        if value is not UNSET:
            values[setting.key] = value
    return Layer(scope=scope, path=path, values=values, problems=tuple(problems))


def _complain(setting: Setting, fault: Fault, value: Any) -> str:
    instead = "counts as not set" if value is UNSET else "is left out"
    return f"{fault.sentence(setting.key)}; it {instead}."


def _look_up(data: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(data, Mapping) or name not in data:
            return UNSET
        data = data[name]
    return data
