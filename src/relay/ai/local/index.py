"""Asks the configured Python package index where a wheel is, through pip, which knows the configuration.

An environment without pip (uv makes such) has the wheel that the standard library carries for `ensurepip`.
"""

from __future__ import annotations

import asyncio
import ensurepip
import json
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec

from relay.ai.errors import ProviderError

_SYSTEM_WHEELS = Path("/usr/share/python-wheels")
"""Where Debian keeps what it takes out of `ensurepip`."""


_PYTHON = (sys.executable, "-P")
"""Without the current directory in the module path: a project must not bring its own pip."""


class Wheel(msgspec.Struct, frozen=True):
    """An http(s) or file URL, and the wheel's SHA-256 in hex ("" when the index gives none)."""

    url: str
    sha256: str


async def find_wheel(package: str, version: str) -> Wheel:
    """Raises ProviderError of kind config or transport with what pip said last."""
    command = [
        *_pip(),
        "install",
        "--dry-run",
        "--ignore-installed",
        "--no-deps",
        "--only-binary=:all:",
        "--quiet",
        "--disable-pip-version-check",
        "--report=-",
        f"{package}=={version}",
    ]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    try:
        info = json.loads(out)["install"][0]["download_info"]
        hashes = info.get("archive_info", {}).get("hashes", {})
        return Wheel(str(info["url"]), str(hashes.get("sha256", "")))
    except (ValueError, LookupError) as error:
        lines = [line for line in err.decode(errors="replace").splitlines() if line.strip()]
        reason = lines[-1] if lines else "it gave no reason"
        raise ProviderError(
            f"The package index has no wheel of {package} {version} for us: {reason}. "
            "Check pip's index settings (pip config list) and the network.",
            "transport",
        ) from error


def _pip() -> list[str]:
    if find_spec("pip") is not None:
        return [*_PYTHON, "-m", "pip"]
    folders = (Path(ensurepip.__file__).parent / "_bundled", _SYSTEM_WHEELS)
    for wheel in (found for folder in folders for found in sorted(folder.glob("pip-*.whl"))):
        return [*_PYTHON, str(wheel / "pip")]
    raise ProviderError(
        "Fetching a model needs pip, and this Python has neither pip nor ensurepip: install pip, "
        "or give the path of a GGUF file that is already here.",
        "config",
    )
