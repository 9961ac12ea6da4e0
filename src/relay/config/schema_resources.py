"""Settings that name extensions, skills, prompt templates, themes and packages."""

from __future__ import annotations

from relay.config.kinds import Listing, OneOf, Record, Text
from relay.config.setting import BOOLEAN, Group, Setting

_NAME = Text(blank=False)
_PATHS = Listing(_NAME, independent=True)
_PACKAGE = Record(
    (
        ("source", _NAME),
        ("autoload", BOOLEAN),
        ("extensions", _PATHS),
        ("skills", _PATHS),
        ("prompts", _PATHS),
        ("themes", _PATHS),
    ),
    required=("source",),
)

RESOURCES = Group(
    "Resources",
    (
        Setting(
            "packages",
            Listing(OneOf((_NAME, _PACKAGE)), independent=True),
            (),
            "Sources of Relay packages: npm, git or a local folder; an object narrows what is taken "
            "from one.",
            combine="concatenate",
        ),
        Setting("extensions", _PATHS, (), "Files or folders of extensions.", combine="concatenate"),
        Setting("skills", _PATHS, (), "Files or folders of skills.", combine="concatenate"),
        Setting("prompts", _PATHS, (), "Files or folders of prompt templates.", combine="concatenate"),
        Setting("themes", _PATHS, (), "Files or folders of themes.", combine="concatenate"),
        Setting("enableSkillCommands", BOOLEAN, True, "Offer each skill as the command `/skill:name`."),
    ),
    "Relative paths start at the agent directory in the user's settings and at `.relay` in a "
    "project's; `~` and "
    "absolute paths work. Both lists are used. `!pattern` leaves out what the pattern matches, "
    "`+path` takes in "
    "and `-path` leaves out exactly one. `builtin:mcp`, `builtin:llama.cpp`, `builtin:codemode` and "
    "`builtin:tool-search` are extensions that load by default; a project's `+builtin:…` or "
    "`-builtin:…` wins.",
)
