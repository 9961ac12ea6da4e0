"""The sockets under the transport: httpcore2's network interface on asyncio's own streams.

httpcore2's own sockets give way to the loop once more for each read; these hand bytes on as they come.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

import httpcore2
from httpcore2 import SOCKET_OPTION

from relay.ai.chunks import ChunkJoiner

_Result = TypeVar("_Result")

_SECOND_FAMILY_AFTER = 0.25
"""Seconds before IPv4 is tried beside an IPv6 address that does not answer."""


class AsyncioStream(httpcore2.AsyncNetworkStream):
    """One connection. A read returns b"" at the end, as httpcore2 expects."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._joiner = ChunkJoiner()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  httpcore2 names it
        while data := await _bounded(
            self._reader.read(max_bytes), timeout, httpcore2.ReadTimeout, httpcore2.ReadError
        ):
            if joined := self._joiner.feed(data):
                return joined
        return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  httpcore2 names it
        self._joiner.expect_answer()
        self._writer.write(buffer)
        await _bounded(self._writer.drain(), timeout, httpcore2.WriteTimeout, httpcore2.WriteError)

    async def aclose(self) -> None:
        # Not awaited: a peer that does not answer the closing handshake must not hold an abort.
        self._writer.transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  httpcore2 names it
    ) -> httpcore2.AsyncNetworkStream:
        work = self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        try:
            await _bounded(work, timeout, httpcore2.ConnectTimeout, httpcore2.ConnectError)
        except BaseException:
            self._writer.transport.abort()
            raise
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            return self._reader.at_eof() or self._writer.transport.is_closing()
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
        work = asyncio.open_connection(host, port, limit=1 << 20, happy_eyeballs_delay=_SECOND_FAMILY_AFTER)
        reader, writer = await _bounded(work, timeout, httpcore2.ConnectTimeout, httpcore2.ConnectError)
        return AsyncioStream(reader, writer)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def _bounded(
    work: Coroutine[Any, Any, _Result], limit: float | None, late: type[Exception], failed: type[Exception]
) -> _Result:
    """The result of `work` within `limit` seconds, asyncio's errors turned into httpcore2's."""
    try:
        async with asyncio.timeout(limit) as clock:
            return await work
    except OSError as error:
        # TimeoutError is an OSError too, and the kernel raises it for a peer that went away.
        if isinstance(error, TimeoutError) and clock.expired():
            raise late(f"nothing for {limit:g} s") from error
        raise failed(str(error) or type(error).__name__) from error
