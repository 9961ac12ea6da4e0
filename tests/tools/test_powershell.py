"""The powershell tool over a stand-in for PowerShell that shows how it was called."""

from __future__ import annotations

from pathlib import Path

import pytest

from relay.agent.tool import ToolError
from relay.base.processes import ProcessTracker
from relay.tools.powershell import PowerShellTool, find_powershell
from relay.tools.shell_tool import ShellOptions
from tests.tools.calls import call, context


@pytest.fixture
def tool(tmp_path: Path) -> PowerShellTool:
    return PowerShellTool(tmp_path, ShellOptions(tracker=ProcessTracker()))


def put(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)


async def test_it_says_where_it_is_missing(
    tool: PowerShellTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="neither pwsh nor powershell is on PATH"):
        await tool.run({"command": "1"}, context())


async def test_the_command_comes_whole_and_with_utf8_set_up(
    tool: PowerShellTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "pwsh", 'printf "%s|" "$@"\n')
    monkeypatch.setenv("PATH", str(tmp_path))
    flags, _, script = (await call(tool, command='Write-Output "a b" | \u20ac')).partition("|-Command|")
    assert flags == "-NoProfile|-NonInteractive|-ExecutionPolicy|Bypass"
    assert "UTF8" in script.partition("Write-Output")[0]
    assert '\nWrite-Output "a b" | \u20ac\n' in script


async def test_exit_codes(tool: PowerShellTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "powershell", "exit 5\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="exit code 5"):
        await tool.run({"command": "1"}, context())


async def test_a_long_command_goes_through_a_script(
    tool: PowerShellTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "pwsh", 'echo "$5"; /usr/bin/head -c 20 "$6" >/dev/null && echo read "${6##*.}"\n')
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await call(tool, command="1" * 200_000) == "-File\nread ps1\n"


def test_powershell_7_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("powershell", "pwsh"):
        put(tmp_path, name, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    shell = find_powershell()
    assert shell is not None and shell.path == str(tmp_path / "pwsh")
