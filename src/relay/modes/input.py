"""Standard input as JSONL records: split on LF only, one preceding CR dropped, records of any size."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator

_CHUNK = 1 << 18
_AHEAD = 64
"""Records read ahead of the consumer; more wait in the pipe."""


class RecordInput:
    """Reads a descriptor in a thread: pipes, files and terminals behave alike, and end of file ends it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._records: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        threading.Thread(target=self._read, name="relay-input", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (record := await self._records.get()) is not None:
            self._room.release()
            yield record

    def _read(self) -> None:
        pieces: list[bytes] = []
        while True:
            try:
                chunk = os.read(self._descriptor, _CHUNK)
            except OSError:
                chunk = b""
            if not chunk:
                break
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                self._put(b"".join([*pieces, line]))
                pieces.clear()
            if rest:
                pieces.append(rest)
        if pieces:
            self._put(b"".join(pieces))
        self._send(None)

    def _put(self, line: bytes) -> None:
        self._room.acquire()
        self._send(line.removesuffix(b"\r"))

    def _send(self, record: bytes | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._records.put_nowait, record)
        except RuntimeError:
            # The loop is closed: the process is ending and nobody reads on.
            return
