"""`make bench`: every budget in one table, with pi beside it where PI_ROOT (default /tmp/pi) holds it.

Runs of the two are interleaved, A B then B A; a ratio is Relay's figure over pi's of the same round.
The exit code is 1 when a case failed, never for a budget: a busy machine makes figures, not faults.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import one_turn, rpc_latency, rpc_memory, startup, stream, tool_arguments, tools
from bench.data import Sizes, make_data
from bench.harness import Agent, Budget, Case, Figures, Server, WrongAnswer, pi_agent, relay_agent

HEADER = ("what", "budget", "relay", "pi", "ratio", "verdict")
WIDTHS = (40, 10, 12, 12, 7, 8)

Rounds = dict[str, list[Figures]]
"""Agent → the figures of its counted runs, in order."""


def all_cases(work: Path, sizes: Sizes) -> Sequence[Case]:
    return (
        *startup.CASES,
        *one_turn.CASES,
        *stream.CASES,
        *tool_arguments.CASES,
        *rpc_memory.CASES,
        *rpc_latency.CASES,
        *tools.cases(make_data(work, sizes)),
    )


def measure(case: Case, agents: Sequence[Agent], server: Server, runs: int | None = None) -> Rounds:
    """Raises WrongAnswer when Relay fails; when pi does, its figures are left out."""
    rounds: Rounds = {agent.name: [] for agent in agents}
    failed: set[str] = set()
    for number in range(-case.warm_up, runs or case.runs):
        for agent in agents if number % 2 == 0 else reversed(agents):
            if agent.name in failed:
                continue
            try:
                figures = case.measure(agent, server)
            except WrongAnswer as error:
                if agent.name == "relay":
                    raise
                print(f"pi failed in {case.name}: {error}", file=sys.stderr)
                failed.add(agent.name)
                rounds[agent.name].clear()
                continue
            if number >= 0:
                rounds[agent.name].append(figures)
    return rounds


def rows(case: Case, rounds: Rounds) -> Iterator[tuple[str, ...]]:
    """One line of the table for each budget of the case."""
    for budget in case.budgets:
        relay = [figures[budget.metric] for figures in rounds["relay"]]
        pi = [figures[budget.metric] for figures in rounds.get("pi", [])]
        ratio = (
            statistics.median(a / b for a, b in zip(relay, pi, strict=True)) if pi and min(pi) > 0 else None
        )
        yield row(budget, statistics.median(relay), statistics.median(pi) if pi else None, ratio)


def row(budget: Budget, relay: float, pi: float | None, ratio: float | None) -> tuple[str, ...]:
    unit = budget.metric.rsplit("_", 1)[1].replace("mb", "MB")
    limit = f"≤ {budget.ratio:g} × pi" if budget.ratio is not None else f"≤ {budget.limit:g} {unit}"
    met = budget.met(relay, ratio)
    return (
        budget.what,
        limit,
        f"{relay:.1f} {unit}",
        "–" if pi is None else f"{pi:.1f} {unit}",
        "–" if ratio is None else f"{ratio:.2f}",
        "–" if met is None else "met" if met else "MISSED",
    )


def line(cells: Sequence[str]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.run", description="Times Relay beside pi.")
    parser.add_argument("cases", nargs="*", help="names of cases; all when none is named")
    parser.add_argument("--program", help="the relay to measure (default: the one on PATH)")
    parser.add_argument("--runs", type=int, help="counted runs of each case")
    parser.add_argument("--alone", action="store_true", help="leave pi out")
    parser.add_argument(
        "--work", type=Path, default=Path(tempfile.gettempdir()) / f"relay-bench-{os.getuid()}"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    options = parse(argv)
    program = options.program or shutil.which("relay")
    if program is None:
        print("There is no relay on PATH; name one with --program.", file=sys.stderr)
        return 2
    relay = relay_agent(Path(program).absolute(), options.work)
    pi = None if options.alone else pi_agent(options.work, os.environ)
    agents = [relay, pi] if pi else [relay]
    cases = all_cases(options.work, Sizes())
    unknown = set(options.cases) - {case.name for case in cases}
    if unknown:
        print(
            f"No case is named {', '.join(sorted(unknown))}; there are: "
            f"{', '.join(case.name for case in cases)}.",
            file=sys.stderr,
        )
        return 2
    server = Server()
    try:
        for agent in agents:
            agent.prepare(server.port)
        return _table(
            [c for c in cases if not options.cases or c.name in options.cases], agents, server, options.runs
        )
    finally:
        server.close()


def _table(cases: Sequence[Case], agents: Sequence[Agent], server: Server, runs: int | None) -> int:
    code = 0
    print(line(HEADER), flush=True)
    for case in cases:
        try:
            rounds = measure(case, agents, server, runs)
        except WrongAnswer as error:
            print(f"{case.name}: FAILED: {error}", flush=True)
            code = 1
            continue
        for cells in rows(case, rounds):
            print(line(cells), flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
