"""The find tool: lists paths that match a glob, ignore files respected."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, Literal

from relay.agent.tool import ToolCallContext, ToolError, ToolResult
from relay.ai.types import JsonObject, TextContent, ToolSpec
from relay.tools.arguments import count_argument, text_argument
from relay.tools.globs import literal_end, path_matcher, search_root, shown_name
from relay.tools.ripgrep import Ripgrep, first_lines, truncation_details
from relay.tools.truncate import MAX_BYTES, format_size, truncate_head

DEFAULT_LIMIT = 1000

SCANNED_FILES = 20_000
"""rg lists no symlinks and no empty directories. Looking for them takes a second walk: it is made in trees
of at most this many files, and in any tree before saying that nothing matches."""


class FindTool:
    """Lists files and directories whose name or path matches a glob."""

    hint = "find files by name; what ignore files exclude is left out"
    rules: tuple[str, ...] = ()
    execution: Literal["parallel"] = "parallel"

    def __init__(self, cwd: Path) -> None:
        self._cwd = str(cwd)
        self.spec = ToolSpec(
            name="find",
            description=(
                "Find files and directories by glob. A pattern without a slash is compared with names "
                "(*.py), one with a slash with paths relative to the searched directory (src/**/*.test.ts). "
                "Directories end in a slash. Hidden files are included; what ignore files exclude is not. "
                f"At most {DEFAULT_LIMIT} results unless limit says otherwise."
            ),
            parameters=_PARAMETERS,
        )

    def path_written(self, arguments: dict[str, Any]) -> str | None:
        return None

    async def run(self, arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        root = _directory(search_root(self._cwd, arguments.get("path")))
        limit = count_argument(arguments, "limit") or DEFAULT_LIMIT
        listing = _Listing(_relative_pattern(text_argument(arguments, "pattern"), root))
        async with Ripgrep(("--files", "--null", "--", "./"), root) as rg:
            async for batch in rg.records(b"\0"):
                listing.take(batch)
            errors = await rg.errors()
        if listing.files <= SCANNED_FILES or not listing.found:
            await asyncio.to_thread(listing.add_unlisted, root)
        return _result(sorted(listing.found + listing.matching_directories()), limit, errors)


_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Glob, e.g. *.py, **/*.json or src/**/*.test.ts"},
        "path": {"type": "string", "description": "A directory; the cwd if left out"},
        "limit": {"type": "number", "description": f"Most results to give (default {DEFAULT_LIMIT})"},
    },
    "required": ["pattern"],
}


def _directory(root: str) -> str:
    if not os.path.isdir(root):
        raise ToolError(f"{root} is not a directory; give find a directory to search in.")
    return root


def _relative_pattern(pattern: str, root: str) -> str:
    """A pattern for paths below `root`, also where an absolute one was given."""
    if not pattern.strip():
        raise ToolError("The pattern is empty; give a glob such as *.py.")
    inside = root.rstrip("/") + "/"
    return pattern[len(inside) :] if pattern.startswith(inside) else pattern


class _Listing:
    """Files as rg lists them: those that match, and every directory they are in."""

    def __init__(self, pattern: str) -> None:
        self._matches = path_matcher(pattern)
        self._end = literal_end(pattern)
        self.files = 0
        self.found: list[str] = []
        self.directories: set[str] = {""}

    def take(self, batch: list[bytes]) -> None:
        # Joined and split once more, since decoding one long text is far cheaper than many short ones.
        paths = b"\0".join(batch).decode("utf-8", "surrogateescape").removeprefix("./").split("\0./")
        self.files += len(paths)
        likely = [path for path in paths if path.endswith(self._end)] if self._end else paths
        matches = self._matches
        self.found += [path for path in likely if matches(path)]
        for parent in {path.rpartition("/")[0] for path in paths}:
            directory = parent
            while directory not in self.directories:
                self.directories.add(directory)
                directory = directory.rpartition("/")[0]

    def matching_directories(self) -> list[str]:
        return [f"{path}/" for path in self.directories if path and self._matches(path)]

    def add_unlisted(self, root: str) -> None:
        """Symlinks and empty directories that match, among the entries of the known directories."""
        for directory in self.directories:
            try:
                with os.scandir(os.path.join(root, directory)) as entries:
                    for entry in entries:
                        self._add_entry(entry, f"{directory}/{entry.name}" if directory else entry.name)
            except OSError:
                continue

    def _add_entry(self, entry: os.DirEntry[str], path: str) -> None:
        link = entry.is_symlink()
        if not link and (not entry.is_dir(follow_symlinks=False) or path in self.directories):
            return
        if entry.name != ".git" and self._matches(path):
            if link:
                self.found.append(path)
            elif _is_empty(entry.path):
                self.found.append(f"{path}/")


def _is_empty(directory: str) -> bool:
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is None
    except OSError:
        return False


def _result(paths: list[str], limit: int, errors: str) -> ToolResult:
    if not paths:
        note = f"\n[Not everything could be searched: {first_lines(errors)}]" if errors else ""
        return ToolResult(content=[TextContent(text="No files match the pattern." + note)])
    shown = [shown_name(os.fsencode(path)) for path in paths[:limit]]
    cut = truncate_head(shown, max_lines=len(shown))
    details: JsonObject = {}
    notes = []
    if len(paths) > limit:
        notes.append(
            f"the first {limit} of {len(paths)} results; a higher limit or a narrower pattern shows others"
        )
        details["resultLimitReached"] = limit
    if cut.truncated:
        notes.append(f"only {cut.shown_lines} of {cut.total_lines} lines ({format_size(MAX_BYTES)})")
        details["truncation"] = truncation_details(
            cut.total_lines, cut.total_bytes, cut.shown_lines, cut.shown_bytes
        )
    if errors:
        notes.append(f"not everything could be searched: {first_lines(errors)}")
    text = cut.content + (f"\n\n[{'; '.join(notes)}]" if notes else "")
    return ToolResult(content=[TextContent(text=text)], details=details or None)
