"""What surrounds a session: folders, trust, settings, catalog and credentials, read once at the start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from relay.ai.auth.credentials import Credentials
from relay.ai.auth.storage import AuthFile
from relay.ai.catalog import Catalog, load_catalog
from relay.ai.local.library import Library
from relay.config.loading import LoadedSettings, load_settings
from relay.config.paths import agent_dir, home_dir, project_dir
from relay.config.settings import Settings
from relay.config.trust import Trusted, Untrusted, find_gated, load_trust, trust_decision
from relay.runtime.start import StartOptions

Report = Callable[[str], None]


class Surroundings(NamedTuple):
    """`project` is the project's `.relay`, None unless it is trusted."""

    agent: Path
    home: Path
    project: Path | None
    settings: Settings
    catalog: Catalog
    credentials: Credentials
    library: Library


def look_around(options: StartOptions, report: Report) -> Surroundings:
    """Reads the files of user and project; reports each problem once and goes on."""
    agent, home = agent_dir(options.environ), home_dir(options.environ)
    loaded, trusted = _settings(options, agent, home, report)
    library = Library(agent / "models")
    catalog = load_catalog(agent, extra=library.models())
    credentials = Credentials(catalog, AuthFile(agent / "auth.json"), options.environ)
    for problem in (*loaded.problems, *catalog.problems, *credentials.problems):
        report(problem)
    project = project_dir(options.cwd) if trusted else None
    return Surroundings(agent, home, project, loaded.settings, catalog, credentials, library)


def _settings(options: StartOptions, agent: Path, home: Path, report: Report) -> tuple[LoadedSettings, bool]:
    """The settings in effect, and whether the project is trusted."""
    project = project_dir(options.cwd)
    gated = find_gated(options.cwd, agent_dir=agent, home=home)
    if not gated:
        return load_settings(agent, project, trusted=False), False
    own = load_settings(agent, None, trusted=False)
    saved = load_trust(agent)
    for problem in saved.problems:
        report(problem)
    decision = trust_decision(
        gated,
        override=options.approve,
        saved=saved.find(options.cwd),
        default=own.settings.default_project_trust,
        interactive=False,
    )
    if isinstance(decision, Untrusted) and decision.note:
        report(decision.note)
    trusted = isinstance(decision, Trusted)
    return load_settings(agent, project, trusted=trusted), trusted
