"""Running one shell command: own session, one merged output, an end that background children cannot delay.

Order: spawn; read until the shell exits, the time is up or the task is cancelled; in the last two cases stop
the whole tree; read what is left for a moment; hand the pipe over if someone still writes to it.
"""

from __future__ import annotations

import asyncio
import fcntl
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from relay.agent.tool import ToolError
from relay.base.processes import (
    ProcessInfo,
    ProcessTracker,
    ProcessTree,
    marked_environment,
    new_marker,
    wait_for_exit,
)
from relay.tools.shell_output import CleanStream, OutputBuffer, Snapshot

CHUNK = 256 * 1024
PIPE_SIZE = 1024 * 1024

IDLE_AFTER_EXIT = 0.1
"""Seconds without output after the shell's end until the command counts as finished."""

LONGEST_AFTER_EXIT = 0.5
"""Seconds after the shell's end until the command counts as finished, whatever still comes."""

UPDATE_INTERVAL = 0.1

LONGEST_ARGUMENT = 100_000
"""Bytes; Linux refuses arguments above 128 KiB, so longer commands go through a script file."""


class Shell(NamedTuple):
    """How a command becomes a process: `arguments` stand before the command's text."""

    path: str
    arguments: tuple[str, ...]
    suffix: str = ".sh"
    script_arguments: tuple[str, ...] = ()
    """Stand before the name of a script file, where the command is too long for an argument."""


class ShellOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended.

    `exit_code` is 128 + n for an end by signal n, None after a time-out; `signal` is that n.
    `still_running` are the processes it left behind.
    """

    output: Snapshot
    exit_code: int | None
    signal: int | None = None
    timed_out: bool = False
    still_running: tuple[ProcessInfo, ...] = ()


def find_shell(shell_path: str | None = None) -> Shell:
    """`shell_path` (the setting `shellPath`, `~` allowed), else /bin/bash, `bash` on PATH, `sh`.

    Raises ToolError when the setting names no program.
    """
    if shell_path:
        path = os.path.expanduser(shell_path)
        found = shutil.which(path)
        if found is None:
            raise ToolError(
                f"The setting shellPath names {path}, which is no program that can be run. "
                "Set it to the full path of a Bash executable, or remove it to use the system's Bash."
            )
        return Shell(found, ("-c",))
    if os.access("/bin/bash", os.X_OK):
        return Shell("/bin/bash", ("-c",))
    return Shell(shutil.which("bash") or shutil.which("sh") or "/bin/sh", ("-c",))


def parse_timeout(value: Any) -> float | None:
    """Seconds as a number or its text; None means no limit. Raises ToolError for anything else."""
    if value is None:
        return None
    try:
        seconds = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError):
        seconds = math.nan
    if not math.isfinite(seconds) or seconds <= 0:
        raise ToolError(
            f"The timeout {value!r} is not valid: give a number of seconds above 0, or leave it out."
        )
    return seconds


async def run_shell(
    command: str,
    *,
    cwd: str,
    shell: Shell,
    tracker: ProcessTracker,
    time_limit: float | None = None,
    environment: Mapping[str, str] | None = None,
    on_update: Callable[[Snapshot], None] | None = None,
    on_text: Callable[[str], None] | None = None,
    output_folder: str | None = None,
) -> ShellOutcome:
    """Runs `command` to its end with an empty stdin, in `cwd`, with `environment` added to Relay's own.

    `on_update` gets the shown part of the output at most ten times a second and once after the last byte,
    also when the task is cancelled; `on_text` gets every piece of the output once, as clean text.
    Reaching `time_limit` (seconds) or a cancellation stops every process of the command first. Raises
    ToolError when the command cannot be started. `output_folder` is where the file of a long output goes.
    """
    arguments, script = _command_line(command, shell)
    try:
        reading, writing = os.pipe()
        try:
            tree = _spawn(arguments, cwd, environment or {}, (reading, writing))
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        tracker.add(tree)
        try:
            run = _Run(tree, reading, on_update, on_text, output_folder=output_folder)
            return await run.until_end(time_limit)
        finally:
            tracker.remove(tree)
    finally:
        if script is not None:
            with suppress(OSError):
                os.unlink(script)


def _command_line(command: str, shell: Shell) -> tuple[list[str | bytes], str | None]:
    """The arguments that run `command`, and the script file to remove afterwards, if one was needed."""
    if "\0" in command:
        raise ToolError("The command holds a NUL character, which no shell accepts; remove it.")
    try:
        data = command.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ToolError(
            f"Character {error.start + 1} of the command is half of a surrogate pair, which is no text; "
            "remove it."
        ) from error
    if len(data) > LONGEST_ARGUMENT:
        fd, path = tempfile.mkstemp(prefix="relay-command-", suffix=shell.suffix)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        return [shell.path, *shell.script_arguments, path], path
    # A leading dash or plus would be read as an option of the shell.
    lead = b" " if data.startswith((b"-", b"+")) else b""
    return [shell.path, *shell.arguments, lead + data], None


def _spawn(
    arguments: Sequence[str | bytes], cwd: str, environment: Mapping[str, str], pipe: tuple[int, int]
) -> ProcessTree:
    if not os.path.isdir(cwd):
        raise ToolError(
            f"The working directory {cwd} does not exist (any more), so no command can run in it."
        )
    reading, writing = pipe
    marker = new_marker()
    with suppress(OSError, AttributeError):
        fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    try:
        process = subprocess.Popen(
            arguments,
            cwd=cwd,
            env=marked_environment({**os.environ, **environment}, marker),
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(
            f"{os.fsdecode(arguments[0])} could not be started in {cwd}: {error.strerror or error}."
        ) from error
    return ProcessTree(process, marker, reading)


class _Run:
    """One running command: reads its pipe on the loop and decides when it is over."""

    def __init__(
        self,
        tree: ProcessTree,
        pipe: int,
        on_update: Callable[[Snapshot], None] | None,
        on_text: Callable[[str], None] | None,
        *,
        output_folder: str | None,
    ) -> None:
        self._tree = tree
        self._pipe = pipe
        self._on_update = on_update
        self._on_text = on_text
        self._text = CleanStream()
        self._loop = asyncio.get_running_loop()
        self._output = OutputBuffer(self._pause, output_folder)
        self._ended = asyncio.Event()
        self._reading = True
        self._timer: asyncio.TimerHandle | None = None
        self._updated = -math.inf

    async def until_end(self, time_limit: float | None) -> ShellOutcome:
        os.set_blocking(self._pipe, False)
        self._loop.add_reader(self._pipe, self._read)
        try:
            try:
                async with asyncio.timeout(time_limit):
                    status = await wait_for_exit(self._tree.process)
                await self._drain()
            except TimeoutError:
                await self._tree.stop()
                await self._drain()
                return ShellOutcome(output=await self._finish(), exit_code=None, timed_out=True)
            left = await self._left_behind()
            return _outcome(await self._finish(), status, left)
        except asyncio.CancelledError:
            await self._stop_and_report()
            raise
        finally:
            self._release()

    def _read(self) -> None:
        try:
            piece = os.read(self._pipe, CHUNK)
        except BlockingIOError:
            return
        if not piece:
            self._loop.remove_reader(self._pipe)
            self._ended.set()
            return
        self._output.feed(piece)
        if self._on_text is not None and (text := self._text.feed(piece)):
            self._on_text(text)
        self._plan_update()

    def _pause(self, full: bool) -> None:
        if full:
            self._loop.remove_reader(self._pipe)
        elif self._reading and not self._ended.is_set():
            self._loop.add_reader(self._pipe, self._read)

    def _stop_reading(self) -> None:
        self._reading = False
        self._loop.remove_reader(self._pipe)

    def _plan_update(self) -> None:
        if self._on_update is None or self._timer is not None:
            return
        wait = self._updated + UPDATE_INTERVAL - self._loop.time()
        if wait > 0:
            self._timer = self._loop.call_later(wait, self._update)
        else:
            self._update()

    def _update(self, *, final: bool = False) -> None:
        self._timer = None
        self._updated = self._loop.time()
        if self._on_update is not None:
            self._on_update(self._output.snapshot(final=final))

    async def _drain(self) -> None:
        """Reads on after the shell's end: to the end of the pipe, or until it is quiet for a moment."""
        end = self._loop.time() + LONGEST_AFTER_EXIT
        while not self._ended.is_set() and self._loop.time() < end:
            seen = self._output.total_bytes
            with suppress(TimeoutError):
                async with asyncio.timeout(IDLE_AFTER_EXIT):
                    await self._ended.wait()
            if self._output.total_bytes == seen:
                return

    async def _left_behind(self) -> tuple[ProcessInfo, ...]:
        """What the finished command left running; its writers get a reader that outlives us."""
        if self._ended.is_set() and not self._tree.has_group():
            return ()
        left = await asyncio.to_thread(self._tree.members)
        if not self._ended.is_set():
            self._stop_reading()
            _hand_over(self._pipe)
        return tuple(left)

    async def _finish(self) -> Snapshot:
        """The final state of the output; nothing is read after this."""
        self._stop_reading()
        await self._output.close()
        if self._on_text is not None and (text := self._text.feed(b"", final=True)):
            self._on_text(text)
        self._cancel_timer()
        return self._output.snapshot(final=True)

    async def _stop_and_report(self) -> None:
        """After a cancellation: ends the tree and leaves the output so far in a last update."""
        try:
            await self._tree.stop()
            await self._drain()
            await self._output.close()
        finally:
            self._update(final=True)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _release(self) -> None:
        self._cancel_timer()
        self._stop_reading()
        pipe, self._pipe, self._tree.pipe = self._pipe, -1, None
        os.close(pipe)
        self._tree.reap()


def _outcome(output: Snapshot, status: int, left: tuple[ProcessInfo, ...]) -> ShellOutcome:
    if status < 0:
        return ShellOutcome(output=output, exit_code=128 - status, signal=-status, still_running=left)
    number = status - 128
    # A shell reports a child that a signal ended as 128 + n; only real signals are meant so.
    by_signal = number if 0 < number < 32 else None
    return ShellOutcome(output=output, exit_code=status, signal=by_signal, still_running=left)


def _hand_over(pipe: int) -> None:
    """Gives the pipe a reader of its own, so that those who still write are not ended by our leaving.

    The detour over descriptor 3 is needed since a background command's own stdin is empty. The reader
    belongs to nobody (its parent exits at once) and ends with the last writer.
    """
    with suppress(OSError):
        os.set_blocking(pipe, True)
        subprocess.run(
            ["/bin/sh", "-c", "exec 3<&0; cat <&3 3<&- >/dev/null &"],
            stdin=pipe,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=False,
        )
