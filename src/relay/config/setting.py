"""One row of the settings table."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from relay.config.kinds import Boolean, Choice, Kind, Number, Text

Combine = Literal["replace", "merge", "concatenate", "selection"]
"""How a project's value meets the user's: replaces it, is merged into the object key by key, is appended
to the list (both keep the folder they came from), or changes a selection of names (`+name`, `-name`)."""


class Setting(msgspec.Struct, frozen=True):
    """`default` None means that Relay finds the value itself; `automatic` says how."""

    key: str
    """Path in settings.json, such as `retry.provider.maxRetries`."""
    kind: Kind
    default: Any
    """Plain data as settings.json would hold it."""
    description: str
    automatic: str = ""
    """What stands in the default column instead of the value."""
    global_only: bool = False
    """Read from the agent directory only, never from a project."""
    combine: Combine = "replace"

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.key.split("."))


class Group(msgspec.Struct, frozen=True):
    """The settings of one heading of the reference, with a remark below their table."""

    heading: str
    settings: tuple[Setting, ...]
    remark: str = ""


BOOLEAN = Boolean()
TEXT = Text()
COUNT = Number(minimum=0)
"""A whole number, 0 included."""
SHARE = Number(minimum=0, maximum=1, whole=False)
THINKING_LEVEL = Choice(("off", "minimal", "low", "medium", "high", "xhigh", "max"))
