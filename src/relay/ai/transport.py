"""The one HTTP transport: sends a request, hands out the answer's events; failures become ProviderErrors."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from relay.ai.classify import classify
from relay.ai.errors import ProviderError
from relay.ai.proxy import proxy_for
from relay.ai.registry import load_pools
from relay.ai.route import Route
from relay.ai.sse import SseParser
from relay.ai.wire.base import ServerEvent
from relay.base import jsonl

MAX_ERROR_BODY = 1 << 20
"""Bytes of an error answer that are read; more is no explanation."""

_REDIRECTS = (301, 302, 303, 307, 308)
_SPACE = b" \t\r\n\xef\xbb\xbf"
_FIELDS = (b"data", b"event", b"id", b"retry", b":")


class TransportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Times in milliseconds; 0 or None: no limit."""

    proxy: str | None = None
    """`httpProxy`: stands for HTTP_PROXY and HTTPS_PROXY."""
    idle_timeout_ms: int = 300_000
    """Longest silence before the headers and between two pieces of the body (`httpIdleTimeoutMs`)."""
    connect_timeout_ms: int = 30_000
    timeout_ms: int | None = None
    """Longest wait for an answer to begin, connecting included (`retry.provider.timeoutMs`)."""
    user_agent: str = "relay"


class Body(Protocol):
    """An answer whose body is still to come; header names are lower case, `chunk` is b"" at the end."""

    status: int
    headers: dict[str, str]

    async def chunk(self) -> bytes: ...

    async def aclose(self) -> None: ...


class Connections(Protocol):
    """What is loaded for the first request only: the HTTP library and its pools."""

    async def send(
        self, method: str, route: Route, headers: Sequence[tuple[bytes, bytes]], body: bytes
    ) -> Body: ...

    async def aclose(self) -> None: ...


class Download:
    """A body for its reader to store, piece by piece."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self.status: int = body.status
        self.headers: dict[str, str] = body.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """Raises ProviderError when the connection breaks."""
        while piece := await self._body.chunk():
            yield piece


class EventStream:
    """The events of one answer. `aclose` ends the connection at once unless all has been read."""

    def __init__(self, body: Body, url: str) -> None:
        self._body = body
        self._url = url
        self._parser = SseParser()
        self._head: bytes | None = b""
        """The first bytes, until it is clear that they are no JSON and no page."""
        self._shown = b""
        self._any = False

    async def read(self) -> list[ServerEvent]:
        """The next events, those that arrived together in one list; an empty list is the end.

        Raises ProviderError when the connection breaks, or when the answer is no event stream.
        """
        while True:
            chunk = await self._body.chunk()
            if self._head is not None:
                chunk = await self._judged(self._head + chunk, ended=not chunk)
            elif not chunk:
                return self._last()
            events = self._parser.feed(chunk)
            if events:
                self._any = True
                return events

    async def aclose(self) -> None:
        await self._body.aclose()

    async def _judged(self, head: bytes, *, ended: bool) -> bytes:
        """`head` once it is clear that it can begin an event stream; b"" while that is open."""
        first = head.lstrip(_SPACE)[:1]
        if first and first in b"{[<":
            raise _no_stream(head + await rest_of(self._body), self._body, self._url)
        if not first and not ended:
            self._head = head
            return b""
        self._head, self._shown = None, head[:200]
        return head

    def _last(self) -> list[ServerEvent]:
        events = self._parser.end()
        if not events and not self._any and not self._shown.lstrip(_SPACE).startswith(_FIELDS):
            if self._shown.strip():
                raise _no_stream(self._shown, self._body, self._url)
        self._any = True
        return events


class Transport:
    """Owns the connections of one session; the first request opens them, `aclose` ends them."""

    def __init__(self, options: TransportOptions, environ: Mapping[str, str]) -> None:
        self._options = options
        self._environ = environ
        self._connections: Connections | None = None

    async def open(
        self, url: str, headers: Mapping[str, str], body: bytes, *, direct: bool = False
    ) -> EventStream:
        """Posts `body`; the answer's events, once its headers are there. `direct` passes by every proxy.

        Raises ProviderError when there is no answer, or its status is an error.
        """
        response = await self._send("POST", url, headers, body, direct=direct)
        if 200 <= response.status < 300:
            return EventStream(response, url)
        async with contextlib.aclosing(response):
            raise await _refused(response, url)

    async def get(self, url: str, headers: Mapping[str, str], *, direct: bool = False) -> bytes:
        """The whole body. Raises ProviderError."""
        response = await self._send("GET", url, headers, b"", direct=direct)
        async with contextlib.aclosing(response):
            if not 200 <= response.status < 300:
                raise await _refused(response, url)
            return await rest_of(response, limit=None)

    @contextlib.asynccontextmanager
    async def download(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[Download]:
        """Gets `url`, following redirects; the caller reads the body. Raises ProviderError.

        Status 416 (the range is past the end) is for the caller too.
        """
        for _ in range(6):
            response = await self._send("GET", url, headers, b"", direct=False)
            async with contextlib.aclosing(response):
                target = response.headers.get("location")
                if response.status not in _REDIRECTS or target is None:
                    if response.status >= 300 and response.status != 416:
                        raise await _refused(response, url)
                    yield Download(response)
                    return
            headers = _for_target(headers, url, urljoin(url, target))
            url = urljoin(url, target)
        raise ProviderError(f"{url} redirects again and again; the download is given up.", "transport")

    async def aclose(self) -> None:
        if self._connections is not None:
            await self._connections.aclose()

    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, *, direct: bool
    ) -> Body:
        route = self._route(checked_url(url), direct)
        defaults = {"User-Agent": self._options.user_agent, "Accept-Encoding": "identity"}
        given = {name.lower() for name in headers}
        sent = {name: value for name, value in defaults.items() if name.lower() not in given}
        fixed = {"Host": route.host, "Content-Length": str(len(body))}
        if self._connections is None:
            self._connections = load_pools(self._environ)
        return await self._connections.send(
            method, route, checked_headers(fixed | sent | dict(headers)), body
        )

    def _route(self, url: str, direct: bool) -> Route:
        options = self._options
        return Route(
            url=url,
            proxy=None if direct else proxy_for(url, options.proxy, self._environ),
            idle_ms=options.idle_timeout_ms,
            connect_ms=options.connect_timeout_ms,
            total_ms=options.timeout_ms,
        )


async def rest_of(body: Body, limit: int | None = MAX_ERROR_BODY) -> bytes:
    """The body, or its first `limit` bytes and a little more."""
    pieces: list[bytes] = []
    size = 0
    while piece := await body.chunk():
        pieces.append(piece)
        size += len(piece)
        if limit is not None and size >= limit:
            break
    return b"".join(pieces)


def checked_url(url: str) -> str:
    """`url` in ASCII. Raises ProviderError when it is no http(s) address."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        if usable and not url.isascii():
            host = parts.netloc.encode("idna").decode("ascii")
            url = parts._replace(netloc=host, path=quote(parts.path, safe="/%:@!$&'()*+,;=~")).geturl()
    except ValueError:
        usable = False
    if not usable:
        raise ProviderError(
            f"The address {url!r} cannot be used; a base URL looks like https://api.example.com/v1.", "config"
        )
    return url


def checked_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Raises ProviderError for what HTTP cannot carry, naming the header and never its value."""
    sent = []
    for name, value in headers.items():
        value = value.strip()
        if not name.isascii() or not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
            raise ProviderError(f"{name!r} cannot be the name of a header.", "config")
        if not value.isprintable() or not value.isascii():
            what = (
                "a line end or control character" if not value.isprintable() else "a character beyond ASCII"
            )
            raise ProviderError(
                f"The value of the header {name} holds {what}; check the API key or header it comes from.",
                "config",
            )
        sent.append((name.encode("ascii"), value.encode("ascii")))
    return sent


def _for_target(headers: Mapping[str, str], url: str, target: str) -> Mapping[str, str]:
    """Credentials stay with the host they were meant for."""
    if urlsplit(url)[:2] == urlsplit(target)[:2]:
        return headers
    return {name: value for name, value in headers.items() if name.lower() not in ("authorization", "cookie")}


async def _refused(response: Body, url: str) -> ProviderError:
    status, target = response.status, response.headers.get("location")
    if status in _REDIRECTS and target is not None:
        return ProviderError(
            f"{url} redirects to {urljoin(url, target)} ({status}); set the base URL to where it leads.",
            "request",
            status=status,
        )
    return classify(status, await rest_of(response), response.headers)


def _no_stream(text: bytes, body: Body, url: str) -> ProviderError:
    """An answer with a good status that is JSON, a page or plain text instead of events."""
    try:
        value = jsonl.decode(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict) and any(key in value for key in ("error", "detail", "message", "msg")):
        return classify(None, value, body.headers)
    kind = "JSON" if isinstance(value, dict | list) else "a web page" if b"<" in text[:200] else "text"
    shown = " ".join(text[:160].decode("utf-8", "replace").split())
    return ProviderError(
        f"{url} answered with {kind} instead of an event stream ({shown!r}). "
        "Check that the base URL leads to the API and that the server can stream.",
        "protocol",
        status=body.status,
    )
