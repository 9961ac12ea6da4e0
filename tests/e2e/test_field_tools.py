"""Field faults T03, T05, T07, T08, T13: edits, links, images and searches over the real command."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from typing import Any

import pytest

from tests.e2e.harness import Place, Record, text_of
from tests.e2e.server import ScriptedServer, calls, failure, recorded, text
from tests.events_grammar import check_events
from tests.shared import shared

SEARCHING = ("--tools", "read,bash,edit,write,grep,find,ls")


def _results(place: Place, *argv: str) -> list[Record]:
    ended = place.run("--mode", "json", *argv, "go")
    assert (ended.code, ended.err) == (0, "")
    check_events(ended.records)
    return [
        record["message"]
        for record in ended.records
        if record["type"] == "message_end" and record["message"]["role"] == "toolResult"
    ]


def _edit(path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    return "edit", {"path": path, "edits": [{"oldText": old, "newText": new}]}


@pytest.mark.shared
def test_t03(place: Place, server: ScriptedServer) -> None:
    folder = shared("field/inputs/T03")
    shutil.copy(folder / "greet.txt", place.cwd)
    server.add(*recorded(folder), text("done"))
    (result,) = _results(place)
    assert not result["isError"]
    assert (place.cwd / "greet.txt").read_text() == 'greeting = "hello"\ngreeting = “hi”\n'


TWINS = {
    "curly quotes": ("say 'x'\nsay ‘x’\n", "say 'x'", "say 'y'", "say 'y'\nsay ‘x’\n"),
    "the curly one is meant": ("say 'x'\nsay ‘x’\n", "say ‘x’", "say y", "say 'x'\nsay y\n"),
    "dashes": ("a - b\na – b\na — b\n", "a – b", "c", "a - b\nc\na — b\n"),
    "trailing blanks": ("key: 1  \nkey: 1\n", "key: 1  \n", "key: 2\n", "key: 2\nkey: 1\n"),
    "no-break space": ("a b\na\u00a0b\n", "a\u00a0b", "c", "a b\nc\n"),
}


def test_an_exact_match_wins_over_its_twins(place: Place, server: ScriptedServer) -> None:
    made = []
    for number, (before, old, new, _) in enumerate(TWINS.values()):
        (place.cwd / f"{number}.txt").write_text(before)
        made.append(_edit(f"{number}.txt", old, new))
    server.add(calls(*made), text("done"))
    for result in _results(place):
        assert not result["isError"], text_of(result)
    for number, (case, twin) in enumerate(TWINS.items()):
        assert (place.cwd / f"{number}.txt").read_text() == twin[3], case


@pytest.mark.shared
@pytest.mark.parametrize("case", ["T05", "T05/regexlike_old"])
def test_t05(place: Place, server: ScriptedServer, case: str) -> None:
    folder = shared(f"field/inputs/{case}")
    (source,) = [path for path in folder.iterdir() if path.suffix in (".sh", ".txt")]
    shutil.copy(source, place.cwd)
    server.add(*recorded(folder), text("done"))
    (result,) = _results(place)
    assert not result["isError"], text_of(result)
    (call,) = server.requests[1].messages[-2]["tool_calls"]
    (edit,) = json.loads(call["function"]["arguments"])["edits"]
    expected = source.read_text().replace(edit["oldText"], edit["newText"])
    assert (place.cwd / source.name).read_text() == expected != source.read_text()


LITERAL = [
    "$&",
    "$1 $$ $`$'",
    r"\1 \g<0> \n \\",
    "%s %(x)s {0} {x}",
    "${HOME} $(id) `id`",
    "&",
    "\\",
    "^.*+?()[]{}|$",
    "a\tb",
]


def test_both_sides_of_an_edit_are_literal(place: Place, server: ScriptedServer) -> None:
    made = []
    for number, odd in enumerate(LITERAL):
        (place.cwd / f"{number}.txt").write_text(f"<{odd}>\nTOKEN\n")
        made += [_edit(f"{number}.txt", "TOKEN", odd), _edit(f"{number}.txt", f"<{odd}>", f"[{odd}]")]
    server.add(calls(*made), text("done"))
    for result in _results(place):
        assert not result["isError"], text_of(result)
    for number, odd in enumerate(LITERAL):
        assert (place.cwd / f"{number}.txt").read_text() == f"[{odd}]\n{odd}\n"


def _link(place: Place) -> None:
    (place.cwd / "real").mkdir()
    (place.cwd / "real/conf").write_text("old\n")
    (place.cwd / "real/conf").chmod(0o640)
    (place.cwd / "conf").symlink_to("real/conf")
    (place.cwd / "dangling").symlink_to("nowhere/target")


def _check_link(place: Place) -> None:
    assert str((place.cwd / "conf").readlink()) == "real/conf"
    assert (place.cwd / "real/conf").read_text() == "newer\n"
    assert (place.cwd / "real/conf").stat().st_mode & 0o777 == 0o640
    assert str((place.cwd / "dangling").readlink()) == "nowhere/target"


def test_writes_go_through_links(place: Place, server: ScriptedServer) -> None:
    _link(place)
    (place.cwd / "chain").symlink_to("conf")
    (place.cwd / "loop").symlink_to("loop")
    server.add(
        calls(("write", {"path": "chain", "content": "new\n"}), _edit("conf", "new", "newer")),
        calls(("write", {"path": "dangling", "content": "x\n"}), ("write", {"path": "loop", "content": "x"})),
        text("done"),
    )
    results = _results(place)
    assert [result["isError"] for result in results[:2]] == [False, False]
    _check_link(place)
    assert results[2]["isError"] or (place.cwd / "nowhere/target").read_text() == "x\n"
    assert results[3]["isError"] and "loop" in text_of(results[3])
    assert (place.cwd / "chain").is_symlink() and (place.cwd / "loop").is_symlink()


@pytest.mark.shared
def test_t07(place: Place, server: ScriptedServer) -> None:
    folder = shared("field/inputs/T07")
    subprocess.run(["sh", str(folder / "setup.sh")], cwd=place.cwd, check=True)
    server.add(*recorded(folder), text("done"))
    results = _results(place)
    assert [result["isError"] for result in results[:2]] == [False, False]
    _check_link(place)


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def _check_no_image(server: ScriptedServer) -> None:
    for request in server.requests:
        assert "image_url" not in str(request.messages)


@pytest.mark.shared
def test_t08(place: Place, server: ScriptedServer) -> None:
    folder = shared("field/inputs/T08")
    for path in folder.iterdir():
        if path.suffix != ".sse":
            shutil.copy(path, place.cwd)
    server.add(*recorded(folder), text("done"), text("again"))
    results = _results(place)
    assert len(results) == 3 and all(text_of(result) for result in results)
    assert place.run("-p", "--continue", "more").out == "again\n"
    _check_no_image(server)


def test_what_only_looks_like_an_image_is_told_in_text(place: Place, server: ScriptedServer) -> None:
    odd = {
        "text.png": b"just words",
        "empty.gif": b"",
        "cut.png": PNG[:40],
        "head.jpg": b"\xff\xd8\xff\xe0",
        "noise.webp": b"RIFF\x10\x00\x00\x00WEBPVP8 " + bytes(20),
        "bomb.png": PNG[:16] + b"\x7f\xff\xff\xff\x7f\xff\xff\xff" + PNG[24:],
        "page.jpg": b"<!doctype html><html></html>",
        "half.gif": b"GIF89a\x01\x00\x01\x00",
    }
    for name, raw in odd.items():
        (place.cwd / name).write_bytes(raw)
    server.add(calls(*(("read", {"path": name}) for name in odd)), text("done"))
    for name, result in zip(odd, _results(place), strict=True):
        assert text_of(result), name
    _check_no_image(server)


def test_an_image_that_the_server_refuses_does_not_end_the_session(
    place: Place, server: ScriptedServer
) -> None:
    (place.cwd / "dot.png").write_bytes(PNG)
    refusal = {"error": {"message": "Could not process image", "type": "invalid_request_error"}}
    server.add(calls(("read", {"path": "dot.png"})), failure(400, refusal), text("on we go"))
    assert place.run("-p", "look").code == 1
    assert place.run("-p", "--continue", "more").out == "on we go\n"
    assert "image_url" in str(server.requests[1].messages)
    assert "image_url" not in str(server.requests[2].messages)


@pytest.mark.shared
def test_t13(place: Place, server: ScriptedServer) -> None:
    folder = shared("field/inputs/T13")
    for name in ("data.txt", "-dash.txt"):
        shutil.copy(folder / name, place.cwd)
    server.add(*recorded(folder), text("done"))
    results = _results(place, *SEARCHING)
    said = [text_of(result) for result in results]
    assert [result["isError"] for result in results] == [False, False, True, False, False, False]
    assert "-radius: 3" in said[0] and "--require x" in said[1]
    assert "[bracket" in said[2] and "Traceback" not in said[2]
    assert "a.b" in said[3] and "axb" not in said[3]
    assert "$HOME (x)" in said[4]
    assert "-dash.txt" in said[5] and "data.txt" not in said[5]


def test_patterns_that_look_like_options(place: Place, server: ScriptedServer) -> None:
    words = ("-e", "--", "-f/etc/passwd", "--pre=cat", "-", "-v", "--version", "--files")
    (place.cwd / "data.txt").write_text("".join(f"[{word}]\n" for word in words))
    (place.cwd / "--help").write_text("-e\n")
    server.add(
        calls(*(("grep", {"pattern": word, "literal": True, "path": "data.txt"}) for word in words)),
        calls(
            ("grep", {"pattern": "-e", "path": "--help"}),
            ("grep", {"pattern": "x", "glob": "--help"}),
            ("find", {"pattern": "--help"}),
            ("ls", {"path": "--help"}),
            ("grep", {"pattern": "nothing like it"}),
            ("find", {"pattern": "nothing-like-it*"}),
            ("grep", {"pattern": "(unclosed"}),
            ("grep", {"pattern": "(?<=x)y**"}),
        ),
        text("done"),
    )
    results = _results(place, *SEARCHING)
    for word, result in zip(words, results, strict=False):
        assert not result["isError"] and f"[{word}]" in text_of(result), (word, text_of(result))
    by_path, by_glob, found, listed, none, nothing, unclosed, stars = results[len(words) :]
    assert "-e" in text_of(by_path) and not by_path["isError"]
    assert not by_glob["isError"]
    assert "--help" in text_of(found)
    assert "--help" in text_of(listed)
    assert not none["isError"] and not nothing["isError"]
    for broken in (unclosed, stars):
        assert broken["isError"] and "Traceback" not in text_of(broken)
