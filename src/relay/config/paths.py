"""Where configuration and sessions live, worked out from the environment and the working directory."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path

AGENT_DIR_VARIABLE = "RELAY_CODING_AGENT_DIR"
SESSION_DIR_VARIABLE = "RELAY_CODING_AGENT_SESSION_DIR"
PROJECT_FOLDER = ".relay"
LONGEST_NAME = 255
"""Bytes that file systems allow for one name."""

Environment = Mapping[str, str]


def home_dir(environ: Environment) -> Path:
    """The user's home folder."""
    named = environ.get("HOME") or environ.get("USERPROFILE")
    return Path(named) if named else Path(os.path.expanduser("~"))


def expand(text: str, *, base: Path, home: Path) -> Path:
    """The absolute path that a user means by `text`: `~` is `home`, a relative path starts at `base`.

    Symlinks stay as they are written.
    """
    if text == "~" or text.startswith(("~/", "~\\")):
        text = os.path.join(home, text[2:])
    return Path(os.path.abspath(os.path.join(base, text)))


def agent_dir(environ: Environment) -> Path:
    """The folder of the user's own configuration: RELAY_CODING_AGENT_DIR, else `~/.relay/agent`."""
    home = home_dir(environ)
    named = environ.get(AGENT_DIR_VARIABLE, "").strip()
    if named:
        return expand(named, base=Path.cwd(), home=home)
    return home / PROJECT_FOLDER / "agent"


def project_dir(cwd: Path) -> Path:
    """The folder of a project's own configuration."""
    return cwd / PROJECT_FOLDER


def session_dir(
    cwd: Path,
    agent: Path,
    *,
    environ: Environment,
    option: str | None = None,
    setting: str | None = None,
) -> Path:
    """Where the sessions of `cwd` are kept: `option` (--session-dir), the variable, the setting, the default.

    Only the default has one folder per working directory; the others name the folder itself.
    """
    for named in (option, environ.get(SESSION_DIR_VARIABLE), setting):
        if named and named.strip():
            return expand(named, base=cwd, home=home_dir(environ))
    return agent / "sessions" / session_folder(cwd)


def session_folder(cwd: Path) -> str:
    """The folder name that stands for `cwd`: without the leading separator, `/`, `\\` and `:` become `-`.

    A name that no file system would take is cut and ended by a checksum of the whole.
    """
    text = re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", str(cwd)))
    name = f"--{text}--"
    encoded = os.fsencode(name)
    if len(encoded) <= LONGEST_NAME:
        return name
    digest = f"{zlib.crc32(encoded):08x}"
    return f"{encoded[:200].decode('utf-8', 'ignore')}-{digest}--"
