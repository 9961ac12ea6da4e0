from __future__ import annotations

import asyncio
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from relay.tools.local import LocalOperations
from tests.shared import shared
from tests.tools.calls import text_of
from tests.tools.places import fail, names, recorded_calls, run, tool


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes: writing fails half-way, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_new_file_gets_its_directories(tmp_path: Path) -> None:
    text = text_of(await run("write", tmp_path, path="d/e/out.txt", content="älpha\nbeta\n"))
    assert (tmp_path / "d/e/out.txt").read_bytes() == "älpha\nbeta\n".encode()
    assert text == "Created d/e/out.txt: 2 lines, 12 bytes."


async def test_the_content_is_literal(tmp_path: Path) -> None:
    content = "\ufeffa\r\nb\rc\n$& \\1\0end"
    await run("write", tmp_path, path="f", content=content)
    assert (tmp_path / "f").read_bytes() == content.encode()
    assert "0 lines, 0 bytes" in text_of(await run("write", tmp_path, path="f", content=""))
    assert (tmp_path / "f").read_bytes() == b""


async def test_overwriting_keeps_the_mode(tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_text("old content that is longer\n")
    for mode in (0o755, 0o640, 0o600, 0o2755):
        file.chmod(mode)
        assert text_of(await run("write", tmp_path, path="run.sh", content=f"{mode}")).startswith("Replaced")
        assert stat.S_IMODE(file.stat().st_mode) == mode
        assert file.read_text() == str(mode)
    assert names(tmp_path) == ["run.sh"]


async def test_a_new_file_obeys_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        await run("write", tmp_path, path="f", content="x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o640


async def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    conf = tmp_path / "real/conf"
    conf.write_text("old")
    conf.chmod(0o640)
    (tmp_path / "one").symlink_to("real/conf")
    (tmp_path / "two").symlink_to("one")
    (tmp_path / "dir").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nowhere/target")
    for path in ("one", "two", "dir/conf"):
        await run("write", tmp_path, path=path, content=path)
        assert conf.read_text() == path
    await run("edit", tmp_path, path="two", edits=[{"oldText": "dir", "newText": "edited"}])
    await run("write", tmp_path, path="dangling", content="x")
    assert conf.read_text() == "edited/conf"
    assert stat.S_IMODE(conf.stat().st_mode) == 0o640
    assert os.readlink(tmp_path / "one") == "real/conf"
    assert os.readlink(tmp_path / "two") == "one"
    assert os.readlink(tmp_path / "dangling") == "nowhere/target"
    assert (tmp_path / "nowhere/target").read_text() == "x"


async def test_hard_links_stay_together(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a longer old content")
    os.link(tmp_path / "a", tmp_path / "b")
    await run("write", tmp_path, path="a", content="new")
    assert (tmp_path / "b").read_text() == "new"
    assert (tmp_path / "a").stat().st_ino == (tmp_path / "b").stat().st_ino


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system has no extended attributes here")
async def test_extended_attributes_stay(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("old")
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    await run("write", tmp_path, path="f", content="new")
    assert os.getxattr(file, "user.note") == b"kept"


@pytest.mark.parametrize("hard_link", [False, True])
async def test_a_full_disk_leaves_the_old_content(tmp_path: Path, hard_link: bool) -> None:
    old = os.urandom(5000)
    (tmp_path / "f").write_bytes(old)
    if hard_link:
        os.link(tmp_path / "f", tmp_path / "g")
    with full_disk(6000):
        message = await fail("write", tmp_path, path="f", content="x" * 9000)
        assert "larger than the system allows" in message
        assert "unchanged" in message
        await fail("write", tmp_path, path="new", content="x" * 9000)
    assert (tmp_path / "f").read_bytes() == old
    assert names(tmp_path) == (["f", "g"] if hard_link else ["f"])


async def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("x")
    (tmp_path / "circle").symlink_to("circle")
    assert "it is a directory" in await fail("write", tmp_path, path="dir", content="x")
    assert "directory" in await fail("write", tmp_path, path="new/", content="x")
    assert "pipe" in await fail("write", tmp_path, path="pipe", content="x")
    assert "a part of the path is a file" in await fail("write", tmp_path, path="file/x", content="x")
    assert "circle" in await fail("write", tmp_path, path="circle", content="x")
    assert "name is too long" in await fail("write", tmp_path, path="n" * 300, content="x")
    assert names(tmp_path) == ["circle", "dir", "file", "pipe"]


async def test_a_long_name_leaves_room_for_no_suffix_and_needs_none(tmp_path: Path) -> None:
    name = "ä" * 127
    for content in ("one", "two"):
        await run("write", tmp_path, path=name, content=content)
        assert (tmp_path / name).read_text() == content


@pytest.mark.skipif(os.geteuid() == 0, reason="write protection does not bind root")
async def test_write_protection_holds(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    (tmp_path / "f").chmod(0o444)
    assert "write-protected" in await fail("write", tmp_path, path="f", content="new")
    assert (tmp_path / "f").read_text() == "old"


@pytest.mark.skipif(os.geteuid() == 0, reason="a closed directory does not bind root")
async def test_a_file_in_a_closed_directory_is_written_in_place(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old and longer")
    os.chmod(tmp_path, 0o555)
    try:
        await run("write", tmp_path, path="f", content="new")
        assert (tmp_path / "f").read_text() == "new"
    finally:
        os.chmod(tmp_path, 0o755)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")
async def test_the_owner_stays(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    os.chown(tmp_path / "f", 12345, 23456)
    await run("write", tmp_path, path="f", content="new")
    found = (tmp_path / "f").stat()
    assert (found.st_uid, found.st_gid) == (12345, 23456)


@pytest.mark.parametrize(
    "arguments", [{"content": "x"}, {"path": "f"}, {"path": 1, "content": "x"}, {"path": "f", "content": 1}]
)
async def test_missing_and_wrong_arguments_are_named(tmp_path: Path, arguments: dict[str, Any]) -> None:
    message = await fail("write", tmp_path, **arguments)
    assert "argument path" in message or "argument content" in message
    assert not names(tmp_path)


async def test_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    assert "Character 3 of content" in await fail("write", tmp_path, path="f", content="ab\ud83d")
    assert not names(tmp_path)


async def test_an_aborted_write_has_ended_when_the_call_has(tmp_path: Path) -> None:
    for steps in range(4):
        file = tmp_path / f"f{steps}"
        task = asyncio.create_task(LocalOperations().write(file, b"x" * 1_000_000))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not file.exists() or file.stat().st_size == 1_000_000
        assert not [name for name in names(tmp_path) if name.endswith(".tmp")]


def test_the_path_written_is_the_real_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    real = os.path.realpath(tmp_path)
    assert tool("write", tmp_path).path_written({"path": "link"}) == f"{real}/target"
    assert tool("edit", tmp_path).path_written({"path": "@link"}) == f"{real}/target"
    assert tool("write", tmp_path).path_written({}) is None


@pytest.mark.shared
async def test_recorded_symlink_case(tmp_path: Path) -> None:
    folder = shared("field/inputs/T07")
    (tmp_path / "real").mkdir()
    (tmp_path / "real/conf").write_text("old\n")
    (tmp_path / "real/conf").chmod(0o640)
    (tmp_path / "conf").symlink_to("real/conf")
    (tmp_path / "dangling").symlink_to("nowhere/target")
    for name, arguments in recorded_calls(folder / "01.sse"):
        await run(name, tmp_path, **arguments)
    assert os.readlink(tmp_path / "conf") == "real/conf"
    assert (tmp_path / "real/conf").read_text() == "newer\n"
    assert stat.S_IMODE((tmp_path / "real/conf").stat().st_mode) == 0o640
    assert (tmp_path / "nowhere/target").read_text() == "x\n"
