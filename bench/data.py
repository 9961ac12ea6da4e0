"""The files that the tools work on, made once and kept: a tree, a full folder, a big file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

RARE = "needle_in_the_tree"
LINE = "{:09d} the quick brown fox jumps over the lazy dog and runs on until the line is full enough ok\n"


@dataclass(frozen=True)
class Sizes:
    """How much is made; the tests make little."""

    folders: int = 100
    files_each: int = 50
    entries: int = 5000
    big_bytes: int = 200_000_000


@dataclass(frozen=True)
class Data:
    """Where the files are."""

    tree: Path
    full_folder: Path
    big_file: Path


def make_data(folder: Path, sizes: Sizes) -> Data:
    """Makes what is not there yet."""
    folder = folder / f"data-{sizes.folders}-{sizes.files_each}-{sizes.entries}-{sizes.big_bytes}"
    data = Data(folder / "tree", folder / "full", folder / "big.txt")
    done = folder / "complete"
    if not done.exists():
        _make_tree(data.tree, sizes)
        data.full_folder.mkdir(parents=True, exist_ok=True)
        for number in range(sizes.entries):
            (data.full_folder / f"entry_{number:04d}").touch()
        _make_big(data.big_file, sizes.big_bytes)
        done.touch()
    return data


def _make_tree(tree: Path, sizes: Sizes) -> None:
    for number in range(sizes.folders):
        folder = tree / f"part{number % 10}" / f"folder{number:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        for file in range(sizes.files_each):
            rare = RARE if (number, file) == (sizes.folders // 2, 0) else "nothing"
            text = f"def function_{file}():\n    return '{rare}'\n" + "# filling\n" * 80
            (folder / f"module{file:02d}{'.py' if file % 2 else '.txt'}").write_text(text)


def _make_big(path: Path, size: int) -> None:
    length = len(LINE.format(0))
    with path.open("w") as file:
        for start in range(0, size // length + 1, 10_000):
            file.write("".join(LINE.format(n) for n in range(start, min(start + 10_000, size // length + 1))))
