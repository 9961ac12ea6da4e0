"""Layered loading: what each layer adds, and that no fault in a file costs more than its own key."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relay.config.loading import LoadedSettings, default_settings, load_settings
from relay.config.resources import PackageSource, Resource
from relay.config.schema import SETTINGS
from relay.config.tool_selection import apply_selection


class Home:
    """An agent directory and a project below `tmp_path`."""

    def __init__(self, tmp_path: Path) -> None:
        self.agent = tmp_path / "agent"
        self.project = tmp_path / "work" / ".relay"
        self.user_file = self.agent / "settings.json"
        self.project_file = self.project / "settings.json"
        self.agent.mkdir()
        self.project.mkdir(parents=True)

    def load(self, *, trusted: bool = True) -> LoadedSettings:
        return load_settings(self.agent, self.project, trusted=trusted)

    def user(self, data: Mapping[str, Any]) -> None:
        self.user_file.write_text(json.dumps(data))

    def own(self, data: Mapping[str, Any]) -> None:
        self.project_file.write_text(json.dumps(data))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_without_files_everything_is_a_default(home: Home) -> None:
    loaded = home.load()
    assert loaded.settings == default_settings()
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.problems == ()


def test_a_project_goes_before_the_user_and_origins_say_so(home: Home) -> None:
    home.user({"theme": "dark", "retry": {"maxRetries": 7, "provider": {"maxRetries": 2}}})
    home.own({"retry": {"maxRetries": 1}, "defaultModel": "m"})
    loaded = home.load()
    retry = loaded.settings.retry
    assert (loaded.settings.theme, retry.max_retries, retry.provider.max_retries) == ("dark", 1, 2)
    assert loaded.settings.default_model == "m"
    wanted = {
        "theme": "user",
        "retry.maxRetries": "project",
        "retry.provider.maxRetries": "user",
        "retry.baseDelayMs": "default",
    }
    assert {key: loaded.origins[key] for key in wanted} == wanted


def test_an_untrusted_project_gives_only_its_session_folder(home: Home) -> None:
    home.own({"sessionDir": "here", "theme": "dark", "retry": 5, "httpProxy": "http://x"})
    loaded = home.load(trusted=False)
    assert (loaded.settings.session_dir, loaded.settings.theme) == ("here", "system")
    assert loaded.problems == ()
    assert len(home.load(trusted=True).problems) == 2


@pytest.mark.parametrize("key", ["httpProxy", "defaultProjectTrust", "cacheWarming"])
def test_a_project_may_not_set_what_is_the_users(home: Home, key: str) -> None:
    home.own({key: {"httpProxy": "http://x", "defaultProjectTrust": "always", "cacheWarming": "off"}[key]})
    loaded = home.load()
    assert loaded.origins[key] == "default"
    (problem,) = loaded.problems
    assert str(home.project_file) in problem and str(home.user_file) in problem and key in problem


def test_a_project_whose_folder_is_the_agent_directory_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"httpProxy": "http://p", "skills": ["a"]}')
    loaded = load_settings(tmp_path, tmp_path, trusted=True)
    assert loaded.settings.http_proxy == "http://p"
    assert len(loaded.settings.skills) == 1
    assert loaded.problems == ()


def test_objects_merge_key_by_key(home: Home) -> None:
    home.user(
        {
            "modelThinkingLevels": {"a/x": "low", "a/y": "high"},
            "thinkingBudgets": {"low": 100},
            "laya": {"models": {"fast": ["a/1"], "strong": ["a/2"]}},
            "compaction": {"modelOverrides": {"a/b/c": {"reserveTokens": 1, "keepRecentTokens": 2}}},
        }
    )
    home.own(
        {
            "modelThinkingLevels": {"a/y": "off"},
            "thinkingBudgets": {"high": 900},
            "laya": {"models": {"fast": ["b/1"]}},
            "compaction": {"reserveTokens": 9, "modelOverrides": {"a/b/c": {"keepRecentTokens": 3}}},
        }
    )
    found = home.load().settings
    assert found.model_thinking_levels == {"a/x": "low", "a/y": "off"}
    assert found.thinking_budgets == {"low": 100, "high": 900}
    assert found.laya.models == {"fast": ("b/1",), "strong": ("a/2",)}
    own = found.compaction.for_model("a/b/c")
    assert (own.reserve_tokens, own.keep_recent_tokens, own.preserve_recent) == (1, 3, 2)
    assert found.compaction.for_model("A/b/c").reserve_tokens == 9


def test_resource_lists_are_joined_and_keep_their_folders(home: Home, tmp_path: Path) -> None:
    home.user({"skills": ["~/s", "mine"], "packages": ["npm:a", {"source": "./p", "skills": [], "new": 1}]})
    home.own(
        {"skills": ["../s", "!old/*", "-x", "+/abs"], "packages": [{"source": "npm:a", "autoload": False}]}
    )
    loaded = home.load()
    assert loaded.problems == ()
    skills = loaded.settings.skills
    assert [skill.resolve(Path("/home/u")) for skill in skills] == [
        Path("/home/u/s"),
        home.agent / "mine",
        tmp_path / "work" / "s",
        home.project / "old" / "*",
        home.project / "x",
        Path("/abs"),
    ]
    assert [skill.action for skill in skills[2:]] == ["load", "without-matches", "without", "with"]
    assert skills[0] == Resource("~/s", home.agent, "user")
    one, two, three = loaded.settings.packages
    assert one == PackageSource(source="npm:a", base=home.agent, scope="user")
    assert (two.skills, two.prompts, three.autoload, three.scope) == ((), None, False, "project")


@pytest.mark.parametrize(
    ("user", "own", "tools"),
    [
        (None, None, "read bash edit write"),
        (["+codemode"], None, "read bash edit write codemode"),
        (["-bash", "+powershell", "+grep"], None, "read edit write powershell grep"),
        ([], None, ""),
        (["ls", "read"], ["+grep"], "ls read grep"),
        (["+grep"], ["ls"], "ls"),
        (["+grep"], [], ""),
        (["+grep"], ["-grep", "-read"], "bash edit write"),
        (["-a", "b", "+a", "-b"], None, "a"),
        (None, ["+ls", "-ls", "+ls", "+read"], "read bash edit write ls"),
        (["grep", 5, ""], None, "grep"),
    ],
)
def test_a_project_changes_or_replaces_the_selection_of_tools(
    home: Home, user: list[str] | None, own: list[str] | None, tools: str
) -> None:
    if user is not None:
        home.user({"defaultTools": user})
    if own is not None:
        home.own({"defaultTools": own})
    assert " ".join(apply_selection(home.load().settings.default_tools)) == tools


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"theme": "dark",}', "line 1, column 18"),
        (b'{\n  "theme": "dark",\n  "defaultProvider": "mock",\n}\n', "line 4, column 1"),
        (b'{\n// dark\n"theme": "dark"}', "line 2, column 1"),
        (b'{"theme": "dark" /* x */}', "line 1, column 18"),
        (b'{"theme": NaN}', "line 1, column 11"),
        (b'{"theme": "dark"', "line 1"),
        (b'{"theme": "da\nrk"}', "line 1, column 1"),
        (b"{'theme': 'dark'}", "line 1, column 2"),
        (b'{"theme": "\xff"}', "line 1, column 12"),
        ('{"theme": "dark"}'.encode("utf-16"), "UTF-8"),
        (b'["theme"]', "a list"),
        (b'"dark"', "the text"),
        (b"null", "null"),
        (b'{"retry": {"maxRetries": ' + b"9" * 5000 + b"}}", "digits"),
        (b'{"a":' * 50_000, "nested"),
        (b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}", "nested"),
    ],
)
def test_a_file_that_does_not_parse_is_named_and_the_rest_of_the_settings_hold(
    home: Home, raw: bytes, words: str
) -> None:
    home.user_file.write_bytes(raw)
    home.own({"defaultModel": "m"})
    loaded = home.load()
    (problem,) = loaded.problems
    assert str(home.user_file) in problem and words in problem
    assert (loaded.settings.theme, loaded.settings.default_model) == ("system", "m")
    assert home.user_file.read_bytes() == raw


def test_what_is_not_a_file_is_named(home: Home) -> None:
    home.user_file.mkdir()
    os.mkfifo(home.project_file)
    first, second = home.load().problems
    assert "is a folder" in first and "not an ordinary file" in second


def test_a_file_that_cannot_be_opened_is_named(home: Home) -> None:
    home.user_file.symlink_to(home.user_file)
    home.own({"theme": "dark"})
    home.project_file.chmod(0)
    first, *rest = home.load().problems
    assert str(home.user_file) in first and "cannot be read" in first
    if os.geteuid() == 0:
        assert not rest and home.load().settings.theme == "dark"
    else:
        assert "cannot be read" in rest[0]


@pytest.mark.parametrize("raw", [b"", b"  \n", b"\xef\xbb\xbf", b"{}", b'\xef\xbb\xbf{"theme":"dark"}'])
def test_empty_files_and_byte_order_marks_are_fine(home: Home, raw: bytes) -> None:
    home.user_file.write_bytes(raw)
    loaded = home.load()
    assert loaded.problems == ()
    assert loaded.settings.theme == ("dark" if b"dark" in raw else "system")


WRONG: dict[str, tuple[Any, str]] = {
    "theme": (42, "the number 42"),
    "retry": ("yes", 'the text "yes"'),
    "terminal": ([], "a list"),
    "hideThinkingBlock": ("true", 'the text "true"'),
    "quietStartup": ("head", '"header"'),
    "defaultThinkingLevel": ("hgih", '"xhigh"'),
    "outputPad": (True, "true"),
    "editorPaddingX": (4, "from 0 to 3"),
    "autocompleteMaxVisible": (2, "from 3 to 20"),
    "fullscreenWheelScrollLines": (0, "from 1 to 100"),
    "httpIdleTimeoutMs": (-1, "0"),
    "npmCommand": (["npx", 5], "[1]"),
    "shellPath": ("", "not empty"),
    "steeringMode": (None, "null"),
    "compaction.reserveTokens": (-5, "the number -5"),
    "compaction.keepRecentTokens": (2**53, "whole number"),
    "compaction.preserve_recent": (1.5, "whole number"),
    "compaction.compression_ratio": (1, "between 0 and 1"),
    "compaction.backgroundThresholdPercent": (0, "from 1 to 100"),
    "compaction.planningTimeoutMs": ("soon", '"disabled"'),
    "retry.provider": (1, "an object"),
    "retry.provider.timeoutMs": ("1", "milliseconds"),
    "laya.minConfidence": (2, "from 0 to 1"),
}


@pytest.mark.parametrize("key", WRONG)
def test_a_wrong_value_is_named_and_only_its_key_falls_back(home: Home, key: str) -> None:
    value, words = WRONG[key]
    *sections, name = key.split(".")
    data: dict[str, Any] = {"defaultModel": "m"}
    branch = data
    for section in sections:
        branch = branch.setdefault(section, {})
    branch[name] = value
    home.user(data)
    loaded = home.load()
    (problem,) = loaded.problems
    assert f"{home.user_file}: {key}" in problem and words in problem and problem.endswith(".")
    assert loaded.settings.default_model == "m"
    others = {key: value for key, value in loaded.values.items() if key != "defaultModel"}
    assert others == {s.key: s.default for s in SETTINGS if s.key != "defaultModel"}


def test_a_wrong_value_of_a_project_leaves_the_users(home: Home) -> None:
    home.user({"compaction": {"reserveTokens": 5}})
    home.own({"compaction": {"reserveTokens": -5}})
    loaded = home.load()
    assert loaded.settings.compaction.reserve_tokens == 5
    assert loaded.origins["compaction.reserveTokens"] == "user"


def test_wrong_entries_are_left_out_alone(home: Home) -> None:
    home.user(
        {
            "modelThinkingLevels": {"a/x": "hgih", "a/y": "low"},
            "skills": ["a", 1, "b"],
            "packages": [{"skills": []}, {"source": "p", "skills": 5}, 7],
            "compaction": {"modelOverrides": {"m": {"reserveTokens": -1, "keepRecentTokens": 4}, "n": 3}},
            "laya": {"quota": {"a": 2, "b": 0.5}},
        }
    )
    loaded = home.load()
    found = loaded.settings
    assert found.model_thinking_levels == {"a/y": "low"}
    assert [skill.entry for skill in found.skills] == ["a", "b"]
    assert [package.source for package in found.packages] == ["p"]
    assert found.compaction.for_model("m").keep_recent_tokens == 4
    assert found.compaction.for_model("m").reserve_tokens == 16384
    assert found.laya.quota == {"b": 0.5}
    named = [
        'modelThinkingLevels["a/x"]',
        "skills[1]",
        "packages[0]",
        "packages[1].skills",
        "packages[2]",
        'compaction.modelOverrides["m"].reserveTokens',
        'compaction.modelOverrides["n"]',
        'laya.quota["a"]',
    ]
    assert all(any(name in problem for problem in loaded.problems) for name in named)
    assert len(loaded.problems) == len(named)


def test_numbers_that_only_look_odd_are_read(home: Home) -> None:
    home.user_file.write_text(
        '{"retry": {"maxRetries": 5.0, "baseDelayMs": 2e3}, "httpIdleTimeoutMs": "disabled",'
        ' "compaction": {"planningTimeoutMs": "disabled", "compression_ratio": 0.25}, "compactionModel": " "}'
    )
    found = home.load()
    assert found.problems == ()
    assert (found.settings.retry.max_retries, found.settings.retry.base_delay_ms) == (5, 2000)
    assert (found.settings.http_idle_timeout_ms, found.settings.compaction.planning_timeout_ms) == (0, 0)
    assert found.settings.compaction.compression_ratio == 0.25
    assert found.settings.compaction_model == "auto"


def test_null_means_not_set_where_relay_finds_the_value_itself(home: Home) -> None:
    home.user({"defaultModel": "m", "shellPath": None})
    home.own({"defaultModel": None})
    loaded = home.load()
    assert loaded.problems == ()
    assert (loaded.settings.default_model, loaded.settings.shell_path) == ("m", None)


def test_a_number_without_end_is_refused(home: Home) -> None:
    home.user_file.write_text('{"retry": {"maxRetries": 1e400}, "laya": {"minConfidence": -1e400}}')
    loaded = home.load()
    assert len(loaded.problems) == 2
    assert loaded.settings.retry.max_retries == 3


def test_a_name_that_stands_twice_is_pointed_out(home: Home) -> None:
    home.user_file.write_text('{"theme": "a", "x": {"y": 1, "y": 2}, "theme": "b"}')
    loaded = home.load()
    assert loaded.settings.theme == "b"
    assert [problem.split(": ")[1].split()[0] for problem in loaded.problems] == ["y", "theme"]


def test_the_provider_timeout_follows_the_idle_timeout(home: Home) -> None:
    home.user({"httpIdleTimeoutMs": 5})
    assert home.load().settings.provider_timeout_ms == 5
    home.user({"httpIdleTimeoutMs": 5, "retry": {"provider": {"timeoutMs": 0}}})
    assert home.load().settings.provider_timeout_ms == 0


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), junk=st.lists(JUNK, min_size=1, max_size=5))
def test_no_content_stops_the_start(tmp_path: Path, seed: int, junk: list[Any]) -> None:
    pick = random.Random(seed)
    data: dict[str, Any] = {}
    for value in junk:
        path = pick.choice(SETTINGS).path
        branch: Any = data
        for name in path[:-1]:
            branch = branch.setdefault(name, {}) if isinstance(branch, dict) else {}
        if isinstance(branch, dict):
            branch[path[-1]] = value
    (tmp_path / "settings.json").write_text(json.dumps(data, allow_nan=True))
    loaded = load_settings(tmp_path, None, trusted=False)
    assert loaded.settings.retry is not None
    for key, origin in loaded.origins.items():
        if origin == "default":
            assert loaded.values[key] == next(s.default for s in SETTINGS if s.key == key)
