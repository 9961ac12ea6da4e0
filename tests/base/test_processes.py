"""Process trees: who belongs to a command, and that none of them outlives a stop."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from relay.base.processes import (
    MARKER,
    ProcessTracker,
    ProcessTree,
    list_processes,
    marked_environment,
    new_marker,
    pipe_holders,
    signal_name,
    wait_for_exit,
)


def start(script: str, *, stdout: int | None = None) -> tuple[ProcessTree, list[int]]:
    """A shell in a session of its own, and the numbers it printed as its first line."""
    marker = new_marker()
    process = subprocess.Popen(
        ["/bin/bash", "-c", script],
        env=marked_environment(os.environ, marker),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if stdout is None else stdout,
        start_new_session=True,
    )
    numbers: list[int] = []
    if process.stdout is not None:
        with process.stdout:
            numbers = [int(word) for word in process.stdout.readline().split()]
    return ProcessTree(process, marker), numbers


def spawn(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(arguments)


DEAF = "trap '' TERM; sleep 300 & first=$!; (trap '' TERM; exec sleep 300) & echo $first $!; wait; wait"
DAEMON = "exec 3> >(cat); setsid sh -c 'echo $$; exec sleep 300 >/dev/null' & sleep 300"


@pytest.mark.parametrize(
    "script", [DEAF, DAEMON, "echo $$; exec sleep 300", "kill -STOP $$ & echo $$; sleep 300"]
)
async def test_stop_ends_every_member(script: str) -> None:
    tree, pids = start(script)
    assert set(pids) <= {member.pid for member in tree.members()}
    await tree.stop(grace=0.1)
    assert tree.members() == []
    assert not set(pids) & set(list_processes())
    assert tree.process.returncode is not None


async def test_stop_gives_time_to_clean_up(tmp_path: Path) -> None:
    tree, _ = start(f"trap 'echo clean > {tmp_path}/done; exit' TERM; echo; while :; do sleep 0.01; done")
    await tree.stop(grace=20)
    assert os.listdir(tmp_path) == ["done"]


async def test_a_cancelled_stop_kills_at_once() -> None:
    tree, pids = start(DEAF)
    task = asyncio.create_task(tree.stop(grace=60))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not set(pids) & set(list_processes())


def test_kill_all_ends_what_runs_and_forgets_it() -> None:
    tracker = ProcessTracker()
    started = [start(script) for script in (DEAF, DAEMON)]
    for tree, _ in started:
        tracker.add(tree)
    assert tracker.running == 2
    tracker.kill_all(grace=0.05)
    assert tracker.running == 0
    assert not {pid for _, pids in started for pid in pids} & set(list_processes())
    tracker.kill_all()


def test_what_is_removed_lives_on() -> None:
    tracker = ProcessTracker()
    tree, _ = start("echo; exec sleep 300")
    tracker.add(tree)
    tracker.remove(tree)
    tracker.kill_all()
    assert tree.process.poll() is None
    tree.kill()
    assert tree.process.returncode == -signal.SIGKILL


def test_another_command_is_no_member() -> None:
    one, _ = start("echo; exec sleep 300")
    other, _ = start("echo; exec sleep 300")
    one.kill()
    assert other.process.poll() is None
    assert other.process.pid in {member.pid for member in other.members()}
    other.kill()


def test_the_group_outlives_its_leader() -> None:
    tree, (child,) = start("sleep 300 & echo $!")
    tree.process.wait()
    assert tree.has_group()
    assert [member.pid for member in tree.members()] == [child]
    tree.kill()
    assert child not in list_processes()


def test_holders_of_a_pipe() -> None:
    reading, writing = os.pipe()
    tree, _ = start("exec sleep 300", stdout=writing)
    os.close(writing)
    assert pipe_holders(reading, list_processes()) == {tree.process.pid}
    tree.kill()
    assert pipe_holders(reading, list_processes()) == set()
    os.close(reading)


def test_names_with_parentheses_and_blanks(tmp_path: Path) -> None:
    program = tmp_path / "a) R (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "300"])
    info = list_processes()[process.pid]
    assert (info.name, info.parent) == ("a) R (b", os.getpid())
    process.kill()
    process.wait()


def test_a_nested_marker_keeps_the_outer_one() -> None:
    assert marked_environment({MARKER: "outer"}, "inner")[MARKER] == "outer:inner"


async def test_exit_statuses() -> None:
    assert await wait_for_exit(spawn("/bin/sh", "-c", "exit 7")) == 7
    assert await wait_for_exit(spawn("/bin/sh", "-c", "kill -TERM $$")) == -signal.SIGTERM


async def test_waiting_can_be_given_up() -> None:
    process = spawn("sleep", "300")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await wait_for_exit(process)
    assert len(os.listdir("/proc/self/fd")) == before
    process.kill()
    assert await wait_for_exit(process) == -signal.SIGKILL


def test_signal_names() -> None:
    assert (signal_name(9), signal_name(99)) == ("SIGKILL", "signal 99")


@pytest.mark.skipif(sys.platform != "linux", reason="compares the two ways to list processes")
def test_ps_tells_the_same() -> None:
    from relay.base import processes

    tree, _ = start("echo; exec sleep 300")
    listed = processes._list_by_ps()[tree.process.pid]
    assert (listed.parent, listed.group, listed.name) == (os.getpid(), tree.process.pid, "sleep")
    tree.kill()
