"""The one way sentences reach stderr: whatever they quote cannot steer the terminal."""

from __future__ import annotations

from typing import TextIO

from relay.base.terminal_text import clean


def tell(stream: TextIO, sentence: object) -> None:
    """Writes the sentence and ends its line; half surrogate pairs become question marks."""
    text = clean(str(sentence)).encode("utf-8", "replace").decode("utf-8")
    stream.write(text + "\n")
