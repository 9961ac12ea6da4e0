"""Settings of typing, queued messages and trust."""

from __future__ import annotations

from relay.config.kinds import Choice, Text
from relay.config.setting import Group, Setting

_DELIVERY = Choice(("all", "one-at-a-time"))

INTERACTION = Group(
    "Interaction",
    (
        Setting(
            "steeringMode",
            _DELIVERY,
            "one-at-a-time",
            "How many queued steering messages a turn takes along.",
        ),
        Setting(
            "followUpMode",
            _DELIVERY,
            "one-at-a-time",
            "How many queued follow-up messages a turn takes along.",
        ),
        Setting(
            "externalEditor",
            Text(blank=False),
            None,
            "Command that the external-editor key opens.",
            automatic="`$VISUAL`, `$EDITOR`, else the platform's",
        ),
        Setting(
            "doubleEscapeAction",
            Choice(("tree", "fork", "none")),
            "tree",
            "What pressing Escape twice in an empty editor does.",
        ),
        Setting(
            "treeFilterMode",
            Choice(("default", "no-tools", "user-only", "labeled-only", "all")),
            "default",
            "Filter with which `/tree` opens.",
        ),
        Setting(
            "defaultProjectTrust",
            Choice(("ask", "always", "never")),
            "ask",
            "Whether to load a project's own settings and resources where no decision was saved.",
            global_only=True,
        ),
    ),
)
