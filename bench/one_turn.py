"""Budgets: from the start of the process to the first request, and a whole `-p` of one turn."""

from __future__ import annotations

from bench.harness import MS, Agent, Budget, Case, Figures, Server, check, run


def one_turn(agent: Agent, server: Server) -> Figures:
    server.set({"text": "hi"})
    done = run(agent, [*agent.model, "-p", "hi"], 30)
    check(
        done.output.read_text().strip() == "hi", f"the answer is not there: {done.output.read_text()[:80]!r}"
    )
    (request,) = server.requests(1)
    return {
        "first_request_ms": (request["began"] - done.started) / MS,
        "cpu_ms": done.cpu_ms,
        "peak_mb": done.peak_mb,
    }


CASES = (
    Case(
        "one_turn",
        [
            Budget("start to first request", "first_request_ms", 0.6),
            Budget("one turn: CPU", "cpu_ms", 0.6),
            Budget("one turn: peak memory", "peak_mb", 0.5),
        ],
        one_turn,
        runs=9,
    ),
)
