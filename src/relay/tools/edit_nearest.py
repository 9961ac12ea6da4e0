"""What to tell a model whose old text is not in the file: where it comes closest, and how it differs."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from relay.tools.edit_match import fold

CANDIDATES = 200
SIMILAR = 0.6
SHOWN = 160
"""Characters of a line that are quoted."""


def describe_nearest(text: str, old: str) -> str:
    """One sentence about the place in `text` most like `old`; both with \\n as line ends."""
    lines = text.removesuffix("\n").split("\n")
    wanted = old.split("\n")
    start = next((index for index, line in enumerate(wanted) if line.strip()), None)
    if start is None:
        return "It consists of blanks only."
    first = _plain(wanted[start])
    same = [index for index, line in enumerate(lines) if first in line or _plain(line) == first]
    same = [index for index in same if _plain(lines[index]) == first][:CANDIDATES]
    if same:
        best = max(same, key=lambda index: _run(lines, index, wanted, start))
        return _describe_run(lines, best, wanted, start)
    found = _most_similar(lines, first)
    if found is None:
        return "No line of the file is similar to its first line; read the file again."
    return f"The most similar line is {found + 1}: {_quote(lines[found])}."


def _plain(line: str) -> str:
    return fold(line).strip()


def _run(lines: list[str], index: int, wanted: list[str], start: int) -> int:
    """How many lines from there on are the same but for blanks at their borders."""
    length = 0
    for line, other in zip(lines[index:], wanted[start:], strict=False):
        if _plain(line) != _plain(other):
            break
        length += 1
    return length


def _describe_run(lines: list[str], index: int, wanted: list[str], start: int) -> str:
    length = _run(lines, index, wanted, start)
    if start + length == len(wanted):
        for line, other in zip(lines[index : index + length], wanted[start:], strict=True):
            if fold(line).rstrip() != fold(other).rstrip():
                number = lines.index(line, index) + 1
                return (
                    f"Line {number} differs in its blanks: the file has {_quote(line)}, not {_quote(other)}."
                )
        return f"The text at line {index + 1} differs only in the blank lines around it."
    where = f"Line {index + 1} is" if length == 1 else f"Lines {index + 1} to {index + length} are"
    if index + length == len(lines):
        return f"{where} the same, but there the file ends."
    line, other = lines[index + length], wanted[start + length]
    return f"{where} the same, but line {index + length + 1} is {_quote(line)}, not {_quote(other)}."


def _most_similar(lines: list[str], wanted: str) -> int | None:
    candidates = list(range(len(lines)))
    for word in sorted(set(re.findall(r"\w{3,}", wanted)), key=len, reverse=True):
        narrower = [index for index in candidates if word in lines[index]]
        candidates = narrower or candidates
    matcher = SequenceMatcher(b=wanted[:SHOWN], autojunk=False)
    best, found = SIMILAR, None
    for index in candidates[:CANDIDATES]:
        matcher.set_seq1(_plain(lines[index])[:SHOWN])
        # The wanted text may be a part of a longer line.
        part = matcher.find_longest_match().size / len(wanted[:SHOWN])
        score = max(matcher.ratio(), part)
        if score > best:
            best, found = score, index
    return found


def _quote(line: str) -> str:
    shown = line if len(line) <= SHOWN else line[:SHOWN] + "…"
    return '"' + shown.replace("\t", "\\t").replace("\r", "\\r") + '"'
