"""Bytes into clean text, whatever their pieces; the bounded memory of an output."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from relay.base.terminal_text import clean
from relay.tools.shell_output import KEPT_BYTES, CleanStream, OutputBuffer
from relay.tools.truncate import MAX_BYTES

SAMPLE = (
    "caf\u00e9 \u20ac \U0001f468\u200d\U0001f469 "
    "\x1b[1;38;5;12mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \0\t\r\n"
)


def buffer(folder: Path | None = None) -> OutputBuffer:
    return OutputBuffer(lambda full: None, str(folder) if folder else None)


def size_of(path: str) -> int:
    return os.path.getsize(path)


def remove(path: str) -> None:
    os.unlink(path)


def pieces_of(data: bytes, borders: list[int]) -> list[bytes]:
    cuts = [0, *sorted(border % (len(data) + 1) for border in borders), len(data)]
    return [data[start:end] for start, end in zip(cuts, cuts[1:], strict=False)]


@given(st.lists(st.integers(0, 500)))
def test_pieces_give_the_text_of_the_whole(borders: list[int]) -> None:
    stream = CleanStream()
    parts = [stream.feed(piece) for piece in pieces_of(SAMPLE.encode(), borders)]
    assert "".join(parts) + stream.feed(b"", final=True) == clean(SAMPLE)
    assert "\ufffd" not in "".join(parts)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300)))
def test_any_bytes_in_any_pieces_give_text_without_escapes(data: bytes, borders: list[int]) -> None:
    stream = CleanStream()
    text = "".join(stream.feed(piece) for piece in pieces_of(data, borders)) + stream.feed(b"", final=True)
    assert not set(text) & set(map(chr, [*range(9), *range(14, 32), 11, 12, 127]))


def test_cleaning() -> None:
    assert clean(SAMPLE) == "caf\u00e9 \u20ac \U0001f468\u200d\U0001f469 red link \u2400\t\r\n"
    assert clean("\x1b(B\x1b7a\x1bMb\x1bPq#1\x1b\\c") == "abc"
    assert clean("\x1b[31") == "[31"


def test_an_escape_that_never_ends_is_not_held_for_ever() -> None:
    stream = CleanStream()
    assert stream.feed(b"a\x1b]0;") == "a"
    assert len(stream.feed(b"x" * 5000)) == 5003
    assert stream.feed(b"b") == "b"


async def test_unfinished_characters_show_only_in_the_end() -> None:
    output = buffer()
    output.feed(b"a\xe2\x82")
    assert output.snapshot().text == "a"
    assert output.snapshot(final=True).text == "a\ufffd"
    output.feed(b"\xac")
    assert output.snapshot().text == "a\u20ac"


async def test_counts_are_of_the_whole_output(tmp_path: Path) -> None:
    output = buffer(tmp_path)
    for _ in range(100):
        output.feed(b"0123456789\n" * 1000)
    output.feed(b"last")
    await output.close()
    end = output.snapshot(final=True)
    assert end.truncation is not None and end.full_output_path is not None
    assert (end.truncation.total_lines, end.truncation.total_bytes) == (100_001, 1_100_004)
    assert end.text.endswith("\n0123456789\nlast")
    assert size_of(end.full_output_path) == 1_100_004


async def test_memory_is_bounded(tmp_path: Path) -> None:
    output = buffer(tmp_path)
    for _ in range(200):
        output.feed(b"x" * 10_000)
    assert sum(map(len, output._kept)) <= KEPT_BYTES + 10_000
    await output.close()
    end = output.snapshot(final=True)
    assert end.text == "x" * MAX_BYTES
    assert end.truncation is not None and end.truncation.last_line_partial


async def test_reading_pauses_for_a_slow_disk(tmp_path: Path) -> None:
    told: list[bool] = []
    output = OutputBuffer(told.append, str(tmp_path))
    for _ in range(40):
        output.feed(b"x" * 100_000)
    assert told == [True]
    await output.close()
    assert told == [True, False]
    path = output.snapshot(final=True).full_output_path
    assert path is not None and size_of(path) == 4_000_000


async def test_colours_do_not_count_as_text(tmp_path: Path) -> None:
    output = buffer(tmp_path)
    output.feed(b"\x1b[31mx\x1b[0m\n" * 10_000)
    await output.close()
    end = output.snapshot(final=True)
    assert end.text.startswith("x\n") and "\x1b" not in end.text
    assert end.truncation is not None and end.truncation.output_lines == 2000


async def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    output = buffer(tmp_path)
    output.feed(b"x\n" * 3000)
    path = output.snapshot().full_output_path
    assert path is not None
    remove(path)
    await output.close()
    output.feed(b"end\n")
    await output.close()
    end = output.snapshot(final=True)
    assert end.full_output_path is None and end.text.endswith("x\nend\n")
    assert end.full_output_problem is not None and path in end.full_output_problem
    assert os.listdir(tmp_path) == []


async def test_a_writer_that_is_given_up_leaves_no_descriptor(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    output = buffer(tmp_path)
    output.feed(b"x" * 500_000)
    closing = asyncio.create_task(output.close())
    await asyncio.sleep(0)
    closing.cancel()
    await output.close()
    assert len(os.listdir("/proc/self/fd")) == before
    path = output.snapshot(final=True).full_output_path
    assert path is not None and size_of(path) == 500_000
