"""The one HTTP transport: pool, TLS, proxies and timeouts; every failure becomes a ProviderError."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from urllib.parse import urlsplit

import httpcore2
import msgspec

from relay.ai.classify import classify
from relay.ai.errors import ProviderError
from relay.ai.proxy import proxy_for
from relay.ai.sockets import AsyncioBackend
from relay.ai.sse import SseParser
from relay.ai.tls import make_context
from relay.ai.wire.base import ServerEvent

MAX_ERROR_BODY = 1 << 20
"""Bytes of an error answer that are read; more is no explanation."""


class TransportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Times in milliseconds; 0 or None: no limit."""

    proxy: str | None = None
    idle_timeout_ms: int = 300_000
    """Longest silence before the headers and between two pieces of the body (`httpIdleTimeoutMs`)."""
    connect_timeout_ms: int = 30_000
    timeout_ms: int | None = None
    """Longest wait for an answer's headers (`retry.provider.timeoutMs`)."""
    user_agent: str = "relay"


class Answer:
    """An answer whose body is still to come."""

    def __init__(self, response: httpcore2.Response, url: str, idle: float | None) -> None:
        self._response = response
        self._url = url
        self._idle = idle
        self.status: int = response.status
        self.headers: dict[str, str] = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
        }

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body's bytes as they arrive. Raises ProviderError when the connection breaks."""
        with _translated(self._url, self._idle):
            async for chunk in self._response.aiter_stream():
                yield chunk

    async def body(self, limit: int | None = None) -> bytes:
        """The whole body, or its first `limit` bytes and a little more."""
        pieces, size = [], 0
        async for chunk in self.chunks():
            pieces.append(chunk)
            size += len(chunk)
            if limit is not None and size >= limit:
                break
        return b"".join(pieces)


class Transport:
    """Owns the connections of one session, one pool for each proxy in use; `aclose` ends them."""

    def __init__(self, options: TransportOptions, environ: Mapping[str, str]) -> None:
        self._options = options
        self._environ = environ
        self._pools: dict[tuple[str | None, bool], httpcore2.AsyncConnectionPool] = {}

    async def stream(
        self, url: str, headers: Mapping[str, str], body: bytes
    ) -> AsyncGenerator[list[ServerEvent], None]:
        """Posts `body` and yields the answer's events, those that arrive together in one list.

        Closing the iterator closes the connection.

        Raises ProviderError for every failure, and for an answer that is no event stream.
        """
        async with self._send("POST", url, headers, body) as answer:
            if not 200 <= answer.status < 300:
                raise classify(answer.status, await answer.body(MAX_ERROR_BODY), answer.headers)
            if not answer.headers.get("content-type", "text/event-stream").startswith("text/event-stream"):
                raise await _no_stream(answer, url)
            parser = SseParser()
            async for chunk in answer.chunks():
                yield parser.feed(chunk)
            yield parser.end()

    @contextlib.asynccontextmanager
    async def download(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Answer]:
        """Gets `url`, following redirects; the answer's body is read by the caller. Raises ProviderError."""
        for _ in range(5):
            async with self._send("GET", url, headers, b"") as answer:
                target = answer.headers.get("location")
                if answer.status not in (301, 302, 303, 307, 308) or target is None:
                    if answer.status >= 400 and answer.status != 416:
                        raise classify(answer.status, await answer.body(MAX_ERROR_BODY), answer.headers)
                    yield answer
                    return
                url = str(httpcore2.URL(target)) if "://" in target else _joined(url, target)
        raise ProviderError(f"{url} redirects without end.", "transport")

    async def aclose(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()
        self._pools.clear()

    @contextlib.asynccontextmanager
    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> AsyncIterator[Answer]:
        options = self._options
        idle = options.idle_timeout_ms / 1000 or None
        timeouts = {"connect": options.connect_timeout_ms / 1000 or None, "read": idle, "write": idle}
        sent = {"user-agent": options.user_agent, **headers}
        raw = [(name.encode("latin-1"), _header(name, value)) for name, value in sent.items()]
        raw.append((b"content-length", str(len(body)).encode("ascii")))
        raw.append((b"host", _host(url)))
        with _translated(url, idle):
            request = httpcore2.Request(
                method, url, headers=raw, content=body, extensions={"timeout": timeouts}
            )
            async with asyncio.timeout((options.timeout_ms or 0) / 1000 or None):
                response = await self._pool(url).handle_async_request(request)
        try:
            yield Answer(response, url, idle)
        finally:
            await response.aclose()

    def _pool(self, url: str) -> httpcore2.AsyncConnectionPool:
        proxy = proxy_for(url, self._options.proxy, self._environ)
        secure = url.startswith("https:")
        key = (proxy, secure)
        if key not in self._pools:
            needs_tls = secure or (proxy or "").startswith("https:")
            self._pools[key] = httpcore2.AsyncConnectionPool(
                ssl_context=make_context(self._environ) if needs_tls else None,
                proxy=_proxy(proxy) if proxy else None,
                max_connections=None,
                keepalive_expiry=60,
                network_backend=AsyncioBackend(),
            )
        return self._pools[key]


def _proxy(url: str) -> httpcore2.Proxy:
    parts = urlsplit(url)
    auth = (parts.username or "", parts.password or "") if parts.username else None
    bare = f"{parts.scheme}://{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
    return httpcore2.Proxy(bare, auth=auth)


def _host(url: str) -> bytes:
    return urlsplit(url).netloc.rpartition("@")[2].encode("idna" if not url.isascii() else "ascii")


def _header(name: str, value: str) -> bytes:
    try:
        encoded = value.encode("latin-1")
    except UnicodeEncodeError:
        encoded = value.encode("utf-8")
    if b"\n" in encoded or b"\r" in encoded or b"\0" in encoded:
        raise ProviderError(
            f"The header {name} holds a line end: take it out of the key or header.", "config"
        )
    return encoded


def _joined(url: str, target: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{target if target.startswith('/') else '/' + target}"


async def _no_stream(answer: Answer, url: str) -> ProviderError:
    """An answer with status 200 that is JSON or a page instead of events."""
    body = await answer.body(MAX_ERROR_BODY)
    kind = answer.headers.get("content-type", "")
    if "json" in kind:
        return classify(None, body, answer.headers)
    shown = body[:200].decode("utf-8", "replace").strip()
    return ProviderError(
        f"{url} answered with {kind or 'something'} instead of an event stream: {shown!r}. "
        "Check the base URL: it should lead to the API, not to a web page.",
        "protocol",
    )


@contextlib.contextmanager
def _translated(url: str, idle: float | None) -> Iterator[None]:
    """httpcore2's errors as ours, naming the place and what to check."""
    place = urlsplit(url).netloc.rpartition("@")[2]
    try:
        yield
    except httpcore2.ConnectTimeout as error:
        raise _broken(
            f"{place} did not accept a connection in time; check the address and the network"
        ) from error
    except httpcore2.ConnectError as error:
        raise _broken(
            f"{place} cannot be reached ({error}); is the server running, the address right?"
        ) from error
    except (httpcore2.ReadTimeout, httpcore2.WriteTimeout) as error:
        waited = f"{idle:g} s" if idle else "too long"
        raise _broken(f"{place} was silent for {waited} (setting httpIdleTimeoutMs)") from error
    except httpcore2.ProxyError as error:
        raise _broken(
            f"the proxy refused the way to {place} ({error}); check httpProxy and HTTPS_PROXY"
        ) from error
    except (httpcore2.UnsupportedProtocol, httpcore2.LocalProtocolError, ValueError) as error:
        raise ProviderError(f"The URL {url} cannot be used: {error}.", "config") from error
    except (httpcore2.NetworkError, httpcore2.RemoteProtocolError, ssl.SSLError) as error:
        raise _broken(f"the connection to {place} broke off ({error or type(error).__name__})") from error
    except TimeoutError as error:
        raise _broken(f"{place} did not answer in time (setting retry.provider.timeoutMs)") from error


def _broken(what: str) -> ProviderError:
    return ProviderError(f"{what[0].upper()}{what[1:]}.", "transport")
