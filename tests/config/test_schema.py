"""The settings table against the specification and against the typed structs."""

from __future__ import annotations

import re
import typing

import msgspec
import pytest

from relay.config.errors import UnknownSetting
from relay.config.kinds import check
from relay.config.lookup import find_setting, near_keys, parse_key
from relay.config.schema import GROUPS, SETTINGS
from relay.config.settings import Settings
from tests.shared import shared


def struct_keys(struct: type[msgspec.Struct], above: str = "") -> set[str]:
    hints = typing.get_type_hints(struct)
    keys: set[str] = set()
    for name, wire in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True):
        inner = hints[name]
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            keys |= struct_keys(inner, f"{above}{wire}.")
        else:
            keys.add(f"{above}{wire}")
    return keys


def test_the_table_and_the_structs_have_the_same_names() -> None:
    keys = [setting.key for setting in SETTINGS]
    assert len(keys) == len(set(keys))
    assert struct_keys(Settings) == set(keys)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_each_default_fits_its_own_kind_and_is_described(setting: typing.Any) -> None:
    if setting.default is None:
        assert setting.automatic
    else:
        assert check(setting.kind, setting.default) == (setting.default, ())
    assert setting.description.endswith(".") and "|" not in setting.description


def specified() -> list[tuple[str, str, str, str]]:
    """Key, type, default and description of each row of the specification's table."""
    folder = shared("seeds")
    (path,) = folder.glob("000_*.txt")
    text = path.read_text(encoding="utf-8").split("package/docs/settings.md", 1)[1]
    rows = re.findall(r"^\+?\| `([\w.]+)` \| (.+?) \| (.+?) \| (.+) \|$", text, re.MULTILINE)
    assert len(rows) > 90
    return rows


def test_every_row_of_the_specification_exists_with_its_default_and_scope() -> None:
    for key, _, default, description in specified():
        setting = find_setting(key)
        only_user = (
            "an only be set in agent-directory settings" in description
            or "Global setting only" in description
        )
        assert setting.global_only == only_user, key
        literal = re.fullmatch(r"`(.+)`", default)
        if literal is not None and setting.default is not None:
            shown = literal.group(1).strip('"')
            assert str(setting.default).lower().replace("()", "[]") == shown.lower() or key in (
                "defaultTools",
                "npmCommand",
                "laya.baseUrl",
            ), key
    assert find_setting("defaultTools").default == ("read", "bash", "edit", "write")
    assert find_setting("npmCommand").default == ("npm",)


def test_every_choice_of_the_specification_is_accepted() -> None:
    for key, kind, _, _ in specified():
        for word in re.findall(r'"([\w-]+)"', kind):
            assert check(find_setting(key).kind, word) == (word, ()), key


def test_every_heading_of_the_specification_is_kept() -> None:
    headings = {group.heading for group in GROUPS}
    assert {
        "Model and thinking",
        "Compaction",
        "Harness core",
        "Laya router",
        "Shell",
        "Resources",
    } <= headings


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("them", "theme"),
        ("retry.maxRetrys", "retry.maxRetries"),
        ("maxRetries", "retry.maxRetries"),
        ("retry", "retry.enabled"),
        ("HTTPPROXY", "httpProxy"),
        ("compaction.compressionRatio", "compaction.compression_ratio"),
    ],
)
def test_an_unknown_name_brings_near_ones(typo: str, meant: str) -> None:
    assert meant in near_keys(typo)
    with pytest.raises(UnknownSetting, match=re.escape(meant)):
        find_setting(typo)


def test_names_of_entries_may_hold_dots() -> None:
    assert parse_key("modelThinkingLevels.openai/gpt-5.4") == ("modelThinkingLevels", "openai/gpt-5.4")
    route = ("compaction", "modelOverrides", "a/b-1.5", "reserveTokens")
    assert parse_key("compaction.modelOverrides.a/b-1.5.reserveTokens") == route
    assert parse_key("retry.provider.maxRetries") == ("retry", "provider", "maxRetries")
    with pytest.raises(UnknownSetting):
        parse_key("nothing.like.it")
