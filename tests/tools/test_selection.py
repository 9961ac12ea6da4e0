"""Which tools a session starts with."""

from __future__ import annotations

from pathlib import Path

import pytest

from relay.base.processes import ProcessTracker
from relay.config.tool_selection import combine_selections
from relay.tools.catalogue import (
    BUILTIN_NAMES,
    OtherTool,
    ToolOptions,
    ToolSelectionError,
    builtin_tools,
    select_tools,
)
from relay.tools.shell_tool import ShellOptions

HERE = tuple(name for name in BUILTIN_NAMES if name != "powershell")
DEFAULT = "read bash edit write"


def in_effect(*layers: list[str] | None) -> tuple[str, ...]:
    """The setting defaultTools of these files, over its default."""
    entries: tuple[str, ...] = tuple(DEFAULT.split())
    for layer in layers:
        entries = entries if layer is None else combine_selections(entries, layer)
    return entries


@pytest.mark.parametrize(
    ("user", "project", "expected"),
    [
        (None, None, DEFAULT),
        (["grep", "ls"], None, "grep ls"),
        ([], None, ""),
        (["+grep"], None, DEFAULT + " grep"),
        (["-bash", "+grep"], None, "read edit write grep"),
        (["-bash"], ["+find"], "read edit write find"),
        (["-bash"], ["read", "bash"], "read bash"),
        (["ls"], ["+find"], "ls find"),
        (["ls"], [], ""),
        ([], ["+read"], "read"),
        (["read", "-read", "+ls"], None, "ls"),
        (["-read", "read"], None, ""),
        (["+read", "+read", "read"], None, "read"),
        (["-grep", "+grep"], None, DEFAULT + " grep"),
        (["+grep", "-grep"], None, DEFAULT),
        (["+bash"], None, DEFAULT),
    ],
)
def test_the_setting(user: list[str] | None, project: list[str] | None, expected: str) -> None:
    chosen = select_tools(available=HERE, defaults=in_effect(user, project))
    assert (" ".join(chosen.names), chosen.problems) == (expected, [])


OTHERS = (OtherTool("deploy"), OtherTool("codemode", active=False), OtherTool("mcp__git__log", active=False))


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (None, DEFAULT + " deploy"),
        ([], "deploy"),
        (["read"], "read deploy"),
        (["+codemode"], DEFAULT + " deploy codemode"),
        (["codemode"], "codemode deploy"),
        (["-deploy"], DEFAULT),
    ],
)
def test_tools_of_extensions(setting: list[str] | None, expected: str) -> None:
    chosen = select_tools(available=HERE, others=OTHERS, defaults=in_effect(setting))
    assert (" ".join(chosen.names), chosen.problems) == (expected, [])


def test_tools_replaces_everything_and_takes_patterns() -> None:
    def chosen(*tools: str) -> str:
        return " ".join(select_tools(available=HERE, others=OTHERS, defaults=["ls"], tools=tools).names)

    assert chosen("read", "grep") == "read grep"
    assert chosen("ls") == "ls"
    assert chosen("*re*") == "read grep"
    assert chosen("*") == " ".join(HERE) + " deploy codemode mcp__git__log"
    assert chosen("read", "mcp__git__*", "r*") == "read mcp__git__log"
    assert chosen("codemode") == "codemode"
    assert chosen("rea.") == ""
    assert chosen() == ""


def test_options_override_the_setting() -> None:
    setting = ["-bash", "+grep"]
    assert select_tools(available=HERE, others=OTHERS, defaults=in_effect(setting), no_tools=True).names == []
    kept = select_tools(available=HERE, others=OTHERS, defaults=in_effect(setting), no_builtin_tools=True)
    assert kept.names == ["deploy"]
    named = select_tools(available=HERE, others=OTHERS, tools=["ls"], no_tools=True, no_builtin_tools=True)
    assert named.names == ["ls"]


def test_exclusion_comes_last() -> None:
    def chosen(*exclude: str, tools: list[str] | None = None) -> str:
        return " ".join(
            select_tools(
                available=HERE, others=OTHERS, defaults=in_effect(["+ls"]), tools=tools, exclude=exclude
            ).names
        )

    assert chosen("bash", "write") == "read edit deploy ls"
    assert chosen("*e*") == "bash ls"
    assert chosen("read", tools=["read", "grep"]) == "grep"


@pytest.mark.parametrize("entry", ["+grep", "-bash"])
def test_tools_refuses_changes(entry: str) -> None:
    with pytest.raises(ToolSelectionError, match="defaultTools") as caught:
        select_tools(available=HERE, tools=["read", entry])
    assert entry in str(caught.value)


def test_unknown_names_are_told_with_the_known_ones_and_the_rest_works() -> None:
    chosen = select_tools(available=HERE, defaults=["read", "grpe"])
    assert chosen.names == ["read"]
    assert chosen.problems == [
        'The setting defaultTools names "grpe", but there is no such tool. '
        "Known: read, bash, edit, write, grep, find, ls."
    ]
    assert '"nope*"' in select_tools(available=HERE, tools=["nope*"]).problems[0]
    assert '"nope"' in select_tools(available=HERE, exclude=["nope"]).problems[0]
    assert '"nope"' in select_tools(available=HERE, defaults=in_effect(["-nope"])).problems[0]
    assert select_tools(available=HERE, exclude=["mcp__*"]).problems == []


def test_powershell_where_it_is_missing() -> None:
    for chosen in (
        select_tools(available=HERE, defaults=in_effect(["-bash", "+powershell"])),
        select_tools(available=HERE, tools=["powershell"]),
    ):
        assert "powershell" not in chosen.names
        assert ["on PATH" in problem for problem in chosen.problems] == [True]
    assert select_tools(available=HERE, exclude=["powershell"]).problems == []
    assert select_tools(available=HERE, defaults=in_effect(["-powershell"])).problems == []
    assert select_tools(available=BUILTIN_NAMES, tools=["powershell"]).names == ["powershell"]


def test_the_built_in_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ToolOptions(shell=ShellOptions(tracker=ProcessTracker()))
    monkeypatch.setenv("PATH", str(tmp_path))
    tools = builtin_tools(tmp_path, options)
    assert set(tools) == set(HERE)
    for name, tool in tools.items():
        assert tool.spec.name == name and tool.spec.parameters["type"] == "object" and tool.hint
    (tmp_path / "pwsh").touch(0o755)
    assert set(builtin_tools(tmp_path, options)) == set(BUILTIN_NAMES)
