"""Finding the instruction files that apply in a folder: AGENTS.md and its relatives, up the parents."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

FILE_NAMES = ("AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")
"""The first that exists in a folder is the one read there."""
LARGEST = 200_000
"""Bytes of one file that reach the prompt; more would leave a small model no room for the work."""


class ContextFile(msgspec.Struct, frozen=True):
    """Instructions found in the agent directory or in the project."""

    path: Path
    text: str


class ContextFiles(msgspec.Struct, frozen=True):
    """`files` in the order of the prompt: the user's own, then from the outermost folder to the innermost."""

    files: tuple[ContextFile, ...] = ()
    problems: tuple[str, ...] = ()


class TextRead(msgspec.Struct, frozen=True):
    """A file's text; None when it cannot be read. `problems` are finished sentences."""

    text: str | None
    problems: tuple[str, ...] = ()


def find_context_files(cwd: Path, agent_dir: Path) -> ContextFiles:
    """The instructions that apply in `cwd`. No trust is needed for them.

    An empty file adds nothing, but still takes the place of the others in its folder. Never raises.
    """
    files: list[ContextFile] = []
    problems: list[str] = []
    for path in _candidates(cwd, agent_dir):
        read = read_bounded(path)
        problems += read.problems
        if read.text and read.text.strip():
            files.append(ContextFile(path, read.text))
    return ContextFiles(tuple(files), tuple(problems))


def _candidates(cwd: Path, agent_dir: Path) -> Iterator[Path]:
    seen: set[str] = set()
    for folder in (agent_dir, *reversed(cwd.parents), cwd):
        for name in FILE_NAMES:
            path = folder / name
            if os.path.isfile(path):
                real = os.path.realpath(path)
                if real not in seen:
                    seen.add(real)
                    yield path
                break


def read_bounded(path: Path) -> TextRead:
    """The text of a file written for the model: in any Unicode encoding, cut after LARGEST bytes."""
    try:
        with open(path, "rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        return TextRead(None, (f"{path} cannot be read: {error.strerror or error}.",))
    problems: list[str] = []
    if len(raw) > LARGEST:
        raw = raw[: raw.rfind(b"\n", 0, LARGEST) + 1 or LARGEST]
        problems.append(f"{path} is larger than {LARGEST:,} bytes; the model gets the first {len(raw):,}.")
    text, clean = _decode(raw)
    if not clean:
        problems.append(f"{path} is not UTF-8 text; what cannot be read is replaced. Save it as UTF-8.")
    return TextRead(text, tuple(problems))


def _decode(raw: bytes) -> tuple[str, bool]:
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if wide else "utf-8-sig"
    raw = raw[: len(raw) // 2 * 2] if wide else raw
    try:
        return raw.decode(encoding), True
    except UnicodeDecodeError as error:
        # bounding the file may have cut its last character in half
        cut = not wide and len(raw) > LARGEST - 4 and error.start > len(raw) - 4
        return raw.decode(encoding, "ignore" if cut else "replace"), cut
