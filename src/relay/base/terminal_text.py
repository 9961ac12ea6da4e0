"""Text of models, tools and files without what steers a terminal."""

from __future__ import annotations

import re

# CSI (with its parameters), OSC and the other string kinds up to their end, then every two-byte kind.
_ESCAPE = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z\\^-~]"
_UNWANTED = re.compile(_ESCAPE + r"|[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")


def clean(text: str) -> str:
    """Text without terminal control sequences; tab and line ends (U+0085 too) stay, NUL becomes visible."""
    return _UNWANTED.sub("", text).replace("\0", "\u2400")
