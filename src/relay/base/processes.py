"""Child processes as whole trees: who belongs to a command, stopping all of them, awaiting the end.

A command is one child in a session of its own plus everything it started. Members are found by session,
process group, parenthood, an environment marker that children inherit, and the pipe they write to, so
that a daemon that left the group is still found. Elsewhere than on Linux `ps` gives the first three.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

MARKER = "RELAY_COMMANDS"
"""Environment variable that names the commands a process belongs to, outermost first, joined by colons."""

GRACE = 1.0
"""Seconds between TERM and KILL."""

POLL = 0.01
"""Seconds between two looks at processes that were told to end."""

KILL_ROUNDS = 50
"""KILL is repeated while forks outrun the listing; a process that survives this is stuck in the kernel."""


class ProcessInfo(NamedTuple):
    pid: int
    parent: int
    group: int
    session: int
    name: str
    started: int
    """Clock ticks after boot on Linux, else 0: tells a process from a later one with its id."""


def list_processes() -> dict[int, ProcessInfo]:
    """All live processes by pid, zombies left out; empty where the system does not tell."""
    if os.path.isdir("/proc/self"):
        found = (_read_stat(entry) for entry in os.listdir("/proc") if entry.isdigit())
        return {info.pid: info for info in found if info is not None}
    return _list_by_ps()


def _read_stat(pid: str) -> ProcessInfo | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read()
    except OSError:
        return None
    # The name stands in parentheses and may itself hold any byte, also ")".
    head, _, tail = line.rpartition(b")")
    name = head.partition(b"(")[2].decode("utf-8", "replace")
    fields = tail.split()
    state, parent, group, session = fields[:4]
    if state in (b"Z", b"X"):
        return None
    return ProcessInfo(int(pid), int(parent), int(group), int(session), name, int(fields[19]))


def _list_by_ps() -> dict[int, ProcessInfo]:
    try:
        done = subprocess.run(
            ["ps", "-axo", "pid=,ppid=,pgid=,stat=,comm="], capture_output=True, text=True, check=False
        )
    except OSError:
        return {}
    table = {}
    for line in done.stdout.splitlines():
        pid, parent, group, state, name = line.split(None, 4)
        if not state.startswith("Z"):
            # `ps` there prints no session ids; the group of a session's leader stands in for it.
            numbers = int(pid), int(parent), int(group), int(group)
            table[int(pid)] = ProcessInfo(*numbers, os.path.basename(name), 0)
    return table


def pipe_holders(fd: int, table: Mapping[int, ProcessInfo]) -> set[int]:
    """Processes of `table`, without this one, that have the pipe of `fd` open (Linux; else none)."""
    try:
        wanted = os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return set()
    return {pid for pid in table if pid != os.getpid() and _has_open(pid, wanted)}


def _has_open(pid: int, target: str) -> bool:
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return False
    for descriptor in descriptors:
        with suppress(OSError):
            if os.readlink(f"/proc/{pid}/fd/{descriptor}") == target:
                return True
    return False


def _is_marked(pid: int, marker: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return marker in file.read()
    except OSError:
        return False


class ProcessTree:
    """One command: its first process, and whatever came of it.

    Make the marker with `new_marker`, put it into the child's environment with `marked_environment`.
    `pipe` is the read end of the command's output while it is open.
    """

    def __init__(self, process: subprocess.Popen[bytes], marker: str, pipe: int | None = None) -> None:
        self.process = process
        self.marker = marker
        self.pipe = pipe
        self._seen: list[ProcessInfo] = []

    def has_group(self) -> bool:
        """Whether the command's process group has members; cheap, and exact once the child is reaped."""
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def members(self) -> list[ProcessInfo]:
        """The live processes of the command, in the order of their ids.

        Once seen, a member stays one while it lives, also when its parent has gone.
        """
        table = list_processes()
        root = self.process.pid
        found = {pid for pid, info in table.items() if root in (pid, info.group, info.session)}
        found |= {known.pid for known in self._seen if _same(known, table.get(known.pid))}
        marker = self.marker.encode()
        found |= {pid for pid in table if pid not in found and _is_marked(pid, marker)}
        if self.pipe is not None:
            found |= pipe_holders(self.pipe, table)
        _add_descendants(found, table)
        found -= {os.getpid(), 1}
        self._seen = [table[pid] for pid in sorted(found)]
        return self._seen

    def signal(self, number: signal.Signals) -> bool:
        """Sends a signal to every member; False when there is none left."""
        members = self.members()
        for member in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(member.pid, number)
        return bool(members)

    def still_alive(self) -> bool:
        """Whether a member of the last listing lives; far cheaper than a new listing."""
        self.reap()
        return any(_is_alive(member) for member in self._seen)

    def reap(self) -> None:
        """Takes the exit status of the first process if it has ended, so that no zombie stays."""
        self.process.poll()

    def kill(self) -> None:
        """Ends everything at once without awaiting; for exits and second cancellations."""
        for _ in range(KILL_ROUNDS):
            if not self.signal(signal.SIGKILL):
                break
            time.sleep(POLL / 10)
            self.reap()
        self.reap()

    async def stop(self, grace: float = GRACE) -> None:
        """TERM to all, KILL after `grace` seconds to those left; returns when none lives.

        If the waiting is cancelled, the rest is killed at once before the cancellation goes on.
        """
        try:
            end = time.monotonic() + grace
            self.signal(signal.SIGTERM)
            while self.still_alive() and time.monotonic() < end:  # noqa: ASYNC110  # no event tells of strangers
                await asyncio.sleep(POLL)
        finally:
            # Forked after the listing, or deaf to TERM.
            self.kill()


def _same(known: ProcessInfo, now: ProcessInfo | None) -> bool:
    return now is not None and now.started == known.started


def _is_alive(member: ProcessInfo) -> bool:
    if os.path.isdir("/proc/self"):
        return _same(member, _read_stat(str(member.pid)))
    try:
        os.kill(member.pid, 0)
    except OSError:
        return False
    return True


def _add_descendants(found: set[int], table: Mapping[int, ProcessInfo]) -> None:
    children: dict[int, list[int]] = {}
    for pid, info in table.items():
        children.setdefault(info.parent, []).append(pid)
    waiting = list(found)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child)


def new_marker() -> str:
    """A name that no other command has."""
    return os.urandom(8).hex()


def marked_environment(environment: Mapping[str, str], marker: str) -> dict[str, str]:
    """A copy of `environment` in which children are recognised as belonging to `marker`."""
    outer = environment.get(MARKER)
    return {**environment, MARKER: f"{outer}:{marker}" if outer else marker}


class ProcessTracker:
    """The commands that run now. Its owner calls `kill_all` when the program ends for whatever reason."""

    def __init__(self) -> None:
        self._running: set[ProcessTree] = set()

    def add(self, tree: ProcessTree) -> None:
        self._running.add(tree)

    def remove(self, tree: ProcessTree) -> None:
        self._running.discard(tree)

    @property
    def running(self) -> int:
        """How many commands run."""
        return len(self._running)

    def kill_all(self, grace: float = 0.2) -> None:
        """Ends every running command with all its processes: TERM, `grace` seconds, KILL. Needs no loop."""
        trees = list(self._running)
        for tree in trees:
            tree.signal(signal.SIGTERM)
        end = time.monotonic() + grace
        while any([tree.still_alive() for tree in trees]) and time.monotonic() < end:
            time.sleep(POLL)
        for tree in trees:
            tree.kill()
            self.remove(tree)


async def wait_for_exit(process: subprocess.Popen[bytes]) -> int:
    """The exit status (negative: the signal's number), without a thread where the system has pidfds."""
    try:
        fd = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        return await asyncio.to_thread(process.wait)
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def readable() -> None:
        if not ended.done():
            ended.set_result(None)

    loop.add_reader(fd, readable)
    try:
        await ended
    finally:
        loop.remove_reader(fd)
        os.close(fd)
    return process.wait()


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; the number itself where the system has no name for it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
