"""Finding the place that an edit means: the exact text, or the one place that differs only in typography."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

MAX_PLACES = 100
"""More places than this are not counted."""

_SINGLE = "\u2018\u2019\u201a\u201b\u2032\u02bc"
_DOUBLE = "\u201c\u201d\u201e\u201f\u2033"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_UNSEEN = "\u200b\u2060\ufeff"
FOLDS = {
    **dict.fromkeys(_SINGLE, "'"),
    **dict.fromkeys(_DOUBLE, '"'),
    **dict.fromkeys(_DASHES, "-"),
    **dict.fromkeys(_UNSEEN, ""),
    # Bytes that are not UTF-8, which the model was shown as this character.
    **dict.fromkeys(map(chr, range(0xDC80, 0xDD00)), "\ufffd"),
}
_LOOKALIKES = re.compile(f"[{''.join(FOLDS)}]")
BLANKS = " \t"


class Place(NamedTuple):
    """A part of `Document.text`."""

    start: int
    end: int


class Document:
    """A text with line ends of any kind. `raw` is as stored, `text` the same with every line end as \\n.

    A lone \\r ends a line only where the file has no \\n at all; elsewhere it is a character like others.
    """

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.ends_with_cr = "\n" not in raw and "\r" in raw
        crlf = raw.count("\r\n") if "\r" in raw else 0
        self.text = self.normalise(raw)
        self._only_crlf = crlf > 0 and crlf == raw.count("\n")
        self._shortened: list[int] = []
        """Where in `text` the line ends are that have two characters in `raw`; unused if all have."""
        if crlf and not self._only_crlf:
            found = re.finditer("\r\n", raw)
            self._shortened = [match.start() - number for number, match in enumerate(found)]

    def normalise(self, text: str) -> str:
        """`text` with this document's kinds of line ends as \\n."""
        text = text.replace("\r\n", "\n")
        return text.replace("\r", "\n") if self.ends_with_cr else text

    def to_raw(self, position: int) -> int:
        """The index in `raw` of an index in `text`; a line end is one place, whatever its length."""
        if self._only_crlf:
            return position + self.text.count("\n", 0, position)
        return position + bisect_left(self._shortened, position)

    def raw_of(self, place: Place) -> str:
        return self.raw[self.to_raw(place.start) : self.to_raw(place.end)]

    def line_of(self, position: int) -> int:
        """The number, from 1, of the line at an index of `text`."""
        return self.text.count("\n", 0, position) + 1

    def line_end_near(self, position: int) -> str:
        """The line end that belongs at an index of `text`: its own line's, else the one before, else \\n."""
        if self.ends_with_cr:
            return "\r"
        index = self.text.find("\n", position)
        if index < 0:
            index = self.text.rfind("\n", 0, position)
        return self.raw_of(Place(index, index + 1)) if index >= 0 else "\n"


class Matches(NamedTuple):
    places: list[Place]
    is_near: bool
    """No place has the text exactly; these have it after folding."""


def find_places(document: Document, old: str) -> Matches:
    """Where `old` is in the document, at most `MAX_PLACES` and one more; overlapping places count, too.

    The text itself goes first: line ends may differ, unless that decides between several places. Only where
    it is nowhere are quotes, dashes, blanks at line ends and compatible forms of characters evened out.
    """
    wanted = document.normalise(old)
    exact = [Place(start, start + len(wanted)) for start in _find_all(document.text, wanted)]
    if len(exact) > 1 and "\r" in document.raw:
        same = [place for place in exact if document.raw_of(place) == old]
        exact = same if len(same) == 1 else exact
    if exact:
        return Matches(exact, False)
    return Matches(_find_near(document.text, wanted), True)


def _find_all(text: str, wanted: str) -> list[int]:
    found: list[int] = []
    start = text.find(wanted)
    while start >= 0 and len(found) <= MAX_PLACES:
        found.append(start)
        start = text.find(wanted, start + 1)
    return found


def fold(text: str) -> str:
    """`text` with lookalikes made equal; blanks stay."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _LOOKALIKES.sub(lambda found: FOLDS[found[0]], text))


def _find_near(text: str, wanted: str) -> list[Place]:
    lines = text.split("\n")
    folded_lines = [line.rstrip(BLANKS) for line in fold(text).split("\n")]
    folded = "\n".join(folded_lines)
    *above, last = fold(wanted).split("\n")
    head = "".join(line.rstrip(BLANKS) + "\n" for line in above)
    bare = last.rstrip(BLANKS)
    if not (head + bare).strip():
        return []
    finder = _NearFinder(lines, folded_lines)
    places = [finder.place(start, start + len(head + last)) for start in _find_all(folded, head + last)]
    if bare != last:
        # Blanks at the very end of the wanted text: the file may have others, or none, before its line end.
        for start in _find_all(folded, head + bare):
            end = start + len(head + bare)
            if folded[end : end + 1] in ("", "\n"):
                places.append(finder.place(start, end, to_line_end=True))
    return [place for place in places if place is not None]


class _NearFinder:
    """Turns places in the folded text into places in the text: line by line, then within the line."""

    def __init__(self, lines: list[str], folded_lines: list[str]) -> None:
        self._lines = lines
        self._starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        self._folded_starts = list(accumulate((len(line) + 1 for line in folded_lines), initial=0))

    def place(self, start: int, end: int, *, to_line_end: bool = False) -> Place | None:
        """None where a border would divide a character."""
        first = self._position(start, is_end=False)
        last = self._position(end, is_end=True, to_line_end=to_line_end)
        return None if first is None or last is None else Place(first, last)

    def _position(self, folded: int, *, is_end: bool, to_line_end: bool = False) -> int | None:
        number = bisect_right(self._folded_starts, folded) - 1
        line = self._lines[number]
        if to_line_end:
            return self._starts[number] + len(line)
        column = folded - self._folded_starts[number]
        if line.isascii():
            return self._starts[number] + column
        columns = [index for index, width in _borders(line) if width == column]
        if not columns:
            return None
        return self._starts[number] + (columns[0] if is_end else columns[-1])


def _borders(line: str) -> Iterator[tuple[int, int]]:
    """Each border between characters of `line`, and the length of what stands before it once folded."""
    width = start = 0
    yield 0, 0
    for index in range(1, len(line) + 1):
        if index == len(line) or not _joins(line[index]):
            width += len(fold(line[start:index]))
            start = index
            yield index, width


def _joins(char: str) -> bool:
    """Whether `char` may merge with the one before it: accents, and the later parts of Korean syllables."""
    return unicodedata.combining(char) > 0 or "\u1160" <= char <= "\u11ff"
