"""The tool `read`: some lines of a text file, or an image; by content, not by name."""

from __future__ import annotations

import asyncio
import base64
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from relay.agent.addresses import AddressReader
from relay.agent.tool import ToolCallContext, ToolError, ToolResult
from relay.ai.types import ImageContent, TextContent, ToolSpec
from relay.base.errors import RelayError
from relay.tools.arguments import count_argument, text_argument
from relay.tools.operations import FileInfo, Operations
from relay.tools.paths import explain_missing, find_scheme, locate
from relay.tools.read_window import CHUNK, Chunks, Window, read_window
from relay.tools.text_file import HEAD, IMAGES, UTF_8, find_binary, find_form, find_image, name_text
from relay.tools.truncate import MAX_BYTES, MAX_LINES, format_size

MAX_IMAGE_FILE = 64 * 1024 * 1024

IMAGE_SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".ico", ".heic", ".avif"}


class ReadTool:
    """Reads files below and outside of `cwd`; relative paths start there. Satisfies `Tool`."""

    hint = "Read a file"
    rules = ("Look at files with read rather than with cat, head or sed.",)
    execution: Literal["parallel"] = "parallel"

    def __init__(
        self,
        cwd: Path,
        operations: Operations,
        *,
        auto_resize: bool = True,
        block_images: bool = False,
        addresses: Mapping[str, AddressReader] | None = None,
    ) -> None:
        """`addresses` has readers by scheme ("history"), lower case."""
        self._cwd = cwd
        self._operations = operations
        self._auto_resize = auto_resize
        self._block_images = block_images
        self._addresses = addresses or {}
        self.spec = ToolSpec(
            name="read",
            description=(
                "Read a text file, or look at an image (PNG, JPEG, GIF, WebP, BMP). One call gives up to "
                f"{MAX_LINES} lines or {MAX_BYTES // 1024} KB of text, whichever is reached first, and then "
                "says at which offset to go on."
            ),
            parameters={
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, absolute or relative to the cwd"},
                    "offset": {"type": "integer", "description": "First line to read, counted from 1"},
                    "limit": {"type": "integer", "description": "How many lines to read at most"},
                },
                "required": ["path"],
            },
        )

    def path_written(self, arguments: dict[str, Any]) -> str | None:
        return None

    async def run(self, arguments: dict[str, Any], context: ToolCallContext) -> ToolResult:
        written = text_argument(arguments, "path")
        offset = count_argument(arguments, "offset", least=0) or 1
        limit = count_argument(arguments, "limit")
        scheme = find_scheme(written)
        if scheme is not None:
            return await self._read_address(scheme, written, offset, limit)
        path = await asyncio.to_thread(locate, written, self._cwd, self._operations)
        try:
            info = await self._operations.stat(path)
            if info.kind not in ("file", "directory"):
                raise ToolError(
                    f"{written} is a {info.kind}, not a regular file; reading it could wait for ever."
                )
            head = await self._operations.read(path, 0, CHUNK)
            mime_type = find_image(head)
            if mime_type is not None:
                return await self._read_image(path, written, info, mime_type)
            return await self._read_text(path, written, head, (offset, limit), size=info.size)
        except OSError as error:
            raise await explain_missing(error, written, path, self._operations) from error

    async def _read_address(self, scheme: str, written: str, offset: int, limit: int | None) -> ToolResult:
        reader = self._addresses.get(scheme)
        if reader is None:
            known = ", ".join(f"{name}://" for name in ("file", *self._addresses))
            raise ToolError(
                f"read cannot open {written}: it takes paths of files and addresses with {known}."
            )
        return await reader.read(written.removeprefix("@"), offset, limit)

    async def _read_text(
        self, path: Path, written: str, head: bytes, wanted: tuple[int, int | None], *, size: int
    ) -> ToolResult:
        offset, limit = wanted
        if not head:
            # The text of an empty file is empty; requests say so in their own way.
            is_image = path.suffix.lower() in IMAGE_SUFFIXES
            return _text_result(f"[{written} is no image: it is empty, 0 bytes.]" if is_image else "")
        form = find_form(head[:HEAD])
        kind = find_binary(head) if form is UTF_8 else None
        if kind is not None:
            raise ToolError(f"{written} is not text but {kind} of {format_size(size)}, so it is not shown.")
        chunks = Chunks(self._operations, path, head, form)
        window = await read_window(chunks, offset, limit, size=size)
        if not window.shown and not window.total and window.long_line is None:
            return _text_result("")
        if not window.shown and window.long_line is None:
            raise ToolError(f"Offset {offset} is past the end: {written} has {_lines(window.total or 0)}.")
        parts = [_misnamed(path, written, head, size), _shown(window), _notice(window, written)]
        return _text_result("\n\n".join(part for part in parts if part), _details(window))

    async def _read_image(self, path: Path, written: str, info: FileInfo, mime_type: str) -> ToolResult:
        what = f"{written} is {IMAGES[mime_type]} of {format_size(info.size)}"
        if self._block_images:
            return _text_result(f"[{what}. Images are not sent: the setting images.blockImages is on.]")
        if info.size > MAX_IMAGE_FILE:
            return _text_result(f"[{what}; only images up to {format_size(MAX_IMAGE_FILE)} are shown.]")
        raw = await self._operations.read(path)
        try:
            note, image = await asyncio.to_thread(_attach, raw, auto_resize=self._auto_resize)
        except RelayError as error:
            return _text_result(f"[{what} by its first bytes, but it is not attached: {error}.]")
        return ToolResult(content=[TextContent(text=f"[{what}, {note}]"), image])


def _attach(raw: bytes, *, auto_resize: bool) -> tuple[str, ImageContent]:
    """The end of a sentence about an image, and the image. Raises ImageError."""
    from relay.tools.images import prepare_image  # noqa: PLC0415  # Pillow loads with the first image only

    image = prepare_image(raw, auto_resize=auto_resize)
    note = f"{image.size[0]}x{image.size[1]} pixels."
    if image.shown_size != image.size:
        factor = image.size[0] / image.shown_size[0]
        note += (
            f" It is shown at {image.shown_size[0]}x{image.shown_size[1]}; multiply coordinates by "
            f"{factor:.2f} to get those of the file."
        )
    data = base64.b64encode(image.data).decode("ascii")
    return note, ImageContent(data=data, mime_type=image.mime_type)


def _text_result(text: str, details: dict[str, Any] | None = None) -> ToolResult:
    return ToolResult(content=[TextContent(text=text)], details=details)


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def _misnamed(path: Path, written: str, head: bytes, size: int) -> str:
    if path.suffix.lower() not in IMAGE_SUFFIXES:
        return ""
    return f"[{written} is no image in spite of its name. It holds {name_text(head)}, {format_size(size)}:]"


def _shown(window: Window) -> str:
    if window.shown and not window.text.strip("\n"):
        return f"[{_lines(window.shown)} without any text.]"
    return window.text


def _notice(window: Window, written: str) -> str:
    """What the model must know beyond the text: how to go on, and what cannot be shown."""
    notes = []
    if window.long_line is not None:
        size = format_size(window.long_line)
        notes.append(
            f"Line {window.first} alone has {size} or more, above the limit of {MAX_BYTES // 1024} KB. "
            f"With bash: sed -n '{window.first}p' {shlex.quote(written)} | head -c {MAX_BYTES}"
        )
    elif window.by is not None:
        following = window.first + window.shown
        left = "More lines follow"
        if window.total is not None:
            count = window.total - following + 1
            left = f"{count} more lines follow" if count > 1 else "1 more line follows"
        limit = f" (limit of {MAX_BYTES // 1024} KB)" if window.by == "bytes" else ""
        notes.append(f"{left}{limit}: go on with offset={following}.")
    if window.has_bad_bytes:
        notes.append("Bytes that are no UTF-8 text stand as U+FFFD; edit keeps them as they are.")
    return f"[{' '.join(notes)}]" if notes else ""


def _details(window: Window) -> dict[str, Any] | None:
    if window.by is None:
        return None
    return {
        "truncatedBy": window.by,
        "firstLine": window.first,
        "shownLines": window.shown,
        "totalLines": window.total,
    }
