"""Field faults G01 and G03: settings with slips in them, and where keys come from."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.e2e.harness import Ended, Place
from tests.e2e.server import ScriptedServer, text
from tests.shared import shared

SLIPS = {
    "trailing comma": '{"defaultThinkingLevel": "off",}',
    "cut off": '{"defaultThinkingLevel": "off"',
    "single quotes": "{'defaultThinkingLevel': 'off'}",
    "two objects": "{} {}",
    "a list": "[]",
    "words": "theme = dark",
    "NaN": '{"theme": NaN}',
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_named_and_the_file_stays_as_it_is(place: Place, server: ScriptedServer, slip: str) -> None:
    path = place.write_agent("settings.json", SLIPS[slip])
    server.add(text("fine"))
    ended = place.run("-p", "hi")
    assert (ended.code, ended.out) == (0, "fine\n")
    assert str(path) in ended.err and "Traceback" not in ended.err
    assert re.search(r"line \d+, column \d+", ended.err) or slip == "a list"
    refused = place.run("config", "set", "theme", "light")
    assert refused.code == 1 and str(path) in refused.err
    assert path.read_text() == SLIPS[slip]


def test_empty_blank_and_marked_files_are_fine(place: Place, server: ScriptedServer) -> None:
    for content in ("", " \n", "\ufeff{}", '\ufeff{"defaultThinkingLevel": "off"}\r\n'):
        place.write_agent("settings.json", content)
        server.add(text("fine"))
        ended = place.run("-p", "hi")
        assert (ended.code, ended.err) == (0, ""), content


def test_a_wrong_type_is_named_and_unknown_keys_survive_a_save(place: Place, server: ScriptedServer) -> None:
    path = place.write_agent(
        "settings.json", {"unknownFutureKey": {"a": [1]}, "retry": {"maxRetries": "three", "new": 1}}
    )
    server.add(text("fine"))
    ended = place.run("-p", "hi")
    assert ended.code == 0 and "retry.maxRetries" in ended.err
    assert place.run("config", "set", "theme", "light").code == 0
    saved = json.loads(path.read_text())
    assert saved["unknownFutureKey"] == {"a": [1]} and saved["theme"] == "light"
    assert saved["retry"] == {"maxRetries": "three", "new": 1}


@pytest.mark.shared
@pytest.mark.parametrize("name", ["trailing_comma", "bom", "wrong_type", "empty"])
def test_g01(place: Place, server: ScriptedServer, name: str) -> None:
    source = shared(f"field/inputs/G01/settings_{name}.json")
    path = place.agent / "settings.json"
    shutil.copy(source, path)
    server.add(text("fine"))
    ended = place.run("-p", "hi")
    assert (ended.code, ended.out) == (0, "fine\n")
    changed = place.run("config", "set", "theme", "light")
    if name == "trailing_comma":
        assert str(path) in ended.err and changed.code == 1
        assert path.read_bytes() == source.read_bytes()
    else:
        assert changed.code == 0 and json.loads(path.read_text(encoding="utf-8-sig"))["theme"] == "light"
    if name == "wrong_type":
        assert "unknownFutureKey" in path.read_text()


class Keys:
    """A place whose stored key is a command that leaves a trace when it runs."""

    def __init__(self, place: Place, server: ScriptedServer) -> None:
        self._place, self._server = place, server
        self.trace = place.cwd / "KEY_COMMAND_RAN"

    def store(self, key: str) -> None:
        self._place.write_agent("auth.json", {"mock": {"type": "api_key", "key": key}}).chmod(0o600)

    def store_command(self) -> None:
        self.store(f"!touch {self.trace}; echo from-auth")

    def configure(self, key: str) -> None:
        self._place.write_models(self._server.port, apiKey=key)

    def used(self, *argv: str, **env: str) -> str:
        self._server.add(text("ok"))
        ended = self._place.run("-p", "--model", "mock/m", *argv, "hi", env=env)
        assert ended.code == 0, ended.err
        return str(self._server.requests[-1].headers["authorization"])

    def refused(self, **env: str) -> Ended:
        ended = self._place.run("-p", "--model", "mock/m", "hi", env=env)
        assert ended.code == 1 and "Traceback" not in ended.err
        assert self._server.requests == []
        return ended


@pytest.fixture
def keys(place: Place, server: ScriptedServer) -> Keys:
    return Keys(place, server)


def test_the_option_wins_and_nothing_below_it_runs(keys: Keys) -> None:
    keys.store_command()
    keys.configure(f"!touch {keys.trace}; echo from-models")
    assert keys.used("--api-key", "cli") == "Bearer cli"
    assert not keys.trace.exists()


def test_a_stored_command_runs_and_its_line_end_goes(keys: Keys) -> None:
    keys.store_command()
    keys.configure("$FIELD_KEY")
    assert keys.used() == "Bearer from-auth"
    assert keys.trace.exists()


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("$FIELD_KEY", "v"),
        ("${FIELD_KEY}", "v"),
        ("pre-${FIELD_KEY}-post", "pre-v-post"),
        ("$$x", "$x"),
        ("$!x", "!x"),
        ("!printf 'a-key\\r\\n\\n'", "a-key"),
        ("plain", "plain"),
    ],
)
def test_values_in_the_models_file(keys: Keys, value: str, sent: str) -> None:
    keys.configure(value)
    assert keys.used(FIELD_KEY="v") == f"Bearer {sent}"


def test_line_ends_around_a_key_of_the_environment_go(keys: Keys) -> None:
    keys.configure("$FIELD_KEY")
    assert keys.used(FIELD_KEY=" v\r\n") == "Bearer v"


@pytest.mark.parametrize("value", ["$FIELD_KEY", "${FIELD_KEY}", "x$FIELD_KEY"])
def test_a_variable_that_is_not_set_is_named(keys: Keys, value: str) -> None:
    keys.configure(value)
    assert "FIELD_KEY" in keys.refused().err


@pytest.mark.parametrize("command", ["!exit 3", "!true", "!no-such-program-here", "!echo oops >&2; exit 1"])
def test_a_command_that_gives_no_key_is_an_error(keys: Keys, command: str) -> None:
    keys.store(command)
    assert "mock" in keys.refused().err


@pytest.mark.shared
def test_g03(place: Place, server: ScriptedServer, keys: Keys) -> None:
    folder = shared("field/inputs/G03")
    stored = (folder / "auth.json").read_text().replace("/tmp/KEY_COMMAND_RAN", str(keys.trace))
    place.write_agent("auth.json", stored).chmod(0o600)
    models = (folder / "models.json").read_text().replace("@PORT@", str(server.port))
    place.write_agent("models.json", models)
    assert keys.used("--api-key", "cli") == "Bearer cli"
    assert not keys.trace.exists()
    assert keys.used() == "Bearer from-auth"
    Path(place.agent / "auth.json").unlink()
    assert keys.used(FIELD_KEY="from-variable") == "Bearer from-variable"
    server.requests.clear()
    assert "FIELD_KEY" in keys.refused().err
