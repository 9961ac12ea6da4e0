"""The sockets under the transport: httpcore2's network interface on asyncio's own streams.

httpcore2 would bring anyio for this, whose import costs more than everything else in a request.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpcore2
from httpcore2 import SOCKET_OPTION


class AsyncioStream(httpcore2.AsyncNetworkStream):
    """One connection. A read returns b"" at the end, as httpcore2 expects."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  httpcore2 names it
        async with _translated(httpcore2.ReadTimeout, httpcore2.ReadError, timeout):
            return await self._reader.read(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  httpcore2 names it
        async with _translated(httpcore2.WriteTimeout, httpcore2.WriteError, timeout):
            self._writer.write(buffer)
            await self._writer.drain()

    async def aclose(self) -> None:
        # Not awaited: a peer that does not answer the closing handshake must not hold an abort.
        self._writer.transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  httpcore2 names it
    ) -> httpcore2.AsyncNetworkStream:
        async with _translated(httpcore2.ConnectTimeout, httpcore2.ConnectError, timeout):
            await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            return self._reader.at_eof()
        return self._writer.get_extra_info({"server_addr": "peername"}.get(info, info))


class AsyncioBackend(httpcore2.AsyncNetworkBackend):
    """Opens TCP connections with asyncio."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  httpcore2 names it
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        async with _translated(httpcore2.ConnectTimeout, httpcore2.ConnectError, timeout):
            reader, writer = await asyncio.open_connection(host, port, limit=1 << 20)
        return AsyncioStream(reader, writer)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@contextlib.asynccontextmanager
async def _translated(
    late: type[Exception], failed: type[Exception], seconds: float | None
) -> AsyncIterator[None]:
    """asyncio's errors as httpcore2's."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except (OSError, ssl.SSLError) as error:
        raise failed(str(error) or type(error).__name__) from error
