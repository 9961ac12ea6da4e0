"""A session that the local model wrote goes on in both programs with the same conversation."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from tests.e2e.harness import messages_of
from tests.e2e.interchange.programs import MODELS, RELAY, Desk, body_of, pi, read
from tests.e2e.interchange.shapes import check
from tests.e2e.interchange.stories import alike, context
from tests.e2e.interchange.wires import Answer, written
from tests.e2e.server import ScriptedServer

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def model_file() -> Path:
    """The pulled model of whoever runs the tests, or the file that LOCAL_MODEL_FILE names; else a skip."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    path = Path(os.environ.get("LOCAL_MODEL_FILE", home / ".relay/agent/models/smollm2.gguf"))
    if not path.is_file():
        pytest.skip(
            f"there is no local model {path}: `relay local pull smollm2`, or name one in LOCAL_MODEL_FILE"
        )
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    return path


@pytest.fixture
def desk(tmp_path: Path, server: ScriptedServer, model_file: Path) -> Desk:
    made = Desk(tmp_path, server)
    models = made.home / ".relay" / "agent" / "models"
    models.mkdir()
    (models / "smollm2.gguf").symlink_to(model_file)
    return made


@pytest.fixture
def session(desk: Desk) -> Path:
    (desk.cwd / "notes.txt").write_text("buy milk\n")
    ask = "Read the file notes.txt"
    desk.run(RELAY, "--mode", "json", "--model", "local/smollm2", ask, patience=240)
    return desk.session(RELAY)


@pytest.mark.shared
def test_what_the_local_model_did_goes_on_elsewhere(
    desk: Desk, server: ScriptedServer, session: Path
) -> None:
    """So small a model reads the file, or only says so: whatever it did must hold."""
    spoken = messages_of(read(session))
    assert [message["role"] for message in spoken[:2]] == ["system", "user"]
    answers = [message for message in spoken if message["role"] == "assistant"]
    calls = [block["id"] for answer in answers for block in answer["content"] if block["type"] == "toolCall"]
    assert calls == [message["toolCallId"] for message in spoken if message["role"] == "toolResult"]
    assert answers[-1]["stopReason"] == "stop"
    for model in MODELS:
        api = model.partition("/")[0]
        sent = []
        for program in (RELAY, pi()):
            copy = desk.copy(session, program.name)
            server.add(written(api, Answer(9, "", "Gone on.")))
            desk.run(program, "--session", str(copy), "--model", model, "-p", "next")
            assert copy.read_bytes().startswith(session.read_bytes())
            sent.append(alike(context(api, body_of(server))))
            if program is RELAY:
                check(model, body_of(server))
        assert sent[0] == sent[1]
