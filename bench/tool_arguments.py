"""Budget: the arguments of a write of 2 MB, streamed in pieces of 20 characters."""

from __future__ import annotations

from bench.harness import MS, Agent, Budget, Case, Figures, Server, check, run

SIZE = 2_000_000


def write_call(agent: Agent, server: Server, size: int = SIZE) -> Figures:
    target = agent.cwd / "written.txt"
    target.unlink(missing_ok=True)
    content = ("all the words of one line\n" * (size // 26 + 1))[:size]
    server.set(
        {"tool": "write", "arguments": {"path": target.name, "content": content}, "piece": 20},
        {"text": "done"},
    )
    done = run(agent, [*agent.model, "--no-session", "--mode", "json", "write it"])
    first, second = server.requests(2)
    check(target.read_text() == content, "the file is not what the call held")
    return {
        "arguments_ms": (second["began"] - first["answering"]) / MS,
        "cpu_ms": done.cpu_ms,
        "peak_mb": done.peak_mb,
    }


CASES = (
    Case(
        "tool_arguments",
        [
            Budget("2 MB tool call in pieces of 20: time", "arguments_ms", 0.2),
            Budget("2 MB tool call in pieces of 20: CPU", "cpu_ms", 0.2),
        ],
        write_call,
        runs=3,
        warm_up=0,
    ),
)
