"""Budget: 50,000 streamed deltas in JSON mode."""

from __future__ import annotations

import json

from bench.harness import Agent, Budget, Case, Figures, Run, Server, check, run

DELTAS = 50_000


def stream(agent: Agent, server: Server, deltas: int = DELTAS) -> Figures:
    server.set({"words": deltas})
    done = run(agent, [*agent.model, "--no-session", "--mode", "json", "hi"])
    server.requests(1)
    events, characters = count_deltas(done)
    # Deltas that are merged would be another contract, and a cheaper one.
    check((events, characters) == (deltas, 4 * deltas), f"{characters} characters came in {events} events")
    return {"cpu_ms": done.cpu_ms, "peak_mb": done.peak_mb}


def count_deltas(done: Run) -> tuple[int, int]:
    """Text deltas in the output, and their characters."""
    events = characters = 0
    with done.output.open("rb") as lines:
        for line in lines:
            if b'"text_delta"' in line:
                events += 1
                characters += len(json.loads(line)["assistantMessageEvent"]["delta"])
    return events, characters


CASES = (
    Case(
        "stream",
        [
            Budget("50,000 deltas, JSON mode: CPU", "cpu_ms", 0.5),
            Budget("50,000 deltas, JSON mode: peak memory", "peak_mb", 0.3),
        ],
        stream,
        runs=3,
    ),
)
