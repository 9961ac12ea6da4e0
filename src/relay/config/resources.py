"""Entries of the resource lists with the folder they were written for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from relay.config.paths import expand

Scope = Literal["user", "project"]
Action = Literal["load", "without-matches", "with", "without"]

_ACTIONS: tuple[tuple[str, Action], ...] = (("!", "without-matches"), ("+", "with"), ("-", "without"))


class Resource(msgspec.Struct, frozen=True):
    """One entry of `extensions`, `skills`, `prompts` or `themes`, as written."""

    entry: str
    base: Path
    """The agent directory or the project's `.relay`: where a relative path starts."""
    scope: Scope

    @property
    def action(self) -> Action:
        """`load` for a plain path or pattern; `!pattern`, `+path` and `-path` change what was found."""
        return next((action for sign, action in _ACTIONS if self.entry.startswith(sign)), "load")

    @property
    def target(self) -> str:
        """The entry without its sign."""
        return self.entry if self.action == "load" else self.entry[1:]

    def resolve(self, home: Path) -> Path:
        """The absolute path of `target` (of a pattern: with its wildcards)."""
        return expand(self.target, base=self.base, home=home)


class PackageSource(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `packages`. A list of None takes everything of its kind, an empty one nothing."""

    source: str
    base: Path
    scope: Scope
    autoload: bool = True
    """False: the project's entry only filters the user's package of the same source."""
    extensions: tuple[str, ...] | None = None
    skills: tuple[str, ...] | None = None
    prompts: tuple[str, ...] | None = None
    themes: tuple[str, ...] | None = None


def place_entries(key: str, values: tuple[Any, ...], base: Path, scope: Scope) -> tuple[Any, ...]:
    """The checked list of the setting `key` as PackageSource or Resource values."""
    if key != "packages":
        return tuple(Resource(entry, base, scope) for entry in values)
    records = (value if isinstance(value, Mapping) else {"source": value} for value in values)
    return tuple(PackageSource(base=base, scope=scope, **record) for record in records)
