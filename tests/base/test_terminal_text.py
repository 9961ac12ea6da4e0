"""Tests of the text that a terminal may be given."""

from __future__ import annotations

import pytest

from relay.base.terminal_text import clean


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\r\n", "plain\ttext\r\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("a\x9b31mb", "a31mb"),
        ("bell\x07 nul\0", "bell nul\u2400"),
    ],
)
def test_what_steers_a_terminal_is_gone(text: str, shown: str) -> None:
    assert clean(text) == shown
