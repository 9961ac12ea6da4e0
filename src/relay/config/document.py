"""The reference pages of the settings, made from the schema: table, JSON Schema, ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from relay.config.kinds import json_schema, label
from relay.config.schema import GROUPS, SETTINGS
from relay.config.setting import Setting

LATER = "later"
"""Stands for a reader or a test that does not exist yet."""


class LedgerRow(msgspec.Struct, frozen=True):
    """`reader`: the module that acts on a setting; `test`: `file::function` that fails if it is ignored."""

    reader: str = LATER
    test: str = LATER


def render_table() -> str:
    """The settings reference as Markdown."""
    parts = [
        "# Settings reference\n",
        "Generated from the code. Settings stand in `settings.json` in the agent directory "
        "(`~/.relay/agent`, or what `RELAY_CODING_AGENT_DIR` names) and, for one project, in "
        "`.relay/settings.json`, which is read once the project is trusted. A project's value goes "
        "before the "
        "user's; objects are merged key by key; lists of resources are joined. `relay config list` "
        "shows what "
        "is in effect, and `settings.schema.json` beside this page describes the file for editors.\n",
        "A value that does not fit is named at the start and counts as not set; everything else in the file "
        "stays in effect. Names that Relay does not know are kept.\n",
    ]
    for group in GROUPS:
        parts += [
            f"## {group.heading}\n",
            "| Setting | Type | Default | Meaning |\n|---|---|---|---|",
            *(_table_row(setting) for setting in group.settings),
            "",
        ]
        if group.remark:
            parts.append(f"{group.remark}\n")
    return "\n".join(parts)


def _table_row(setting: Setting) -> str:
    kind = f"`{label(setting.kind)}`".replace("|", "\\|")
    scope = " **Agent directory only.**" if setting.global_only else ""
    return f"| `{setting.key}` | {kind} | {_default(setting)} | {setting.description}{scope} |"


def _default(setting: Setting) -> str:
    return setting.automatic or f"`{json.dumps(setting.default)}`"


def render_schema() -> str:
    """The JSON Schema (draft 2020-12) of settings.json."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Relay settings",
        "type": "object",
        "properties": {"$schema": {"type": "string"}},
    }
    for setting in SETTINGS:
        branch = schema
        for section in setting.path[:-1]:
            branch = branch["properties"].setdefault(section, {"type": "object", "properties": {}})
        scope = " Agent directory only." if setting.global_only else ""
        described: dict[str, Any] = {"description": setting.description + scope}
        if not setting.automatic:
            described["default"] = setting.default
        branch["properties"][setting.path[-1]] = {**json_schema(setting.kind), **described}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def render_ledger(rows: Mapping[str, LedgerRow]) -> str:
    """Which module reads each setting and which test holds it there; `rows` by key, missing ones "
    "are later."""
    read = sum(rows.get(setting.key, LedgerRow()).reader != LATER for setting in SETTINGS)
    lines = [
        "# Settings ledger\n",
        "Generated from `tests/config/ledger.py`. For each setting: the module that acts on it, and the test "
        "that fails if it is ignored. “later” marks a setting that is checked and kept but has no "
        "effect yet.\n",
        f"{read} of {len(SETTINGS)} settings are read.\n",
        "| Setting | Read by | Test |\n|---|---|---|",
    ]
    for setting in SETTINGS:
        row = rows.get(setting.key, LedgerRow())
        lines.append(f"| `{setting.key}` | {_code(row.reader)} | {_code(row.test)} |")
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    return text if text == LATER else f"`{text}`"
