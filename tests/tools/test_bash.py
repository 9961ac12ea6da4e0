"""The bash tool with real commands."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from relay.agent.tool import ToolCallContext, ToolError, ToolResult
from relay.base.processes import ProcessTracker, list_processes
from relay.tools.bash import BashTool
from relay.tools.shell import find_shell, run_shell
from relay.tools.shell_tool import ShellOptions
from tests.shared import shared
from tests.tools.calls import call, context, is_alive, read_fifo, recorded_calls, text_of

EURO = "\u20ac"


@pytest.fixture
def tracker() -> ProcessTracker:
    return ProcessTracker()


@pytest.fixture
def bash(tmp_path: Path, tracker: ProcessTracker) -> BashTool:
    folder = tmp_path / "outputs"
    folder.mkdir()
    return BashTool(tmp_path, ShellOptions(tracker=tracker, output_folder=str(folder)))


@pytest.fixture
def leftovers(tmp_path: Path) -> Iterator[None]:
    """Ends what a test leaves running on purpose, and only that: processes in its own directory."""
    yield
    for pid in list_processes():
        try:
            if os.readlink(f"/proc/{pid}/cwd").startswith(str(tmp_path)):
                os.kill(pid, signal.SIGKILL)
        except OSError:
            continue


def contents(path: Path) -> tuple[str, int]:
    return path.read_text(), path.stat().st_mode & 0o777


def make_fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def zombies() -> list[str]:
    command = ["ps", "--ppid", str(os.getpid()), "-o", "stat=,comm="]
    listing = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return [line for line in listing.splitlines() if line.startswith("Z")]


async def failure(tool: BashTool, **arguments: object) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await tool.run(dict(arguments), context())
    return caught.value


async def test_stdout_and_stderr_come_as_one_text_in_order(bash: BashTool) -> None:
    assert await call(bash, command="echo a; echo b >&2; echo c") == "a\nb\nc\n"


async def test_it_runs_in_the_working_directory_with_an_empty_stdin(bash: BashTool, tmp_path: Path) -> None:
    assert await call(bash, command="pwd; cat; echo end") == f"{tmp_path}\nend\n"


async def test_no_output_says_so(bash: BashTool) -> None:
    assert await call(bash, command="true") == "(no output)"


async def test_an_exit_code_is_an_error_that_keeps_the_output(bash: BashTool) -> None:
    assert str(await failure(bash, command="echo a; exit 3")) == "a\n\nThe command ended with exit code 3."


@pytest.mark.parametrize("command", ["kill -KILL $$", "bash -c 'kill -KILL $$'"])
async def test_a_signal_is_named(bash: BashTool, command: str) -> None:
    assert "exit code 137 (ended by SIGKILL)" in str(await failure(bash, command=command))


@pytest.mark.parametrize("limit", [0, -1, "soon", "nan", float("inf"), True])
async def test_a_timeout_that_is_no_duration_is_refused(bash: BashTool, limit: object) -> None:
    assert "number of seconds above 0" in str(await failure(bash, command="echo a", timeout=limit))


async def test_a_missing_working_directory_is_named(tmp_path: Path, tracker: ProcessTracker) -> None:
    gone = tmp_path / "gone"
    error = await failure(BashTool(gone, ShellOptions(tracker=tracker)), command="true")
    assert str(gone) in str(error) and "does not exist" in str(error)


async def test_shell_path_prefix_and_environment(tmp_path: Path, tracker: ProcessTracker) -> None:
    shell = tmp_path / "shell"
    shell.write_text('#!/bin/sh\necho "mine $*"\nexec /bin/sh "$@"\n')
    shell.chmod(0o755)
    options = ShellOptions(
        tracker=tracker,
        shell_path=str(shell),
        command_prefix="word=before",
        environment=lambda: {"RELAY_MODEL": "m1"},
    )
    text = await call(BashTool(tmp_path, options), command="echo $word $RELAY_MODEL")
    assert text.endswith("before m1\n") and text.startswith("mine -c word=before")


async def test_a_shell_path_that_is_no_program_names_the_setting(
    tmp_path: Path, tracker: ProcessTracker
) -> None:
    options = ShellOptions(tracker=tracker, shell_path=str(tmp_path / "nothing"))
    assert "shellPath" in str(await failure(BashTool(tmp_path, options), command="true"))


async def test_a_command_may_look_like_an_option_or_be_longer_than_an_argument(bash: BashTool) -> None:
    assert "not found" in str(await failure(bash, command="-c"))
    body = "x" * 300_000
    assert await call(bash, command=f"wc -c <<'END'\n{body}\nEND") == "300001\n"


async def test_a_nul_in_the_command_is_refused(bash: BashTool) -> None:
    assert "NUL" in str(await failure(bash, command="echo \0"))


async def test_a_surrogate_in_the_command_is_refused(bash: BashTool) -> None:
    assert "Character 6" in str(await failure(bash, command="echo \ud83d"))


# Output


async def test_long_output_shows_its_end_and_names_the_file_with_all_of_it(bash: BashTool) -> None:
    result = await bash.run({"command": "seq 1 5000"}, context())
    lines = text_of(result).split("\n")
    assert (lines[0], lines[1999]) == ("3001", "5000")
    path = Path(result.details["fullOutputPath"])
    assert str(path) in lines[-1] and "5000" in lines[-1]
    assert contents(path) == ("".join(f"{n}\n" for n in range(1, 5001)), 0o600)
    assert result.details["truncation"]["totalLines"] == 5000
    assert result.details["truncation"]["truncatedBy"] == "lines"


async def test_output_at_the_limit_makes_no_file(bash: BashTool, tmp_path: Path) -> None:
    result = await bash.run({"command": "seq 1 2000"}, context())
    assert result.details is None and text_of(result).startswith("1\n")
    assert os.listdir(tmp_path / "outputs") == []


async def test_a_failed_command_keeps_the_details_of_its_output(bash: BashTool) -> None:
    error = await failure(bash, command="seq 1 3000; exit 4")
    assert error.details["truncation"]["outputLines"] == 2000
    assert str(error).endswith("exit code 4.")


async def test_characters_survive_two_writes(bash: BashTool, tmp_path: Path) -> None:
    make_fifo(tmp_path / "go")
    script = "import os; os.write(1, b'cleanup \\xe2'); open('go').read(); os.write(1, b'\\x80\\x94 end\\n')"
    updates: list[ToolResult] = []
    started = asyncio.Event()

    def update(result: ToolResult) -> None:
        updates.append(result)
        started.set()

    running = asyncio.create_task(
        bash.run({"command": f'{sys.executable} -c "{script}"'}, ToolCallContext(call_id="c1", update=update))
    )
    await asyncio.wait_for(started.wait(), 20)
    assert text_of(updates[0]) == "cleanup "
    await asyncio.to_thread((tmp_path / "go").write_text, "")
    assert text_of(await running) == "cleanup \u2014 end\n"
    assert not any("\ufffd" in text_of(result) for result in updates)


@pytest.mark.parametrize("lead", [0, 1, 2])
async def test_one_endless_line_is_cut_between_characters(bash: BashTool, lead: int) -> None:
    script = f"print('x' * {lead} + '{EURO}' * 200000)"
    text = await call(bash, command=f'{sys.executable} -c "{script}"')
    shown = text.partition("\n")[0]
    assert set(shown) == {EURO} and len(shown) > 17_000


async def test_bytes_that_are_no_text_do_not_end_the_run(bash: BashTool) -> None:
    assert (
        await call(bash, command=r"printf 'bad \xff\xfe bytes\0nul\n'") == "bad \ufffd\ufffd bytes\u2400nul\n"
    )


async def test_control_sequences_are_left_out(bash: BashTool) -> None:
    command = r"printf '\033[1;31mred\033[0m \033]0;title\007plain\tx\a\b\r\n'"
    assert await call(bash, command=command) == "red plain\tx\r\n"


async def test_the_pieces_for_a_user_command_are_all_of_the_output(tmp_path: Path) -> None:
    pieces: list[str] = []
    outcome = await run_shell(
        "seq 1 20000; printf '\\033[3'; printf '1mred'",
        cwd=str(tmp_path),
        shell=find_shell(),
        tracker=ProcessTracker(),
        on_text=pieces.append,
        output_folder=str(tmp_path),
    )
    assert "".join(pieces) == "".join(f"{n}\n" for n in range(1, 20001)) + "red"
    assert outcome.exit_code == 0 and outcome.output.truncation is not None


async def test_no_room_for_the_file_is_told_and_the_command_goes_on(
    tmp_path: Path, tracker: ProcessTracker
) -> None:
    options = ShellOptions(tracker=tracker, output_folder=str(tmp_path / "none"))
    result = await BashTool(tmp_path, options).run({"command": "seq 1 3000"}, context())
    assert "could not be kept" in text_of(result) and str(tmp_path / "none") in text_of(result)
    assert "fullOutputPath" not in result.details


# Background children


@pytest.mark.usefixtures("leftovers")
@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("sleep 300 & echo started", "sleep"),
        ("(while :; do echo tick; sleep 0.2; done) & echo started", "bash"),
        ("yes & echo started", "yes"),
        ("setsid sleep 300 >/dev/null & echo started", "sleep"),
        ("(setsid sleep 300 &) ; echo started", "sleep"),
        ("sleep 300 >/dev/null 2>&1 & echo started", "sleep"),
    ],
)
async def test_a_background_child_does_not_hold_the_call_and_lives_on(
    bash: BashTool, command: str, name: str
) -> None:
    threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
    async with asyncio.timeout(3):
        text = await call(bash, command=command)
    assert "Still running" in text and f"{name} (pid " in text
    assert "started" in text or name == "yes"
    pid = int(text.partition(f"{name} (pid ")[2].partition(")")[0])
    assert is_alive(pid)
    assert await call(bash, command="echo next") == "next\n"
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert threading.active_count() <= threads + 4  # the loop's own worker threads
    assert is_alive(pid)


@pytest.mark.usefixtures("leftovers")
async def test_a_child_that_goes_on_printing_is_not_ended_by_a_closed_pipe(
    bash: BashTool, tmp_path: Path
) -> None:
    make_fifo(tmp_path / "proof")
    await call(bash, command="(sleep 0.5; echo a; echo b; echo alive > proof) & echo started")
    assert await asyncio.wait_for(read_fifo(tmp_path / "proof"), 10) == "alive\n"


# Time-out and cancellation

STUBBORN = (
    "trap '' TERM; bash -c 'trap \"\" TERM; echo $$ > kid; while :; do sleep 1; done' & echo so far; wait"
)
DETACHED = (
    "(setsid sh -c 'echo $$ > kid; exec sleep 300' >/dev/null 2>&1 &); echo so far; "
    "until [ -s kid ]; do :; done; sleep 300"
)
CLOSED = (
    "env -i setsid sh -c 'echo $$ > kid; exec sleep 300' & echo so far; until [ -s kid ]; do :; done; wait"
)


@pytest.mark.parametrize(
    "command", [STUBBORN, DETACHED, CLOSED, "sleep 300 & echo $! > kid; echo so far; sleep 300"]
)
async def test_a_timeout_ends_the_whole_tree_and_keeps_the_output(
    bash: BashTool, tmp_path: Path, tracker: ProcessTracker, command: str
) -> None:
    error = await asyncio.wait_for(failure(bash, command=command, timeout="1.2"), 10)
    assert str(error).startswith("so far\n") and "timeout of 1.2 seconds" in str(error)
    assert not is_alive(int((tmp_path / "kid").read_text()))
    assert tracker.running == 0


@pytest.mark.parametrize("command", [STUBBORN, DETACHED])
async def test_cancellation_ends_the_whole_tree_and_leaves_the_output(
    bash: BashTool, tmp_path: Path, tracker: ProcessTracker, command: str
) -> None:
    updates: list[ToolResult] = []
    make_fifo(tmp_path / "kid")
    once = command.replace("until [ -s kid ]", "until true")
    task = asyncio.create_task(bash.run({"command": once}, context(updates)))
    kid = int(await read_fifo(tmp_path / "kid"))
    assert is_alive(kid) and tracker.running == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    assert not is_alive(kid)
    assert text_of(updates[-1]) == "so far\n"
    assert tracker.running == 0


async def test_a_second_cancellation_still_ends_the_tree(bash: BashTool, tmp_path: Path) -> None:
    make_fifo(tmp_path / "kid")
    before = len(os.listdir("/proc/self/fd"))
    task = asyncio.create_task(bash.run({"command": f"seq 9000; {STUBBORN}"}, context()))
    kid = int(await read_fifo(tmp_path / "kid"))
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_alive(kid)
    assert len(os.listdir("/proc/self/fd")) == before


async def test_no_zombie_is_left(bash: BashTool) -> None:
    await call(bash, command="true")
    await failure(bash, command="sleep 300", timeout=0.1)
    assert zombies() == []


# Reported by users


@pytest.mark.usefixtures("leftovers")
@pytest.mark.parametrize("name", ["01", "02", "03"])
async def test_reported_background_children(bash: BashTool, name: str) -> None:
    (arguments,) = recorded_calls(shared(f"field/inputs/T10/{name}.sse"))
    async with asyncio.timeout(3):
        text = await call(bash, **arguments)
    assert "Still running in the background: " in text
    assert await call(bash, command="echo next") == "next\n"


async def test_reported_characters(bash: BashTool) -> None:
    texts = []
    for name in ("01", "02", "03"):
        (arguments,) = recorded_calls(shared(f"field/inputs/T12/{name}.sse"))
        texts.append(await call(bash, **arguments))
    assert texts[0] == "cleanup \u2014 end\n"
    assert EURO * 17_000 in texts[1] and "\ufffd" not in texts[1]
    assert texts[2] == "bad \ufffd\ufffd bytes\u2400nul\n"


async def test_reported_stubborn_processes(bash: BashTool, tmp_path: Path) -> None:
    (arguments,) = recorded_calls(shared("field/inputs/T15/01.sse"))
    error = await asyncio.wait_for(failure(bash, **arguments), 5)
    assert "timeout of 2 seconds" in str(error)
    assert not is_alive(int((tmp_path / "kid.pid").read_text()))


async def test_reported_abort(bash: BashTool, tmp_path: Path) -> None:
    (arguments,) = recorded_calls(shared("field/inputs/T15/02.sse"))
    make_fifo(tmp_path / "kid2.pid")
    task = asyncio.create_task(bash.run(arguments, context()))
    kid = int(await read_fifo(tmp_path / "kid2.pid"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    assert not is_alive(kid)
