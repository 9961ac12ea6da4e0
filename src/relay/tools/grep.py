"""The grep tool: searches file contents with ripgrep and lists the matching lines."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec

from relay.agent.tool import ToolCallContext, ToolError, ToolResult
from relay.ai.types import JsonObject, TextContent, ToolSpec
from relay.base.terminal_text import clean
from relay.tools.arguments import count_argument, text_argument
from relay.tools.globs import path_matcher, search_root, shown_name
from relay.tools.ripgrep import (
    Ripgrep,
    explain_pattern_error,
    first_lines,
    truncation_details,
)
from relay.tools.truncate import MAX_BYTES, format_size, truncate_head

DEFAULT_LIMIT = 100
LINE_LENGTH = 500
"""Characters of a line that are shown."""


class _Text(msgspec.Struct):
    """rg's way to write bytes: as text where they are UTF-8, else in base64."""

    text: str | None = None
    base64: str | None = msgspec.field(default=None, name="bytes")

    def raw(self) -> bytes:
        return self.text.encode() if self.text is not None else b64decode(self.base64 or "")


class _Data(msgspec.Struct):
    path: _Text | None = None
    lines: _Text | None = None
    line_number: int | None = None
    binary_offset: int | None = None


class _Record(msgspec.Struct):
    type: str
    data: _Data


class GrepTool:
    """Searches files for a regular expression or a literal text."""

    hint = "search in files; what ignore files exclude is left out"
    rules: tuple[str, ...] = ()
    execution: Literal["parallel"] = "parallel"

    def __init__(self, cwd: Path) -> None:
        self._cwd = str(cwd)
        self.spec = ToolSpec(
            name="grep",
            description=(
                "Search the contents of files for a regular expression (Rust syntax) or a literal text. "
                "Gives lines as `path:line: text`, context lines as `path-line- text`, paths relative to the "
                "searched directory. Hidden files are searched; binary files and what ignore files exclude "
                f"are not. At most {DEFAULT_LIMIT} matches unless limit says otherwise; lines are cut at "
                f"{LINE_LENGTH} characters."
            ),
            parameters=_PARAMETERS,
        )

    def path_written(self, arguments: dict[str, Any]) -> str | None:
        return None

    async def run(self, arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        search = _Search.of(arguments, self._cwd)
        collector = _Collector(search)
        async with Ripgrep(search.options(), search.directory) as rg:
            async for batch in rg.records(b"\n"):
                if collector.take(batch):
                    break
            errors = "" if collector.limit_reached else await rg.errors()
        if errors and (problem := explain_pattern_error(errors, search.pattern)):
            raise ToolError(problem)
        return collector.result(errors)


_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "What to search for"},
        "path": {
            "type": "string",
            "description": "A directory, or one file; the cwd if left out",
        },
        "glob": {"type": "string", "description": "Search only files like this, e.g. *.py or src/**/*.ts"},
        "ignoreCase": {"type": "boolean", "description": "Treat upper and lower case as equal"},
        "literal": {"type": "boolean", "description": "Take the pattern as plain text, not as an expression"},
        "context": {"type": "number", "description": "How many lines around a match to add; 0 if left out"},
        "limit": {"type": "number", "description": f"Most matches to give (default {DEFAULT_LIMIT})"},
    },
    "required": ["pattern"],
}


def _context_lines(arguments: dict[str, Any]) -> int:
    if arguments.get("context") in (0, "0"):
        return 0
    return count_argument(arguments, "context") or 0


class _Search(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of one call, checked. `file` is set when a single file is searched."""

    pattern: str
    directory: str
    file: str | None
    prefix: str
    """Path of the searched directory from the working directory, "" where it is the same or outside."""
    glob: str | None
    flags: tuple[str, ...]
    context: int
    limit: int

    @staticmethod
    def of(arguments: dict[str, Any], cwd: str) -> _Search:
        path = arguments.get("path")
        root = search_root(cwd, path)
        alone = not os.path.isdir(root)
        directory = os.path.dirname(root) if alone else root
        prefix = os.path.relpath(directory, cwd)
        pattern = text_argument(arguments, "pattern")
        flags = ["--fixed-strings"] if arguments.get("literal") else []
        if arguments.get("ignoreCase"):
            flags.append("--ignore-case")
        if "\n" in pattern or ("\\n" in pattern and not arguments.get("literal")):
            flags.append("--multiline")
        return _Search(
            pattern=pattern,
            directory=directory,
            file=os.path.basename(root) if alone else None,
            prefix="" if prefix == "." or prefix.startswith("..") else prefix,
            glob=arguments.get("glob") or None,
            flags=tuple(flags),
            context=_context_lines(arguments),
            limit=count_argument(arguments, "limit") or DEFAULT_LIMIT,
        )

    def options(self) -> list[str]:
        """rg's arguments. One match more than wanted is asked for, which tells whether there are more."""
        options = ["--json", *self.flags, f"--max-count={self.limit + 1}", f"--context={self.context}"]
        if self.glob is not None:
            if self.glob.startswith("!"):
                options.append(f"--glob={self.glob}")
            elif (name := _last_part(self.glob)) is not None:
                # A type, unlike --glob, leaves the ignore files in force.
                options += [f"--type-add=wanted:{name}", "--type=wanted"]
        target = f"./{self.file}" if self.file is not None else "./"
        return [*options, f"--regexp={self.pattern}", "--", target]

    def path_filter(self) -> Callable[[str], object] | None:
        """The test a path must pass beyond what `options` ask of rg."""
        if self.glob is None or self.glob.startswith("!") or self.file is not None:
            return None
        matches = path_matcher(self.glob.removeprefix("/") + ("**" if self.glob.endswith("/") else ""))
        if "/" not in self.glob:
            return None
        prefix = self.prefix
        return lambda path: matches(path) or (prefix and matches(f"{prefix}/{path}"))


def _last_part(glob: str) -> str | None:
    """The part of a glob that a file's name must match, None where any name may."""
    name = glob.rpartition("/")[2]
    if not name or "**" in name or name.count("{") != name.count("}"):
        return None
    return name


class _Collector:
    """Turns rg's records into lines, file by file, until the limit is reached."""

    def __init__(self, search: _Search) -> None:
        self._search = search
        self._filter = search.path_filter()
        self._decoder = msgspec.json.Decoder(_Record)
        self._files: dict[bytes, list[str]] = {}
        self._current: list[str] | None = None
        self._name = ""
        self._last_match = 0
        self._matches = 0
        self._matches_before = 0
        self._lines_cut = False
        self.limit_reached = False

    def take(self, batch: list[bytes]) -> bool:
        """Takes records; True when no more are wanted."""
        for line in batch:
            record = self._decoder.decode(line)
            if record.type == "begin":
                self._begin(record.data)
            elif record.type == "end":
                self._end(record.data)
            elif self._current is not None and record.type in ("match", "context"):
                self._add(record.data, record.type == "match")
                if self.limit_reached:
                    return True
        return False

    def _begin(self, data: _Data) -> None:
        path = data.path.raw().removeprefix(b"./") if data.path else b""
        self._name = shown_name(path)
        self._matches_before = self._matches
        self._last_match = 0
        wanted = self._filter is None or self._filter(os.fsdecode(path))
        self._current = self._files.setdefault(path, []) if wanted else None

    def _end(self, data: _Data) -> None:
        if data.binary_offset is not None and self._search.file is None and self._current is not None:
            # Found to be binary only after its first lines.
            self._current.clear()
            self._matches = self._matches_before
        self._current = None

    def _add(self, data: _Data, is_match: bool) -> None:
        assert self._current is not None
        number = data.line_number or 0
        if is_match:
            if self._matches == self._search.limit:
                self.limit_reached = True
                return
            self._matches += 1
        elif self._matches == self._search.limit and number > self._last_match + self._search.context:
            # Before a match that is not shown any more.
            return
        text = data.lines.raw().decode("utf-8", "replace") if data.lines else ""
        mark = ":" if is_match else "-"
        for line in text.removesuffix("\n").split("\n"):
            self._current.append(f"{self._name}{mark}{number}{mark} {self._shown(line)}")
            number += 1
        if is_match:
            self._last_match = number - 1

    def _shown(self, line: str) -> str:
        line = line.removesuffix("\r")
        if len(line) > LINE_LENGTH:
            self._lines_cut = True
            line = line[:LINE_LENGTH] + "… [cut]"
        return clean(line)

    def result(self, errors: str) -> ToolResult:
        """The lines in the order of the paths, then what was left out."""
        lines = [line for path in sorted(self._files) for line in self._files[path]]
        if not lines:
            note = f"\n[Not everything could be searched: {first_lines(errors)}]" if errors else ""
            return ToolResult(content=[TextContent(text="No matches found." + note)])
        cut = truncate_head(lines, max_lines=len(lines))
        details: JsonObject = {}
        notes = []
        if self.limit_reached:
            limit = self._search.limit
            notes.append(
                f"only the first {limit} matches; a limit of {limit * 2} or a narrower search shows more"
            )
            details["matchLimitReached"] = limit
        if cut.truncated:
            notes.append(f"only {cut.shown_lines} of {cut.total_lines} lines ({format_size(MAX_BYTES)})")
            details["truncation"] = truncation_details(
                cut.total_lines, cut.total_bytes, cut.shown_lines, cut.shown_bytes
            )
        if self._lines_cut:
            notes.append(f"lines cut at {LINE_LENGTH} characters; read shows them whole")
            details["linesTruncated"] = True
        if errors:
            notes.append(f"not everything could be searched: {first_lines(errors)}")
        text = cut.content + (f"\n\n[{'; '.join(notes)}]" if notes else "")
        return ToolResult(content=[TextContent(text=text)], details=details or None)
