"""Budgets of the tools: from the end of the answer with the call until the request with its result."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.data import RARE, Data
from bench.harness import MS, Agent, Budget, Case, Figures, Server, WrongAnswer, check, run

Measure = Callable[[Agent, Server], Figures]


def tool(name: str, arguments: Mapping[str, object], mark: str) -> Measure:
    """Measures one call whose result must hold `mark`, in its first or last 200 characters."""

    def measure(agent: Agent, server: Server) -> Figures:
        server.set({"tool": name, "arguments": arguments}, {"text": "done"})
        every = "read,bash,edit,write,grep,find,ls"
        done = run(agent, [*agent.model, "--no-session", "--tools", every, "-p", "go"])
        first, second = server.requests(2)
        check(mark in second["result"], f"{name} answered {second['result'][:200]!r}")
        return {"tool_ms": (second["began"] - first["answered"]) / MS, "peak_mb": done.peak_mb}

    return measure


def beyond_rg(measure: Measure, rg: Sequence[str]) -> Measure:
    """`measure` with the time beyond that of the rg command which does the same work."""

    def both(agent: Agent, server: Server) -> Figures:
        program = find_rg(agent)
        own = statistics.median(_timed([program, *rg]) for _ in range(3))
        figures = measure(agent, server)
        return {**figures, "beyond_rg_ms": figures["tool_ms"] - own}

    return both


def find_rg(agent: Agent) -> str:
    """The rg beside the program, or the one on its PATH."""
    beside = Path(agent.command[0]).with_name("rg")
    found = str(beside) if beside.exists() else shutil.which("rg", path=agent.path)
    if found is None:
        raise WrongAnswer("rg is not installed, so its own time cannot be told")
    return found


def _timed(command: Sequence[str]) -> float:
    started = time.monotonic_ns()
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return (time.monotonic_ns() - started) / MS


def cases(data: Data) -> Sequence[Case]:
    tree, big = str(data.tree), str(data.big_file)
    grep = tool("grep", {"pattern": RARE, "path": tree}, RARE)
    find = tool("find", {"pattern": "**/*.py", "path": tree}, ".py")
    rg_search = ["--json", "--hidden", "-e", RARE, tree]
    rg_list = ["--files", "--hidden", "--glob", "**/*.py", tree]
    ls = tool("ls", {"path": str(data.full_folder), "limit": 5000}, "entry_0000")
    head = tool("read", {"path": big, "offset": 10, "limit": 100}, "000000009")
    bash = tool("bash", {"command": f"cat {big}"}, "lazy dog")
    return (
        Case(
            "grep",
            [Budget("grep: beyond rg's own time", "beyond_rg_ms", limit=40)],
            beyond_rg(grep, rg_search),
        ),
        Case(
            "find", [Budget("find: beyond rg's own time", "beyond_rg_ms", limit=40)], beyond_rg(find, rg_list)
        ),
        Case("ls", [Budget("ls of 5,000 entries", "tool_ms", 0.1)], ls),
        Case("read", [Budget("read of the head of 200 MB", "tool_ms", 0.1)], head),
        Case("bash", [Budget("200 MB of bash output: memory", "peak_mb", 0.3)], bash, runs=3),
    )
