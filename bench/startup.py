"""Budget: `--version` and `--help`."""

from __future__ import annotations

from bench.harness import Agent, Budget, Case, Figures, Server, check, run


def version(agent: Agent, server: Server) -> Figures:
    done = run(agent, ["--version"], 30)
    check(any(c.isdigit() for c in done.output.read_text()), "no version was printed")
    return {"wall_ms": done.wall_ms, "cpu_ms": done.cpu_ms}


def usage(agent: Agent, server: Server) -> Figures:
    done = run(agent, ["--help"], 30)
    check("--model" in done.output.read_text(), "no options were printed")
    return {"wall_ms": done.wall_ms, "cpu_ms": done.cpu_ms}


CASES = (
    Case("version", [Budget("--version", "wall_ms", 0.3)], version),
    Case("help", [Budget("--help", "wall_ms", 0.4)], usage),
)
