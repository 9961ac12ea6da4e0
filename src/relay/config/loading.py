"""Layered loading: defaults, the user's file, a trusted project's file, and where each value comes from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from relay.config.layers import SETTINGS_FILE, Layer, read_layer
from relay.config.resources import place_entries
from relay.config.schema import SETTINGS
from relay.config.setting import Setting
from relay.config.settings import Settings
from relay.config.tool_selection import combine_selections

Origin = Literal["default", "user", "project"]

READ_WITHOUT_TRUST = ("sessionDir",)
"""Sessions must be found before trust can be asked for."""


class LoadedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`problems` are finished sentences, each to be shown once."""

    settings: Settings
    values: Mapping[str, Any]
    """Setting key → the plain value in effect."""
    origins: Mapping[str, Origin]
    """Setting key → the last layer that had a part in the value."""
    problems: tuple[str, ...]


def load_settings(agent_dir: Path, project_dir: Path | None, *, trusted: bool) -> LoadedSettings:
    """The settings in effect. `project_dir` is the project's `.relay`; its file counts when `trusted`.

    Never raises for what the files hold: a file that cannot be used counts as empty, a value that does not
    fit as not set, and `problems` says so.
    """
    user_file = agent_dir / SETTINGS_FILE
    layers = [read_layer(user_file, "user", user_file)]
    project_file = project_dir / SETTINGS_FILE if project_dir else None
    if project_file and not _same_file(project_file, user_file):
        layer = read_layer(project_file, "project", user_file)
        layers.append(layer if trusted else _before_trust(layer))
    return combine_layers(layers)


def default_settings() -> Settings:
    """The settings of someone who has no settings file."""
    return combine_layers(()).settings


def combine_layers(layers: Sequence[Layer]) -> LoadedSettings:
    """Puts `layers`, weakest first, over the defaults."""
    values = {setting.key: setting.default for setting in SETTINGS}
    typed = dict(values)
    origins: dict[str, Origin] = {setting.key: "default" for setting in SETTINGS}
    for layer in layers:
        for setting in SETTINGS:
            if setting.key in layer.values:
                found = layer.values[setting.key]
                origins[setting.key] = layer.scope
                values[setting.key] = _combine(setting, values[setting.key], found)
                if setting.combine == "concatenate":
                    typed[setting.key] += place_entries(setting.key, found, layer.base, layer.scope)
                else:
                    typed[setting.key] = values[setting.key]
    typed["compactionModel"] = typed["compactionModel"].strip() or "auto"
    return LoadedSettings(
        settings=msgspec.convert(_nest(typed), Settings),
        values=values,
        origins=origins,
        problems=tuple(dict.fromkeys(problem for layer in layers for problem in layer.problems)),
    )


def _combine(setting: Setting, below: Any, found: Any) -> Any:
    match setting.combine:
        case "replace":
            return found
        case "merge":
            return _merge(below, found)
        case "concatenate":
            return (*below, *found)
        case "selection":
            return combine_selections(below, found)


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        old = merged.get(name)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            value = _merge(old, value)
        merged[name] = value
    return merged


def _nest(values: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in values.items():
        *sections, name = key.split(".")
        branch = tree
        for section in sections:
            branch = branch.setdefault(section, {})
        branch[name] = value
    return tree


def _before_trust(layer: Layer) -> Layer:
    values = {key: value for key, value in layer.values.items() if key in READ_WITHOUT_TRUST}
    return msgspec.structs.replace(layer, values=values, problems=())


def _same_file(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
