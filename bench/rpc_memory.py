"""Budget: memory in RPC mode, idle and after 100 turns."""

from __future__ import annotations

import time

from bench.harness import Agent, Budget, Case, Figures, Server, rpc

TURNS = 100
SETTLE = 1.0
"""Seconds for background work to end before memory is read."""


def memory(agent: Agent, server: Server, turns: int = TURNS, settle: float = SETTLE) -> Figures:
    server.set({"words": 50})
    with rpc(agent) as process:
        time.sleep(settle)
        idle = process.memory_mb()
        for number in range(turns):
            process.send(id=f"p{number}", type="prompt", message=f"turn {number} " + "x " * 100)
            process.wait(b'"agent_settled"')
        time.sleep(settle)
        server.requests(turns)
        return {"idle_mb": idle, "after_mb": process.memory_mb()}


CASES = (
    Case(
        "rpc_memory",
        [
            Budget("RPC mode: idle memory", "idle_mb", 0.45),
            Budget("RPC mode: memory after 100 turns", "after_mb", 0.35),
        ],
        memory,
        runs=3,
        warm_up=0,
    ),
)
