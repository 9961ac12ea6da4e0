"""The session log: append-only entries, saved line by line, and the live state read from them."""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Sequence
from pathlib import Path

import msgspec

from relay.ai.types import UserMessage
from relay.base.clock import iso, now_ms
from relay.base.ids import new_entry_id, new_session_id
from relay.session import source
from relay.session.entries import (
    VERSION,
    CompactionEntry,
    Entry,
    Header,
    MessageEntry,
    SessionInfoEntry,
    encode_entry,
    stamp,
)
from relay.session.errors import SessionError
from relay.session.file import SessionFile, check_folder
from relay.session.locate import check_session_id, file_name
from relay.session.placing import renew
from relay.session.projection import Projection
from relay.session.source import Loaded, Record
from relay.session.store import Report, Store
from relay.session.tree import Tree


class SessionLog:
    """One session: its header, its tree, the leaf where it continues, and the context of that branch.

    Made by `create`, `memory` and `open`. `projection` follows the leaf. Not `complete`: only the newest
    branch from its last boundary on was read; `load_rest` reads the rest, and what needs it calls that.
    """

    def __init__(self, header: Header, path: Path | None, file: SessionFile | None, report: Report) -> None:
        self.header = header
        self.path = path
        """Where the session is or will be saved; None for one that is not saved."""
        self.read_only = file is not None and not file.writable
        self.records: list[Record] = []
        """In file order, one for each entry of `tree`."""
        self.tree = Tree()
        self.leaf_id: str | None = None
        self.projection = Projection()
        self.complete = True
        self.name: str | None = None
        """Display name, from the last `session_info`."""
        self._report = report
        self._damaged = 0
        """Damaged lines that were told of."""
        self._store = Store(
            path, file, encode_entry(header), report=report, adopt=self._adopt, beyond=self._beyond
        )

    @classmethod
    def create(
        cls, cwd: Path, folder: Path, *, report: Report, id: str | None = None, parent: str | None = None
    ) -> SessionLog:
        """A new session in `folder`; its file appears with the first user message, not before.

        `parent` is the path of the session it was copied from. Raises SessionError for a bad id, and for a
        folder where nothing can be written.
        """
        header = new_header(cwd, id, parent)
        return cls.begin(header, folder / file_name(header), report)

    @classmethod
    def create_at(cls, cwd: Path, path: Path, *, report: Report, id: str | None = None) -> SessionLog:
        """The same in a file of the caller's choice, which must not exist yet."""
        return cls.begin(new_header(cwd, id, None), path, report)

    @classmethod
    def memory(cls, cwd: Path, *, report: Report, id: str | None = None) -> SessionLog:
        """A session that is never saved."""
        return cls(new_header(cwd, id, None), None, None, report)

    @classmethod
    def open(cls, path: Path, *, cwd: Path, report: Report, writable: bool = True) -> SessionLog:
        """An existing session, its leaf the newest entry. An empty file becomes a new session of `cwd`.

        Damaged lines are skipped and reported; a file of an older version is rewritten in today's, if it is
        opened for writing. Raises SessionBusy while another process writes it, and SessionError when the
        file cannot be opened or holds no session; it is then left as it is.
        """
        file = renew(_open_file(path, writable=writable), report)
        try:
            size = file.size()
            loaded = source.load(file.handle, size)
            file.read_to(size)
            if loaded.header is None and not loaded.blank:
                raise SessionError(
                    f"{path} is not a session: its first line must be a session header, such as "
                    '{"type":"session","version":3,"id":"…"}. The file was left as it is.'
                )
        except BaseException:
            file.close()
            raise
        header = loaded.header or new_header(cwd, None, None)
        log = cls(msgspec.structs.replace(header, version=max(VERSION, header.version)), path, file, report)
        if loaded.blank:
            log._store.begin()
        log._install(loaded)
        return log

    @classmethod
    def begin(
        cls, header: Header, path: Path | None, report: Report, copied: Sequence[Record] = ()
    ) -> SessionLog:
        """A new session that starts with entries `copied` from another; `path` None: it is never saved.

        Nothing is written before the first user message that is appended.
        """
        if path is not None:
            check_folder(path.parent)
        log = cls(header, path, None, report)
        if path is not None:
            log._store.begin()
        for record in copied:
            log._store.hold(record)
        log._install(Loaded(header, list(copied), 0))
        return log

    @property
    def id(self) -> str:
        return self.header.id

    @property
    def unsaved(self) -> int:
        """Entries that should be in the file and are not; a new session without a user message has none."""
        return self._store.unsaved

    def append(self, draft: Entry) -> Entry:
        """Adds an entry below the leaf and makes it the leaf; returns it with id, parent and time.

        When this returns, the line is in the file, unless writing failed: then that was reported, `unsaved`
        counts it, and the next append tries again. Entries before the first user message are held back.
        A compaction whose `first_kept_entry_id` is empty keeps nothing: it gets its own id there.
        Raises SessionError in a read-only session, TypeError for what JSON cannot hold.
        """
        if self.read_only:
            raise SessionError(f"The session {self.path} is open read-only: nothing can be added to it.")
        id = new_entry_id(self.tree if self.complete else None)
        entry = stamp(draft, id=id, parent_id=self.leaf_id, timestamp=iso(now_ms()))
        if isinstance(entry, CompactionEntry) and entry.first_kept_entry_id == "":
            entry = msgspec.structs.replace(entry, first_kept_entry_id=id)
        text = encode_entry(entry)
        record = Record(entry)
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            self._store.release()
        self._store.submit(record, text)
        self._admit(record)
        self.leaf_id = id
        if not self.projection.append(entry):
            self._project(entry)
        return entry

    def branch(self) -> list[Entry]:
        """The entries from the root to the leaf; not `complete`: from where the reading began."""
        return self.tree.branch(self.leaf_id)

    def move(self, leaf_id: str | None) -> None:
        """Continues after another entry; None: the next entry is a root. Raises SessionError if unknown."""
        self.load_rest()
        if leaf_id is not None and leaf_id not in self.tree:
            raise SessionError(f"The session {self.id} has no entry {leaf_id}.")
        self.leaf_id = leaf_id
        self.projection = Projection(self.branch())

    def raw(self, record: Record) -> bytes:
        """The entry's line, byte for byte as it was read or written, without its line end."""
        if record.line is not None:
            return record.line
        saved = self._store.read(record)
        return encode_entry(record.entry) if saved is None else saved

    def load_rest(self) -> None:
        """Reads what `open` left out. The leaf and its context stay as they are."""
        if self.complete:
            return
        found = self._store.read_all()
        if found is None:
            return
        unsaved = [record for record in self.records if record.start < 0]
        leaf_id = self.leaf_id
        self._install(msgspec.structs.replace(found, records=[*found.records, *unsaved]))
        self.leaf_id = leaf_id
        self.projection = Projection(self.branch())

    def save(self) -> bool:
        """Tries again to write what is unsaved; True when nothing is left."""
        return self._store.save()

    def close(self) -> bool:
        """Saves what is left if it can, and lets others write; False when entries stay unsaved."""
        return self._store.close()

    def _install(self, loaded: Loaded) -> None:
        self.records = []
        self.tree = Tree()
        self.complete = loaded.complete
        for record in loaded.records:
            self._admit(record)
        self.leaf_id = loaded.records[-1].entry.id if loaded.records else None
        self.projection = Projection(self.branch())
        if len(loaded.damaged) > self._damaged:
            self._damaged = len(loaded.damaged)
            self._report(_damage(self.path, loaded.damaged))

    def _admit(self, record: Record) -> None:
        self.records.append(record)
        self.tree.add(record.entry)
        if isinstance(record.entry, SessionInfoEntry):
            self.name = (record.entry.name or "").strip() or None

    def _adopt(self, records: list[Record]) -> None:
        """Entries of somebody else: they join the tree, the leaf stays."""
        for record in records:
            self._admit(record)

    def _beyond(self, size: int) -> list[Record]:
        return [record for record in self.records if record.start + record.size > size]

    def _project(self, boundary: Entry) -> None:
        path = self.branch()
        if not self.complete and isinstance(boundary, CompactionEntry):
            kept = boundary.first_kept_entry_id
            if kept is not None and all(entry.id != kept for entry in path):
                self.load_rest()
                path = self.branch()
        self.projection = Projection(path)


def new_header(cwd: Path, id: str | None, parent_session: str | None) -> Header:
    """Raises SessionError for an id that is not allowed."""
    now = now_ms()
    if id is not None:
        check_session_id(id)
    return Header(
        version=VERSION,
        id=id or new_session_id(now),
        timestamp=iso(now),
        cwd=str(cwd),
        parent_session=parent_session,
    )


def _open_file(path: Path, *, writable: bool) -> SessionFile:
    try:
        if not modes.S_ISREG(os.stat(path).st_mode):
            raise SessionError(f"{path} is not a session: it is not a regular file.")
        return SessionFile.open(path, writable=writable)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = ". Make it writable, or run without saving: --no-session" if writable else ""
        raise SessionError(f"The session {path} cannot be opened: {reason}{hint}.") from error


def _damage(path: Path | None, lines: Sequence[int]) -> str:
    """`lines` from 1, or from -1 where they were counted from the end."""
    if lines[0] < 0:
        what = "The last line" if len(lines) == 1 else f"The last {len(lines)} lines"
    else:
        shown = ", ".join(str(number) for number in lines[:5]) + (", …" if len(lines) > 5 else "")
        what = f"Line {shown}" if len(lines) == 1 else f"{len(lines)} lines ({shown})"
    verb = "is" if len(lines) == 1 else "are"
    return f"{what} of the session {path} {verb} damaged and left out; the file was not changed."
