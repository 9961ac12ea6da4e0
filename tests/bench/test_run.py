"""The benchmarks' own functions, on sizes that take no time; no figure is judged."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from bench import one_turn, rpc_latency, rpc_memory, run, startup, stream, tool_arguments
from bench.data import RARE, Data, Sizes, make_data
from bench.harness import Agent, Budget, Case, Figures, Server, WrongAnswer, relay_agent
from bench.tools import beyond_rg, cases, tool

SMALL = Sizes(folders=4, files_each=3, entries=20, big_bytes=20_000)


@pytest.fixture
def server() -> Iterator[Server]:
    process = Server()
    yield process
    process.close()


@pytest.fixture
def agent(server: Server, tmp_path: Path) -> Agent:
    made = relay_agent(Path(sysconfig.get_path("scripts")) / "relay", tmp_path)
    made.prepare(server.port)
    return made


@pytest.fixture
def data(tmp_path: Path) -> Data:
    return make_data(tmp_path, SMALL)


def once(case: Case, agent: Agent, server: Server) -> Figures:
    return case.measure(agent, server)


@pytest.mark.parametrize("case", [*startup.CASES, *one_turn.CASES], ids=lambda case: case.name)
def test_a_start_is_measured(case: Case, agent: Agent, server: Server) -> None:
    figures = once(case, agent, server)
    assert all(figures[budget.metric] > 0 for budget in case.budgets)


def test_a_stream_is_counted_delta_by_delta(agent: Agent, server: Server) -> None:
    assert stream.stream(agent, server, deltas=30)["peak_mb"] > 0


def test_a_streamed_call_is_checked_by_its_file(agent: Agent, server: Server) -> None:
    assert tool_arguments.write_call(agent, server, size=1000)["arguments_ms"] > 0
    assert (agent.cwd / "written.txt").stat().st_size == 1000


def test_rpc_is_measured(agent: Agent, server: Server) -> None:
    assert rpc_memory.memory(agent, server, turns=2, settle=0)["after_mb"] > 1
    assert rpc_latency.latency(agent, server, turns=2, cold=1)["request_ms"] > 0


@pytest.mark.parametrize("name", ["ls", "read", "bash"])
def test_a_tool_is_measured(name: str, agent: Agent, server: Server, data: Data) -> None:
    case = next(case for case in cases(data) if case.name == name)
    assert once(case, agent, server)["tool_ms"] > 0


def test_rg_is_told_apart_from_what_comes_on_top(agent: Agent, server: Server, data: Data) -> None:
    measure = beyond_rg(
        tool("grep", {"pattern": RARE, "path": str(data.tree)}, RARE), ["-e", RARE, str(data.tree)]
    )
    figures = measure(agent, server)
    assert figures["beyond_rg_ms"] < figures["tool_ms"]


def test_a_wrong_answer_is_a_failure(agent: Agent, server: Server, data: Data) -> None:
    with pytest.raises(WrongAnswer, match="ls answered"):
        tool("ls", {"path": str(data.full_folder)}, "no such entry")(agent, server)


def fixed(figures: dict[str, Sequence[float]]) -> Case:
    """A case whose agents take the given times, one after the other."""
    left = {name: list(values) for name, values in figures.items()}

    def measure(agent: Agent, server: Server) -> Figures:
        return {"wall_ms": left[agent.name].pop(0)}

    return Case("fixed", [Budget("something", "wall_ms", 0.5)], measure, runs=2, warm_up=1)


def test_ratios_are_of_the_same_round_and_warm_ups_do_not_count(server: Server, tmp_path: Path) -> None:
    relay = relay_agent(Path(sys.executable), tmp_path)
    pi = Agent("pi", ["pi"], tmp_path, "", ".pi/agent")
    case = fixed({"relay": [999, 1, 4], "pi": [999, 10, 8]})
    (cells,) = run.rows(case, run.measure(case, [relay, pi], server))
    assert cells == ("something", "≤ 0.5 × pi", "2.5 ms", "9.0 ms", "0.30", "met")


def test_without_pi_nothing_is_judged_against_it(server: Server, tmp_path: Path) -> None:
    case = fixed({"relay": [999, 1, 4]})
    (cells,) = run.rows(case, run.measure(case, [relay_agent(Path(sys.executable), tmp_path)], server))
    assert cells[3:] == ("–", "–", "–")


def test_a_limit_is_judged_without_pi() -> None:
    budget = Budget("grep", "beyond_rg_ms", limit=40)
    row = partial(run.row, budget, pi=None, ratio=None)
    assert (row(relay=39.0)[-1], row(relay=41.0)[-1]) == ("met", "MISSED")
