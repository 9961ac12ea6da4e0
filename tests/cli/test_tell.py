"""Sentences for stderr: what they quote cannot steer the terminal, and nothing makes them fail."""

from __future__ import annotations

import io

from relay.cli.tell import tell


def test_control_sequences_and_half_surrogates_are_made_harmless() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    tell(stream, "the server said \x1b]0;owned\x07\x1b[2Jhello \ud83d")
    stream.seek(0)
    assert stream.read() == "the server said hello ?\n"
