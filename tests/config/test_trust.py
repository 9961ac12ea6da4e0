"""Project trust: what needs it, which reason decides, and that trust.json is never lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from relay.config.errors import ConfigError
from relay.config.trust import (
    GATED_NAMES,
    Ask,
    Trusted,
    Untrusted,
    find_gated,
    load_trust,
    save_trust,
    trust_decision,
)


@pytest.mark.parametrize("name", GATED_NAMES)
def test_each_of_these_needs_trust(tmp_path: Path, name: str) -> None:
    folder = tmp_path / ".relay"
    folder.mkdir()
    assert find_gated(tmp_path, agent_dir=tmp_path / "agent", home=tmp_path / "home") == ()
    (folder / name).symlink_to("nowhere")
    assert find_gated(tmp_path, agent_dir=tmp_path / "agent", home=tmp_path / "home") == (folder / name,)
    assert find_gated(tmp_path, agent_dir=folder, home=tmp_path / "home") == ()


def test_shared_skills_above_need_trust_but_the_users_own_do_not(tmp_path: Path) -> None:
    home = tmp_path / "home"
    cwd = home / "a" / "b"
    for folder in (home, home / "a"):
        (folder / ".agents" / "skills").mkdir(parents=True)
    cwd.mkdir()
    agent = home / ".relay" / "agent"
    assert find_gated(cwd, agent_dir=agent, home=home) == (home / "a" / ".agents" / "skills",)
    assert find_gated(home, agent_dir=agent, home=home) == ()


GATED = (Path("/p/.relay/settings.json"),)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"override": True, "saved": (Path("/p"), False)}, Trusted),
        ({"override": False, "saved": (Path("/p"), True)}, Untrusted),
        ({"saved": (Path("/p"), True), "default": "never"}, Trusted),
        ({"saved": (Path("/p"), False), "default": "always"}, Untrusted),
        ({"default": "always"}, Trusted),
        ({"default": "never", "interactive": True}, Untrusted),
        ({"interactive": True}, Ask),
        ({}, Untrusted),
        ({"gated": (), "interactive": True}, Untrusted),
        ({"gated": (), "override": True}, Trusted),
    ],
)
def test_the_strongest_reason_decides(changes: dict[str, Any], wanted: type) -> None:
    case = {"gated": GATED, "override": None, "saved": None, "default": "ask", "interactive": False} | changes
    decision = trust_decision(case.pop("gated"), **case)
    assert type(decision) is wanted
    nobody = changes == {}
    if isinstance(decision, Untrusted):
        assert bool(decision.note) == nobody
    if nobody:
        assert isinstance(decision, Untrusted)
        assert "--approve" in decision.note and str(GATED[0]) in decision.note


def test_saved_decisions_hold_below_their_folder(tmp_path: Path) -> None:
    agent, outer = tmp_path / "agent", tmp_path / "outer"
    inner = outer / "inner"
    inner.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(inner)
    save_trust(agent, outer, True)
    assert load_trust(agent).find(inner) == (outer.resolve(), True)
    save_trust(agent, link, False)
    assert load_trust(agent).find(inner) == (inner.resolve(), False)
    assert load_trust(agent).find(outer) == (outer.resolve(), True)
    assert load_trust(agent).find(tmp_path) is None
    save_trust(agent, inner, None)
    assert load_trust(agent).find(link) == (outer.resolve(), True)


@pytest.mark.parametrize("raw", ["{,}", "[]", '{"/p": true,}', "null"])
def test_a_broken_file_is_named_and_not_overwritten(tmp_path: Path, raw: str) -> None:
    path = tmp_path / "trust.json"
    path.write_text(raw)
    saved = load_trust(tmp_path)
    assert saved.decisions == {}
    assert len(saved.problems) == 1 and str(path) in saved.problems[0]
    with pytest.raises(ConfigError, match="Nothing was saved"):
        save_trust(tmp_path, tmp_path, True)
    assert path.read_text() == raw


def test_odd_decisions_are_named_and_survive(tmp_path: Path) -> None:
    path = tmp_path / "trust.json"
    path.write_text('{"/a": "yes", "/b": true, "/c": null}')
    saved = load_trust(tmp_path)
    assert saved.decisions == {"/b": True}
    assert len(saved.problems) == 1 and "/a" in saved.problems[0]
    save_trust(tmp_path, Path("/d"), False)
    assert json.loads(path.read_text()) == {"/a": "yes", "/b": True, "/c": None, "/d": False}
