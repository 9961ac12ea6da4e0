"""Project trust as data: what needs it, what was saved, and what follows from both."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from relay.base.files import write_atomic
from relay.base.locks import HeldError, hold
from relay.config.errors import ConfigError
from relay.config.kinds import printable, show
from relay.config.layers import read_document
from relay.config.paths import project_dir
from relay.config.settings import ProjectTrust

TRUST_FILE = "trust.json"
GATED_NAMES = (
    "settings.json",
    "mcp.json",
    "extensions",
    "skills",
    "prompts",
    "themes",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
)
"""What in a project's `.relay` is loaded only under trust."""
SHARED_SKILLS = Path(".agents", "skills")
"""Gated as well, in the working directory and above; the one in the user's home is the user's own."""


class Trusted(msgspec.Struct, frozen=True):
    """The project's settings and resources are loaded. `reason` is for people."""

    reason: str


class Untrusted(msgspec.Struct, frozen=True):
    """They are not. `note` is a sentence for stderr, "" when nothing is withheld that the user would miss."""

    reason: str
    note: str = ""


NOTHING_GATED = Untrusted("the project has nothing that needs trust")


class Ask(msgspec.Struct, frozen=True):
    """The user is to be asked about `paths`."""

    paths: tuple[Path, ...]


Decision = Trusted | Untrusted | Ask


class SavedTrust(msgspec.Struct, frozen=True):
    """The content of trust.json: canonical folder → decision. A broken file counts as empty and is named."""

    decisions: Mapping[str, bool] = {}
    problems: tuple[str, ...] = ()

    def find(self, cwd: Path) -> tuple[Path, bool] | None:
        """The decision that holds for `cwd`: its own, else that of the nearest folder above."""
        real = Path(os.path.realpath(cwd))
        for folder in (real, *real.parents):
            decision = self.decisions.get(str(folder))
            if decision is not None:
                return folder, decision
        return None


def find_gated(cwd: Path, *, agent_dir: Path, home: Path) -> tuple[Path, ...]:
    """What in `cwd` (and `.agents/skills` above it) is loaded only under trust; empty: nothing to ask.

    A `.relay` that is itself the agent directory is the user's own.
    """
    project = project_dir(cwd)
    users_own = os.path.realpath(project) == os.path.realpath(agent_dir)
    own = [path for name in GATED_NAMES if not users_own and os.path.lexists(path := project / name)]
    own_home = os.path.realpath(home)
    above = [
        path
        for folder in (cwd, *cwd.parents)
        if os.path.realpath(folder) != own_home and os.path.isdir(path := folder / SHARED_SKILLS)
    ]
    return (*own, *above)


def trust_decision(
    gated: Sequence[Path],
    *,
    override: bool | None,
    saved: tuple[Path, bool] | None,
    default: ProjectTrust,
    interactive: bool,
) -> Decision:
    """What is to be done with a project, from the strongest reason to the weakest.

    `override` is --approve / --no-approve, `saved` what SavedTrust.find gave, `default` the setting
    defaultProjectTrust; without a terminal (`interactive` False) nobody can be asked.
    """
    if override is not None:
        return Trusted("--approve") if override else Untrusted("--no-approve")
    if not gated:
        return NOTHING_GATED
    if saved is not None:
        folder, decision = saved
        return Trusted(f"saved for {folder}") if decision else Untrusted(f"saved for {folder}")
    if default != "ask":
        reason = f'defaultProjectTrust is "{default}"'
        return Trusted(reason) if default == "always" else Untrusted(reason)
    if interactive:
        return Ask(tuple(gated))
    names = ", ".join(str(path) for path in gated)
    return Untrusted(
        "nobody can be asked",
        f"Not loaded, because this project is not trusted: {names}. "
        "Pass --approve to load this once, or --no-approve to leave it out without this note.",
    )


def load_trust(agent_dir: Path) -> SavedTrust:
    """The saved decisions; never raises for what the file holds."""
    path = agent_dir / TRUST_FILE
    document = read_document(path)
    if document.data is None:
        return SavedTrust({}, (_unusable(path, document.problems[0]),))
    good = {folder: value for folder, value in document.data.items() if isinstance(value, bool)}
    odd = tuple(
        f"{path}: the decision for {printable(folder)} must be true or false, not {show(value)}; "
        "it counts as not made."
        for folder, value in document.data.items()
        if value is not None and not isinstance(value, bool)
    )
    return SavedTrust(good, odd)


def save_trust(agent_dir: Path, folder: Path, decision: bool | None) -> None:
    """Saves the decision for `folder` and everything below it; None forgets it.

    Raises ConfigError when trust.json does not parse (it is then not touched) or cannot be written.
    """
    path = agent_dir / TRUST_FILE
    try:
        with hold(path):
            document = read_document(path)
            if document.data is None:
                raise ConfigError(f"{_unusable(path, document.problems[0])} Nothing was saved.")
            decisions: dict[str, Any] = dict(document.data)
            decisions.pop(os.path.realpath(folder), None)
            if decision is not None:
                decisions[os.path.realpath(folder)] = decision
            write_atomic(path, json.dumps(decisions, indent=2) + "\n")
    except HeldError as error:
        raise ConfigError(str(error)) from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}.") from error


def _unusable(path: Path, problem: str) -> str:
    return f"{problem} No project counts as trusted by {path.name}."
