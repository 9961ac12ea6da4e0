"""Lines of older files in today's shape, in memory: ids and parents for version 1, roles for version 2.

The ids that a line gets depend only on the file's lines, so every opening gives the same ones.
"""

from __future__ import annotations

import zlib

from relay.ai.types import JsonObject
from relay.session.entries import VERSION


class Upgrade:
    """Goes through a file's entries in order. `version` is the header's; 3 only mends missing ids."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._ids: list[str] = [""]
        """By line as version 1 counts them: the header is 0, damaged lines do not count."""
        self._taken: set[str] = set()

    @property
    def needed(self) -> bool:
        """True when every line has to be looked at."""
        return self._version < VERSION

    def note(self, id: str) -> None:
        """An entry that is already as it should be."""
        self._ids.append(id)
        self._taken.add(id)

    def mend(self, value: JsonObject, line: bytes) -> JsonObject | None:
        """The entry's object in today's shape, or None when it has that already. Notes it either way."""
        changed = dict(value)
        if not isinstance(value.get("id"), str) or not value["id"]:
            changed["id"] = self._derived(line)
        parent = value.get("parentId", "")
        if parent is not None and (not isinstance(parent, str) or not parent):
            changed["parentId"] = self._ids[-1] or None
        message = value.get("message")
        if isinstance(message, dict) and message.get("role") == "hookMessage":
            changed["message"] = message | {"role": "custom"}
        if "firstKeptEntryIndex" in value and "firstKeptEntryId" not in value:
            index = changed.pop("firstKeptEntryIndex")
            known = isinstance(index, int) and 0 < index < len(self._ids)
            changed["firstKeptEntryId"] = self._ids[index] if known else None
        self.note(changed["id"])
        return changed if changed != value else None

    def _derived(self, line: bytes) -> str:
        attempt = 0
        while True:
            id = f"{zlib.crc32(f'{len(self._ids)}.{attempt}.'.encode() + line):08x}"
            if id not in self._taken:
                return id
            attempt += 1
