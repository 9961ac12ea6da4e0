"""From the path a model wrote to the file it means, and from a system error to a sentence about it."""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from relay.agent.tool import ToolError
from relay.tools.operations import Operations

SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
"""Spaces that look like the plain one."""

COMPARED = 1000
"""Names that a missing one is compared with."""

CLOCK = re.compile(r" (?=[AaPp]\.?[Mm]\b)")
"""macOS puts U+202F before AM and PM in the names of screenshots."""


def resolve_path(written: str, cwd: Path) -> Path:
    """The absolute path that `written` names, `..` resolved by name, nothing looked up.

    Takes relative and absolute paths, `~` and `~user`, `file://` addresses and a leading `@`, which is how
    people mark files. Raises ToolError for what cannot be a path.
    """
    text = written.removeprefix("@")
    if text.lower().startswith("file://"):
        text = _from_address(text)
    if not text:
        raise ToolError("The path is empty; name a file or directory.")
    if "\0" in text:
        raise ToolError(f"The path {text!r} contains a NUL character, which no file name can hold.")
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        raise ToolError(f"The path {text!r} contains a character that no file name can hold.") from error
    return Path(os.path.normpath(cwd / os.path.expanduser(text)))


def locate(written: str, cwd: Path, operations: Operations) -> Path:
    """The path of an existing file as `written`, or else under a near spelling, or else as written.

    Near spellings differ in what cannot be seen: kinds of spaces, apostrophes, composed accents; a file
    whose name really starts with `@` is found, too. Does small file access.
    """
    path = resolve_path(written, cwd)
    for candidate in (path, *_near_spellings(path), *_literal(written, cwd)):
        try:
            operations.real_path(candidate, must_exist=True)
        except (OSError, ValueError):
            continue
        return candidate
    return path


def real_path(written: Any, cwd: Path, operations: Operations, *, near: bool) -> str | None:
    """For `Tool.path_written`: the real path behind an argument that may be anything; None if it is no path.

    `near` as in `locate`: whether an existing file under a near spelling is meant.
    """
    if not isinstance(written, str):
        return None
    try:
        path = locate(written, cwd, operations) if near else resolve_path(written, cwd)
        return str(operations.real_path(path))
    except (ToolError, OSError):
        return None


def find_scheme(written: str) -> str | None:
    """`history` for `history://…`; None for paths of files, `file://` ones too."""
    found = re.match(r"@?([A-Za-z][A-Za-z0-9+.-]+)://", written)
    scheme = found[1].lower() if found else "file"
    return None if scheme == "file" else scheme


def _from_address(address: str) -> str:
    parts = urlsplit(address)
    if parts.netloc not in ("", "localhost"):
        raise ToolError(f"{address} names a file on another machine ({parts.netloc}); use a local path.")
    # `?` and `#` are legal in file names, and who writes file:// by hand does not escape them.
    path = unquote(address[len("file://") + len(parts.netloc) :])
    return path[1:] if re.match(r"/[A-Za-z]:", path) and os.name == "nt" else path


def _near_spellings(path: Path) -> Iterator[Path]:
    text = str(path)
    seen = {text}
    plain = SPACES.sub(" ", text)
    for spelling in (plain, CLOCK.sub("\u202f", plain)):
        for quoted in (spelling, spelling.replace("'", "\u2019"), spelling.replace("\u2019", "'")):
            for form in (quoted, unicodedata.normalize("NFC", quoted), unicodedata.normalize("NFD", quoted)):
                if form not in seen:
                    seen.add(form)
                    yield Path(form)


def _literal(written: str, cwd: Path) -> Iterator[Path]:
    if written.startswith("@") and "\0" not in written:
        yield cwd / written


async def explain_missing(
    error: OSError, written: str, path: Path, operations: Operations, *, action: str = "read"
) -> ToolError:
    """As `explain`, for files that must exist: where one does not, names like it are given."""
    plain = explain(error, written, action)
    if error.errno == errno.EISDIR:
        return ToolError(f"{plain} Use ls to see what is in it.")
    if error.errno != errno.ENOENT:
        return plain
    try:
        entries = await operations.list_directory(path.parent)
    except OSError:
        return ToolError(f"{plain} Its directory does not exist, either.")
    names = {entry.name.lower(): entry.name for entry in entries[:COMPARED]}
    near = [names[name] for name in get_close_matches(path.name.lower(), names, n=3, cutoff=0.7)]
    return ToolError(f"{plain} Its directory has {', '.join(near)}." if near else str(plain))


def explain(error: OSError, written: str, action: str, *, reason: str | None = None) -> ToolError:
    """A system error as a sentence: `action` is what was tried ("read"), `reason` replaces the known ones."""
    reasons = {
        errno.ENOENT: "it does not exist",
        errno.EEXIST: "a part of the path is a file, not a directory",
        errno.ENOTDIR: "a part of the path is a file, not a directory",
        errno.EISDIR: "it is a directory",
        errno.EACCES: "permission is denied",
        errno.EPERM: "permission is denied",
        errno.ELOOP: "its symbolic links lead in a circle",
        errno.ENAMETOOLONG: "the name is too long",
        errno.ENOSPC: "the disk is full; the old content is unchanged",
        errno.EDQUOT: "the disk quota is used up; the old content is unchanged",
        errno.EFBIG: "it would be larger than the system allows; the old content is unchanged",
        errno.EROFS: "the file system is read-only",
    }
    if reason is None:
        usual = error.errno is not None and error.strerror == os.strerror(error.errno)
        # Our own operations give some errors a reason of their own.
        reason = (reasons.get(error.errno or 0) if usual else None) or error.strerror or str(error)
    return ToolError(f"Cannot {action} {written}: {reason}.")
