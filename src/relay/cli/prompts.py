"""Makes the prompts of a run from piped input, @files and messages."""

from __future__ import annotations

import base64
import os
import sys
from importlib import import_module
from pathlib import Path

from relay.ai.types import ImageContent, UserContent
from relay.base.errors import RelayError
from relay.cli.arguments import Arguments
from relay.config.paths import expand
from relay.config.settings import Images
from relay.runtime.prompter import user_content
from relay.tools.text_file import HEAD, decode, find_binary, find_form, find_image

Prompts = list[list[UserContent]]


class FileError(RelayError):
    """An @file cannot be used."""


def read_piped() -> str:
    """What is piped into standard input, without the blanks around it; "" from a terminal."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return ""
    return sys.stdin.buffer.read().decode("utf-8", "replace").strip()


def make_prompts(arguments: Arguments, piped: str, cwd: Path, home: Path, images: Images) -> Prompts:
    """The first prompt holds piped input, files and the first message; each further message is its own.

    Raises FileError naming the file.
    """
    texts: list[str] = []
    pictures: list[ImageContent] = []
    for name in arguments.files:
        path = expand(name, base=cwd, home=home)
        raw = _read(name, path)
        if not raw:
            continue
        if find_image(raw[:64]) is None:
            texts.append(f'<file name="{path}">\n{_text(name, raw)}\n</file>\n')
        elif images.block_images:
            texts.append(
                f'<file name="{path}">(an image; the setting images.blockImages keeps it back)</file>\n'
            )
        else:
            texts.append(f'<file name="{path}"></file>\n')
            pictures.append(_image(name, raw, images))
    first, rest = arguments.messages[:1], arguments.messages[1:]
    opening = piped + "".join(texts) + "".join(first)
    prompts = [user_content(opening, pictures)] if opening.strip() or pictures else []
    return [*prompts, *(user_content(message) for message in rest if message.strip())]


def _read(name: str, path: Path) -> bytes:
    try:
        if not os.path.isfile(path):
            kind = "is not a file" if os.path.exists(path) else "does not exist"
            raise FileError(f"@{name}: {path} {kind}. Give the path of a text file or an image.")
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"@{name}: {path} cannot be read: {error.strerror or error}.") from error


def _text(name: str, raw: bytes) -> str:
    kind = find_binary(raw[:HEAD]) if find_form(raw[:HEAD]).encoding == "utf-8" else None
    if kind is not None:
        raise FileError(f"@{name} is {kind}, not text: name a text file or an image.")
    try:
        text, _ = decode(raw)
    except ValueError as error:
        raise FileError(f"@{name} is damaged: {error}.") from error
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _image(name: str, raw: bytes, images: Images) -> ImageContent:
    # Pillow is only needed where an image is attached.
    tools = import_module("relay.tools.images")
    try:
        prepared = tools.prepare_image(raw, auto_resize=images.auto_resize)
    except tools.ImageError as error:
        raise FileError(f"@{name} cannot be attached: {error}.") from error
    return ImageContent(data=base64.b64encode(prepared.data).decode("ascii"), mime_type=prepared.mime_type)
