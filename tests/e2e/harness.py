"""Runs the real `relay` command in a home of its own, against a scripted server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.server import ScriptedServer

Record = dict[str, Any]
COMMAND = (sys.executable, "-m", "relay")
PATIENCE = 15.0
"""Seconds before a wait counts as failed."""


@dataclass(frozen=True)
class Ended:
    """A finished process."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def records(self) -> list[Record]:
        """Standard output as JSONL: every line must be one object."""
        assert self.raw.endswith(b"\n") or not self.raw
        records = [strict_json(line) for line in self.raw.split(b"\n")[:-1]]
        assert all(isinstance(record, dict) for record in records)
        return records


class Place:
    """A home, an agent directory and a working directory that only one test uses."""

    def __init__(self, root: Path, server: ScriptedServer) -> None:
        self.home = root / "home"
        self.cwd = root / "work"
        self.agent = self.home / ".relay" / "agent"
        for folder in (self.agent, self.cwd, root / "tmp"):
            folder.mkdir(parents=True)
        self.env = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.home),
            "TMPDIR": str(root / "tmp"),
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "TZ": "UTC",
            "NO_PROXY": "127.0.0.1",
        }
        if "PYTHONPATH" in os.environ:
            self.env["PYTHONPATH"] = os.environ["PYTHONPATH"]
        self.write_models(server.port)
        self.write_settings(retry={"baseDelayMs": 1})

    def write_models(self, port: int, **provider: Any) -> None:
        """models.json with the one provider `mock` and its model `m`; `provider` overrides its fields."""
        fields = {
            "baseUrl": f"http://127.0.0.1:{port}/v1",
            "api": "openai-completions",
            "apiKey": "k",
            "models": [{"id": "m", "input": ["text", "image"]}],
            **provider,
        }
        self.write_agent("models.json", {"providers": {"mock": fields}})

    def write_settings(self, **settings: Any) -> None:
        self.write_agent("settings.json", settings)

    def write_agent(self, name: str, value: Any) -> Path:
        path = self.agent / name
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    def run(
        self,
        *argv: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        command: Sequence[str] = COMMAND,
    ) -> Ended:
        """Runs to the end."""
        done = subprocess.run(
            [*command, *argv],
            input=stdin,
            capture_output=True,
            cwd=self.cwd,
            env={**self.env, **(env or {})},
            timeout=PATIENCE,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr.decode())

    @contextmanager
    def process(self, *argv: str, env: Mapping[str, str] | None = None) -> Iterator[Process]:
        """A running process; what is left of it at the end is killed."""
        with subprocess.Popen(
            [*COMMAND, *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.cwd,
            env={**self.env, **(env or {})},
        ) as popen:
            process = Process(popen)
            try:
                yield process
            finally:
                process.dispose()

    @contextmanager
    def rpc(self, *argv: str, env: Mapping[str, str] | None = None) -> Iterator[Process]:
        with self.process("--mode", "rpc", *argv, env=env) as process:
            yield process

    def sessions(self) -> list[Path]:
        return sorted((self.agent / "sessions").rglob("*.jsonl"))

    def session(self) -> list[Record]:
        """The records of the one session there is: each line must be valid."""
        (path,) = self.sessions()
        return read_session(path)


def read_session(path: Path) -> list[Record]:
    raw = path.read_bytes()
    assert raw.endswith(b"\n")
    return [strict_json(line) for line in raw.split(b"\n")[:-1]]


def strict_json(line: bytes) -> Any:
    """Raises ValueError for NaN and Infinity too, which Python alone would read."""
    return json.loads(line, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def messages_of(records: Sequence[Record]) -> list[Record]:
    """The messages among a session's entries."""
    return [record["message"] for record in records if record["type"] == "message"]


def text_of(message: Record) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content)


class Process:
    """A running `relay` whose standard output is JSONL; the records come in by a thread."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self._popen = popen
        self.records: list[Record] = []
        self.stray: list[bytes] = []
        """Lines of standard output that are no JSON objects."""
        self._errors: list[bytes] = []
        self._ended = False
        self._came = threading.Condition()
        self._asked = 0
        self._readers = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def err(self) -> str:
        return b"".join(self._errors).decode()

    def _read(self) -> None:
        assert self._popen.stdout is not None
        for line in self._popen.stdout:
            try:
                record = strict_json(line)
                assert isinstance(record, dict)
            except (ValueError, AssertionError):
                self.stray.append(line)
                continue
            with self._came:
                self.records.append(record)
                self._came.notify_all()
        with self._came:
            self._ended = True
            self._came.notify_all()

    def _read_errors(self) -> None:
        assert self._popen.stderr is not None
        self._errors.extend(self._popen.stderr)

    def write(self, raw: bytes) -> None:
        assert self._popen.stdin is not None
        self._popen.stdin.write(raw)
        self._popen.stdin.flush()

    def send(self, type: str, **fields: Any) -> str:
        """Sends a command and returns its id."""
        self._asked += 1
        id = f"q{self._asked}"
        self.write(json.dumps({"id": id, "type": type, **fields}).encode() + b"\n")
        return id

    def ask(self, type: str, **fields: Any) -> Record:
        """Sends a command and returns its response."""
        return self.response(self.send(type, **fields))

    def response(self, id: str | None) -> Record:
        return self.wait(lambda record: record["type"] == "response" and record.get("id") == id)

    def prompt(self, message: str, **fields: Any) -> None:
        """Sends a prompt and waits until it has settled."""
        after = len(self.records)
        assert self.ask("prompt", message=message, **fields)["success"]
        self.event("agent_settled", after=after)

    def event(self, type: str, *, after: int = 0) -> Record:
        """The first record of `type` from record number `after` on."""
        return self.wait(lambda record: record["type"] == type, after=after)

    def wait(self, wanted: Callable[[Record], bool], *, after: int = 0) -> Record:
        def find() -> Record | None:
            return next((record for record in self.records[after:] if wanted(record)), None)

        with self._came:
            self._came.wait_for(lambda: self._ended or find() is not None, PATIENCE)
            found = find()
        assert found is not None, f"it never came; the last: {self.records[-3:]}; stderr: {self.err}"
        return found

    def events(self, *, after: int = 0) -> list[Record]:
        """All records but responses."""
        return [record for record in self.records[after:] if record["type"] != "response"]

    def signal(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def close_input(self) -> None:
        assert self._popen.stdin is not None
        self._popen.stdin.close()

    def ended(self) -> int:
        """The exit code, once standard output is read to its end."""
        code = self._popen.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return code

    def finish(self) -> int:
        """Ends the input and waits for the exit code."""
        self.close_input()
        return self.ended()

    def dispose(self) -> None:
        if self._popen.poll() is None:
            self._popen.kill()
        self._popen.wait()
        for reader in self._readers:
            reader.join(PATIENCE)
