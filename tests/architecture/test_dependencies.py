"""What our dependencies bring along, and what a headless start may load of them."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from tests.architecture.test_imports import modules_after

HEAVY = {
    "textual",
    "prompt_toolkit",
    "rich",
    "mcp",
    "PIL",
    "anthropic",
    "openai",
    "google",
    "pydantic",
    "anyio",
}


def closure(name: str, found: set[str]) -> set[str]:
    """The names of a distribution and of all that it requires without extras."""
    if name in found:
        return found
    found.add(name)
    try:
        needed = requires(name) or []
    except PackageNotFoundError:
        return found
    for line in needed:
        if "extra ==" not in line:
            match = re.match(r"[A-Za-z0-9._-]+", line)
            if match:
                closure(match[0].lower(), found)
    return found


def test_no_dependency_brings_a_pth_file() -> None:
    offenders = []
    for name in closure("relay-harness", set()) - {"relay-harness"}:
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            continue
        offenders += [f"{name}: {file}" for file in files if file.suffix == ".pth"]
    assert not offenders


def test_a_headless_start_loads_nothing_heavy(tmp_path: Path) -> None:
    code = "import relay.cli.run\nimport relay.runtime.assembly\nimport relay.modes.rpc.server"
    assert not {name.split(".")[0] for name in modules_after(code, tmp_path)} & HEAVY


def test_the_closure_is_not_empty() -> None:
    assert {"msgspec", "httpcore2", "truststore"} <= closure("relay-harness", set())
