"""The tool `edit`: replaces exact pieces of a text file and leaves every other byte as it is."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Literal

import msgspec

from relay.agent.tool import ToolCallContext, ToolError, ToolResult
from relay.ai.types import TextContent, ToolSpec
from relay.tools.arguments import file_text_argument, text_argument
from relay.tools.edit_apply import UNREADABLE, Change, apply_changes, plan_change
from relay.tools.edit_diff import Diff, describe_changes
from relay.tools.edit_match import MAX_PLACES, Document, Matches, Place, find_places
from relay.tools.edit_nearest import describe_nearest
from relay.tools.operations import Operations
from relay.tools.paths import explain, explain_missing, locate, real_path
from relay.tools.text_file import decode, encode
from relay.tools.truncate import format_size

MAX_FILE = 256 * 1024 * 1024
"""Bytes; a larger file would take several times its size of memory."""

NAMED_LINES = 10
"""Line numbers that an error lists."""


class Replacement(msgspec.Struct, frozen=True):
    """One edit as asked for; `label` names it in errors ("oldText", "oldText of edit 2 of 3")."""

    old: str
    new: str
    label: str


class Edited(msgspec.Struct, frozen=True):
    """What a file becomes."""

    data: bytes
    diff: Diff
    lines: list[int]
    """Where the replacements start in the old text, in its order, from 1."""
    near: list[str]
    """Labels of the replacements whose text was found in another typography only."""
    mixes_encodings: bool
    """Characters were added as UTF-8 to a file that is not all UTF-8."""


class EditTool:
    """Edits files below and outside of `cwd`; relative paths start there. Satisfies `Tool`."""

    hint = "Replace exact pieces of a file"
    rules = (
        "Give edit the old text exactly as it is in the file, just enough of it to be found once.",
        "Put all changes to one file into one edit call; each is matched against the file as it was before.",
    )
    execution: Literal["parallel"] = "parallel"

    def __init__(self, cwd: Path, operations: Operations) -> None:
        self._cwd = cwd
        self._operations = operations
        self.spec = ToolSpec(
            name="edit",
            description=(
                "Replace pieces of a text file. Every oldText must be in the file exactly once, no two may "
                "overlap. Texts are taken literally; the file keeps its encoding and line ends."
            ),
            parameters={
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, absolute or relative to the cwd"},
                    "edits": {
                        "type": "array",
                        "description": "The replacements, in any order; required",
                        "items": {
                            "type": "object",
                            "properties": {
                                "oldText": {"type": "string", "description": "Text that is in the file once"},
                                "newText": {"type": "string", "description": "What to put in its place"},
                            },
                            "required": ["oldText", "newText"],
                        },
                    },
                },
                "required": ["path"],
            },
        )

    def path_written(self, arguments: dict[str, Any]) -> str | None:
        return real_path(arguments.get("path"), self._cwd, self._operations, near=True)

    async def run(self, arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        written = text_argument(arguments, "path")
        replacements = parse_replacements(arguments)
        path = await asyncio.to_thread(locate, written, self._cwd, self._operations)
        try:
            info = await self._operations.stat(path)
            if info.kind not in ("file", "directory"):
                raise ToolError(f"Cannot edit {written}: it is a {info.kind}, not a regular file.")
            if info.size > MAX_FILE:
                raise ToolError(
                    f"Cannot edit {written}: {format_size(info.size)} are more than the limit of "
                    f"{format_size(MAX_FILE)}; change it with a script."
                )
            raw = await self._operations.read(path)
        except OSError as error:
            raise await explain_missing(error, written, path, self._operations, action="edit") from error
        edited = await asyncio.to_thread(edit_bytes, raw, replacements, written)
        try:
            await self._operations.write(path, edited.data)
        except OSError as error:
            raise explain(error, written, "write") from error
        return _result(edited, written)


def parse_replacements(arguments: dict[str, Any]) -> list[Replacement]:
    """The edits of a call, also where `edits` came as JSON text or the pair stands beside the path.

    Raises ToolError that names the edit.
    """
    edits = arguments.get("edits")
    if isinstance(edits, str):
        try:
            edits = json.loads(edits)
        except ValueError as error:
            raise ToolError(
                f"The argument edits must be a list, and its text is no JSON: {error}."
            ) from error
    if isinstance(edits, dict):
        edits = [edits]
    found = list(edits) if isinstance(edits, list) else []
    if "oldText" in arguments or "newText" in arguments:
        found.append(arguments)
    if not found:
        raise ToolError('Nothing to edit: give edits as a list like [{"oldText": "a", "newText": "b"}].')
    return [_parse_one(item, number, len(found)) for number, item in enumerate(found, 1)]


def _parse_one(item: Any, number: int, count: int) -> Replacement:
    suffix = f" of edit {number} of {count}" if count > 1 else ""
    if not isinstance(item, dict):
        raise ToolError(f"Edit {number} must be an object with oldText and newText.")
    for name in ("oldText", "newText"):
        if not isinstance(item.get(name), str):
            raise ToolError(f"{name}{suffix} is missing or no string.")
    if not item["oldText"]:
        raise ToolError(f"oldText{suffix} is empty; give the text to replace, or use write for a new file.")
    if item["oldText"] == item["newText"]:
        raise ToolError(
            f"oldText{suffix} equals its newText, so nothing would change; the file is as before."
        )
    new = file_text_argument(item["newText"], f"newText{suffix}")
    return Replacement(item["oldText"], new, f"oldText{suffix}")


def edit_bytes(raw: bytes, replacements: list[Replacement], written: str) -> Edited:
    """Carries out `replacements` on the file content `raw`; `written` names the file in errors.

    Blocks for large files. Raises ToolError, and then nothing is to be written.
    """
    try:
        text, form = decode(raw)
    except ValueError as error:
        raise ToolError(
            f"Cannot edit {written}: its mark says UTF-16 or UTF-32, but it is damaged."
        ) from error
    document = Document(text)
    planned: list[tuple[Change, Replacement]] = []
    near = []
    for replacement in replacements:
        old, new = replacement.old, replacement.new
        if form.bom and len(old) > 1:
            # The mark is not part of the document and stays; a model may have copied it.
            old, new = old.removeprefix("\ufeff"), new.removeprefix("\ufeff")
        matches = find_places(document, old)
        place = _only_place(document, matches, replacement, written)
        planned.append((plan_change(document, place, old, new), replacement))
        if matches.is_near:
            near.append(replacement.label)
    planned.sort(key=lambda item: item[0].place)
    _refuse_overlaps(document, planned, written)
    changes = [change for change, _ in planned]
    data = encode(apply_changes(document, changes), form)
    if data == raw:
        raise ToolError(f"The edits would leave {written} as it is; nothing was written.")
    added = any(not replacement.new.isascii() for replacement in replacements)
    return Edited(
        data,
        describe_changes(document, changes),
        [document.line_of(change.place.start) for change in changes],
        near,
        added and UNREADABLE.search(document.raw) is not None,
    )


def _only_place(document: Document, matches: Matches, replacement: Replacement, written: str) -> Place:
    places = matches.places
    if len(places) == 1:
        return places[0]
    if not places:
        nearest = describe_nearest(document.text, document.normalise(replacement.old))
        raise ToolError(f"{replacement.label} was not found in {written}. {nearest}")
    numbers = [str(document.line_of(place.start)) for place in places]
    shown = ", ".join(numbers[:NAMED_LINES]) + (", …" if len(numbers) > NAMED_LINES else "")
    count = f"more than {MAX_PLACES}" if len(places) > MAX_PLACES else str(len(places))
    how = "is not there exactly, but nearly at" if matches.is_near else "is at"
    raise ToolError(
        f"{replacement.label} {how} {count} places in {written} (lines {shown}). "
        "Add lines from around the one you mean, so that only that one matches."
    )


def _refuse_overlaps(document: Document, planned: list[tuple[Change, Replacement]], written: str) -> None:
    for (change, one), (following, other) in zip(planned, planned[1:], strict=False):
        if following.place.start < change.place.end:
            line = document.line_of(following.place.start)
            raise ToolError(
                f"{one.label} and {other.label} overlap at line {line} of {written}; make one edit of them."
            )


def _result(edited: Edited, written: str) -> ToolResult:
    count = len(edited.lines)
    numbers = ", ".join(map(str, edited.lines))
    where = f"at line {numbers}" if count == 1 else f"at lines {numbers}"
    text = f"Edited {written}: {count} replacement{'s' if count > 1 else ''} {where}."
    if edited.near:
        text += (
            f" The file has {', '.join(edited.near)} in another typography (quotes, dashes, blanks or "
            "forms of characters); that text was replaced."
        )
    if edited.mixes_encodings:
        text += " The file is not all UTF-8; what is not ASCII in the new text was written as UTF-8."
    details = {"diff": edited.diff.text, "firstChangedLine": edited.diff.first_changed_line}
    return ToolResult(content=[TextContent(text=text)], details=details)
