"""Carrying out edits: lines that an edit only repeats keep their bytes, new lines get fitting ends."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

from relay.agent.tool import ToolError
from relay.tools.edit_match import Document, Place

COMPARED = 250_000
"""Lines of the old text times lines of the new one, up to which they are compared one by one."""

UNREADABLE = re.compile("[\udc80-\udcff]")
"""How bytes that are not UTF-8 stand in the text of a document."""

SHOWN_AS = "\ufffd"


class Change(NamedTuple):
    """`place` of a document's text becomes `raw`, which has the line ends that will be stored."""

    place: Place
    raw: str


class _Line(NamedTuple):
    """A line of the new text, and which line of the old one it repeats or replaces."""

    text: str
    source: int | None
    is_same: bool


def plan_change(document: Document, place: Place, old: str, new: str) -> Change:
    """The change that puts `new` where `old` was found at `place`. Raises ToolError."""
    olds = document.normalise(old).split("\n")
    news = document.normalise(new).split("\n")
    stored, ends = _split_stored(document, place)
    out: list[str] = []
    end = ends[0] if ends else document.line_end_near(place.start)
    lines = _align(olds, news)
    for number, line in enumerate(lines):
        if line.source is None:
            _refuse_unreadable(line.text, document)
            out.append(line.text)
        else:
            raw = stored[line.source]
            out.append(raw if line.is_same else _restore_bytes(line.text, raw, document))
            end = ends[line.source] if line.source < len(ends) else document.line_end_near(place.end)
        if number < len(lines) - 1:
            out.append(end)
    return Change(place, "".join(out))


def apply_changes(document: Document, changes: list[Change]) -> str:
    """The document's raw text after `changes`, which are sorted and do not overlap."""
    out: list[str] = []
    position = 0
    for change in changes:
        out += [document.raw[position : document.to_raw(change.place.start)], change.raw]
        position = document.to_raw(change.place.end)
    out.append(document.raw[position:])
    return "".join(out)


def _split_stored(document: Document, place: Place) -> tuple[list[str], list[str]]:
    """The lines of a place as stored, and the ends between them (one fewer)."""
    raw = document.raw_of(place)
    if document.ends_with_cr:
        lines = raw.split("\r")
        return lines, ["\r"] * (len(lines) - 1)
    *pieces, last = raw.split("\n")
    ends = ["\r\n" if piece.endswith("\r") else "\n" for piece in pieces]
    return [*(piece.removesuffix("\r") for piece in pieces), last], ends


def _align(olds: list[str], news: list[str]) -> list[_Line]:
    first = 0
    while first < min(len(olds), len(news)) and olds[first] == news[first]:
        first += 1
    last = 0
    while last < min(len(olds), len(news)) - first and olds[-1 - last] == news[-1 - last]:
        last += 1
    old_end, new_end = len(olds) - last, len(news) - last
    lines = [_Line(news[index], index, True) for index in range(first)]
    lines += _align_middle(olds[first:old_end], news[first:new_end], first)
    return lines + [_Line(news[new_end + index], old_end + index, True) for index in range(last)]


def compare(old: list[str], new: list[str]) -> list[tuple[str, int, int, int, int]]:
    """What becomes of which lines, as difflib's opcodes; one replacement where there are too many."""
    if len(old) * len(new) > COMPARED:
        return [("replace", 0, len(old), 0, len(new))]
    return [*SequenceMatcher(None, old, new, autojunk=False).get_opcodes()]


def _align_middle(olds: list[str], news: list[str], base: int) -> list[_Line]:
    lines: list[_Line] = []
    for tag, old_start, old_end, new_start, new_end in compare(olds, news):
        for index in range(new_start, new_end):
            source = old_start + index - new_start
            lines.append(_Line(news[index], base + source if source < old_end else None, tag == "equal"))
    return lines


def _restore_bytes(text: str, raw: str, document: Document) -> str:
    """`text` with the unreadable bytes of `raw`, the line it replaces, where it shows their stand-ins."""
    if SHOWN_AS not in text:
        return text
    hidden = iter(UNREADABLE.findall(raw))
    if text.count(SHOWN_AS) == len(UNREADABLE.findall(raw)):
        return re.sub(SHOWN_AS, lambda _: next(hidden), text)
    _refuse_unreadable(text, document)
    return text


def _refuse_unreadable(text: str, document: Document) -> None:
    if SHOWN_AS in text and UNREADABLE.search(document.raw):
        raise ToolError(
            "newText has U+FFFD, which stands for bytes of this file that are not UTF-8, in a line where it "
            "is not clear which bytes are meant. Leave such lines as they are, or change them with a script."
        )
