"""Saving: one value changes, every other byte stays, and two writers lose nothing."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay.base.locks import HeldError, hold
from relay.config.errors import ConfigError, UnknownSetting
from relay.config.json_text import remove_value, set_value
from relay.config.loading import load_settings
from relay.config.saving import remove_setting, save_setting
from tests.shared import shared


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


def test_only_the_value_changes(file: Path) -> None:
    before = (
        '{\r\n    "unknownFutureKey" : {"keep":"me", "n": 1e400, "n": 1.50},\r\n'
        '    "theme":"da\\u0072k",   "z": [1,\r\n2],\r\n    "retry": { "maxRetries": 3 }\r\n}\r\n\r\n'
    )
    file.write_bytes(b"\xef\xbb\xbf" + before.encode())
    save_setting(file, "theme", "hell€")
    save_setting(file, "retry.maxRetries", 5)
    after = before.replace('"da\\u0072k"', '"hell€"').replace('"maxRetries": 3', '"maxRetries": 5')
    assert file.read_bytes() == b"\xef\xbb\xbf" + after.encode()


def test_new_keys_take_the_form_of_their_neighbours(file: Path) -> None:
    file.write_text('{\n\t"theme": "dark"\n}\n')
    save_setting(file, "retry.provider.maxRetries", 1)
    assert file.read_text() == (
        '{\n\t"theme": "dark",\n\t"retry": {\n\t\t"provider": {\n\t\t\t"maxRetries": 1\n\t\t}\n\t}\n}\n'
    )
    save_setting(file, "retry.enabled", False)
    assert '\n\t\t},\n\t\t"enabled": false\n\t}' in file.read_text()
    file.write_bytes(b'{\r\n "theme": "dark"\r\n}')
    save_setting(file, "retry.enabled", False)
    assert file.read_bytes() == b'{\r\n "theme": "dark",\r\n "retry": {\r\n  "enabled": false\r\n }\r\n}'
    file.write_text('{"theme":"dark"}')
    save_setting(file, "defaultTools", ["+grep"])
    assert file.read_text() == '{"theme":"dark", "defaultTools": ["+grep"]}'


def test_a_missing_or_empty_file_is_begun(file: Path, tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "settings.json"
    save_setting(deep, "theme", "dark")
    assert deep.read_text() == '{\n  "theme": "dark"\n}\n'
    for content in (b"", b"  \n", b"{}", b"\xef\xbb\xbf"):
        file.write_bytes(content)
        save_setting(file, "theme", "dark")
        assert json.loads(file.read_bytes().decode("utf-8-sig")) == {"theme": "dark"}


def test_mode_and_symlink_are_kept(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "real.json"
    real.parent.mkdir()
    real.write_text("{}")
    real.chmod(0o640)
    link = tmp_path / "settings.json"
    link.symlink_to(real)
    save_setting(link, "theme", "dark")
    assert link.is_symlink()
    assert json.loads(real.read_text()) == {"theme": "dark"}
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["dotfiles", "settings.json"]
    assert os.listdir(real.parent) == ["real.json"]


def test_entries_of_objects_can_be_saved(file: Path) -> None:
    save_setting(file, ("modelThinkingLevels", "openai/gpt-5.4"), "high")
    save_setting(file, "compaction.modelOverrides.a/b.c.reserveTokens", 7)
    assert load_settings(file.parent, None, trusted=False).problems == ()
    assert json.loads(file.read_text()) == {
        "modelThinkingLevels": {"openai/gpt-5.4": "high"},
        "compaction": {"modelOverrides": {"a/b.c": {"reserveTokens": 7}}},
    }
    assert remove_setting(file, ("modelThinkingLevels", "openai/gpt-5.4"))
    assert not remove_setting(file, "theme")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("theme", 5, "theme must be a text"),
        (("modelThinkingLevels", "a/b"), "hgih", '["a/b"]'),
        (("compaction", "modelOverrides", "m", "tokens"), 5, "no entry named 'tokens'"),
        (("theme", "x"), 5, "no entry"),
        ("skills", ["a", 5], "skills[1]"),
        ("retry.maxRetries", float("inf"), "inf"),
    ],
)
def test_what_does_not_fit_is_not_saved(file: Path, key: Any, value: Any, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        save_setting(file, key, value)
    assert words in str(caught.value)
    assert not file.exists()


def test_half_a_surrogate_pair_is_saved_as_an_escape(file: Path) -> None:
    save_setting(file, ("modelThinkingLevels", "\ud800"), "low")
    save_setting(file, "shellCommandPrefix", "ü\udfff")
    assert json.loads(file.read_bytes()) == {
        "modelThinkingLevels": {"\ud800": "low"},
        "shellCommandPrefix": "ü\udfff",
    }


def test_the_field_inputs_survive_a_save(file: Path) -> None:
    for name in ("bom", "empty", "wrong_type", "trailing_comma"):
        raw = shared(f"field/inputs/G01/settings_{name}.json").read_bytes()
        file.write_bytes(raw)
        if name == "trailing_comma":
            with pytest.raises(ConfigError, match="line 4, column 1"):
                save_setting(file, "hideThinkingBlock", True)
            assert file.read_bytes() == raw
            continue
        before = json.loads(raw.decode("utf-8-sig") or "{}")
        save_setting(file, "hideThinkingBlock", True)
        assert json.loads(file.read_bytes().decode("utf-8-sig")) == {**before, "hideThinkingBlock": True}


def test_an_unknown_name_is_not_saved(file: Path) -> None:
    with pytest.raises(UnknownSetting):
        save_setting(file, "them", "dark")


@pytest.mark.parametrize(
    "raw",
    [b'{"theme": "dark",}', b"[]", b"null", b'{"theme": NaN}', b'{"theme": "\xff"}', b"{'a': 1}", b"{} {}"],
)
def test_a_file_that_does_not_parse_is_never_written(file: Path, raw: bytes) -> None:
    file.write_bytes(raw)
    with pytest.raises(ConfigError, match="nothing was written"):
        save_setting(file, "theme", "light")
    with pytest.raises(ConfigError, match="nothing was written"):
        remove_setting(file, "theme")
    assert file.read_bytes() == raw


def test_a_value_in_the_way_is_not_overwritten(file: Path) -> None:
    file.write_text('{"retry": "yes"}')
    with pytest.raises(ConfigError, match="retry is not an object"):
        save_setting(file, "retry.maxRetries", 1)
    assert file.read_text() == '{"retry": "yes"}'


def test_a_folder_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "settings.json").mkdir()
    with pytest.raises(ConfigError, match="is a folder"):
        save_setting(tmp_path / "settings.json", "theme", "dark")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be changed"):
        save_setting(tmp_path / "file" / "settings.json", "theme", "dark")


def test_of_a_name_that_stands_twice_the_last_is_set_and_all_are_removed(file: Path) -> None:
    file.write_text('{"theme": "a", "theme": "b", "x": 1}')
    save_setting(file, "theme", "c")
    assert file.read_text() == '{"theme": "a", "theme": "c", "x": 1}'
    assert remove_setting(file, "theme")
    assert file.read_text() == '{"x": 1}'


def test_writers_at_the_same_time_lose_nothing(file: Path) -> None:
    file.write_text("{}")
    names = [f"p/{number}" for number in range(24)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: save_setting(file, ("modelThinkingLevels", name), "low"), names))
    assert json.loads(file.read_text()) == {"modelThinkingLevels": dict.fromkeys(names, "low")}


def test_a_killed_process_leaves_no_lock(file: Path) -> None:
    code = (
        "import pathlib, sys\nfrom relay.base.locks import hold\n"
        "with hold(pathlib.Path(sys.argv[1])):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(HeldError, match="another process"), hold(file, patience_s=0.05):
            pass
        process.kill()
    save_setting(file, "theme", "dark")
    assert json.loads(file.read_text()) == {"theme": "dark"}


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(
    data=st.dictionaries(st.text(max_size=3), PLAIN, max_size=4),
    path=st.lists(st.text(max_size=3), min_size=1, max_size=3),
    value=PLAIN,
    indent=st.sampled_from([None, 1, 4, "\t"]),
)
def test_text_changes_as_data_would(data: dict[str, Any], path: list[str], value: Any, indent: Any) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    branch: Any = data
    for name in path[:-1]:
        branch = branch.setdefault(name, {})
        if not isinstance(branch, dict):
            return
    branch[path[-1]] = value
    changed = set_value(text, path, value)
    assert json.loads(changed) == data
    assert list(json.loads(changed)) == list(data)
    del branch[path[-1]]
    assert json.loads(remove_value(changed, path)) == data
