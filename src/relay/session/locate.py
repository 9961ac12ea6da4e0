"""Finds sessions: the folder of a directory, its newest session, and what an argument of the user means."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from relay.config.paths import session_folder
from relay.session import source
from relay.session.entries import Header
from relay.session.errors import SessionError

_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


class Folder(msgspec.Struct, frozen=True):
    """Where the sessions of the working directory `cwd` are.

    `root` holds the folders of all directories. It is None for a folder that the user chose: that one holds
    the sessions of every directory side by side.
    """

    path: Path
    cwd: Path
    root: Path | None = None


class Candidate(msgspec.Struct, frozen=True):
    """A session file; only its head was read."""

    path: Path
    header: Header
    modified: float
    """Unix seconds."""


class Existing(msgspec.Struct, frozen=True):
    """The session file that was meant."""

    path: Path


class Fresh(msgspec.Struct, frozen=True):
    """A path without a file: the session is made there."""

    path: Path


class Elsewhere(msgspec.Struct, frozen=True):
    """Only a session of another directory, `cwd`, has that id."""

    path: Path
    cwd: str


class Nothing(msgspec.Struct, frozen=True):
    """No session has an id that begins so."""


Match = Existing | Fresh | Elsewhere | Nothing


def default_folder(sessions: Path, cwd: Path) -> Folder:
    """The folder of `cwd` (absolute) below `sessions`, the folder of all."""
    return Folder(sessions / session_folder(cwd), cwd, sessions)


def file_name(header: Header) -> str:
    """`2024-12-03T14-00-00-000Z_<id>.jsonl`"""
    return f"{re.sub('[:.]', '-', header.timestamp)}_{header.id}.jsonl"


def check_session_id(id: str) -> None:
    """Raises SessionError when `id` cannot name a session."""
    if not _ID.fullmatch(id):
        raise SessionError(
            f"The session id {id!r} is not allowed: an id consists of letters, digits, '.', '_' and '-', "
            "and begins and ends with a letter or digit."
        )


def newest(folder: Folder) -> Candidate | None:
    """The session of the directory that was changed last, for --continue. Reads heads, newest first."""
    return next((found for found in _candidates(folder.path) if _belongs(found, folder)), None)


def with_id(folder: Folder, id: str) -> Candidate | None:
    """The directory's session with exactly this id, for --session-id; the newest of several."""
    return next(
        (found for found in _candidates(folder.path) if found.header.id == id and _belongs(found, folder)),
        None,
    )


def resolve(argument: str, folder: Folder, *, option: str = "--session") -> Match:
    """What --session and --fork mean: a path (with a separator or .jsonl), else a full or partial id.

    Ids of the directory come before those of others, whole ids before beginnings, newer before older. A name
    that is no id but a file in the working directory is that file. Raises SessionError for an empty argument.
    """
    if not argument:
        raise SessionError(f"{option} needs a path or the beginning of a session id.")
    path = folder.cwd / Path(argument).expanduser()
    if re.search(r"[/\\]", argument) or argument.endswith(".jsonl"):
        return Existing(path) if path.exists() else Fresh(path)
    matching = [found for found in _candidates(folder.path) if found.header.id.startswith(argument)]
    own = _best([found for found in matching if _belongs(found, folder)], argument)
    if own is not None:
        return Existing(own.path)
    others = [found for found in matching if not _belongs(found, folder)]
    if folder.root is not None:
        places = [place for place in _subfolders(folder.root) if place != folder.path]
        others += [
            found for place in places for found in _candidates(place) if found.header.id.startswith(argument)
        ]
        others.sort(key=lambda found: found.modified, reverse=True)
    other = _best(others, argument)
    if other is not None:
        return Elsewhere(other.path, other.header.cwd)
    return Existing(path) if path.is_file() else Nothing()


def read_header(path: Path) -> Header | None:
    """The header of a session file; None when it cannot be read or is no session."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return source.read_head(handle)
    except OSError:
        return None
    finally:
        os.close(handle)


def _candidates(folder: Path) -> Iterator[Candidate]:
    """The session files of a folder, newest first; what is no session is passed over."""
    for modified, path in _files(folder):
        header = read_header(path)
        if header is not None:
            yield Candidate(path, header, modified)


def _files(folder: Path) -> list[tuple[float, Path]]:
    found: list[tuple[float, Path]] = []
    try:
        with os.scandir(folder) as rows:
            for row in rows:
                if row.name.endswith(".jsonl"):
                    try:
                        if row.is_file():
                            found.append((row.stat().st_mtime, Path(row.path)))
                    except OSError:  # it went away, or its link leads nowhere
                        continue
    except OSError:
        return []
    found.sort(reverse=True)
    return found


def _subfolders(root: Path) -> list[Path]:
    try:
        with os.scandir(root) as rows:
            return [Path(row.path) for row in rows if row.is_dir()]
    except OSError:
        return []


def _belongs(found: Candidate, folder: Folder) -> bool:
    """False for sessions of another directory: in a shared folder, or where two have the same folder name.

    A file that somebody moved here by hand is accepted whatever directory it names.
    """
    cwd = found.header.cwd
    if not cwd or cwd == str(folder.cwd):
        return True
    return folder.root is not None and session_folder(Path(cwd)) != session_folder(folder.cwd)


def _best(matching: list[Candidate], id: str) -> Candidate | None:
    """Of sessions with the newest first: the one with this whole id, else the first."""
    return next((found for found in matching if found.header.id == id), matching[0] if matching else None)
