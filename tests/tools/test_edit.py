from __future__ import annotations

import codecs
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from relay.agent.arguments import ArgumentChecker
from relay.agent.tool import ToolError
from relay.tools.edit import Replacement, edit_bytes
from relay.tools.edit_match import Document, find_places, fold
from relay.tools.text_file import decode, encode
from tests.shared import shared
from tests.tools.calls import context, text_of
from tests.tools.places import fail, recorded_calls, run, tool


def edit(raw: bytes, *pairs: tuple[str, str]) -> bytes:
    """The bytes of a file after edits."""
    return edit_bytes(raw, [Replacement(old, new, "oldText") for old, new in pairs], "f").data


def refusal(raw: bytes, *pairs: tuple[str, str]) -> str:
    with pytest.raises(ToolError) as caught:
        edit(raw, *pairs)
    return str(caught.value)


async def test_a_call_edits_and_tells(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha one\nbeta two\nbeta three\n")
    result = await run(
        "edit",
        tmp_path,
        path="a.txt",
        edits=[{"oldText": "beta three", "newText": "B3\nB4"}, {"oldText": "alpha one", "newText": "A1"}],
    )
    assert (tmp_path / "a.txt").read_text() == "A1\nbeta two\nB3\nB4\n"
    assert text_of(result) == "Edited a.txt: 2 replacements at lines 1, 3."
    assert result.details == {
        "diff": "-1 alpha one\n+1 A1\n 2 beta two\n-3 beta three\n+3 B3\n+4 B4",
        "firstChangedLine": 1,
    }


async def test_the_mode_stays(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("a\n")
    (tmp_path / "a.sh").chmod(0o751)
    await run("edit", tmp_path, path="a.sh", edits=[{"oldText": "a", "newText": "b"}])
    assert stat.S_IMODE((tmp_path / "a.sh").stat().st_mode) == 0o751


@pytest.mark.parametrize(
    "arguments",
    [
        {"edits": [{"oldText": "a", "newText": "b"}]},
        {"edits": {"oldText": "a", "newText": "b"}},
        {"edits": json.dumps([{"oldText": "a", "newText": "b"}])},
        {"oldText": "a", "newText": "b"},
        {"edits": [], "oldText": "a", "newText": "b"},
    ],
)
async def test_forms_of_arguments(tmp_path: Path, arguments: dict[str, Any]) -> None:
    (tmp_path / "f").write_text("a\n")
    edit_tool = tool("edit", tmp_path)
    if not isinstance(arguments.get("edits"), dict):
        # What the loop checks before a call lets these forms through.
        arguments = ArgumentChecker().check(edit_tool.spec, {"path": "f", **arguments}, None)
    await edit_tool.run({"path": "f", **arguments}, context())
    assert (tmp_path / "f").read_text() == "b\n"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "edits"),
        ({"edits": []}, "edits"),
        ({"edits": "[{"}, "no JSON"),
        ({"edits": 3}, "edits"),
        ({"edits": ["a"]}, "Edit 1"),
        ({"edits": [{"oldText": "a"}]}, "newText"),
        ({"edits": [{"oldText": "a", "newText": "b"}, {"newText": "b"}]}, "oldText of edit 2 of 2"),
        ({"edits": [{"oldText": "", "newText": "b"}]}, "oldText is empty"),
        ({"edits": [{"oldText": "a", "newText": "a"}]}, "nothing would change"),
        ({"edits": [{"oldText": "a", "newText": "\ud83d"}]}, "surrogate"),
    ],
)
async def test_wrong_arguments_are_named(tmp_path: Path, arguments: dict[str, Any], named: str) -> None:
    (tmp_path / "f").write_text("a\n")
    assert named in await fail("edit", tmp_path, path="f", **arguments)
    assert (tmp_path / "f").read_text() == "a\n"


async def test_missing_files_and_directories(tmp_path: Path) -> None:
    (tmp_path / "file.txt").touch()
    edits = [{"oldText": "a", "newText": "b"}]
    message = await fail("edit", tmp_path, path="file.tx", edits=edits)
    assert "Cannot edit file.tx: it does not exist" in message
    assert "file.txt" in message
    assert "directory" in await fail("edit", tmp_path, path=".", edits=edits)


async def test_a_file_too_large_to_edit_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        os.truncate(file.fileno(), 300 * 1024 * 1024)
    assert "limit" in await fail("edit", tmp_path, path="huge", edits=[{"oldText": "a", "newText": "b"}])


@pytest.mark.parametrize(
    ("raw", "old", "new", "expected"),
    [
        # One kind of line end.
        (b"a\r\nb\r\nc\r\n", "a\nb", "1\n2", b"1\r\n2\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "1\n2", b"1\r\n2\r\n"),
        (b"a\nb\n", "a\nb", "1\r\n2", b"1\n2\n"),
        (b"a\rb\rc", "b\nc", "x\ny\nz", b"a\rx\ry\rz"),
        (b"a\r\nb\r\n", "a\n", "", b"b\r\n"),
        (b"a\r\nb\r\n", "b", "b\nc\nd", b"a\r\nb\r\nc\r\nd\r\n"),
        (b"a\r\nb", "\nb", "\n1\n2", b"a\r\n1\r\n2"),
        # Mixed: lines keep theirs, new ones take the end of what they replace or follow.
        (b"one\r\ntwo\nthree\r\nfour\n", "two", "TWO", b"one\r\nTWO\nthree\r\nfour\n"),
        (
            b"one\r\ntwo\nthree\r\nfour\n",
            "one\ntwo\nthree\nfour",
            "1\ntwo\nthree\n4",
            b"1\r\ntwo\nthree\r\n4\n",
        ),
        (
            b"one\r\ntwo\nthree\r\n",
            "one\ntwo\nthree",
            "one\nnew\ntwo\nthree",
            b"one\r\nnew\r\ntwo\nthree\r\n",
        ),
        (b"one\r\ntwo\nthree\r\n", "two", "a\nb", b"one\r\na\nb\nthree\r\n"),
        (b"one\r\ntwo\nthree\r\n", "two\nthree", "three", b"one\r\nthree\r\n"),
        (b"one\r\ntwo", "two", "a\nb", b"one\r\na\r\nb"),
        # A lone carriage return is a character where there are newlines.
        (b"a\rb\nc\n", "a\rb", "x\ry", b"x\ry\nc\n"),
        (b"10%\r20%\r\nend\n", "end", "END", b"10%\r20%\r\nEND\n"),
        (b"a\r\r\nb\n", "b", "c", b"a\r\r\nc\n"),
        # The end of the file.
        (b"a\nb", "b", "c", b"a\nc"),
        (b"a\nb\n", "b\n", "c", b"a\nc"),
        (b"a\n", "a\n", "", b""),
        (b"a", "a", "a\n", b"a\n"),
        # Byte order marks.
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffa", "\ufeffb", b"\xef\xbb\xbfb\n"),
        (b"\xef\xbb\xbfa\n", "a\n", "", b"\xef\xbb\xbf"),
        # Literal texts.
        (b"a.c(x)[1]*\nabc\n", "a.c(x)[1]*", r"$& $1 \1 \g<0> \\ \n", rb"$& $1 \1 \g<0> \\ \n" + b"\nabc\n"),
        # Bytes that are not UTF-8.
        (b"caf\xe9\nb\xff\n", "b", "c", b"caf\xe9\nc\xff\n"),
        (b"caf\xe9 = 1\nx\n", "caf\ufffd = 1", "caf\ufffd = 2", b"caf\xe9 = 2\nx\n"),
        (b"\xe9\xe8\nx\n", "\ufffd\ufffd\nx", "\ufffd\ufffd\ny", b"\xe9\xe8\ny\n"),
        ("é\n".encode(), "é", "\ufffd", "\ufffd\n".encode()),
    ],
)
def test_bytes_that_the_edit_does_not_change_stay(raw: bytes, old: str, new: str, expected: bytes) -> None:
    assert edit(raw, (old, new)) == expected


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-32-le"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings_stay(codec: str, end: str) -> None:
    marks = {
        "utf-16-le": codecs.BOM_UTF16_LE,
        "utf-16-be": codecs.BOM_UTF16_BE,
        "utf-32-le": codecs.BOM_UTF32_LE,
    }

    def stored(text: str) -> bytes:
        return marks.get(codec, b"") + text.replace("\n", end).encode(codec)

    assert edit(stored("äö 😀\nb\nc\n"), ("b\n", "€\n😀\n")) == stored("äö 😀\n€\n😀\nc\n")


def test_utf_16_without_a_mark_stays() -> None:
    raw = "some plain text\nwith lines\n".encode("utf-16-le")
    assert edit(raw, ("plain", "simple")) == raw.replace(
        "plain".encode("utf-16-le"), "simple".encode("utf-16-le")
    )


def test_damaged_utf_16_is_refused() -> None:
    assert "damaged" in refusal(b"\xff\xfea\0b", ("a", "b"))


def test_unreadable_bytes_are_never_guessed() -> None:
    assert "U+FFFD" in refusal(b"caf\xe9\nx\n", ("x", "\ufffd"))
    assert "U+FFFD" in refusal(b"\xe9\xe8\n", ("\ufffd\ufffd", "\ufffd"))


async def test_new_characters_in_an_old_encoding_are_told(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"caf\xe9\nx\n")
    text = text_of(await run("edit", tmp_path, path="f", edits=[{"oldText": "x", "newText": "ü"}]))
    assert (tmp_path / "f").read_bytes() == b"caf\xe9\n\xc3\xbc\n"
    assert "written as UTF-8" in text


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ('g = "hi"\ng = “hi”\n', 'g = "hi"', "x", "x\ng = “hi”\n"),
        ('g = "hi"\ng = “hi”\n', "g = “hi”", "x", 'g = "hi"\nx\n'),
        ("a - b\na – b\n", "a – b", "x", "a - b\nx\n"),
        ("a\u00a0b\na b\n", "a b", "x", "a\u00a0b\nx\n"),
        ("a  \nb\na\nb\n", "a\nb\n", "x\n", "a  \nb\nx\n"),
        ("e\u0301\né\n", "é", "x", "e\u0301\nx\n"),
        ("ﬁ\nfi\n", "fi", "x", "ﬁ\nx\n"),
        ("a\r\nb\r\na\nb\n", "a\nb", "x\ny", "a\r\nb\r\nx\ny\n"),
        ("a\r\nb\r\na\nb\n", "a\r\nb", "x\ny", "x\r\ny\r\na\nb\n"),
    ],
)
def test_unique_exact_text_goes_before_its_twins(text: str, old: str, new: str, expected: str) -> None:
    assert edit(text.encode(), (old, new)) == expected.encode()


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("say “hi”, it’s\nend\n", 'say "hi", it\'s', "x", "x\nend\n"),
        ("a — b – c − d\n", "a - b - c - d", "x", "x\n"),
        ("a\u00a0b\u2009c\u3000d!\n", "a b c d", "x", "x!\n"),
        ("x\na  \nb\t\nc\n", "a\nb\nc", "1\nb\n3", "x\n1\nb\t\n3\n"),
        ("a\nb\n", "a  \nb\t", "x", "x\n"),
        ("a\t\nb\n", "a  \nb", "x", "x\n"),
        ("foo\t\nb\n", "foo  ", "x", "x\nb\n"),
        ("‘a’ = 5\n", "'a' = ", "b = ", "b = 5\n"),
        ("cafe\u0301!\n", "café", "x", "x!\n"),
        ("café!\n", "cafe\u0301", "x", "x!\n"),
        ("한글\n".encode().decode(), "\u1112\u1161\u11ab글", "x", "x\n"),
        ("ｆｕｌｌ：1\n", "full:1", "x", "x\n"),
        ("wait… now\n", "wait... now", "x", "x\n"),
        ("zero\u200bwidth\n", "zerowidth", "x", "x\n"),
        ("“a”\nsame “q”\n“b”\n", '"a"\nsame "q"\n"b"', '1\nsame "q"\n2', "1\nsame “q”\n2\n"),
    ],
)
def test_near_text_is_found_where_no_exact_text_is(text: str, old: str, new: str, expected: str) -> None:
    assert edit(text.encode(), (old, new)) == expected.encode()
    crlf = text.replace("\n", "\r\n").encode()
    assert edit(crlf, (old, new)) == expected.replace("\n", "\r\n").encode()


def test_near_text_must_be_in_one_place() -> None:
    message = refusal("“a”\n„a”\n".encode(), ('"a"', "x"))
    assert "2 places" in message
    assert "lines 1, 2" in message
    assert "nearly" in message


def test_near_text_never_divides_a_character() -> None:
    assert "not found" in refusal("wait… now\n".encode(), ("wait..", "x"))
    assert "not found" in refusal(b"a\n", (" ", "x"))
    assert "not found" in refusal(b"a\n", ("\u00a0\n\u00a0", "x"))


async def test_near_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("“a”\nb\n")
    edits = [{"oldText": "b", "newText": "c"}, {"oldText": '"a"', "newText": "d"}]
    text = text_of(await run("edit", tmp_path, path="f", edits=edits))
    assert "The file has oldText of edit 2 of 2 in another typography" in text


def test_several_places_are_counted_and_named() -> None:
    message = refusal(b"beta\nx\nbeta beta\n", ("beta", "x"))
    assert "3 places in f (lines 1, 3, 3)" in message
    assert "2 places" in refusal(b"aaa\n", ("aa", "x"))
    assert "more than 100 places" in refusal(b"a\n" * 1000, ("a", "x"))
    assert "(lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)" in refusal(b"a\n" * 1000, ("a", "x"))


@pytest.mark.parametrize(
    ("text", "old", "told"),
    [
        ("def alpha(x):\n    return x\n", "def alpha(y):", 'most similar line is 1: "def alpha(x):"'),
        (
            "def f():\n\treturn 1\n",
            "    return 1",
            'Line 2 differs in its blanks: the file has "\\treturn 1"',
        ),
        (
            "a = 1\nb = 2\nc = 3\n",
            "a = 1\nb = 2\nc = 4",
            'Lines 1 to 2 are the same, but line 3 is "c = 3", not "c = 4"',
        ),
        ("q\na = 1\n", "a = 1\nb = 2", "Line 2 is the same, but there the file ends"),
        ("nothing here\n", "zzzz", "read the file again"),
        ("", "zzzz", "read the file again"),
        ("a\n", "\n\n\n", "blanks only"),
        ("x\n\na\n", "a\n\n\n", "Line 3 is the same"),
    ],
)
def test_the_nearest_place_is_told_when_there_is_none(text: str, old: str, told: str) -> None:
    message = refusal(text.encode(), (old, "x"))
    assert "oldText was not found in f." in message
    assert told in message


def test_edits_are_matched_against_the_original_and_never_overlap() -> None:
    assert edit(b"a b c", ("a", "b"), ("b", "a"), ("c", "")) == b"b a "
    assert edit(b"ab", ("a", "1"), ("b", "2")) == b"12"
    for pairs in ([("ab", "x"), ("bc", "y")], [("abc", "x"), ("b", "y")], [("a", "x"), ("a", "y")]):
        assert "overlap at line 2 of f" in refusal(b"-\nabc\n", *pairs)
    assert "not found" in refusal(b"a\n", ("a", "b"), ("b", "c"))


def test_edits_that_change_nothing_in_the_end_are_refused() -> None:
    assert "as it is" in refusal(b"a\r\nb\r\n", ("a\r\nb", "a\nb"))


def test_a_diff_shows_what_is_near_and_leaves_out_the_rest() -> None:
    text = "".join(f"l{number}\n" for number in range(1, 41))
    found = edit_bytes(
        text.encode(),
        [Replacement("l10\nl11\n", "", "a"), Replacement("l30", "x\ny", "b"), Replacement("l18", "z", "c")],
        "f",
    )
    assert found.diff.text.split("\n") == [
        "...",
        *(f"  {number} l{number}" for number in range(6, 10)),
        "-10 l10",
        "-11 l11",
        *(f" {number} l{number + 2}" for number in range(10, 16)),
        "-18 l18",
        "+16 z",
        *(f" {number} l{number + 2}" for number in range(17, 21)),
        "...",
        *(f" {number} l{number + 2}" for number in range(24, 28)),
        "-30 l30",
        "+28 x",
        "+29 y",
        *(f" {number} l{number + 1}" for number in range(30, 34)),
        "...",
    ]
    assert found.diff.first_changed_line == 10
    assert found.lines == [10, 18, 30]


def test_a_diff_stays_small() -> None:
    long = edit_bytes(b"a" * 2_000_000 + b"!", [Replacement("!", "?", "a")], "f").diff
    assert len(long.text) < 2_000
    many = edit_bytes(b"x\n", [Replacement("x", "y\n" * 5000, "a")], "f").diff
    assert len(many.text.split("\n")) == 1001
    assert many.text.endswith("more lines)")


PIECES = st.lists(
    st.sampled_from(["a", "b", "“", '"', " ", "é", "e\u0301", "\n", "\r\n", "\r", "\udce9", "€"]), max_size=30
)


@given(PIECES, PIECES, st.text(st.sampled_from('ab"x \n')), st.sampled_from([b"", codecs.BOM_UTF8]))
def test_everything_around_a_unique_text_stays(
    before: list[str], after: list[str], new: str, mark: bytes
) -> None:
    head, tail = ("".join(part).encode("utf-8", "surrogateescape") for part in (before, after))
    raw = mark + head + b"<OLD>" + tail
    edited = edit(raw, ("<OLD>", new))
    assert edited.startswith(mark + head)
    assert edited.endswith(tail)
    middle = edited[len(mark + head) : len(edited) - len(tail)].decode()
    assert middle.replace("\r\n", "\n").replace("\r", "\n") == new


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["\n", "\r\n"])), max_size=12), st.data())
def test_lines_that_an_edit_repeats_keep_their_ends(
    lines: list[tuple[str, str]], data: st.DataObject
) -> None:
    stored = [(f"{letter}{number}", end) for number, (letter, end) in enumerate(lines)]
    assume(stored)
    keep = [data.draw(st.booleans()) for _ in stored]
    old = "".join(f"{text}\n" for text, _ in stored)
    new = "".join(f"{text if kept else 'new'}\n" for (text, _), kept in zip(stored, keep, strict=True))
    assume(old != new)
    expected = "".join(
        f"{text if kept else 'new'}{end}" for (text, end), kept in zip(stored, keep, strict=True)
    )
    raw = "".join(text + end for text, end in stored).encode()
    assert edit(raw, (old, new)) == expected.encode()


TYPOGRAPHY = [
    "a",
    "b",
    "“",
    '"',
    "’",
    "'",
    "–",
    "-",
    " ",
    "\u00a0",
    "\t",
    "é",
    "e\u0301",
    "…",
    "ﬁ",
    "\u200b",
    "한",
    "\n",
]


def even(text: str) -> str:
    return "\n".join(line.rstrip(" \t") for line in fold(text).split("\n"))


@given(st.lists(st.sampled_from(TYPOGRAPHY), min_size=1, max_size=25), st.data())
def test_a_near_place_has_the_wanted_text_once_evened_out(pieces: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(pieces) - 1))
    end = data.draw(st.integers(start + 1, len(pieces)))
    old = even("".join(pieces[start:end]))
    assume(old.strip())
    document = Document("".join(pieces).replace("\n", "\r\n"))
    found = find_places(document, old)
    for place in found.places:
        text = document.text[place.start : place.end]
        assert even(text).rstrip() == old.rstrip() if found.is_near else text == old
    whole = even("".join(pieces))
    if whole.count(old) == 1 and start == 0 and end == len(pieces):
        assert len(found.places) == 1


@given(st.binary(max_size=200))
def test_decoding_gives_the_same_bytes_again(raw: bytes) -> None:
    try:
        text, form = decode(raw)
    except ValueError:
        assume(False)
    assert encode(text, form) == raw


@pytest.mark.shared
@pytest.mark.parametrize("folder", ["T01", "T03", "T05", "T05/regexlike_old"])
async def test_recorded_edits(tmp_path: Path, folder: str) -> None:
    source = shared("field/inputs") / folder
    for name, arguments in recorded_calls(source / "01.sse"):
        target = tmp_path / arguments["path"]
        before = (source / arguments["path"]).read_bytes()
        target.write_bytes(before)
        await run(name, tmp_path, **arguments)
        (pair,) = arguments["edits"]
        if folder == "T01":
            assert target.read_bytes().hex() == (source / "expected_after.hex").read_text().strip()
        else:
            assert target.read_bytes() == before.replace(pair["oldText"].encode(), pair["newText"].encode())


@pytest.mark.shared
async def test_recorded_mixed_line_ends(tmp_path: Path) -> None:
    (tmp_path / "mixed.txt").write_bytes(shared("field/inputs/T01/mixed.txt").read_bytes())
    for number in ("one", "two", "three", "four"):
        edits = [{"oldText": number, "newText": number.upper()}]
        await run("edit", tmp_path, path="mixed.txt", edits=edits)
    assert (tmp_path / "mixed.txt").read_bytes() == b"ONE\r\nTWO\nTHREE\r\nFOUR\n"
