"""The whole settings table, in the order of the reference."""

from __future__ import annotations

from relay.config.schema_context import BRANCHES, COMPACTION, SESSIONS
from relay.config.schema_harness import HARNESS, LAYA
from relay.config.schema_interaction import INTERACTION
from relay.config.schema_model import MODEL
from relay.config.schema_network import NETWORK
from relay.config.schema_resources import RESOURCES
from relay.config.schema_shell import SHELL
from relay.config.schema_terminal import TERMINAL
from relay.config.schema_tools import TOOLS
from relay.config.schema_updates import UPDATES
from relay.config.setting import Group, Setting

GROUPS: tuple[Group, ...] = (
    MODEL,
    INTERACTION,
    TOOLS,
    SESSIONS,
    COMPACTION,
    HARNESS,
    LAYA,
    BRANCHES,
    TERMINAL,
    NETWORK,
    SHELL,
    RESOURCES,
    UPDATES,
)
SETTINGS: tuple[Setting, ...] = tuple(setting for group in GROUPS for setting in group.settings)
SECTIONS: tuple[tuple[str, ...], ...] = tuple(
    dict.fromkeys(setting.path[:depth] for setting in SETTINGS for depth in range(1, len(setting.path)))
)
"""Paths of the objects that only group settings, such as `("retry", "provider")`."""
