from __future__ import annotations

import asyncio
import codecs
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.agent.tool import ToolResult
from relay.ai.types import ImageContent, TextContent
from relay.tools.local import LocalOperations
from relay.tools.read import ReadTool
from relay.tools.read_window import Chunks, read_window
from relay.tools.text_file import UTF_8
from tests.shared import shared
from tests.tools.calls import context, text_of
from tests.tools.places import CountingOperations, fail, recorded_calls, run, tool


def rows(count: int) -> str:
    return "".join(f"row {number}\n" for number in range(1, count + 1))


async def test_a_text_is_shown_without_its_last_line_end(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("line 1\nline 2\n")
    (tmp_path / "b.txt").write_text("line 1\nline 2")
    for name in ("a.txt", "b.txt"):
        result = await run("read", tmp_path, path=name)
        assert text_of(result) == "line 1\nline 2"
        assert result.details is None


async def test_offset_and_limit_choose_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(rows(5))
    text = text_of(await run("read", tmp_path, path="a.txt", offset=2, limit=2))
    assert text == "row 2\nrow 3\n\n[2 more lines follow: go on with offset=4.]"
    assert text_of(await run("read", tmp_path, path="a.txt", offset="4")) == "row 4\nrow 5"
    assert text_of(await run("read", tmp_path, path="a.txt", offset=0, limit=9)) == text_of(
        await run("read", tmp_path, path="a.txt")
    )
    assert "1 more line follows" in text_of(await run("read", tmp_path, path="a.txt", offset=4, limit=1))


async def test_the_line_limit_names_the_next_offset(tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text(rows(5000))
    result = await run("read", tmp_path, path="big.txt", limit=4000)
    lines = text_of(result).splitlines()
    assert lines[:2000] == rows(2000).splitlines()
    assert lines[2000:] == ["", "[3000 more lines follow: go on with offset=2001.]"]
    assert result.details == {"truncatedBy": "lines", "firstLine": 1, "shownLines": 2000, "totalLines": 5000}


async def test_the_byte_limit_keeps_whole_lines(tmp_path: Path) -> None:
    line = "€" * 100
    (tmp_path / "a.txt").write_text(f"{line}\n" * 400)
    text = text_of(await run("read", tmp_path, path="a.txt"))
    shown, notice = text.rsplit("\n\n", 1)
    assert shown == "\n".join([line] * 170)
    assert "50 KB" in notice
    assert "offset=171" in notice


async def test_reading_on_gives_every_line_once(tmp_path: Path) -> None:
    text = "".join(f"{number} {'x' * (number % 300)}\n" for number in range(3000))
    (tmp_path / "a.txt").write_text(text)
    offset, got = 1, ""
    for _ in range(100):
        result = await run("read", tmp_path, path="a.txt", offset=offset)
        if result.details is None:
            got += text_of(result) + "\n"
            break
        got += text_of(result).rsplit("\n\n", 1)[0] + "\n"
        offset += result.details["shownLines"]
    assert got == text


async def test_a_line_above_the_limit_gives_a_notice_only(tmp_path: Path) -> None:
    (tmp_path / "it's.json").write_text("[\n" + "x" * 300_000 + "\n]\n")
    first = text_of(await run("read", tmp_path, path="it's.json"))
    assert first.startswith("[\n\n[2 more lines follow")
    text = text_of(await run("read", tmp_path, path="it's.json", offset=2))
    assert "xx" not in text
    assert "Line 2 alone has" in text
    command = text.partition("With bash: ")[2].removesuffix("]")
    done = await asyncio.to_thread(
        subprocess.run, command, shell=True, cwd=tmp_path, capture_output=True, check=True
    )
    assert done.stdout == b"x" * 51200
    assert text_of(await run("read", tmp_path, path="it's.json", offset=3)) == "]"


async def test_past_the_end_names_the_number_of_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(rows(5))
    (tmp_path / "b.txt").write_text("one")
    message = await fail("read", tmp_path, path="a.txt", offset=99)
    assert "99" in message
    assert "5 lines" in message
    assert "5 lines" in await fail("read", tmp_path, path="a.txt", offset=6)
    assert "1 line." in await fail("read", tmp_path, path="b.txt", offset=2)


async def test_empty_files_are_empty_and_empty_lines_say_so(tmp_path: Path) -> None:
    (tmp_path / "e.txt").touch()
    (tmp_path / "n.txt").write_text("\n\n")
    (tmp_path / "bom.txt").write_bytes(codecs.BOM_UTF8)
    assert text_of(await run("read", tmp_path, path="e.txt")) == ""
    assert "2 lines without any text" in text_of(await run("read", tmp_path, path="n.txt"))
    assert text_of(await run("read", tmp_path, path="bom.txt")) == ""


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"offset": "x"}, "offset"),
        ({"offset": -1}, "offset"),
        ({"limit": 0}, "limit"),
        ({"limit": 1.5}, "limit"),
        ({"limit": "1e999"}, "limit"),
        ({"path": None}, "path"),
        ({"path": ""}, "path"),
    ],
)
async def test_wrong_arguments_are_named(tmp_path: Path, arguments: dict[str, Any], named: str) -> None:
    (tmp_path / "a.txt").write_text("x")
    assert named in await fail("read", tmp_path, **{"path": "a.txt", **arguments})


async def test_the_head_of_a_huge_file_is_all_that_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.log").open("wb") as file:
        file.write(rows(30_000).encode())
        file.truncate(200_000_000)
    operations = CountingOperations()
    result = await tool("read", tmp_path, operations).run({"path": "huge.log"}, context())
    assert "More lines follow: go on with offset=2001." in text_of(result)
    assert operations.bytes_read < 200_000
    later = await tool("read", tmp_path, operations).run({"path": "huge.log", "offset": 29_000}, context())
    assert text_of(later).startswith("row 29000\nrow 29001\n")
    assert operations.bytes_read < 4_000_000


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
async def test_unicode_encodings_are_decoded(tmp_path: Path, codec: str) -> None:
    text = "first line\nsecond, with ä and 😀 \nand more lines in plain letters\n"
    (tmp_path / "a.txt").write_bytes(text.replace("\n", "\r\n").encode(codec))
    assert text_of(await run("read", tmp_path, path="a.txt")) == text.removesuffix("\n")


async def test_large_utf_16_is_decoded_across_chunks(tmp_path: Path) -> None:
    text = "".join(f"{number} 😀ä\n" for number in range(300_000))
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe" + text.encode("utf-16-le"))
    assert text_of(await run("read", tmp_path, path="a.txt", offset=299_999)) == "299998 😀ä\n299999 😀ä"


async def test_bytes_that_are_no_text_are_shown_and_noted(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("café\nnaïve\n".encode("latin-1"))
    (tmp_path / "nul.log").write_bytes(b"a line of a log\n" * 10 + b"\0\n")
    assert text_of(await run("read", tmp_path, path="latin.txt")).startswith(
        "caf\ufffd\nna\ufffdve\n\n[Bytes"
    )
    text = text_of(await run("read", tmp_path, path="nul.log"))
    assert "\ufffd" in text
    assert "\0" not in text
    assert "Bytes" not in text_of(await run("read", tmp_path, path="nul.log", limit=3))


async def test_old_mac_line_ends_are_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\rtwo\rthree\r")
    assert text_of(await run("read", tmp_path, path="a.txt", offset=2)) == "two\nthree"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(60), "ELF"),
        (b"PK\x03\x04\x14\0\x06\0", "ZIP"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "PDF"),
        (b"SQLite format 3\0" + bytes(30), "SQLite"),
        (b"II*\0\x08\0\0\0", "TIFF"),
        (b"\0\0\0\x1cftypheic", "HEIC"),
        (bytes(range(256)) * 10, "binary data"),
        (bytes(40), "binary data"),
        (struct.pack("<40h", *range(-5, 35)), "binary data"),
    ],
)
async def test_binary_files_are_refused_with_size_and_kind(tmp_path: Path, content: bytes, kind: str) -> None:
    (tmp_path / "file.txt").write_bytes(content)
    message = await fail("read", tmp_path, path="file.txt")
    assert kind in message
    assert ("bytes" if len(content) < 1024 else "2.5 KB") in message


async def test_what_is_no_file_never_blocks(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    async with asyncio.timeout(10):
        assert "a pipe" in await fail("read", tmp_path, path="pipe")
        assert "a pipe" in await fail("read", tmp_path, path="link")
        assert "a pipe" in await fail("edit", tmp_path, path="pipe", edits=[{"oldText": "a", "newText": "b"}])
        assert "a device" in await fail("read", tmp_path, path="/dev/zero")
        with pytest.raises(OSError, match="pipe"):
            await CountingOperations().read(tmp_path / "pipe")
        message = await fail("read", tmp_path, path=".")
    assert "directory" in message
    assert "ls" in message


async def test_a_missing_file_gets_similar_names(tmp_path: Path) -> None:
    (tmp_path / "settings.json").touch()
    message = await fail("read", tmp_path, path="setings.json")
    assert "does not exist" in message
    assert "settings.json" in message
    assert "directory does not exist" in await fail("read", tmp_path, path="no/such.txt")
    (tmp_path / "circle").symlink_to("circle")
    assert "circle" in await fail("read", tmp_path, path="circle")
    assert "part of the path is a file" in await fail("read", tmp_path, path="settings.json/x")


async def test_the_name_decides_nothing(tmp_path: Path) -> None:
    (tmp_path / "page.png").write_text("<!DOCTYPE html><html>not an image</html>")
    (tmp_path / "pointer.jpg").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\n")
    (tmp_path / "empty.gif").touch()
    (tmp_path / "noise.webp").write_bytes(bytes(range(256)))
    page = text_of(await run("read", tmp_path, path="page.png"))
    assert "page.png is no image" in page
    assert "HTML" in page
    assert "40 bytes" in page
    assert "not an image</html>" in page
    assert "Git LFS" in text_of(await run("read", tmp_path, path="pointer.jpg"))
    assert "0 bytes" in text_of(await run("read", tmp_path, path="empty.gif"))
    assert "binary data" in await fail("read", tmp_path, path="noise.webp")


@pytest.mark.shared
async def test_recorded_images_that_are_none(tmp_path: Path) -> None:
    folder = shared("field/inputs/T08")
    texts = {
        arguments["path"]: text_of(await run(name, folder, **arguments))
        for name, arguments in recorded_calls(folder / "01.sse")
    }
    assert "41 bytes" in texts["fake.png"]
    assert "0 bytes" in texts["empty.jpg"]
    assert "PNG image of 33 bytes" in texts["cut.png"]
    assert "damaged" in texts["cut.png"]


def test_pillow_is_not_loaded_with_the_tools() -> None:
    code = "import sys, relay.tools.read, relay.tools.edit; sys.exit('PIL' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], check=False, env={**os.environ, "PYTHONPATH": "src"}
        ).returncode
        == 0
    )


class _Pieces(CountingOperations):
    """A file in memory."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.data = data

    async def read(self, path: Path, start: int = 0, size: int | None = None) -> bytes:
        # Small pieces, so that borders fall everywhere.
        return self.data[start : start + min(size or 3, 3)]


@given(
    st.lists(st.sampled_from(["", "a", "bc", "def", "€", "long line"]), max_size=12),
    st.booleans(),
    st.integers(1, 14),
    st.integers(1, 14),
    st.integers(1, 20),
    st.integers(1, 9),
)
async def test_a_window_is_a_slice_of_the_lines(
    lines: list[str], terminated: bool, offset: int, limit: int, max_bytes: int, head: int
) -> None:
    text = "\n".join(lines) + ("\n" if terminated and lines else "")
    lines = text.removesuffix("\n").split("\n") if text else []
    operations = _Pieces(text.encode())
    chunks = Chunks(operations, Path("/f"), operations.data[:head], UTF_8)
    window = await read_window(chunks, offset, limit, size=len(operations.data), max_bytes=max_bytes)
    assert window.total == len(lines)
    wanted = lines[offset - 1 : offset - 1 + limit]
    shown = wanted[: window.shown]
    assert window.text == "\n".join(shown)
    assert len(window.text.encode()) <= max_bytes
    if window.shown < len(wanted):
        assert len("\n".join(wanted[: window.shown + 1]).encode()) > max_bytes
        assert window.by == "bytes"
    assert (window.by is None) == (offset - 1 + window.shown >= len(lines))


class _History:
    async def read(self, address: str, offset: int, limit: int | None) -> ToolResult:
        return ToolResult(content=[TextContent(text=f"{address} {offset} {limit}")])


async def test_other_addresses_go_to_their_readers(tmp_path: Path) -> None:
    history = ReadTool(tmp_path, LocalOperations(), addresses={"history": _History()})
    result = await history.run({"path": "history://sessions/1:2-3", "limit": 5}, context())
    assert text_of(result) == "history://sessions/1:2-3 1 5"
    message = await fail("read", tmp_path, path="https://example.org/a.txt")
    assert "https://example.org/a.txt" in message
    assert "file://" in message


async def test_an_image_is_a_note_and_a_block(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (30, 20), "red").save(tmp_path / "red.txt", "PNG")
    result = await run("read", tmp_path, path="red.txt")
    note, image = result.content
    assert text_of(type(result)(content=[note])).startswith("[red.txt is a PNG image of ")
    assert "30x20" in text_of(type(result)(content=[note]))
    assert isinstance(image, ImageContent)
    assert image.mime_type == "image/png"
