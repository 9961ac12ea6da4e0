"""Small servers on loopback whose every step the test writes."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager


class Peer:
    """One connection as its server sees it."""

    def __init__(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.number = number
        self.reader = reader
        self.writer = writer

    async def request(self) -> tuple[str, dict[str, str], bytes]:
        """Request line, headers in lower case, body. Raises IncompleteReadError when the client is gone."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return head[0], headers, body

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, status: int, body: bytes, **headers: str) -> None:
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        await self.send(f"HTTP/1.1 {status} X\r\n{lines}content-length: {len(body)}\r\n\r\n".encode() + body)

    async def begin(self, kind: str = "text/event-stream") -> None:
        """The headers of a chunked answer; `chunk` goes on and `end` ends it."""
        await self.send(
            f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
        )

    async def chunk(self, data: bytes) -> None:
        await self.send(b"%x\r\n%b\r\n" % (len(data), data))

    async def end(self) -> None:
        await self.send(b"0\r\n\r\n")

    async def gone(self) -> None:
        """Returns once the client has closed the connection."""
        try:
            while await self.reader.read(65536):
                pass
        except ConnectionError:
            pass

    def cut(self) -> None:
        self.writer.transport.abort()


Script = Callable[[Peer], Awaitable[None]]


@asynccontextmanager
async def serving(script: Script, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Runs `script` for each connection; yields the port. A script that fails makes the test fail."""
    tasks: set[asyncio.Task[None]] = set()
    failures: list[Exception] = []
    count = 0

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await script(Peer(count - 1, reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        except Exception as error:  # noqa: BLE001  reported by the test below
            failures.append(error)
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(play, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
    if failures:
        raise failures[0]


def tunnelling(opened: list[str], credentials: str | None = None) -> Script:
    """The script of a CONNECT proxy; `opened` collects the targets it was asked for."""

    async def script(peer: Peer) -> None:
        line, headers, _ = await peer.request()
        method, target, _ = line.split(" ")
        opened.append(f"{method} {target}")
        if credentials is not None and headers.get("proxy-authorization") != credentials.lower():
            await peer.answer(407, b"")
            return
        if method != "CONNECT":
            await peer.answer(200, b"data: forwarded\n\n", content_type="text/event-stream")
            return
        host, _, port = target.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        await peer.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            await asyncio.gather(_pipe(peer.reader, writer), _pipe(reader, peer.writer))
        finally:
            writer.transport.abort()

    return script


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.transport.abort()
