"""A scripted Chat Completions server on loopback: replies in order, and every request kept."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PATIENCE = 15.0
"""Seconds after which a gate that nobody opens gives up, so that a broken test ends."""


@dataclass
class Gate:
    """Holds a reply back: `reached` is set when the server comes to it, `open` lets it go on."""

    reached: threading.Event = field(default_factory=threading.Event)
    open: threading.Event = field(default_factory=threading.Event)

    def wait_reached(self) -> None:
        assert self.reached.wait(PATIENCE), "the server never came to the gate"

    def hold(self) -> None:
        self.reached.set()
        self.open.wait(PATIENCE)


@dataclass
class Reply:
    """One answer: its pieces are written and flushed one by one; `gates[n]` holds piece n back.

    `gates[-1]` holds the headers back. `reset` ends the connection with RST, after the last piece.
    """

    pieces: Sequence[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    gates: Mapping[int, Gate] = field(default_factory=dict)
    reset: bool = False


def chunk(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> bytes:
    """One record of a Chat Completions stream."""
    record = {
        "id": "c1",
        "object": "chat.completion.chunk",
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        **more,
    }
    return b"data: " + json.dumps(record, ensure_ascii=False).encode() + b"\n\n"


def ending(reason: str = "stop") -> bytes:
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    return chunk({}, reason, usage=usage) + b"data: [DONE]\n\n"


def text(*parts: str, gates: Mapping[int, Gate] | None = None, finish: str = "stop") -> Reply:
    """An answer of text, one piece per part; the piece after the last part ends the stream."""
    return Reply([*(chunk({"content": part}) for part in parts), ending(finish)], gates=gates or {})


def call_chunk(index: int, name: str, arguments: Any) -> bytes:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": name, "arguments": written}
    return chunk(
        {
            "tool_calls": [
                {"index": index, "id": f"call_{name}_{index}", "type": "function", "function": function}
            ]
        }
    )


def calls(*made: tuple[str, Any], finish: str = "tool_calls") -> Reply:
    """Tool calls as (name, arguments); a string is the arguments' raw text."""
    pieces = [call_chunk(index, name, arguments) for index, (name, arguments) in enumerate(made)]
    return Reply([*pieces, ending(finish)])


def failure(status: int, body: Any = None, **headers: str) -> Reply:
    """An HTTP error; `retry_after="7"` becomes the header `Retry-After: 7`."""
    named = {name.replace("_", "-").title(): value for name, value in headers.items()}
    message = body if body is not None else {"error": {"message": f"status {status}"}}
    return Reply(
        [message.encode() if isinstance(message, str) else json.dumps(message).encode()],
        status,
        {"Content-Type": "application/json", **named},
    )


def recorded(folder: Path) -> list[Reply]:
    """The replies in a folder: `NN.sse` or `NN.body`, with status, headers and reset from `NN.meta.json`."""
    replies = []
    for path in sorted([*folder.glob("[0-9][0-9].sse"), *folder.glob("[0-9][0-9].body")]):
        meta_path = path.with_suffix("").with_suffix(".meta.json")
        meta = json.loads(meta_path.read_text()) if meta_path.exists() else {}
        data = path.read_bytes()
        stream = path.suffix == ".sse"
        kind = "text/event-stream" if stream else "application/json"
        pieces = [part + b"\n\n" for part in data.split(b"\n\n") if part.strip()] if stream else [data]
        if not data.endswith(b"\n\n") and pieces:
            pieces[-1] = pieces[-1].removesuffix(b"\n\n")
        headers = {"Content-Type": kind, **meta.get("headers", {})}
        gates = {-1: Gate()} if meta.get("first_delay_ms") else {}
        replies.append(
            Reply(pieces, meta.get("status", 200), headers, gates, reset=bool(meta.get("reset", False)))
        )
    return replies


@dataclass(frozen=True)
class Request:
    """`body` is the decoded JSON; header names are lower case."""

    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.body["messages"]
        return found

    def texts(self, role: str) -> list[str]:
        """The text of each message of `role`."""
        return [_text(message.get("content")) for message in self.messages if message["role"] == role]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])


class ScriptedServer:
    """Answers `add`ed replies in order. Once they are used up a request gets an error, kept in `surplus`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.surplus = 0
        self.finished = threading.Event()
        """Set once a reply was sent to its end."""
        self.choose: Callable[[Request], Reply] | None = None
        """Picks the reply by what is asked, where requests of aborted runs may still be on their way."""
        self._replies: list[Reply] = []
        self._gates: list[Gate] = []
        self._arrived = threading.Condition()
        self._http = _Listener(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self._http.server_address[1]

    @property
    def unused(self) -> int:
        return len(self._replies)

    def add(self, *replies: Reply) -> None:
        self._replies += replies
        self._gates += [gate for reply in replies for gate in reply.gates.values()]

    def wait_requests(self, count: int) -> None:
        with self._arrived:
            came = self._arrived.wait_for(lambda: len(self.requests) >= count, PATIENCE)
        assert came, f"{len(self.requests)} of {count} requests came"

    def take(self, request: Request) -> Reply:
        with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
            if self.choose is not None:
                return self.choose(request)
            if self._replies:
                return self._replies.pop(0)
            self.surplus += 1
        return failure(400, {"error": {"message": "the script ran dry"}})

    def close(self) -> None:
        for gate in self._gates:
            gate.open.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


def _handler(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Stay silent."""

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = server.take(Request(self.path, headers, json.loads(raw)))
            try:
                self._play(reply)
            except OSError:
                # The client has gone: tests look at its side.
                self.close_connection = True

        def _play(self, reply: Reply) -> None:
            if -1 in reply.gates:
                reply.gates[-1].hold()
            self.send_response(reply.status)
            headers = {"Content-Type": "text/event-stream", "Connection": "close", **reply.headers}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            for number, piece in enumerate(reply.pieces):
                if number in reply.gates:
                    self.wfile.flush()
                    reply.gates[number].hold()
                self.wfile.write(piece)
                self.wfile.flush()
            if reply.reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            self.close_connection = True
            server.finished.set()

    return Handler


@contextmanager
def serving() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    try:
        yield server
    finally:
        server.close()
