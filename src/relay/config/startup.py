"""What to do with a project at the start, from everything that is known about it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from relay.config.loading import load_settings
from relay.config.paths import Environment, agent_dir, home_dir
from relay.config.trust import NOTHING_GATED, Ask, Trusted, Untrusted, find_gated, load_trust, trust_decision


class TrustAnswer(msgspec.Struct, frozen=True):
    """`problems` are sentences about a trust.json that cannot be used in full."""

    decision: Trusted | Untrusted | Ask
    problems: tuple[str, ...] = ()


def decide_trust(cwd: Path, environ: Environment, *, override: bool | None, interactive: bool) -> TrustAnswer:
    """Whether the project in `cwd` (absolute) is trusted, or its user must be asked.

    `override` is --approve / --no-approve; `interactive` says that somebody can be asked. Where nothing needs
    trust no file is read.
    """
    agent = agent_dir(environ)
    gated = find_gated(cwd, agent_dir=agent, home=home_dir(environ))
    if not gated:
        return TrustAnswer(NOTHING_GATED)
    saved = load_trust(agent)
    user = load_settings(agent, None, trusted=False).settings
    decision = trust_decision(
        gated,
        override=override,
        saved=saved.find(cwd),
        default=user.default_project_trust,
        interactive=interactive,
    )
    return TrustAnswer(decision, saved.problems)
