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
from relay.config.startup import decide_trust
from relay.config.trust import Trusted, Untrusted
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
    loaded, trusted = _settings(options, agent, report)
    library = Library(agent / "models")
    catalog = load_catalog(agent, extra=library.models())
    credentials = Credentials(catalog, AuthFile(agent / "auth.json"), options.environ)
    for problem in (*loaded.problems, *catalog.problems, *credentials.problems):
        report(problem)
    project = project_dir(options.cwd) if trusted else None
    return Surroundings(agent, home, project, loaded.settings, catalog, credentials, library)


def _settings(options: StartOptions, agent: Path, report: Report) -> tuple[LoadedSettings, bool]:
    """The settings in effect, and whether the project is trusted."""
    answer = decide_trust(options.cwd, options.environ, override=options.approve, interactive=False)
    for problem in answer.problems:
        report(problem)
    if isinstance(answer.decision, Untrusted) and answer.decision.note:
        report(answer.decision.note)
    trusted = isinstance(answer.decision, Trusted)
    return load_settings(agent, project_dir(options.cwd), trusted=trusted), trusted
