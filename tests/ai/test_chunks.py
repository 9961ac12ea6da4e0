"""Joined chunks mean what the chunks meant: h11 is the judge."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.ai.chunks import MAX_HEAD, ChunkJoiner

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
END = b"0\r\n\r\n"


def framed(pieces: list[bytes], extension: bytes = b"") -> bytes:
    return b"".join(b"%x%b\r\n%b\r\n" % (len(piece), extension, piece) for piece in pieces)


def cut(data: bytes, borders: list[int]) -> list[bytes]:
    """`data` in the pieces in which it is read."""
    marks = sorted({0, len(data), *(border % (len(data) + 1) for border in borders)})
    return [data[start:stop] for start, stop in zip(marks, marks[1:], strict=False)]


def parsed(reads: list[bytes]) -> tuple[bytes, str]:
    """The body that h11 gets out of `reads`, and how it ended."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "a")]))
    connection.send(h11.EndOfMessage())
    body = b""
    for data in (*reads, b""):
        connection.receive_data(data)
        while True:
            try:
                event = connection.next_event()
            except h11.RemoteProtocolError:
                return body, "broken"
            if isinstance(event, h11.Data):
                body += event.data
            if isinstance(event, h11.EndOfMessage):
                return body, "complete"
            if event is h11.NEED_DATA or event is h11.PAUSED:
                break
    return body, "open"


def joined(reads: list[bytes]) -> list[bytes]:
    joiner = ChunkJoiner()
    joiner.expect_answer()
    return [out for data in reads if (out := joiner.feed(data))]


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=30), st.lists(st.integers(0, 5000), max_size=20))
def test_any_chunks_in_any_reads_keep_their_body(pieces: list[bytes], borders: list[int]) -> None:
    reads = joined(cut(HEAD + framed(pieces) + END, borders))
    assert parsed(reads) == (b"".join(pieces), "complete")


@given(st.binary(max_size=200), st.lists(st.integers(0, 300), max_size=10))
def test_nonsense_in_place_of_chunks_is_broken_for_the_parser_too(noise: bytes, borders: list[int]) -> None:
    reads = cut(HEAD + framed([b"a", b"b"]) + noise, borders)
    body, end = parsed(joined(reads))
    expected, expected_end = parsed(reads)
    assert (body.startswith(b"ab"), end) == (True, expected_end)
    assert end != "complete" or body == expected


def test_chunks_of_one_read_leave_as_one() -> None:
    assert joined([HEAD, framed([b"one", b"two", b"three"])]) == [HEAD, b"b\r\nonetwothree\r\n"]


def test_no_byte_waits_for_the_end_of_its_chunk() -> None:
    joiner = ChunkJoiner()
    joiner.feed(HEAD)
    assert joiner.feed(b"64\r\nearly") == b"5\r\nearly\r\n"
    assert joiner.feed(b" too") == b"4\r\n too\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n3\r\nabc\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + framed([b"a", b"b"]) + END,
        HEAD + framed([b"a", b"b"], b";note=1") + END,
        HEAD + b"0\r\nTrailer: x\r\n\r\n",
        HEAD + b"-5\r\nabc\r\n" + END,
        HEAD + b"1_0\r\nabc\r\n" + END,
        HEAD + b"3\r\nabcdef\r\n" + END,
        HEAD + b"f" * 100,
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * MAX_HEAD,
    ],
)
def test_the_parser_judges_what_is_not_plain(answer: bytes) -> None:
    assert parsed(joined([answer])) == parsed([answer])
    single = [answer[n : n + 1] for n in range(min(len(answer), 2000))]
    assert parsed(joined(single)) == parsed(single)


def test_each_request_begins_anew() -> None:
    joiner = ChunkJoiner()
    joiner.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    joiner.expect_answer()
    assert joiner.feed(HEAD + framed([b"a", b"b"])) == HEAD + b"2\r\nab\r\n"


def test_a_torn_body_stays_torn() -> None:
    assert parsed(joined([HEAD + framed([b"abc"]) + b"5\r\nab"])) == (b"abcab", "broken")
