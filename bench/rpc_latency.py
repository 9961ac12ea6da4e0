"""Budget: a warm RPC process, from the prompt to the request and from the first byte to the first delta."""

from __future__ import annotations

import statistics

from bench.harness import MS, Agent, Budget, Case, Figures, Server, rpc

TURNS, COLD = 20, 5


def latency(agent: Agent, server: Server, turns: int = TURNS, cold: int = COLD) -> Figures:
    to_request, to_delta = [], []
    with rpc(agent) as process:
        for number in range(turns):
            server.set({"text": "hi"})
            sent = process.send(id=f"p{number}", type="prompt", message=f"hi {number}")
            delta = process.wait(b'"text_delta"')
            process.wait(b'"agent_settled"')
            (request,) = server.requests(1)
            to_request.append((request["began"] - sent) / MS)
            to_delta.append((delta - request["answering"]) / MS)
    return {
        "request_ms": statistics.median(to_request[cold:]),
        "delta_ms": statistics.median(to_delta[cold:]),
    }


CASES = (
    Case(
        "rpc_latency",
        [
            Budget("warm RPC: prompt to request", "request_ms", 1.0),
            Budget("warm RPC: first byte to first delta", "delta_ms", 1.0),
        ],
        latency,
        runs=5,
    ),
)
