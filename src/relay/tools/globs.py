"""Glob patterns for paths, and names of files as text a model can use."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from relay.agent.tool import ToolError
from relay.tools.local import LocalOperations
from relay.tools.paths import locate


def path_matcher(pattern: str) -> Callable[[str], object]:
    """A test (true or None) for paths relative to the searched directory, `/` between parts, none at the end.

    A pattern without `/` is compared with the last part, one with `/` with the whole path. `*` and `?` stay
    within one part, `**` as a whole part spans any number of them, `{a,b}` and `[a-z]` (`[!a-z]`) work as in
    a shell. Raises ToolError for a pattern that is not complete.
    """
    lead = "" if "/" in pattern else "(?:.*/)?"
    expression = translate(pattern.removeprefix("./").removesuffix("/"))
    return re.compile(lead + expression, re.DOTALL).fullmatch


def literal_end(pattern: str) -> str:
    """The end that every matching path has, "" where none is certain; a cheap test before the real one."""
    end = re.split(r"[*?\[\]{},\\/]", pattern)[-1]
    return end if "{" not in pattern and "[" not in pattern and "\\" not in pattern else ""


def translate(pattern: str) -> str:
    """The regular expression of a glob; see `path_matcher`."""
    return _Translator(pattern).translate()


class _Translator:
    """Reads a glob from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._open_braces = 0

    def translate(self) -> str:
        parts = []
        while self._at < len(self._pattern):
            parts.append(self._next())
        if self._open_braces:
            raise self._incomplete("an opening { has no closing }")
        return "".join(parts)

    def _next(self) -> str:
        if (stars := self._double_star()) is not None:
            return stars
        char = self._pattern[self._at]
        self._at += 1
        if char == "*":
            return "[^/]*"
        if char == "?":
            return "[^/]"
        if char == "[":
            return self._char_class()
        if char == "{":
            self._open_braces += 1
            return "(?:"
        if self._open_braces and char in ",}":
            self._open_braces -= char == "}"
            return "|" if char == "," else ")"
        if char == "\\" and self._at < len(self._pattern):
            char = self._pattern[self._at]
            self._at += 1
        return re.escape(char)

    def _double_star(self) -> str | None:
        """`**` where it is a whole part of the path, else None."""
        before = self._pattern[self._at - 1] if self._at else "/"
        if before not in "/{," or not self._pattern.startswith("**", self._at):
            return None
        after = self._at + 2
        if self._pattern.startswith("/", after):
            self._at = after + 1
            return "(?:[^/]+/)*"
        if after == len(self._pattern) or (self._open_braces and self._pattern[after] in ",}"):
            self._at = after
            return ".+"
        return None

    def _char_class(self) -> str:
        # A "]" right after the opening (and its negation) is an ordinary member.
        start = self._at + (
            self._pattern[self._at : self._at + 1] in ("!", "^") and self._at < len(self._pattern)
        )
        end = self._pattern.find("]", start + 1)
        if end < 0:
            raise self._incomplete("an opening [ has no closing ]")
        negated = start > self._at
        body = re.sub(r"([\\\[\]&~|^])", r"\\\1", self._pattern[start:end])
        self._at = end + 1
        try:
            re.compile(f"[{body}]")
        except re.error as error:
            raise self._incomplete(f"[{self._pattern[start:end]}] is no set of characters") from error
        return f"(?!/)[^{body}]" if negated else f"(?!/)[{body}]"

    def _incomplete(self, reason: str) -> ToolError:
        return ToolError(
            f"The glob pattern {self._pattern} is not valid: {reason}. "
            "Write a backslash before a character that is meant as itself."
        )


def shown_name(name: bytes) -> str:
    """A path as one line of text: bytes that are not UTF-8 and control characters as `\\xe9`, `\\n`.

    Bash reads such a name back inside `$'…'`.
    """
    text = name.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(char if ord(char) >= 32 and char != "\x7f" else repr(char)[1:-1] for char in text)


def search_root(cwd: str, written: str | None) -> str:
    """The absolute path a search starts at: `written` as the model gave it. Raises ToolError if missing."""
    root = str(locate(written or ".", Path(cwd), LocalOperations()))
    if not os.path.lexists(root):
        raise ToolError(f"The path {written or '.'} does not exist (looked for {root}).")
    return root
