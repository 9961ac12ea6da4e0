"""Changing one setting in its file: under a lock, in one step, and only where the file can be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET

from relay.base.files import write_atomic
from relay.base.locks import HeldError, hold
from relay.config.errors import ConfigError
from relay.config.json_text import NotAnObjectError, remove_value, set_value
from relay.config.kinds import Kind, OneOf, Record, Table, check
from relay.config.layers import BOM, read_document
from relay.config.lookup import find_setting, parse_key
from relay.config.schema import SETTINGS


def save_setting(path: Path, key: str | Sequence[str], value: Any) -> None:
    """Sets `key` in the settings file `path`; everything else in the file stays byte for byte.

    `key` is a setting's name; as a sequence of names it may lead to one entry of an object, such as
    `("modelThinkingLevels", "openai/gpt-5")`. `value` is plain data. File mode and symlink are kept.
    Raises ConfigError when the value does not fit or the file does not parse (it is then not touched).
    """
    route = _route(key)
    check_value(route, value)

    def change(text: str) -> str:
        try:
            return set_value(text, route, value)
        except NotAnObjectError as error:
            raise ConfigError(
                f"{path}: {'.'.join(error.path)} is not an object in braces; correct or remove it first."
            ) from error

    _edit(path, change)


def remove_setting(path: Path, key: str | Sequence[str]) -> bool:
    """Takes `key` out of the file; False when it was not there. Raises ConfigError as `save_setting` does."""
    route = _route(key)
    return _edit(path, lambda text: remove_value(text, route))


def check_value(route: Sequence[str], value: Any) -> None:
    """Raises UnknownSetting or ConfigError when `value` may not stand at `route`."""
    kind, name = _kind_at(route)
    good, faults = check(kind, value)
    if good is UNSET or faults:
        raise ConfigError(f"{faults[0].sentence(name)}.")


def _route(key: str | Sequence[str]) -> tuple[str, ...]:
    return parse_key(key) if isinstance(key, str) else tuple(key)


def _kind_at(route: Sequence[str]) -> tuple[Kind, str]:
    keys = {setting.path: setting for setting in SETTINGS}
    depth = next((n for n in range(len(route), 0, -1) if tuple(route[:n]) in keys), len(route))
    setting = find_setting(".".join(route[:depth]))
    kind, name = setting.kind, setting.key
    for step in route[depth:]:
        inner = _kind_below(kind, step)
        if inner is None:
            raise ConfigError(f"{name} has no entry named {step!r}.")
        kind, name = inner, f"{name}[{json.dumps(step)}]"
    return kind, name


def _kind_below(kind: Kind, step: str) -> Kind | None:
    match kind:
        case Table(value=value, names=names):
            return value if not names or step in names else None
        case Record(fields=fields):
            return dict(fields).get(step)
        case OneOf(kinds=kinds):
            return next((inner for one in kinds if (inner := _kind_below(one, step))), None)
        case _:
            return None


def _edit(path: Path, change: Callable[[str], str]) -> bool:
    try:
        with hold(path):
            text, mark = _read_text(path)
            changed = change(text)
            if changed == text:
                return False
            json.loads(changed)  # a fault of ours must not reach the file
            write_atomic(path, mark + changed.encode("utf-8"))
            return True
    except HeldError as error:
        raise ConfigError(str(error)) from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be changed: {error.strerror or error}.") from error


def _read_text(path: Path) -> tuple[str, bytes]:
    """The file's text and its byte order mark; an empty object where there is no content yet."""
    document = read_document(path)
    if document.data is None:
        raise ConfigError(f"{document.problems[0]} Correct it by hand first; nothing was written.")
    mark = BOM if document.raw.startswith(BOM) else b""
    text = document.raw.removeprefix(BOM).decode("utf-8")
    return (text if text.strip() else "{}\n"), mark
