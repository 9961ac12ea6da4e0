"""What a session is started with: plain values, whoever gives them (command line or embedding program)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from relay.ai.types import ThinkingLevel
from relay.base.errors import RelayError


class StartError(RelayError):
    """A session cannot be started as asked."""


class ModelOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Patterns as `ai.patterns` reads them; None: not asked for."""

    pattern: str | None = None
    provider: str | None = None
    scope: tuple[str, ...] | None = None
    api_key: str | None = None
    key_provider: str | None = None
    """Whose key `api_key` is; None: of the model that gets chosen."""
    thinking: ThinkingLevel | None = None


class SessionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which session; `kind` says what `value` is. `folder` is --session-dir, `new_id` the id of a fork."""

    kind: Literal["new", "memory", "continue", "open", "id", "fork"] = "new"
    value: str = ""
    new_id: str | None = None
    folder: str | None = None
    name: str | None = None


class ToolOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`only` None: not asked for."""

    only: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    none: bool = False
    no_builtin: bool = False


class StartOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`approve` None: nobody said."""

    cwd: Path
    environ: Mapping[str, str]
    model: ModelOptions = ModelOptions()
    session: SessionOptions = SessionOptions()
    tools: ToolOptions = ToolOptions()
    system_prompt: str | None = None
    append_system_prompt: tuple[str, ...] = ()
    context_files: bool = True
    approve: bool | None = None
