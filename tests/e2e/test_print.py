"""Print mode over the real command."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.e2e.harness import Place, messages_of, text_of
from tests.e2e.server import Gate, ScriptedServer, calls, failure, text

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_writes_only_the_final_text(place: Place, server: ScriptedServer) -> None:
    server.add(text("Hello", " there"))
    ended = place.run("-p", "hi")
    assert (ended.code, ended.out, ended.err) == (0, "Hello there\n", "")
    assert server.requests[0].texts("user") == ["hi"]
    assert server.requests[0].headers["authorization"] == "Bearer k"


def test_reads_then_edits_a_file(place: Place, server: ScriptedServer) -> None:
    (place.cwd / "a.txt").write_text("one\ntwo\n")
    edit = {"path": "a.txt", "edits": [{"oldText": "two", "newText": "three"}]}
    server.add(calls(("read", {"path": "a.txt"})), calls(("edit", edit)), text("done"))
    ended = place.run("-p", "change it")
    assert (ended.code, ended.out) == (0, "done\n")
    assert (place.cwd / "a.txt").read_text() == "one\nthree\n"
    assert "one\ntwo" in server.requests[1].texts("tool")[0]
    roles = [message["role"] for message in messages_of(place.session())]
    assert roles == ["system", "user", "assistant", "toolResult", "assistant", "toolResult", "assistant"]


def test_several_prompts_run_in_turn_and_the_last_answer_is_written(
    place: Place, server: ScriptedServer
) -> None:
    server.add(text("first"), text("second"))
    ended = place.run("-p", "one", "two")
    assert (ended.code, ended.out) == (0, "second\n")
    assert server.requests[1].texts("user") == ["one", "two"]
    assert server.requests[1].texts("assistant") == ["first"]


def test_piped_input_is_the_prompt(place: Place, server: ScriptedServer) -> None:
    server.add(text("ok"))
    assert place.run("-p", stdin="grüße\n".encode()).code == 0
    assert server.requests[0].texts("user") == ["grüße"]


def test_piped_input_and_files_come_before_the_message(place: Place, server: ScriptedServer) -> None:
    (place.cwd / "notes.md").write_text("buy milk")
    server.add(text("ok"))
    assert place.run("-p", "@notes.md", "Summarise", stdin=b"piped").code == 0
    (sent,) = server.requests[0].texts("user")
    assert sent.index("piped") < sent.index("buy milk") < sent.index("Summarise")
    assert f'<file name="{place.cwd / "notes.md"}">' in sent


def test_an_image_file_is_attached(place: Place, server: ScriptedServer) -> None:
    (place.cwd / "dot.png").write_bytes(PNG)
    server.add(text("a dot"))
    assert place.run("-p", "@dot.png", "What is it?").code == 0
    content = server.requests[0].messages[-1]["content"]
    (image,) = [part for part in content if part["type"] == "image_url"]
    assert image["image_url"]["url"].startswith("data:image/png;base64,")


@pytest.mark.parametrize(("name", "made"), [("missing.txt", None), ("folder", "dir"), ("x.bin", "binary")])
def test_a_file_that_cannot_be_used_is_named(
    place: Place, server: ScriptedServer, name: str, made: str | None
) -> None:
    if made == "dir":
        (place.cwd / name).mkdir()
    elif made == "binary":
        (place.cwd / name).write_bytes(bytes(range(256)) * 20)
    ended = place.run("-p", f"@{name}", "hi")
    assert ended.code == 1
    assert ended.out == ""
    assert f"@{name}" in ended.err and "Traceback" not in ended.err
    assert place.sessions() == []


def test_nothing_to_do_is_a_silent_success(place: Place, server: ScriptedServer) -> None:
    ended = place.run("-p")
    assert (ended.code, ended.raw, ended.err) == (0, b"", "")


def test_an_answer_that_failed_goes_to_stderr(place: Place, server: ScriptedServer) -> None:
    server.add(failure(400, {"error": {"message": "the model is on holiday"}}))
    ended = place.run("-p", "hi")
    assert (ended.code, ended.out) == (1, "")
    assert "the model is on holiday" in ended.err and "Traceback" not in ended.err


def test_only_the_last_prompt_decides_the_exit_code(place: Place, server: ScriptedServer) -> None:
    server.add(failure(400), text("fine"))
    ended = place.run("-p", "one", "two")
    assert (ended.code, ended.out) == (0, "fine\n")


def test_a_second_process_continues_the_session(place: Place, server: ScriptedServer) -> None:
    server.add(text("I am Relay"), text("as I said"))
    assert place.run("-p", "who?").code == 0
    assert place.run("-p", "--continue", "again?").out == "as I said\n"
    assert server.requests[1].texts("user") == ["who?", "again?"]
    assert server.requests[1].texts("assistant") == ["I am Relay"]
    assert len(place.sessions()) == 1


def test_no_session_leaves_no_file(place: Place, server: ScriptedServer) -> None:
    server.add(text("ok"))
    assert place.run("-p", "--no-session", "hi").code == 0
    assert place.sessions() == []


def test_a_named_session_in_a_folder_of_its_own(place: Place, server: ScriptedServer, tmp_path: Path) -> None:
    server.add(text("ok"))
    assert place.run("-p", "--session-dir", str(tmp_path / "s"), "--name", "Blue", "hi").code == 0
    (path,) = (tmp_path / "s").rglob("*.jsonl")
    kinds = [json.loads(line)["type"] for line in path.read_text().splitlines()]
    assert kinds[:4] == ["session", "session_info", "model_change", "thinking_level_change"]


def test_the_prompt_is_on_disk_before_the_request_is_answered(place: Place, server: ScriptedServer) -> None:
    gate = Gate()
    server.add(text("late", gates={0: gate}))
    with place.process("--mode", "json", "keep me") as process:
        process.close_input()
        gate.wait_reached()
        users = [message for message in messages_of(place.session()) if message["role"] == "user"]
        assert [text_of(message) for message in users] == ["keep me"]
        gate.open.set()
        assert process.ended() == 0
