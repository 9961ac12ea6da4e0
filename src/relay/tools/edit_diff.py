"""What an edit changed, for people: lines with their numbers and a sign, and some unchanged lines around."""

from __future__ import annotations

import re
from typing import NamedTuple

from relay.tools.edit_apply import Change, compare
from relay.tools.edit_match import Document

CONTEXT = 4
MAX_LINES = 1000
LINE_LENGTH = 500
"""A minified file must not put itself into the session twice."""


SURROGATES = re.compile("[\ud800-\udfff]")
"""What stands for bytes that are no text; not every reader of the details accepts it."""


class Diff(NamedTuple):
    text: str
    """Lines like `-12 old`, `+12 new` and ` 13 same`: removed lines with their old number, others with the
    new one, `...` for what is left out."""
    first_changed_line: int
    """In the new text, from 1."""


class _Block(NamedTuple):
    """Whole lines that change: `first` is the index of the first one in the old text."""

    first: int
    old: list[str]
    new: list[str]


def describe_changes(document: Document, changes: list[Change]) -> Diff:
    """`changes` are sorted and do not overlap."""
    writer = _Writer(to_lines(document.text), sum(change.raw.count("\n") for change in changes))
    for block in _blocks(document, changes):
        writer.add(block)
    return writer.finish()


def to_lines(text: str) -> list[str]:
    """Lines as an editor counts them: a final line end starts no further one."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _blocks(document: Document, changes: list[Change]) -> list[_Block]:
    text = document.text
    blocks: list[_Block] = []
    index = 0
    while index < len(changes):
        start = text.rfind("\n", 0, changes[index].place.start) + 1
        parts = []
        position = start
        while True:
            place = changes[index].place
            parts += [text[position : place.start], document.normalise(changes[index].raw)]
            position = place.end
            end = text.find("\n", position) + 1 or len(text)
            index += 1
            if index == len(changes) or changes[index].place.start >= end:
                break
        parts.append(text[position:end])
        first = document.line_of(start) - 1
        blocks.append(_Block(first, to_lines(text[start:end]), to_lines("".join(parts))))
    return blocks


class _Writer:
    """Collects the lines of a diff from blocks in their order."""

    def __init__(self, lines: list[str], added: int) -> None:
        self._lines = lines
        self._width = len(str(len(lines) + added))
        self._out: list[str] = []
        self._position = 0
        """Index of the first old line that is not written yet."""
        self._shift = 0
        """New line number minus old one, at that place."""
        self._changed: int | None = None

    def add(self, block: _Block) -> None:
        behind = CONTEXT if self._out else 0
        if block.first - self._position > behind + CONTEXT:
            self._same(self._position, self._position + behind)
            self._out.append("...")
            self._position = block.first - CONTEXT
        self._same(self._position, block.first)
        new_number = block.first + self._shift
        for tag, old_start, old_end, new_start, new_end in compare(block.old, block.new):
            if tag == "equal":
                self._same(block.first + old_start, block.first + old_end)
                continue
            if self._changed is None:
                self._changed = new_number + new_start + 1
            for index in range(old_start, old_end):
                self._put("-", block.first + index + 1, block.old[index])
            for index in range(new_start, new_end):
                self._put("+", new_number + index + 1, block.new[index])
            self._shift += (new_end - new_start) - (old_end - old_start)
        self._position = block.first + len(block.old)
        if self._changed is None:
            # Only the end of the last line came or went.
            self._changed = new_number + len(block.new)

    def finish(self) -> Diff:
        self._same(self._position, min(len(self._lines), self._position + CONTEXT))
        if self._position + CONTEXT < len(self._lines):
            self._out.append("...")
        if len(self._out) > MAX_LINES:
            left = len(self._out) - MAX_LINES
            self._out[MAX_LINES:] = [f"... ({left} more lines)"]
        return Diff("\n".join(self._out), self._changed or 1)

    def _same(self, start: int, end: int) -> None:
        for index in range(start, end):
            self._put(" ", index + 1 + self._shift, self._lines[index])

    def _put(self, sign: str, number: int, line: str) -> None:
        shown = line if len(line) <= LINE_LENGTH else line[:LINE_LENGTH] + "…"
        shown = SURROGATES.sub("\ufffd", shown)
        self._out.append(f"{sign}{number:>{self._width}} {shown}")
