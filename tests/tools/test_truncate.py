from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from relay.tools.truncate import byte_length, cut_tail, format_size, truncate_head, truncate_tail

TEXTS = st.text(st.sampled_from("ab\n€é😀\ud83d"), max_size=60)
LIMITS = st.integers(0, 40)


def test_short_text_is_kept_as_it_is() -> None:
    for cut in (truncate_head("a\nb\n"), truncate_tail("a\nb\n")):
        assert (cut.content, cut.truncated, cut.by) == ("a\nb\n", False, None)
        assert (cut.total_lines, cut.total_bytes, cut.shown_lines) == (2, 4, 2)


def test_head_stops_at_the_limit_that_comes_first() -> None:
    text = "".join(f"line {number}\n" for number in range(10))
    lines = truncate_head(text, max_lines=3)
    assert (lines.content, lines.by, lines.shown_lines, lines.total_lines) == (
        "line 0\nline 1\nline 2",
        "lines",
        3,
        10,
    )
    size = truncate_head(text, max_lines=3, max_bytes=15)
    assert (size.content, size.by, size.shown_lines) == ("line 0\nline 1", "bytes", 2)


def test_head_shows_nothing_of_a_first_line_that_is_too_long() -> None:
    cut = truncate_head("x" * 100 + "\nshort", max_bytes=50)
    assert (cut.content, cut.by, cut.shown_lines) == ("", "bytes", 0)


def test_tail_keeps_the_end_and_its_newline() -> None:
    cut = truncate_tail("1\n2\n3\n", max_lines=2)
    assert (cut.content, cut.by, cut.shown_lines, cut.partial_line) == ("2\n3\n", "lines", 2, False)


def test_tail_cuts_a_long_last_line_between_characters() -> None:
    cut = truncate_tail("first\n" + "€" * 100, max_bytes=50)
    assert cut.content == "€" * 16
    assert (cut.partial_line, cut.by, cut.total_bytes) == (True, "bytes", 306)


def test_lines_may_be_given_as_a_list() -> None:
    assert truncate_head(["a", "b", "c"], max_lines=2).content == "a\nb"
    assert truncate_tail(["a", "b", "c"], max_lines=2).content == "b\nc"
    assert truncate_head([]).content == ""


@given(TEXTS, LIMITS, LIMITS)
def test_head_is_whole_lines_from_the_start(text: str, lines: int, size: int) -> None:
    cut = truncate_head(text, lines, size)
    assert text.startswith(cut.content)
    assert byte_length(cut.content) == cut.shown_bytes <= size
    assert cut.shown_lines <= lines
    assert cut.truncated == (cut.by is not None)
    if cut.truncated and cut.shown_lines:
        assert text[len(cut.content)] == "\n"


@given(TEXTS, LIMITS, LIMITS)
def test_tail_ends_where_the_text_ends(text: str, lines: int, size: int) -> None:
    cut = truncate_tail(text, lines, size)
    assert byte_length(cut.content) == cut.shown_bytes <= size
    assert cut.shown_lines <= lines
    if lines:
        assert text.endswith(cut.content) or text.removesuffix("\n").endswith(cut.content)


@given(TEXTS, LIMITS)
def test_a_cut_is_as_long_as_it_can_be(text: str, size: int) -> None:
    tail = cut_tail(text, size)
    assert text.endswith(tail)
    assert byte_length(tail) <= size
    if tail != text:
        assert byte_length(text[-len(tail) - 1 :]) > size


def test_sizes_are_written_for_people() -> None:
    assert [format_size(size) for size in (0, 1, 1023, 51200, 1572864, 3 * 1024**3)] == [
        "0 bytes",
        "1 byte",
        "1023 bytes",
        "50.0 KB",
        "1.5 MB",
        "3.0 GB",
    ]
