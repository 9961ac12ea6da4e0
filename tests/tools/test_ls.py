from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tools.calls import text_of
from tests.tools.places import fail, run, tool


async def test_names_are_sorted_without_regard_to_case(tmp_path: Path) -> None:
    for name in ("b", "A", "c", ".hidden", "B"):
        (tmp_path / name).touch()
    (tmp_path / "dir").mkdir()
    assert text_of(await run("ls", tmp_path)) == ".hidden\nA\nB\nb\nc\ndir/"


async def test_links_to_directories_are_directories(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "inside").touch()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "circle").symlink_to("circle")
    assert text_of(await run("ls", tmp_path)) == "broken\ncircle\nlink/\nreal/"
    assert text_of(await run("ls", tmp_path, path="link")) == "inside"


async def test_an_empty_directory_says_so(tmp_path: Path) -> None:
    assert "empty" in text_of(await run("ls", tmp_path, path="."))


async def test_the_limit_is_told(tmp_path: Path) -> None:
    for number in range(600):
        (tmp_path / f"f{number:03}").touch()
    text = text_of(await run("ls", tmp_path))
    assert text.splitlines()[499] == "f499"
    assert "500 of 600 names" in text
    few = await run("ls", tmp_path, limit="2")
    assert text_of(few).startswith("f000\nf001\n\n[2 of 600")
    assert few.details == {"truncatedBy": "limit", "total": 600}
    assert len(text_of(await run("ls", tmp_path, limit=600)).splitlines()) == 600


async def test_long_listings_stop_at_the_byte_limit(tmp_path: Path) -> None:
    for number in range(400):
        (tmp_path / f"{number:03}{'x' * 200}").touch()
    result = await run("ls", tmp_path)
    assert len(text_of(result)) < 52_000
    assert "250 of 400 names" in text_of(result)
    assert result.details["truncatedBy"] == "bytes"


async def test_every_name_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "two\nlines").touch()
    (tmp_path / os.fsdecode(b"caf\xe9")).touch()
    assert text_of(await run("ls", tmp_path)) == "caf\ufffd\ntwo\\nlines"


async def test_errors_name_the_path_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "not a directory" in await fail("ls", tmp_path, path="file")
    assert "does not exist" in await fail("ls", tmp_path, path="none")
    assert "none/deeper" in await fail("ls", tmp_path, path="none/deeper")


@pytest.mark.parametrize("limit", [0, -1, "many", 1.5, True, []])
async def test_limits_that_are_no_count_are_refused(tmp_path: Path, limit: object) -> None:
    assert "limit" in await fail("ls", tmp_path, limit=limit)


def test_it_writes_nothing(tmp_path: Path) -> None:
    assert tool("ls", tmp_path).path_written({"path": "."}) is None
