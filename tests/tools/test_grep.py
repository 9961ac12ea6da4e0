"""The grep tool over real files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from relay.agent.tool import ToolError
from relay.tools.grep import GrepTool
from relay.tools.ripgrep import find_ripgrep
from tests.shared import shared
from tests.tools.calls import call, context, text_of


def write(path: Path, data: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    write(root / "a.txt", "alpha one\nbeta\nalpha two\n")
    write(root / "sub/c.txt", "ALPHA\nalpha\n")
    write(root / "sub/deep/d.py", "alpha = 1\n")
    write(root / "b.md", "alpha md\n")
    write(root / ".hidden", "alpha hid\n")
    write(root / ".gitignore", "ignored.txt\nbuilt/\n")
    write(root / "ignored.txt", "alpha\n")
    write(root / "built/x.txt", "alpha\n")
    write(root / ".git/config", "alpha\n")
    write(root / "binary.bin", b"alpha\n" + b"\0" * 10 + b"alpha\n")
    return root


@pytest.fixture
def grep(tree: Path) -> GrepTool:
    return GrepTool(tree)


async def failure(tool: GrepTool, **arguments: object) -> str:
    with pytest.raises(ToolError) as caught:
        await tool.run(dict(arguments), context())
    return str(caught.value)


async def test_matches_in_the_order_of_the_paths(grep: GrepTool) -> None:
    assert await call(grep, pattern="alpha") == (
        ".hidden:1: alpha hid\na.txt:1: alpha one\na.txt:3: alpha two\nb.md:1: alpha md\n"
        "sub/c.txt:2: alpha\nsub/deep/d.py:1: alpha = 1"
    )


async def test_paths_are_relative_to_what_is_searched(grep: GrepTool, tree: Path) -> None:
    assert await call(grep, pattern="alpha", path="sub") == "c.txt:2: alpha\ndeep/d.py:1: alpha = 1"
    assert await call(grep, pattern="beta", path="a.txt") == "a.txt:2: beta"
    assert await call(grep, pattern="beta", path=str(tree / "a.txt")) == "a.txt:2: beta"


async def test_context_lines(grep: GrepTool) -> None:
    expected = "a.txt-1- alpha one\na.txt:2: beta\na.txt-3- alpha two"
    assert await call(grep, pattern="beta", path="a.txt", context="1") == expected


async def test_no_match_is_no_error(grep: GrepTool) -> None:
    assert await call(grep, pattern="zzz9") == "No matches found."


async def test_case(grep: GrepTool) -> None:
    assert "ALPHA" not in await call(grep, pattern="alpha", path="sub")
    assert "c.txt:1: ALPHA" in await call(grep, pattern="alpha", path="sub", ignoreCase=True)


@pytest.mark.parametrize(
    ("glob", "names"),
    [
        ("*.txt", {"a.txt", "sub/c.txt"}),
        ("**/*.txt", {"a.txt", "sub/c.txt"}),
        ("sub/*.txt", {"sub/c.txt"}),
        ("sub/**", {"sub/c.txt", "sub/deep/d.py"}),
        ("sub/", {"sub/c.txt", "sub/deep/d.py"}),
        ("/a.txt", {"a.txt"}),
        ("*.{md,py}", {"b.md", "sub/deep/d.py"}),
        ("!*.txt", {".hidden", "b.md", "sub/deep/d.py"}),
        ("-x*", set()),
    ],
)
async def test_globs_narrow_the_search_and_keep_the_ignore_files(
    grep: GrepTool, glob: str, names: set[str]
) -> None:
    text = await call(grep, pattern="alpha", glob=glob)
    assert {line.partition(":")[0] for line in text.split("\n") if ":" in line} == names


async def test_a_glob_may_start_at_the_working_directory(grep: GrepTool) -> None:
    assert await call(grep, pattern="alpha", glob="sub/*.txt", path="sub") == "c.txt:2: alpha"


async def test_a_broken_glob_is_explained(grep: GrepTool) -> None:
    assert "closing }" in await failure(grep, pattern="a", glob="*.{a,b")


async def test_ignored_hidden_and_binary_files_are_found_when_named(grep: GrepTool) -> None:
    assert await call(grep, pattern="alpha", path="ignored.txt") == "ignored.txt:1: alpha"
    assert await call(grep, pattern="alpha", path="built") == "x.txt:1: alpha"
    assert "binary.bin:1: alpha" in await call(grep, pattern="alpha", path="binary.bin")


async def test_the_limit_is_exact_and_told(grep: GrepTool, tree: Path) -> None:
    write(tree / "many.txt", "".join(f"row {n}\n" for n in range(50)))
    result = await grep.run({"pattern": "row", "limit": 3, "context": 1}, context())
    lines = text_of(result).split("\n")
    assert [line for line in lines if ":" in line[:11]] == [f"many.txt:{n}: row {n - 1}" for n in (1, 2, 3)]
    assert "first 3 matches" in lines[-1]
    assert result.details == {"matchLimitReached": 3}
    result = await grep.run({"pattern": "row", "limit": "50"}, context())
    assert result.details is None and text_of(result).count("\n") == 49


async def test_a_huge_file_ends_early(grep: GrepTool, tree: Path) -> None:
    write(tree / "huge.txt", "row\n" * 2_000_000)
    assert (await call(grep, pattern="row")).count("huge.txt:") == 100


async def test_long_lines_are_cut_and_it_is_told(grep: GrepTool, tree: Path) -> None:
    write(tree / "long.js", "\u20ac" * 700 + " needle\n")
    result = await grep.run({"pattern": "needle"}, context())
    line, _, note = text_of(result).partition("\n\n")
    assert line == f"long.js:1: {chr(0x20AC) * 500}… [cut]" and "500 characters" in note
    assert result.details == {"linesTruncated": True}


async def test_much_text_is_cut_at_whole_lines(grep: GrepTool, tree: Path) -> None:
    write(tree / "wide.txt", ("w" * 400 + "\n") * 300)
    result = await grep.run({"pattern": "www", "limit": 300}, context())
    shown = text_of(result).partition("\n\n")[0].split("\n")
    assert len(set(map(len, shown[:9]))) == 1 and shown[-1].endswith("w" * 400)
    assert result.details["truncation"]["outputLines"] == len(shown) < 300


async def test_odd_bytes(grep: GrepTool, tree: Path) -> None:
    write(Path(os.fsdecode(bytes(tree) + b"/caf\xe9\n.txt")), b"needle caf\xe9 \x1b[31mred\r\n")
    write(tree / "utf16.txt", "needle \u20ac\n".encode("utf-16"))
    assert await call(grep, pattern="needle") == (
        "caf\\xe9\\n.txt:1: needle caf\ufffd red\nutf16.txt:1: needle \u20ac"
    )


async def test_several_lines(grep: GrepTool) -> None:
    assert await call(grep, pattern=r"one\nbeta") == "a.txt:1: alpha one\na.txt:2: beta"
    assert await call(grep, pattern="one\nbeta", literal=True) == "a.txt:1: alpha one\na.txt:2: beta"


@pytest.mark.parametrize("pattern", ["-radius", "--require", "--pre=touch x", "-e", "--", "-"])
async def test_patterns_that_look_like_options(grep: GrepTool, tree: Path, pattern: str) -> None:
    write(tree / "o.txt", f"<{pattern}>\n")
    assert f"o.txt:1: <{pattern}>" in await call(grep, pattern=pattern)
    assert not (tree / "x").exists()


@pytest.mark.parametrize("text", ["a.b", "$HOME (x)", "[bracket", "^x$", "a|b", "\\d+", "*", "{2}", "(?i)x"])
async def test_literal_is_literal(grep: GrepTool, tree: Path, text: str) -> None:
    write(tree / "l.txt", f"{text}\naxb 5 HOME x\n")
    assert await call(grep, pattern=text, literal=True, glob="l.txt") == f"l.txt:1: {text}"


@pytest.mark.parametrize(
    ("pattern", "place"),
    [
        ("[bracket", 1),
        ("ab(c", 3),
        ("a**{", 5),
        ("(?<=x)y", 1),
        ("a\\", 2),
        ("x(?P<n", 7),
        ("ok)", 3),
        ("[z-a]", 2),
    ],
)
async def test_an_invalid_expression_is_explained_with_its_place(
    grep: GrepTool, pattern: str, place: int
) -> None:
    text = await failure(grep, pattern=pattern)
    assert f"at character {place}:" in text and f"    {pattern}\n" in text and "literal" in text
    assert "(?:" not in text


async def test_an_expression_that_is_too_large_is_explained(grep: GrepTool) -> None:
    assert "not a valid regular expression" in await failure(grep, pattern="(a{1000}){1000}{1000}")


async def test_missing_paths_and_wrong_numbers(grep: GrepTool, tree: Path) -> None:
    assert str(tree / "nope") in await failure(grep, pattern="a", path="nope")
    assert "limit" in await failure(grep, pattern="a", limit=0)
    assert "pattern" in await failure(grep)


async def test_a_name_like_an_option_can_be_searched(grep: GrepTool, tree: Path) -> None:
    write(tree / "-dash.txt", "needle\n")
    assert await call(grep, pattern="needle", path="-dash.txt") == "-dash.txt:1: needle"


def test_ripgrep_is_found_beside_python_or_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_ripgrep().endswith("rg")
    with pytest.raises(ToolError, match="ripgrep is missing.*pip install"):
        find_ripgrep(str(tmp_path / "none"))
    (tmp_path / "rg").touch(0o755)
    assert find_ripgrep(str(tmp_path / "none")) == str(tmp_path / "rg")


async def test_folders_that_cannot_be_read_are_told(grep: GrepTool, tree: Path) -> None:
    (tree / "loop").symlink_to("loop")
    assert await call(grep, pattern="zzz9", path="sub") == "No matches found."
    assert "loop" in await call(grep, pattern="zzz9", path="loop")


async def test_no_descriptor_is_left(grep: GrepTool) -> None:
    await call(grep, pattern="alpha", limit=1)
    before = len(os.listdir("/proc/self/fd"))
    await call(grep, pattern="alpha", limit=1)
    await failure(grep, pattern="[")
    assert len(os.listdir("/proc/self/fd")) == before


async def test_the_reported_searches() -> None:
    folder = shared("field/inputs/T13")
    grep = GrepTool(folder)
    assert await call(grep, pattern="-radius", path="data.txt") == "data.txt:1: -radius: 3"
    assert await call(grep, pattern="--require", path="data.txt") == "data.txt:2: --require x"
    assert "at character 1:" in await failure(grep, pattern="[bracket", path="data.txt")
    assert await call(grep, pattern="a.b", literal=True, path="data.txt") == "data.txt:3: a.b"
    assert await call(grep, pattern="$HOME (x)", literal=True, path="data.txt") == "data.txt:5: $HOME (x)"
