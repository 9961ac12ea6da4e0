"""Reading and writing small user files: whole writes through symlinks, JSON with line and column."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

from relay.base.errors import RelayError

PRIVATE = 0o600
"""Mode of a file that holds secrets."""


class JsonFileError(RelayError):
    """A file that is not JSON: `line` and `column` (from 1) say where reading stopped, `reason` why."""

    def __init__(self, path: Path, line: int, column: int, reason: str) -> None:
        super().__init__(f"{path}, line {line}, column {column}: this is not valid JSON: {reason}.")
        self.path = path
        self.line = line
        self.column = column
        self.reason = reason


def read_json(path: Path, *, comments: bool = False) -> Any:
    """The plain data in `path`, a UTF-8 file with or without a byte order mark.

    With `comments`, `//` and `/* */` comments and a comma after a last entry are allowed. Raises
    JsonFileError when it does not parse (an empty file too), OSError when it cannot be read.
    """
    return parse_json_bytes(path.read_bytes(), path, comments=comments)


def parse_json_bytes(raw: bytes, path: Path, *, comments: bool = False) -> Any:
    """The plain data of `raw`, which was read from `path`; raises JsonFileError."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _position(raw, error.start)
        reason = f"byte 0x{raw[error.start]:02x} is not UTF-8 text; save the file as UTF-8"
        raise JsonFileError(path, line, column, reason) from error
    try:
        return parse_json(text, path)
    except JsonFileError:
        if not comments:
            raise
    return parse_json(_without_comments(text), path)


def parse_json(text: str, path: Path) -> Any:
    """The plain data of `text`, which was read from `path`; raises JsonFileError."""
    if not text.strip():
        raise JsonFileError(path, 1, 1, "the file is empty; an empty object is written {}")
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise JsonFileError(path, error.lineno, error.colno, _reason(error)) from error
    except _Constant as error:
        line, column = _find_word(text, error.word)
        raise JsonFileError(path, line, column, f"{error.word} is not a JSON value") from error
    except RecursionError as error:
        raise JsonFileError(path, 1, 1, "the brackets are nested too deeply") from error
    except ValueError as error:  # Python refuses to read whole numbers of more than 4,300 digits
        raise JsonFileError(path, 1, 1, "a number has too many digits") from error


def write_atomic(path: Path, data: bytes | str, *, mode: int | None = None) -> None:
    """Replace the content of `path` in one step; readers see the old content or the new, never a part.

    A symlink stays one: its target is replaced. `mode` sets the permission bits; None keeps those of the
    existing file (a new one gets what the umask allows). Missing folders are made, private where `mode` is.
    Raises OSError, and then the old content is untouched.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if mode == PRIVATE else 0o777)
    content = data.encode("utf-8") if isinstance(data, str) else data
    bits = _mode_of(target) if mode is None else mode
    name = str(target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp"))
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, bits)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(target.parent)


def write_all(handle: int, data: bytes | bytearray) -> None:
    """Writes all of `data` to a descriptor, however small the pieces are that it takes. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _mode_of(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the rename itself last through a power cut; some file systems refuse to sync folders."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# Compiled at first use: a program start that meets only plain JSON does not pay for them.
_STRING_OR_COMMENT = r'(?s)"(?:[^"\\\n]|\\.)*"?|//[^\n]*|/\*.*?(?:\*/|\Z)'
_STRING_OR_LAST_COMMA = r'(?s)"(?:[^"\\\n]|\\.)*"?|,(?=\s*[\]}])'


def _without_comments(text: str) -> str:
    """`text` with blanks in place of what JSON does not have, so that every position stays the same."""

    def blank(found: re.Match[str]) -> str:
        return found[0] if found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0])

    return re.sub(_STRING_OR_LAST_COMMA, blank, re.sub(_STRING_OR_COMMENT, blank, text))


class _Constant(ValueError):  # never leaves this module
    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


def _refuse_constant(word: str) -> Any:
    raise _Constant(word)


def _find_word(text: str, word: str) -> tuple[int, int]:
    """Where `word` stands outside of strings."""
    inside = escaped = False
    for index, char in enumerate(text):
        if escaped:
            escaped = False
        elif inside and char == "\\":
            escaped = True
        elif char == '"':
            inside = not inside
        elif not inside and text.startswith(word, index):
            return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)
    return 1, 1


def _position(raw: bytes, offset: int) -> tuple[int, int]:
    start = raw.rfind(b"\n", 0, offset) + 1
    return raw.count(b"\n", 0, offset) + 1, offset - start + 1


def _reason(error: json.JSONDecodeError) -> str:
    """What the standard library says, in words for someone who edits the file by hand."""
    known = {
        "Expecting value": "a value is missing here",
        "Expecting ',' delimiter": "a comma or a closing bracket is missing before this place",
        "Expecting ':' delimiter": "a colon is missing after the name",
        "Expecting property name enclosed in double quotes": "a name in double quotes is missing here "
        "(a comma after the last entry is not allowed)",
        "Illegal trailing comma before end of object": "a comma after the last entry is not allowed",
        "Illegal trailing comma before end of array": "a comma after the last entry is not allowed",
        "Extra data": "there is text after the end of the JSON value",
        "Invalid control character at": "a line break or control character stands inside a string",
        "Unterminated string starting at": "this string has no closing quote",
        "Invalid \\escape": "this backslash starts no escape; write two for a real one",
        "Invalid \\uXXXX escape": "four hex digits must follow \\u",
    }
    return known.get(error.msg.rstrip(": "), error.msg)
