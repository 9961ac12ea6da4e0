"""Standard output as a protocol channel: guarded, batched, with back-pressure and bounded memory."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from functools import partial

from relay.base.files import write_all

HIGH_WATER = 1 << 20
"""Bytes waiting for the reader above which `drain` holds the sender."""


def claim_stdout() -> int:
    """Keeps the real standard output for the protocol and points descriptor 1 and `sys.stdout` to stderr.

    Returns the protocol's own descriptor, which children do not inherit.
    """
    sys.stdout.flush()
    channel = os.dup(1)
    os.set_inheritable(channel, False)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return channel


class RecordOutput:
    """Writes records of one loop turn in one piece, from a thread, so that a stalled reader blocks no signal.

    `closed` is called on the loop once, when the reader has gone away.
    """

    def __init__(self, descriptor: int, closed: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._closed = closed
        self._loop = asyncio.get_running_loop()
        self._batch: list[bytes] = []
        self._ready = threading.Condition()
        self._waiting = bytearray()
        self._ended = self._broken = False
        self._room = asyncio.Event()
        self._room.set()
        self._behind = 0
        """Bytes handed to the writer that it has not reported as written."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._writer = threading.Thread(target=self._write, name="relay-output", daemon=True)
        self._writer.start()

    def write(self, record: bytes) -> None:
        """Takes one record; it leaves with the others of this loop turn."""
        if not self._batch:
            self._loop.call_soon(self._hand_over)
        self._batch += (record, b"\n")

    @property
    def broken(self) -> bool:
        """Whether the reader has gone away."""
        return self._broken

    @property
    def roomy(self) -> bool:
        """Whether the reader is not more than HIGH_WATER bytes behind."""
        return self._room.is_set()

    async def drain(self) -> None:
        """Returns once the reader has caught up."""
        await self._room.wait()

    async def flush(self) -> None:
        """Returns once everything written so far has reached the reader's pipe, or the reader is gone."""
        self._hand_over()
        await self._idle.wait()

    async def finish(self) -> None:
        """Waits until everything is written, or the reader is gone."""
        self._hand_over()
        with self._ready:
            self._ended = True
            self._ready.notify()
        await asyncio.to_thread(self._writer.join)

    def _hand_over(self) -> None:
        if not self._batch:
            return
        data = b"".join(self._batch)
        if not self._broken:
            self._behind += len(data)
            self._idle.clear()
        with self._ready:
            self._waiting += data
            if len(self._waiting) > HIGH_WATER and not self._broken:
                self._room.clear()
            self._ready.notify()
        self._batch.clear()

    def _write(self) -> None:
        while True:
            with self._ready:
                while not self._waiting and not self._ended:
                    self._ready.wait()
                if not self._waiting:
                    return
                chunk, self._waiting = self._waiting, bytearray()
            try:
                write_all(self._descriptor, chunk)
            except OSError:
                self._break()
                return
            self._tell(partial(self._wrote, len(chunk)))

    def _wrote(self, size: int) -> None:
        self._room.set()
        self._behind -= size
        if self._behind == 0:
            self._idle.set()

    def _break(self) -> None:
        with self._ready:
            self._broken = True
            self._waiting.clear()
        self._tell(self._lost)

    def _lost(self) -> None:
        """The reader is gone: nobody waits for it any more."""
        self._room.set()
        self._idle.set()
        self._closed()

    def _tell(self, callback: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:
            # The loop is closed: nobody is left to be told.
            return
