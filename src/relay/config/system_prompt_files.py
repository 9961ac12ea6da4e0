"""Where the system prompt's own text comes from: options, SYSTEM.md and APPEND_SYSTEM.md."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from relay.config.context_files import read_bounded
from relay.config.paths import expand

SYSTEM_FILE = "SYSTEM.md"
APPEND_FILE = "APPEND_SYSTEM.md"

_LOOKS_LIKE_A_FILE = re.compile(r"\S+\.(md|txt|markdown)", re.IGNORECASE)


class SystemPromptTexts(msgspec.Struct, frozen=True, kw_only=True):
    """`preamble` None means Relay's own system prompt; `addenda` come after it, in order."""

    preamble: str | None = None
    addenda: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class PromptFolders(msgspec.Struct, frozen=True, kw_only=True):
    """Where to look: `project` is the project's `.relay`, None unless it is trusted."""

    cwd: Path
    agent: Path
    project: Path | None
    home: Path


def find_system_prompt(
    folders: PromptFolders, *, system: str | None = None, append: Sequence[str] = ()
) -> SystemPromptTexts:
    """The texts in effect.

    `system` and `append` are --system-prompt and --append-system-prompt: each the path of an existing file or
    the text itself; where given, they stand in place of the corresponding file, and an empty text in place of
    it means none. Of the files, the trusted project's goes before the user's.
    """
    problems: list[str] = []
    if system is None:
        preamble = _from_files(folders, SYSTEM_FILE, problems)
    else:
        preamble = _text_or_file(system, folders, problems)
    if append:
        addenda = [_text_or_file(text, folders, problems) for text in append]
    else:
        addenda = [_from_files(folders, APPEND_FILE, problems)]
    return SystemPromptTexts(
        preamble=preamble or None,
        addenda=tuple(text for text in addenda if text),
        problems=tuple(problems),
    )


def _from_files(folders: PromptFolders, name: str, problems: list[str]) -> str:
    for folder in (folders.project, folders.agent):
        if folder is not None and os.path.isfile(folder / name):
            return _read(folder / name, problems)
    return ""


def _text_or_file(given: str, folders: PromptFolders, problems: list[str]) -> str:
    if not given.strip():
        return ""
    path = expand(given, base=folders.cwd, home=folders.home) if "\0" not in given else None
    if path is not None and os.path.isfile(path):
        return _read(path, problems)
    if _LOOKS_LIKE_A_FILE.fullmatch(given.strip()):
        problems.append(f"There is no file {path}; {given!r} goes into the system prompt as it stands.")
    return given


def _read(path: Path, problems: list[str]) -> str:
    read = read_bounded(path)
    problems += read.problems
    return read.text if read.text and read.text.strip() else ""
