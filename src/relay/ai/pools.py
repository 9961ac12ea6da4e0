"""The connections of a transport: one pool for each proxy, TLS when it is first needed."""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import httpcore2

from relay.ai.errors import ProviderError
from relay.ai.failures import explained
from relay.ai.proxy import Proxy
from relay.ai.route import Route
from relay.ai.sockets import AsyncioBackend
from relay.ai.tls import make_context

KEEP_ALIVE = 60
"""Seconds that an idle connection is kept for the next request."""


class Pools:
    """Owns the connections; `aclose` ends them all."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._pools: dict[tuple[Proxy | None, bool], httpcore2.AsyncConnectionPool] = {}

    async def send(
        self, method: str, route: Route, headers: Sequence[tuple[bytes, bytes]], body: bytes
    ) -> Response:
        """The answer once its headers are there. Raises ProviderError when there is none."""
        pool = await self._pool(route)
        idle = route.idle_ms / 1000 or None
        timeout = {"connect": route.connect_ms / 1000 or None, "read": idle, "write": idle}
        with explained(route):
            async with asyncio.timeout((route.total_ms or 0) / 1000 or None):
                while True:
                    opened = _Opened()
                    request = httpcore2.Request(
                        method,
                        route.url,
                        headers=list(headers),
                        content=body,
                        extensions={"timeout": timeout, "trace": opened.note},
                    )
                    try:
                        return Response(await pool.handle_async_request(request), route)
                    except (httpcore2.RemoteProtocolError, httpcore2.ReadError, httpcore2.WriteError):
                        # A kept connection may have been closed while the request was on its way.
                        if opened.new:
                            raise

    async def aclose(self) -> None:
        pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            await pool.aclose()
        await asyncio.sleep(0)

    async def _pool(self, route: Route) -> httpcore2.AsyncConnectionPool:
        secure = route.url.lower().startswith("https:")
        key = (route.proxy, secure)
        if key not in self._pools:
            proxied_tls = route.proxy is not None and route.proxy.url.startswith("https:")
            context = await asyncio.to_thread(make_context, self._environ) if secure or proxied_tls else None
            self._pools.setdefault(
                key,
                httpcore2.AsyncConnectionPool(
                    ssl_context=context if secure else None,
                    proxy=None
                    if route.proxy is None
                    else httpcore2.Proxy(
                        route.proxy.url, auth=route.proxy.auth, ssl_context=context if proxied_tls else None
                    ),
                    max_connections=None,
                    max_keepalive_connections=8,
                    keepalive_expiry=KEEP_ALIVE,
                    network_backend=AsyncioBackend(),
                ),
            )
        return self._pools[key]


class _Opened:
    """Learns whether a request opened a connection of its own."""

    def __init__(self) -> None:
        self.new = False

    async def note(self, name: str, info: Mapping[str, Any]) -> None:
        if name.endswith("connect_tcp.started"):
            self.new = True


class Response:
    """An answer whose body is still to come; header names are lower case.

    `aclose` closes the connection at once unless the body has been read to its end.
    """

    def __init__(self, response: httpcore2.Response, route: Route) -> None:
        self._response = response
        self._route = route
        self._pieces: AsyncGenerator[bytes, None] = aiter(response.stream)  # type: ignore[arg-type]  # httpcore2 types the stream of sync and async answers as one
        self.status: int = response.status
        self.headers: dict[str, str] = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
        }
        self._unpack = _unpacker(self.headers.get("content-encoding", ""), route)

    async def chunk(self) -> bytes:
        """The next bytes of the body; b"" at its end. Raises ProviderError when the connection breaks."""
        with explained(self._route):
            while piece := await anext(self._pieces, b""):
                if self._unpack is None:
                    return piece
                if unpacked := self._unpacked(piece, self._unpack):
                    return unpacked
        return b""

    async def aclose(self) -> None:
        # What goes wrong while closing concerns nobody any more.
        with contextlib.suppress(OSError, httpcore2.NetworkError, httpcore2.ProtocolError):
            await self._pieces.aclose()
            await self._response.aclose()

    def _unpacked(self, piece: bytes, unpack: zlib._Decompress) -> bytes:
        try:
            return unpack.decompress(piece)
        except zlib.error as error:
            raise ProviderError(
                f"{self._route.place} sent a compressed answer that cannot be unpacked ({error}).", "protocol"
            ) from error


def _unpacker(encoding: str, route: Route) -> zlib._Decompress | None:
    """Nothing compressed is asked for, but some gateways compress regardless."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip", "deflate"):
        return zlib.decompressobj(zlib.MAX_WBITS | 32)
    raise ProviderError(
        f"{route.place} answers in the encoding {encoding!r}, although plain text was asked for.", "protocol"
    )
