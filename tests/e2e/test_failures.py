"""What fails on purpose: each gives a finished sentence, the documented exit code and no traceback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.harness import COMMAND, Ended, Place
from tests.e2e.server import ScriptedServer, failure, text


def _check_sentence(ended: Ended, *facts: str, code: int = 1) -> None:
    assert ended.code == code, ended.err
    assert ended.raw == b""
    assert "Traceback" not in ended.err
    assert ended.err.endswith("\n") and len(ended.err) < 2000
    for fact in facts:
        assert fact in ended.err, ended.err


def test_no_key(place: Place, server: ScriptedServer) -> None:
    place.write_agent("models.json", {})
    ended = place.run("-p", "hi")
    _check_sentence(ended, "ANTHROPIC_API_KEY", "relay local pull", str(place.agent / "models.json"))
    assert place.sessions() == []


def test_no_key_for_the_chosen_provider(place: Place, server: ScriptedServer) -> None:
    ended = place.run("-p", "--model", "anthropic/claude-sonnet-4-5", "hi")
    _check_sentence(ended, "anthropic", "ANTHROPIC_API_KEY")


def test_unknown_provider(place: Place, server: ScriptedServer) -> None:
    _check_sentence(place.run("-p", "--model", "mokc/m", "hi"), "mokc", "mock")
    _check_sentence(place.run("-p", "--provider", "mokc", "--model", "m", "hi"), "mokc", "mock")


def test_a_pattern_without_a_match(place: Place, server: ScriptedServer) -> None:
    _check_sentence(place.run("-p", "--model", "no-such-model-anywhere", "hi"), "no-such-model-anywhere")


def test_an_unknown_model_of_a_known_provider_warns_and_is_sent(place: Place, server: ScriptedServer) -> None:
    server.add(text("fine"))
    ended = place.run("-p", "--model", "mock/mm", "hi")
    assert (ended.code, ended.out) == (0, "fine\n")
    assert "mock/mm" in ended.err or "mm" in ended.err
    assert server.requests[0].body["model"] == "mm"


def test_an_unreachable_server(place: Place, server: ScriptedServer) -> None:
    place.write_settings(retry={"enabled": False})
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        place.write_models(port)
        _check_sentence(place.run("-p", "hi"), f"127.0.0.1:{port}", "refuses connections", "base URL")


def test_a_host_that_does_not_exist(place: Place, server: ScriptedServer) -> None:
    place.write_settings(retry={"enabled": False})
    place.write_models(1, baseUrl="http://no-such-host.invalid/v1")
    _check_sentence(place.run("-p", "hi"), "no-such-host.invalid")


def test_a_server_that_speaks_no_http(place: Place, server: ScriptedServer) -> None:
    place.write_settings(retry={"enabled": False})
    place.write_models(server.port, baseUrl=f"https://127.0.0.1:{server.port}/v1")
    _check_sentence(place.run("-p", "hi"), f"127.0.0.1:{server.port}")


def test_a_refused_key(place: Place, server: ScriptedServer) -> None:
    server.add(failure(401, {"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}))
    _check_sentence(place.run("-p", "hi"), "401", "Incorrect API key", "--api-key")


def test_the_key_is_never_shown(place: Place, server: ScriptedServer) -> None:
    server.add(failure(401, {"error": {"message": "Incorrect API key"}}))
    ended = place.run("-p", "--model", "mock/m", "--api-key", "sk-very-secret", "hi")
    assert ended.code == 1 and "sk-very-secret" not in ended.err


BROKEN_JSON = '{\n  "providers": {\n    "mock" {"baseUrl": "x"}\n  }\n}\n'


def test_a_broken_models_file_names_line_and_column_and_the_rest_works(
    place: Place, server: ScriptedServer
) -> None:
    path = place.write_agent("models.json", BROKEN_JSON)
    ended = place.run("-p", "hi")
    _check_sentence(ended, str(path), "line 3")
    assert path.read_text() == BROKEN_JSON
    listed = place.run("--list-models", env={"ANTHROPIC_API_KEY": "k"})
    assert listed.code == 0 and "anthropic" in listed.out and "line 3" in listed.err


def test_a_broken_settings_file_is_named_and_the_run_goes_on(place: Place, server: ScriptedServer) -> None:
    path = place.write_agent("settings.json", '{\n  "defaultThinkingLevel": "off",\n}\n')
    server.add(text("fine"))
    ended = place.run("-p", "hi")
    assert (ended.code, ended.out) == (0, "fine\n")
    assert str(path) in ended.err and "line" in ended.err and "Traceback" not in ended.err


def test_an_unknown_option(place: Place, server: ScriptedServer) -> None:
    _check_sentence(place.run("-p", "--modle", "x", "hi"), "--modle", "--mode", "--help", code=2)


@pytest.mark.parametrize(
    ("argv", "fact"),
    [
        (("--model",), "--model"),
        (("--mode", "xml"), "json"),
        (("--thinking", "lots"), "xhigh"),
        (("--continue", "--session", "x"), "--session"),
        (("--print=yes",), "--print"),
        (("--api-key", "k"), "--model"),
        (("--tools", "+read"), "defaultTools"),
        (("--mode", "rpc", "@x"), "@files"),
    ],
)
def test_wrong_usage_exits_2(place: Place, server: ScriptedServer, argv: tuple[str, ...], fact: str) -> None:
    _check_sentence(place.run(*argv), fact, code=2)


@pytest.mark.parametrize("id", ["../x", "a b", "", "x/y", "é"])
def test_an_invalid_session_id(place: Place, server: ScriptedServer, id: str) -> None:
    ended = place.run("-p", "--session-id", id, "hi")
    _check_sentence(ended, "session")
    assert place.sessions() == []


def test_a_session_that_does_not_exist(place: Place, server: ScriptedServer) -> None:
    _check_sentence(place.run("-p", "--session", "deadbeef", "hi"), "deadbeef", "--continue")


def test_an_agent_directory_that_is_a_file(place: Place, server: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    ended = place.run("-p", "hi", env={"RELAY_CODING_AGENT_DIR": str(tmp_path / "file")})
    _check_sentence(ended)


DROPPING = """
import ctypes, os, sys
for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    if ctypes.CDLL(None).prctl(24, capability, 0, 0, 0):  # PR_CAPBSET_DROP
        sys.exit("the right to pass over permissions cannot be dropped")
os.execv(sys.argv[1], sys.argv[1:])
"""


def _without_rights(place: Place, *argv: str) -> Ended:
    """Runs Relay under the permissions that bind every user but root."""
    program = [sys.executable, "-c", DROPPING] if os.getuid() == 0 else []
    return place.run(*argv, command=[*program, *COMMAND])


@pytest.mark.parametrize("kind", ["read only", "not to be searched", "the parent is read only"])
def test_a_session_directory_that_cannot_be_written(place: Place, server: ScriptedServer, kind: str) -> None:
    folder = place.agent / "sessions"
    folder.mkdir()
    locked = place.agent if kind == "the parent is read only" else folder
    if locked is place.agent:
        folder.rmdir()
    locked.chmod(0 if kind == "not to be searched" else 0o555)
    try:
        _check_sentence(_without_rights(place, "-p", "hi"), str(folder), "--no-session")
        server.add(text("fine"))
        ended = _without_rights(place, "-p", "--no-session", "hi")
        assert (ended.code, ended.out) == (0, "fine\n")
    finally:
        locked.chmod(0o755)


def test_a_session_file_that_cannot_be_read(place: Place, server: ScriptedServer) -> None:
    server.add(text("one"))
    assert place.run("-p", "hi").code == 0
    (path,) = place.sessions()
    path.chmod(0)
    _check_sentence(_without_rights(place, "-p", "--session", str(path), "again"), str(path))


def test_settings_that_cannot_be_read_are_named_and_the_run_goes_on(
    place: Place, server: ScriptedServer
) -> None:
    (place.agent / "settings.json").chmod(0)
    server.add(text("fine"))
    ended = _without_rights(place, "-p", "hi")
    assert (ended.code, ended.out) == (0, "fine\n")
    assert str(place.agent / "settings.json") in ended.err and "Traceback" not in ended.err


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of 64 kB with no room left."""
    folder = tmp_path / "full"
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.getuid() != 0 or mount is None or umount is None:
        pytest.skip("mounting a small file system needs root")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {made.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run([umount, str(folder)], check=True)


def _fill(folder: Path) -> None:
    with pytest.raises(OSError, match="No space left"), open(folder / "filler", "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


@pytest.mark.parametrize("answer", ["y", "y" * 100_000])
@pytest.mark.parametrize("full", [True, False])
def test_a_full_disk_keeps_the_answer_and_exits_1(
    place: Place, server: ScriptedServer, full_disk: Path, answer: str, full: bool
) -> None:
    if full:
        _fill(full_disk)
    server.add(text(answer))
    ended = place.run("-p", "--session-dir", str(full_disk), "hi")
    fits = not full and len(answer) == 1
    assert (ended.code, ended.out) == (0 if fits else 1, answer + "\n")
    if not fits:
        assert "disk is full" in ended.err and str(full_disk) in ended.err
    assert "Traceback" not in ended.err
