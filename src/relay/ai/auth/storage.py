"""auth.json: the keys that a user stored, changed under a lock and never written over when it is broken."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from relay.ai.errors import ProviderError
from relay.base.errors import RelayError
from relay.base.files import PRIVATE, JsonFileError, read_json, write_atomic
from relay.base.locks import hold

FILE_NAME = "auth.json"
LOCK_SECONDS = 10.0

Signature = tuple[int, int, int] | None


class StoredKey(msgspec.Struct, frozen=True):
    """An entry of type `api_key`. `key` is a template; "" in an entry that only sets variables.

    `env` beats the process environment for its provider.
    """

    key: str
    env: dict[str, str] = {}


class AuthFile:
    """Owns the content of one auth.json as last read; reads it again when the file changed."""

    def __init__(self, path: Path, lock_seconds: float = LOCK_SECONDS) -> None:
        self.path = path
        self._lock_seconds = lock_seconds
        self._entries: dict[str, Any] = {}
        self._seen: Signature = None
        self._problem: str | None = None

    @property
    def problem(self) -> str | None:
        """Why the file is not used, as a finished sentence; None where it is fine or missing."""
        self._refresh()
        return self._problem

    def stored(self, provider: str) -> StoredKey | None:
        """The API key stored for `provider`; None for none, for another kind of entry and for a wrong one."""
        return _api_key(self.entry(provider))

    def entry(self, provider: str) -> Any:
        """What the file holds for `provider`, whatever it is, or None."""
        self._refresh()
        return self._entries.get(provider)

    def save(self, provider: str, key: str) -> None:
        """Store `key`, keeping the entry's `env` and everything else in the file. Blocks: call in a thread.

        Raises RelayError when the file is broken, locked for too long or cannot be written.
        """

        def change(entries: dict[str, Any]) -> None:
            old = entries.get(provider)
            env = old.get("env") if isinstance(old, dict) else None
            entries[provider] = {"type": "api_key", "key": key} | ({"env": env} if env else {})

        self._update(change)

    def remove(self, provider: str) -> bool:
        """Delete the entry of `provider`; whether there was one. Blocks and raises as `save` does."""
        found = False

        def change(entries: dict[str, Any]) -> None:
            nonlocal found
            found = entries.pop(provider, None) is not None

        self._update(change)
        return found

    def _refresh(self) -> None:
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            self._entries, self._seen, self._problem = {}, None, None
            return
        except OSError as error:
            self._entries, self._problem = {}, _unreadable(self.path, error)
            return
        signature = (status.st_ino, status.st_mtime_ns, status.st_size)
        if signature != self._seen:
            self._entries, self._problem = _read(self.path)
            self._seen = signature

    def _update(self, change: Callable[[dict[str, Any]], None]) -> None:
        try:
            Path(os.path.realpath(self.path)).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with hold(self.path, patience_s=self._lock_seconds):
                entries, problem = _read(self.path)
                if problem is not None:
                    raise RelayError(f"{problem} The file was left as it is; correct it first.")
                before = json.dumps(entries)
                change(entries)
                text = json.dumps(entries, indent=2, ensure_ascii=False)
                if json.dumps(entries) != before:
                    write_atomic(self.path, f"{text}\n", mode=PRIVATE)
        except OSError as error:
            raise RelayError(f"{self.path} cannot be written: {error.strerror or error}.") from error
        self._seen = None


def _api_key(entry: Any) -> StoredKey | None:
    if not isinstance(entry, Mapping) or entry.get("type", "api_key") != "api_key":
        return None
    key, env = entry.get("key", ""), entry.get("env") or {}
    if not isinstance(key, str) or not isinstance(env, Mapping) or not (key.strip() or env):
        return None
    return StoredKey(key, {str(name): value for name, value in env.items() if isinstance(value, str)})


def _read(path: Path) -> tuple[dict[str, Any], str | None]:
    """The entries, or none and the reason why."""
    try:
        data = read_json(path)
    except FileNotFoundError:
        return {}, None
    except JsonFileError as error:
        return {}, f"{error} No key stored there is used."
    except OSError as error:
        return {}, _unreadable(path, error)
    if not isinstance(data, dict):
        return {}, f"{path} must hold one object, provider → entry. No key stored there is used."
    return data, None


def _unreadable(path: Path, error: OSError) -> str:
    return f"{path} cannot be read: {error.strerror or error}. No key stored there is used."


def not_usable(path: Path, provider: str, entry: Any) -> ProviderError:
    """The error for an entry that is there and is no API key."""
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    if kind == "oauth":
        reason = "is an account sign-in, which Relay cannot use yet"
    else:
        reason = 'is not of the form {"type": "api_key", "key": "..."}'
    return ProviderError(f"The entry {provider} in {path} {reason}. Replace it or remove it.", "auth")
