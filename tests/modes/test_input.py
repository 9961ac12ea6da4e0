from __future__ import annotations

import asyncio
import os
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.modes.input import RecordInput


async def _read(pieces: list[bytes]) -> list[bytes]:
    reading, writing = os.pipe()
    try:
        records = RecordInput(reading)
        writer = asyncio.create_task(asyncio.to_thread(_write, writing, pieces))
        found = [record async for record in records]
        await writer
        return found
    finally:
        os.close(reading)


def _write(descriptor: int, pieces: list[bytes]) -> None:
    for piece in pieces:
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]
    os.close(descriptor)


async def test_only_line_feeds_end_records() -> None:
    raw = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\rh".encode()
    assert await _read([raw + b"\r\n", b"next\n"]) == [raw, b"next"]


async def test_a_last_record_without_its_line_feed_counts() -> None:
    assert await _read([b"a\n\nb"]) == [b"a", b"", b"b"]


async def test_a_record_larger_than_any_buffer() -> None:
    big = b"x" * 5_000_000
    assert await _read([big, b"\nend\n"]) == [big, b"end"]


@given(st.lists(st.binary(max_size=20), max_size=8), st.lists(st.integers(0, 160), max_size=6))
def test_the_borders_of_writes_do_not_matter(records: list[bytes], cuts: list[int]) -> None:
    clean = [record.replace(b"\n", b"").replace(b"\r", b"") for record in records]
    raw = b"".join(record + b"\n" for record in clean)
    borders = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
    pieces = [raw[begin:end] for begin, end in pairwise(borders)]
    assert asyncio.run(_read(pieces)) == clean


async def test_more_records_than_are_read_ahead() -> None:
    assert len(await _read([b"x\n" * 1000])) == 1000


@pytest.mark.parametrize("descriptor", [-1])
async def test_a_closed_descriptor_is_the_end(descriptor: int) -> None:
    assert [record async for record in RecordInput(descriptor)] == []
