"""Finding a setting by its name, and the names that were probably meant."""

from __future__ import annotations

import difflib

from relay.config.errors import UnknownSetting
from relay.config.kinds import Record, Table
from relay.config.schema import SETTINGS
from relay.config.setting import Setting


def find_setting(key: str) -> Setting:
    """The row of `key`; raises UnknownSetting with the names that look alike."""
    for setting in SETTINGS:
        if setting.key == key:
            return setting
    raise UnknownSetting(key, near_keys(key))


def parse_key(text: str) -> tuple[str, ...]:
    """The way to a setting, or to one entry of an object that is one, from its dotted name.

    Names of entries may hold dots themselves: `modelThinkingLevels.openai/gpt-5.4` leads to the entry
    `openai/gpt-5.4`. Raises UnknownSetting.
    """
    for setting in SETTINGS:
        if isinstance(setting.kind, Table) and text.startswith(f"{setting.key}."):
            rest = text[len(setting.key) + 1 :]
            fields = setting.kind.value.fields if isinstance(setting.kind.value, Record) else ()
            for name, _ in fields:
                if rest.endswith(f".{name}"):
                    return (*setting.path, rest.removesuffix(f".{name}"), name)
            return (*setting.path, rest)
    return find_setting(text).path


def near_keys(key: str) -> tuple[str, ...]:
    """Up to three existing names that `key` may have meant."""
    names = {setting.key.lower(): setting.key for setting in SETTINGS}
    wanted = key.lower().strip().strip(".")
    parts = [
        full for low, full in names.items() if low.startswith(f"{wanted}.") or low.endswith(f".{wanted}")
    ]
    alike = [names[low] for low in difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)]
    return tuple(dict.fromkeys((*parts, *alike)))[:3]
