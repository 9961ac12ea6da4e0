"""The trust decision at the start, put together from the files of a real home."""

from __future__ import annotations

import json
from pathlib import Path

from relay.config.startup import decide_trust
from relay.config.trust import Ask, Trusted, Untrusted, save_trust


def test_files_of_the_home_decide(tmp_path: Path) -> None:
    cwd = tmp_path / "work"
    settings = cwd / ".relay" / "settings.json"
    settings.parent.mkdir(parents=True)
    agent = tmp_path / "agent"
    agent.mkdir()
    environ = {"HOME": str(tmp_path), "RELAY_CODING_AGENT_DIR": str(agent)}

    def decision(*, override: bool | None = None, interactive: bool = False) -> object:
        answer = decide_trust(cwd, environ, override=override, interactive=interactive)
        assert answer.problems == ()
        return answer.decision

    assert decision(interactive=True) == Untrusted("the project has nothing that needs trust")
    settings.write_text('{"defaultProjectTrust": "always"}')
    assert decision(interactive=True) == Ask((settings,))
    assert isinstance(decision(), Untrusted)
    (agent / "settings.json").write_text(json.dumps({"defaultProjectTrust": "always"}))
    assert isinstance(decision(), Trusted)
    save_trust(agent, tmp_path, False)
    assert isinstance(decision(), Untrusted)
    assert isinstance(decision(override=True), Trusted)


def test_a_broken_trust_file_is_told(tmp_path: Path) -> None:
    agent = tmp_path / ".relay" / "agent"
    agent.mkdir(parents=True)
    (agent / "trust.json").write_text("{")
    (tmp_path / ".relay" / "prompts").mkdir()
    answer = decide_trust(tmp_path, {"HOME": str(tmp_path)}, override=None, interactive=False)
    assert len(answer.problems) == 1 and "trust.json" in answer.problems[0]
