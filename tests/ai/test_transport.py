"""The transport against servers on loopback."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import subprocess
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme
from msgspec import convert

from relay.ai.errors import ErrorKind, ProviderError
from relay.ai.transport import EventStream, Transport, TransportOptions, checked_headers, checked_url
from tests.ai.servers import Peer, Script, serving, tunnelling

EVENT = b'data: {"n":1}\n\n'


@asynccontextmanager
async def transport(environ: Mapping[str, str] | None = None, **options: object) -> AsyncIterator[Transport]:
    made = Transport(convert(options, TransportOptions), environ or {})
    try:
        yield made
    finally:
        await made.aclose()


async def data_of(stream: EventStream) -> list[bytes]:
    found: list[bytes] = []
    while batch := await stream.read():
        found += [event.data for event in batch]
    await stream.aclose()
    return found


async def failure(script: Script, **options: object) -> ProviderError:
    """The error of one call to a server that runs `script`."""
    async with serving(script) as port, transport(None, **options) as made:
        with pytest.raises(ProviderError) as caught:
            await data_of(await made.open(f"http://127.0.0.1:{port}/v1", {}, b"{}"))
        return caught.value


async def answering(peer: Peer) -> None:
    while True:
        await peer.request()
        await peer.answer(200, EVENT, content_type="text/event-stream")


async def test_a_request_goes_out_as_it_is_given() -> None:
    seen: list[tuple[str, dict[str, str], bytes]] = []

    async def script(peer: Peer) -> None:
        seen.append(await peer.request())
        await peer.answer(200, EVENT)

    async with serving(script) as port, transport(user_agent="relay/1") as made:
        stream = await made.open(f"http://127.0.0.1:{port}/v1/x?alt=sse", {"X-Key": "k"}, b'{"a":1}')
        assert await data_of(stream) == [b'{"n":1}']
    [(line, headers, body)] = seen
    assert (line, body) == ("POST /v1/x?alt=sse HTTP/1.1", b'{"a":1}')
    assert headers["host"] == f"127.0.0.1:{port}"
    assert (headers["x-key"], headers["user-agent"]) == ("k", "relay/1")
    assert headers["accept-encoding"] == "identity"


async def test_connections_are_kept_and_one_that_was_closed_meanwhile_is_replaced() -> None:
    connections: list[int] = []

    async def script(peer: Peer) -> None:
        connections.append(peer.number)
        for _ in range(2):
            await peer.request()
            await peer.answer(200, EVENT)
        if peer.number == 0:
            # The next request arrives on this connection and is answered by its end.
            await peer.request()

    async with serving(script) as port, transport() as made:
        for _ in range(3):
            assert await data_of(await made.open(f"http://127.0.0.1:{port}/", {}, b"")) == [b'{"n":1}']
    assert connections == [0, 1]


async def test_chunks_and_events_have_nothing_to_do_with_each_other() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.begin()
        for piece in (b"\r\n", b": hi\r\n\r", b"\ndata: on", b"e\r\n\r\ndata: two\n", b"\ndata: 3"):
            await peer.chunk(piece)
        await peer.end()

    async with serving(script) as port, transport() as made:
        stream = await made.open(f"http://127.0.0.1:{port}/", {}, b"")
        assert await data_of(stream) == [b"one", b"two", b"3"]


async def test_a_compressed_answer_is_unpacked() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer(200, gzip.compress(EVENT * 3), content_encoding="gzip")

    async with serving(script) as port, transport() as made:
        assert len(await data_of(await made.open(f"http://127.0.0.1:{port}/", {}, b""))) == 3


async def test_closing_the_stream_closes_the_connection_at_once() -> None:
    closed = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.begin()
        await peer.chunk(EVENT)
        await peer.gone()
        closed.set()

    async with serving(script) as port, transport() as made:
        stream = await made.open(f"http://127.0.0.1:{port}/", {}, b"")
        assert len(await stream.read()) == 1
        await stream.aclose()
        await closed.wait()


@pytest.mark.parametrize("started", [False, True])
async def test_silence_ends_the_call(started: bool) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        if started:
            await peer.begin()
            await peer.chunk(EVENT)
        await peer.gone()

    error = await failure(script, idle_timeout_ms=30)
    assert error.kind == "transport"
    assert "silent for 0.03 s" in str(error)
    assert "httpIdleTimeoutMs" in str(error)


async def test_an_answer_must_begin_within_the_request_timeout() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.gone()

    error = await failure(script, idle_timeout_ms=0, timeout_ms=30)
    assert (error.kind, "retry.provider.timeoutMs" in str(error)) == ("transport", True)


async def test_broken_answers() -> None:
    async def cut_in_body(peer: Peer) -> None:
        await peer.request()
        await peer.begin()
        await peer.chunk(EVENT)
        peer.cut()

    async def cut_before(peer: Peer) -> None:
        await peer.request()

    async def no_http(peer: Peer) -> None:
        await peer.send(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        await peer.gone()

    async def wrong_encoding(peer: Peer) -> None:
        await peer.request()
        await peer.answer(200, b"x", content_encoding="br")

    async def wrong_gzip(peer: Peer) -> None:
        await peer.request()
        await peer.answer(200, b"x" * 50, content_encoding="gzip")

    cases: list[tuple[Script, ErrorKind, str]] = [
        (cut_in_body, "transport", "broke off"),
        (cut_before, "transport", "without an answer"),
        (no_http, "protocol", "does not answer in HTTP"),
        (wrong_encoding, "protocol", "'br'"),
        (wrong_gzip, "protocol", "cannot be unpacked"),
    ]
    for script, kind, words in cases:
        error = await failure(script)
        assert (error.kind, words in str(error)) == (kind, True), str(error)


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b'{"error":{"message":"zebra","type":"overloaded_error"}}', "overload", "zebra"),
        (b' \n{"error":{"message":"no more","code":429}}', "rate_limit", "no more"),
        (b'[{"error":{"message":"key","status":"UNAUTHENTICATED","code":401}}]', "auth", "key"),
        (b'{"id":"x","choices":[{"message":{"content":"whole"}}]}', "protocol", "JSON"),
        (b"<!doctype html><html><body>Log in</body></html>", "protocol", "a web page"),
        (b"Internal failure", "protocol", "text"),
    ],
)
async def test_a_good_status_without_an_event_stream(body: bytes, kind: ErrorKind, words: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer(200, body, content_type="text/event-stream")

    error = await failure(script)
    assert (error.kind, words in str(error)) == (kind, True), str(error)


async def test_an_error_status_is_classified_with_its_headers() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer(429, b'{"error":{"message":"slow down"}}', Retry_After="7")

    error = await failure(script)
    assert (error.kind, error.status, error.retry_after_ms) == ("rate_limit", 429, 7000)


async def test_a_redirect_names_where_it_leads() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer(308, b"", Location="/v2/x")

    error = await failure(script)
    assert (error.kind, "/v2/x" in str(error)) == ("request", True)


async def test_hosts_that_cannot_be_reached() -> None:
    async with serving(answering) as port:
        pass
    async with transport() as made:
        with pytest.raises(ProviderError, match=f"127.0.0.1:{port} refuses connections") as caught:
            await made.open(f"http://127.0.0.1:{port}/", {}, b"")
        assert caught.value.kind == "transport"
        with pytest.raises(ProviderError, match=r"nowhere\.invalid:80 cannot be resolved") as caught:
            await made.open("http://nowhere.invalid/", {}, b"")
        assert caught.value.kind == "transport"


async def test_get_and_download() -> None:
    seen: list[tuple[str, str | None]] = []

    async def script(peer: Peer) -> None:
        while True:
            line, headers, _ = await peer.request()
            path = line.split(" ")[1]
            seen.append((path, headers.get("range")))
            if path == "/start":
                await peer.answer(302, b"", Location="file")
            elif path == "/missing":
                await peer.answer(404, b"")
            else:
                await peer.answer(200, b"content")

    async with serving(script) as port, transport() as made:
        base = f"http://127.0.0.1:{port}"
        assert await made.get(f"{base}/list", {}) == b"content"
        async with made.download(f"{base}/start", {"Range": "bytes=1-"}) as found:
            assert found.status == 200
            assert b"".join([piece async for piece in found.chunks()]) == b"content"
        with pytest.raises(ProviderError, match="404"):
            await made.get(f"{base}/missing", {})
    assert seen[1:3] == [("/start", "bytes=1-"), ("/file", "bytes=1-")]


def server_context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    return context


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"])
async def test_tls_with_a_private_authority(variable: str, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    async with serving(answering, server_context(authority)) as port:
        url = f"https://localhost:{port}/"
        async with transport({variable: str(tmp_path / "ca.pem")}) as made:
            for _ in range(2):
                assert await data_of(await made.open(url, {}, b"")) == [b'{"n":1}']
        async with transport() as made:
            with pytest.raises(
                ProviderError, match=f"certificate of localhost:{port} is not accepted"
            ) as caught:
                await made.open(url, {}, b"")
            assert (caught.value.kind, "SSL_CERT_FILE" in str(caught.value)) == ("transport", True)


async def test_a_folder_of_authorities(tmp_path: Path) -> None:
    async with transport({"SSL_CERT_DIR": str(tmp_path / "none")}) as made:
        with pytest.raises(ProviderError, match="SSL_CERT_DIR names"):
            await made.open("https://localhost:1/", {}, b"")


@pytest.mark.parametrize("content", [None, b"no certificate"])
async def test_an_authority_that_cannot_be_read(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    async with transport({"SSL_CERT_FILE": str(path)}) as made:
        with pytest.raises(ProviderError, match="SSL_CERT_FILE names") as caught:
            await made.open("https://localhost:1/", {}, b"")
    assert (caught.value.kind, str(path) in str(caught.value)) == ("config", True)


async def test_plain_http_where_tls_is_expected() -> None:
    async def script(peer: Peer) -> None:
        await peer.reader.read(1)
        await peer.answer(400, b"")

    async with serving(script) as port, transport() as made:
        with pytest.raises(ProviderError, match=f"No TLS connection to 127.0.0.1:{port}"):
            await made.open(f"https://127.0.0.1:{port}/", {}, b"")


async def test_a_tunnel_through_a_proxy(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    opened: list[str] = []
    basic = f"Basic {b64encode(b'me:se cret').decode()}"
    async with (
        serving(answering, server_context(authority)) as port,
        serving(tunnelling(opened, basic)) as proxy,
    ):
        url = f"https://localhost:{port}/"
        environ = {
            "SSL_CERT_FILE": str(tmp_path / "ca.pem"),
            "HTTPS_PROXY": f"http://me:se%20cret@127.0.0.1:{proxy}",
        }
        async with transport(environ) as made:
            assert await data_of(await made.open(url, {}, b"")) == [b'{"n":1}']
        assert opened == [f"CONNECT localhost:{port}"]
        async with transport(environ | {"NO_PROXY": "localhost"}) as made:
            assert await data_of(await made.open(url, {}, b"")) == [b'{"n":1}']
        async with transport(environ) as made:
            assert await data_of(await made.open(url, {}, b"", direct=True)) == [b'{"n":1}']
        assert len(opened) == 1
        async with transport(environ, proxy=f"http://127.0.0.1:{proxy}") as made:
            with pytest.raises(ProviderError, match="407") as caught:
                await made.open(url, {}, b"")
        assert (caught.value.kind, "httpProxy" in str(caught.value)) == ("auth", True)


async def test_plain_http_is_forwarded_by_a_proxy() -> None:
    opened: list[str] = []
    async with serving(tunnelling(opened)) as proxy:
        async with transport({"http_proxy": f"127.0.0.1:{proxy}"}) as made:
            assert await data_of(await made.open("http://model.example/v1", {}, b"")) == [b"forwarded"]
    assert opened == ["POST http://model.example/v1"]


async def test_a_proxy_that_is_not_there_is_named_with_its_source() -> None:
    async with serving(answering) as port:
        pass
    async with transport({"ALL_PROXY": f"http://127.0.0.1:{port}"}) as made:
        with pytest.raises(ProviderError, match=f"proxy 127.0.0.1:{port} refuses connections.*ALL_PROXY"):
            await made.open("https://model.example/v1", {}, b"")


@pytest.mark.parametrize("url", ["model.example/v1", "ftp://a/", "http://", "http://a:x/", ""])
def test_addresses_that_cannot_be_used(url: str) -> None:
    with pytest.raises(ProviderError, match="cannot be used") as caught:
        checked_url(url)
    assert caught.value.kind == "config"


def test_addresses_beyond_ascii() -> None:
    assert checked_url("https://bücher.example/ä%20b") == "https://xn--bcher-kva.example/%C3%A4%20b"


@pytest.mark.parametrize("value", ["sk-se\ncret", "sk-se\u200bcret", "sk-se\x00cret"])
def test_headers_that_cannot_be_sent_keep_their_secret(value: str) -> None:
    with pytest.raises(ProviderError, match="Authorization") as caught:
        checked_headers({"Authorization": value})
    assert caught.value.kind == "config"
    assert "cret" not in str(caught.value)
    assert checked_headers({"A": " key\n"}) == [(b"A", b"key")]


def test_the_http_library_is_loaded_by_the_first_request_only() -> None:
    code = (
        "import sys, relay.ai.provider; print(*sorted({'httpcore2', 'h11', 'truststore'} & {*sys.modules}))"
    )
    environ = {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"
