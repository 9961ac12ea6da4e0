"""Copies of sessions: a branch or a whole file under a new header, the original's lines byte for byte."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from relay.ai.types import UserMessage, text_of
from relay.base.clock import iso, now_ms
from relay.base.ids import new_entry_id
from relay.session import source
from relay.session.entries import LabelEntry, MessageEntry, encode_entry
from relay.session.errors import SessionError
from relay.session.file import check_folder
from relay.session.locate import file_name
from relay.session.log import SessionLog, new_header
from relay.session.placing import place
from relay.session.source import Record

Report = Callable[[str], None]


class ForkPoint(NamedTuple):
    """A user message; `parent_id` is where a session forked from it ends."""

    entry_id: str
    parent_id: str | None
    text: str


def fork_points(log: SessionLog) -> list[ForkPoint]:
    """The user messages with text, of all branches, in file order."""
    log.load_rest()
    points: list[ForkPoint] = []
    for entry in log.tree.entries:
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            text = text_of(entry.message.content)
            if text:
                parent = log.tree.parent(entry.id)
                points.append(ForkPoint(entry.id, parent.id if parent is not None else None, text))
    return points


def branch_records(log: SessionLog, leaf_id: str | None) -> list[Record]:
    """The entries up to `leaf_id` with their lines, then the labels that other branches gave them."""
    log.load_rest()
    path = log.tree.path(leaf_id)
    records = [Record(log.records[at].entry, line=log.raw(log.records[at])) for at in path]
    held = {record.entry.id for record in records}
    last = records[-1].entry.id if records else None
    inside, everywhere = _labels(records), _labels(log.records)
    for target, label in everywhere.items():
        known = inside.get(target)
        if target in held and (known.label if known else None) != label.label:
            id = new_entry_id(held)
            held.add(id)
            entry = msgspec.structs.replace(label, id=id, parent_id=last, timestamp=iso(now_ms()))
            records.append(Record(entry, line=encode_entry(entry)))
            last = id
    return records


def copy_branch(
    log: SessionLog, leaf_id: str | None, *, cwd: Path, folder: Path, report: Report
) -> SessionLog:
    """A new session in `folder` that holds the branch up to `leaf_id` (None: nothing).

    Its file is written at once if a user message is in it; the copy of a session that is never saved is not
    saved either. Raises SessionError when the copy cannot be written.
    """
    records = branch_records(log, leaf_id)
    saved = log.path is not None and log.path.exists()
    header = new_header(cwd, None, str(log.path) if saved else None)
    if log.path is None:
        return SessionLog.begin(header, None, report, records)
    target = folder / file_name(header)
    if not any(_is_user(record) for record in records):
        return SessionLog.begin(header, target, report, records)
    _write(target, itertools.chain([encode_entry(header)], (record.line or b"" for record in records)))
    return SessionLog.open(target, cwd=cwd, report=report)


def copy_file(path: Path, *, cwd: Path, folder: Path, report: Report, id: str | None = None) -> SessionLog:
    """A new session of `cwd` in `folder` with every entry of the file `path`, all branches.

    Another process may be writing the original: a line that is not whole yet is left out. Raises
    SessionError.
    """
    header = new_header(cwd, id, str(path.resolve()))
    target = folder / file_name(header)
    with _reading(path) as lines:
        _write(target, itertools.chain([encode_entry(header)], itertools.islice(lines, 1, None)))
    return SessionLog.open(target, cwd=cwd, report=report)


def import_file(path: Path, *, folder: Path) -> Path:
    """Copies a session file into `folder` as it is, under its own name and header; returns the copy's path.

    Raises SessionError, also when a file of that name is there already.
    """
    target = folder / path.name
    with _reading(path) as lines:
        _write(target, lines)
    return target


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[Iterator[bytes]]:
    """The lines of a session file in today's shape, for copying."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        if source.read_head(handle) is None:
            raise SessionError(
                f"{path} is not a session: its first line must be a session header, such as "
                '{"type":"session","version":3,"id":"…"}.'
            )
        yield source.today_lines(handle, source.whole_size(handle))
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(handle)


def _labels(records: list[Record]) -> dict[str, LabelEntry]:
    """Target → the label entry that counts: the last in file order."""
    return {
        record.entry.target_id: record.entry for record in records if isinstance(record.entry, LabelEntry)
    }


def _is_user(record: Record) -> bool:
    return isinstance(record.entry, MessageEntry) and isinstance(record.entry.message, UserMessage)


def _write(target: Path, lines: Iterator[bytes]) -> None:
    check_folder(target.parent)
    try:
        place(target, lines).close()
    except FileExistsError as error:
        raise SessionError(f"{target} exists already: move it away, or use another name.") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SessionError(
            f"The copy {target} could not be written: {reason}. The original was not changed."
        ) from error


def _unreadable(path: Path, error: OSError) -> SessionError:
    return SessionError(f"The session {path} cannot be read: {(error.strerror or str(error)).lower()}.")
