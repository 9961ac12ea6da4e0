"""Cutting long text for a model: whole lines within a limit of lines and of bytes, no character is split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

MAX_LINES = 2000
MAX_BYTES = 50 * 1024


class Truncated(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a text. Lines are what newlines separate; a final newline starts no further line."""

    content: str
    """The kept lines joined by newlines, without a final newline where something was cut behind them."""
    truncated: bool
    by: Literal["lines", "bytes"] | None
    """The limit that was reached first; None when nothing was cut."""
    total_lines: int
    total_bytes: int
    shown_lines: int
    """How many lines `content` holds; a line that is there only in part counts."""
    shown_bytes: int
    partial_line: bool = False
    """`truncate_tail` only: one line alone is above the byte limit, and `content` is its end."""


def truncate_head(
    text: str | Sequence[str], max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES
) -> Truncated:
    """The first lines of `text` within both limits; no line is cut, so an over-long first line gives "".

    `text` is a string, or its lines without their newlines.
    """
    lines, whole, ending = _split(text)
    total = byte_length(whole)
    if len(lines) <= max_lines and total <= max_bytes:
        return _everything(whole, len(lines), total)
    kept, used, by = _take(lines, max_lines, max_bytes)
    if len(kept) == len(lines):
        # Only the final newline was too much.
        return _everything(whole.removesuffix(ending), len(lines), total)
    return Truncated(
        content="\n".join(kept),
        truncated=True,
        by=by,
        total_lines=len(lines),
        total_bytes=total,
        shown_lines=len(kept),
        shown_bytes=used,
    )


def truncate_tail(
    text: str | Sequence[str], max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES
) -> Truncated:
    """The last lines of `text` within both limits; of a last line above the byte limit its end is kept.

    `text` is a string, or its lines without their newlines. A final newline stays where it fits.
    """
    lines, whole, ending = _split(text)
    total = byte_length(whole)
    if len(lines) <= max_lines and total <= max_bytes:
        return _everything(whole, len(lines), total)
    kept, used, by = _take(lines[::-1], max_lines, max_bytes)
    if len(kept) == len(lines):
        return _everything(whole.removesuffix(ending), len(lines), total)
    partial = not kept and max_lines > 0
    if partial:
        kept = [cut_tail(lines[-1], max_bytes)]
        used = byte_length(kept[0])
    if kept and used + len(ending) <= max_bytes:
        kept[0] += ending
        used += len(ending)
    return Truncated(
        content="\n".join(reversed(kept)),
        truncated=True,
        by=by,
        total_lines=len(lines),
        total_bytes=total,
        shown_lines=len(kept),
        shown_bytes=used,
        partial_line=partial,
    )


def cut_tail(text: str, max_bytes: int) -> str:
    """The longest end of `text` of at most `max_bytes` UTF-8 bytes."""
    raw = text.encode("utf-8", "surrogatepass")
    start = max(0, len(raw) - max_bytes)
    while start < len(raw) and _continues(raw[start]):
        start += 1
    return raw[start:].decode("utf-8", "surrogatepass")


def byte_length(text: str) -> int:
    """UTF-8 bytes of `text`; a lone surrogate counts three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def format_size(size: int) -> str:
    """`512 bytes`, `50.0 KB`, `1.5 MB`: for sentences about files and limits."""
    if size < 1024:
        return f"{size} byte" if size == 1 else f"{size} bytes"
    if size < 1024 * 1024:
        return f"{size / 1024:.1f} KB"
    if size < 1024**3:
        return f"{size / 1024**2:.1f} MB"
    return f"{size / 1024**3:.1f} GB"


def _continues(byte: int) -> bool:
    return byte & 0xC0 == 0x80


def _split(text: str | Sequence[str]) -> tuple[list[str], str, str]:
    """Lines, the whole text and its final newline (or "")."""
    if not isinstance(text, str):
        return list(text), "\n".join(text), ""
    if not text:
        return [], text, ""
    ending = "\n" if text.endswith("\n") else ""
    return text.removesuffix(ending).split("\n"), text, ending


def _take(
    lines: Sequence[str], max_lines: int, max_bytes: int
) -> tuple[list[str], int, Literal["lines", "bytes"]]:
    """Lines from the front that fit, their joined size, and the limit that stopped it."""
    kept: list[str] = []
    used = 0
    for line in lines:
        if len(kept) >= max_lines:
            return kept, used, "lines"
        size = byte_length(line) + (1 if kept else 0)
        if used + size > max_bytes:
            return kept, used, "bytes"
        kept.append(line)
        used += size
    return kept, used, "bytes"


def _everything(text: str, lines: int, total: int) -> Truncated:
    return Truncated(
        content=text,
        truncated=False,
        by=None,
        total_lines=lines,
        total_bytes=total,
        shown_lines=lines,
        shown_bytes=byte_length(text),
    )
