"""The find tool over real trees, and its glob patterns."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.agent.tool import ToolError
from relay.tools.find import FindTool
from relay.tools.globs import literal_end, path_matcher, shown_name
from tests.shared import shared
from tests.tools.calls import call, context, text_of

FILES = (
    "a.txt",
    "b.md",
    ".hidden",
    ".git/config",
    "sub/c.txt",
    "sub/x/y.txt",
    "sub/x/k.py",
    "built/out.txt",
    "notes.log",
    "-dash.txt",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in FILES:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (root / ".gitignore").write_text("built/\n*.log\n")
    (root / "empty").mkdir()
    (root / "link.txt").symlink_to("a.txt")
    return root


@pytest.fixture
def find(tree: Path) -> FindTool:
    return FindTool(tree)


def make(path: bytes) -> None:
    with open(path, "xb"):
        pass


async def failure(tool: FindTool, **arguments: object) -> str:
    with pytest.raises(ToolError) as caught:
        await tool.run(dict(arguments), context())
    return str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.txt", "-dash.txt a.txt link.txt sub/c.txt sub/x/y.txt"),
        ("**/*.txt", "-dash.txt a.txt link.txt sub/c.txt sub/x/y.txt"),
        ("sub/**/*.txt", "sub/c.txt sub/x/y.txt"),
        ("sub/*", "sub/c.txt sub/x/"),
        ("sub/**", "sub/c.txt sub/x/ sub/x/k.py sub/x/y.txt"),
        ("**/x/*", "sub/x/k.py sub/x/y.txt"),
        ("*.{md,py}", "b.md sub/x/k.py"),
        ("[ab].*", "a.txt b.md"),
        ("[!a-k].txt", "sub/x/y.txt"),
        ("?.md", "b.md"),
        ("x", "sub/x/"),
        ("sub/", "sub/"),
        ("empty", "empty/"),
        ("link*", "link.txt"),
        (".hidden", ".hidden"),
        ("./a.txt", "a.txt"),
        ("-*", "-dash.txt"),
        ("--files", ""),
        ("*.TXT", ""),
        ("x/*", ""),
        ("*.log", ""),
        ("out.txt", ""),
        ("config", ""),
    ],
)
async def test_patterns(find: FindTool, pattern: str, expected: str) -> None:
    text = await call(find, pattern=pattern)
    assert text == (expected.replace(" ", "\n") or "No files match the pattern.")


async def test_paths_are_relative_to_the_searched_directory(find: FindTool, tree: Path) -> None:
    assert await call(find, pattern="*.txt", path="sub") == "c.txt\nx/y.txt"
    assert await call(find, pattern=f"{tree}/sub/*.txt") == "sub/c.txt"


async def test_the_limit_is_told_with_the_number_of_all(find: FindTool) -> None:
    result = await find.run({"pattern": "*.txt", "limit": 2}, context())
    lines = text_of(result).split("\n")
    assert lines[:2] == ["-dash.txt", "a.txt"] and "first 2 of 5" in lines[-1]
    assert result.details == {"resultLimitReached": 2}
    assert (await find.run({"pattern": "*.txt", "limit": 5}, context())).details is None


async def test_names_that_are_no_text_survive(find: FindTool, tree: Path) -> None:
    make(os.fsencode(tree) + b"/caf\xe9.txt")
    make(os.fsencode(tree) + b"/two\nlines.txt")
    names = (await call(find, pattern="*[eo\\\udce9s].txt")).split("\n")
    assert names == ["caf\\xe9.txt", "two\\nlines.txt"]
    assert "caf\\xe9.txt" in await call(find, pattern="caf*")


async def test_many_results_are_cut_at_whole_lines(find: FindTool, tree: Path) -> None:
    for number in range(400):
        (tree / f"{number:03}{'n' * 200}.dat").touch()
    result = await find.run({"pattern": "*.dat"}, context())
    assert result.details["truncation"]["outputLines"] < 400
    assert text_of(result).partition("\n\n")[0].endswith(".dat")


async def test_bad_requests_are_explained(find: FindTool, tree: Path) -> None:
    assert str(tree / "nope") in await failure(find, pattern="*", path="nope")
    assert "not a directory" in await failure(find, pattern="*", path="a.txt")
    assert "closing ]" in await failure(find, pattern="[ab")
    assert "closing }" in await failure(find, pattern="{a,b")
    assert "set of characters" in await failure(find, pattern="[z-a]")
    assert "empty" in await failure(find, pattern=" ")


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("**", "a/b", True),
        ("a/**", "a", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a**b", "axxb", True),
        ("*/a", "x/y/a", False),
        ("[]]", "]", True),
        ("[!]]", "]", False),
        ("a[!b]c", "a/c", False),
        (r"\*", "*", True),
        (r"\*", "x", False),
        ("{a,{b,c}}", "c", True),
        ("a,b", "a,b", True),
        ("a}", "a}", True),
        ("[a&&b]", "&", True),
        ("{**/x,y}/z", "p/q/x/z", True),
        ("(a|b).", "(a|b).", True),
    ],
)
def test_glob_dialect(pattern: str, path: str, expected: bool) -> None:
    assert bool(path_matcher(pattern)(path)) is expected


@given(st.text("ab*?/[]{},\\!-.", max_size=12), st.text("ab/.", min_size=1, max_size=8))
def test_the_cheap_test_never_contradicts_the_real_one(pattern: str, path: str) -> None:
    try:
        matches = path_matcher(pattern)
    except ToolError:
        return
    assert not matches(path) or path.endswith(literal_end(pattern))


def test_shown_names_are_one_line() -> None:
    assert shown_name("caf\u00e9 \u20ac.txt".encode()) == "caf\u00e9 \u20ac.txt"
    assert shown_name(b"a\x1b[31m\xff\r\n") == "a\\x1b[31m\\xff\\r\\n"


async def test_the_reported_pattern() -> None:
    assert await call(FindTool(shared("field/inputs/T13")), pattern="-*.txt", path=".") == "-dash.txt"
