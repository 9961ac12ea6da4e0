"""Where things live: variables, options and settings in their order, and the folder names of sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from relay.config.paths import agent_dir, expand, home_dir, project_dir, session_dir, session_folder

HOME = {"HOME": "/home/u"}
CWD = Path("/work/proj")


def test_the_agent_directory() -> None:
    assert agent_dir(HOME) == Path("/home/u/.relay/agent")
    assert agent_dir({**HOME, "RELAY_CODING_AGENT_DIR": "~/x"}) == Path("/home/u/x")
    assert agent_dir({**HOME, "RELAY_CODING_AGENT_DIR": "/a/../b"}) == Path("/b")
    assert agent_dir({**HOME, "RELAY_CODING_AGENT_DIR": " "}) == Path("/home/u/.relay/agent")
    assert agent_dir({**HOME, "RELAY_CODING_AGENT_DIR": "rel"}) == Path.cwd() / "rel"
    assert home_dir({"USERPROFILE": "/u"}) == Path("/u")
    assert home_dir({}) == Path.home()
    assert project_dir(CWD) == CWD / ".relay"


def test_the_session_directory_follows_the_strongest() -> None:
    agent = agent_dir(HOME)
    variable = {**HOME, "RELAY_CODING_AGENT_SESSION_DIR": "~/v"}
    assert session_dir(CWD, agent, environ=variable, option="o", setting="s") == CWD / "o"
    assert session_dir(CWD, agent, environ=variable, setting="s") == Path("/home/u/v")
    assert session_dir(CWD, agent, environ=HOME, setting="../s") == Path("/work/s")
    assert session_dir(CWD, agent, environ=HOME) == agent / "sessions" / "--work-proj--"
    assert session_dir(CWD, agent, environ={**HOME, "RELAY_CODING_AGENT_SESSION_DIR": ""}) == (
        agent / "sessions" / "--work-proj--"
    )


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/home/u/my.proj", "--home-u-my.proj--"),
        ("/a:b\\c d", "--a-b-c d--"),
        ("/", "----"),
        ("//host/x", "---host-x--"),
        ("/ü", "--ü--"),
    ],
)
def test_the_folder_of_a_working_directory(cwd: str, name: str) -> None:
    assert session_folder(Path(cwd)) == name


def test_very_long_paths_still_get_a_folder_of_their_own(tmp_path: Path) -> None:
    one, two = (session_folder(Path("/" + "ä" * 200 + end)) for end in ("/a", "/b"))
    assert one != two
    (tmp_path / one).mkdir()
    assert session_folder(Path("/" + "a" * 251)) == f"--{'a' * 251}--"


def test_relative_and_home_paths() -> None:
    base, home = Path("/b"), Path("/home/u")
    assert expand("x/../y", base=base, home=home) == Path("/b/y")
    assert expand("~", base=base, home=home) == home
    assert expand("~x", base=base, home=home) == Path("/b/~x")
