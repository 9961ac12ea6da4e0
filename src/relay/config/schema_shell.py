"""Settings of the shell and of npm."""

from __future__ import annotations

from relay.config.kinds import Listing, Text
from relay.config.setting import TEXT, Group, Setting

SHELL = Group(
    "Shell",
    (
        Setting(
            "shellPath",
            Text(blank=False),
            None,
            "Shell that runs commands; may begin with `~`.",
            automatic="the platform's",
        ),
        Setting("shellCommandPrefix", TEXT, None, "Text put before every shell command.", automatic="none"),
        Setting(
            "npmCommand",
            Listing(Text(blank=False)),
            ("npm",),
            "Command, with its arguments, that looks up and installs npm packages.",
        ),
    ),
)
