"""The parser of event streams."""

import itertools
import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.ai.sse import SseParser
from relay.ai.wire.base import ServerEvent


def parse(chunks: Iterable[bytes]) -> list[tuple[str, bytes]]:
    parser = SseParser()
    events: list[ServerEvent] = []
    for chunk in chunks:
        events += parser.feed(chunk)
    events += parser.end()
    return [(event.event, event.data) for event in events]


@pytest.mark.parametrize(
    ("text", "events"),
    [
        (b'data: {"a":1}\n\ndata: [DONE]\n\n', [("", b'{"a":1}'), ("", b"[DONE]")]),
        (b'data: {"a":1}\r\n\r\ndata: 2\r\n\r\n', [("", b'{"a":1}'), ("", b"2")]),
        (b"data: 1\r\rdata: 2\r\r", [("", b"1"), ("", b"2")]),
        (b"event: ping\ndata: {}\n\n", [("ping", b"{}")]),
        (b"data: {}\nevent: late\n\n", [("late", b"{}")]),
        (b"event:tight\ndata:{}\n\n", [("tight", b"{}")]),
        (b"data:  two spaces\n\n", [("", b" two spaces")]),
        (b": comment\n\n: another\ndata: 1\n\n", [("", b"1")]),
        (b"data: a\ndata: b\ndata\n\n", [("", b"a\nb\n")]),
        (b"id: 7\nretry: 100\ndata: 1\n\n", [("", b"1")]),
        (b"event: nothing\n\ndata: 1\n\n", [("", b"1")]),
        (b"\n\n\n\ndata: 1\n\n\n\n\ndata: 2\n\n\n", [("", b"1"), ("", b"2")]),
        (b"\xef\xbb\xbfdata: 1\n\n", [("", b"1")]),
        (b"data: \xef\xbb\xbf1\n\n", [("", b"\xef\xbb\xbf1")]),
        ("data: \u2028\u0085\n\n".encode(), [("", "\u2028\u0085".encode())]),
        (b"data: 1\n\ndata: 2\n", [("", b"1"), ("", b"2")]),
        (b'data: 1\n\ndata: {"b":2}', [("", b"1"), ("", b'{"b":2}')]),
        (b"data: 1\n\ndata: [DONE]", [("", b"1"), ("", b"[DONE]")]),
        (b"data: 1\n\nevent: x\ndata: 2", [("", b"1"), ("x", b"2")]),
        (b"", []),
        (b"\n", []),
        (b"\xef\xbb", []),
        (b"no colon at all\n\n", []),
    ],
)
def test_streams_however_they_are_cut(text: bytes, events: list[tuple[str, bytes]]) -> None:
    assert parse([text]) == events
    assert parse([text[at : at + 1] for at in range(len(text))]) == events
    for at in range(len(text)):
        assert parse([text[:at], b"", text[at:]]) == events


def test_a_line_that_was_torn_is_not_taken_for_an_event() -> None:
    assert parse([b'data: 1\n\ndata: {"choices": [{"de']) == [("", b"1")]
    assert parse([b'event: x\ndata: {"whole":1}\ndata: {"to']) == [("x", b'{"whole":1}')]


LINES = st.sampled_from(
    [b"data: {}", b"data:[1]", b"data", b"event: x", b": hm", b"id: 4", b"", b"", b"data: \xc3\xa4", b"junk"]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(
    st.lists(st.tuples(LINES, ENDS), max_size=20),
    st.lists(st.integers(min_value=0, max_value=200), max_size=8),
    st.booleans(),
)
def test_chunk_borders_never_matter(lines: list[tuple[bytes, bytes]], cuts: list[int], mark: bool) -> None:
    text = (b"\xef\xbb\xbf" if mark else b"") + b"".join(line + end for line, end in lines)
    borders = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    chunks = [text[start:end] for start, end in itertools.pairwise(borders)]
    # One line end for all: a CR before a LF of the next line would be one CRLF.
    assert parse(chunks) == parse([text])


@given(st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3), max_size=6), ENDS)
def test_what_a_server_writes_is_read_back(values: list[dict[str, str]], end: bytes) -> None:
    texts = [json.dumps(value).encode() for value in values]
    stream = b"".join(b"data: " + text + end * 2 for text in texts)
    assert parse([stream]) == [("", text) for text in texts]


def test_an_event_of_any_size_comes_through_in_small_pieces() -> None:
    piece = b"x" * 1000
    parser = SseParser()
    assert parser.feed(b"data: ") == []
    for _ in range(100_000):
        assert parser.feed(piece) == []
    [event] = parser.feed(b"\n\ndata: next")
    assert len(event.data) == 100_000_000
    assert parser.feed(b"\n\n") == [ServerEvent("", b"next")]
