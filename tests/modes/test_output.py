from __future__ import annotations

import asyncio
import os

from relay.modes.output import HIGH_WATER, RecordOutput


async def test_records_arrive_in_order_and_whole() -> None:
    reading, writing = os.pipe()
    output = RecordOutput(writing, closed=lambda: None)
    reader = asyncio.create_task(asyncio.to_thread(_read_all, reading))
    for number in range(1000):
        output.write(str(number).encode())
    await output.finish()
    os.close(writing)
    assert await reader == b"".join(b"%d\n" % number for number in range(1000))
    os.close(reading)


async def test_a_reader_that_falls_behind_makes_it_wait() -> None:
    reading, writing = os.pipe()
    output = RecordOutput(writing, closed=lambda: None)
    output.write(b"x" * (HIGH_WATER + 1))
    await asyncio.sleep(0)
    before = output.roomy
    reader = asyncio.create_task(asyncio.to_thread(_read_all, reading))
    await output.drain()
    assert (before, output.roomy) == (False, True)
    await output.finish()
    os.close(writing)
    assert len(await reader) == HIGH_WATER + 2
    os.close(reading)


async def test_a_reader_that_has_gone_is_told_once_and_frees_the_sender() -> None:
    reading, writing = os.pipe()
    gone = asyncio.Event()
    output = RecordOutput(writing, closed=gone.set)
    os.close(reading)
    output.write(b"x" * (HIGH_WATER + 1))
    await gone.wait()
    await output.drain()
    assert output.broken
    output.write(b"more")
    await output.finish()
    os.close(writing)


def _read_all(descriptor: int) -> bytes:
    pieces = []
    while piece := os.read(descriptor, 1 << 16):
        pieces.append(piece)
    return b"".join(pieces)
