"""`relay config`: reading and changing settings without the terminal interface."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import msgspec

from relay.cli.errors import UsageError
from relay.config.errors import ConfigError, UnknownSetting
from relay.config.kinds import printable
from relay.config.layers import SETTINGS_FILE, read_document
from relay.config.loading import LoadedSettings, load_settings
from relay.config.lookup import find_setting, near_keys, parse_key
from relay.config.paths import agent_dir, project_dir
from relay.config.saving import check_value, remove_setting, save_setting
from relay.config.schema import SECTIONS, SETTINGS
from relay.config.startup import decide_trust
from relay.config.trust import Trusted

USAGE = """\
Usage:
  relay config get KEY            show the value in effect and where it comes from
  relay config set KEY VALUE      change it for all projects
  relay config unset KEY          take it out of the file, so that the default counts
  relay config list [--json]      show all settings

Options:
  -l, --local                     only the project's .relay/settings.json; set and unset change that file
  --json                          machine-readable output of get and list
  -a, --approve                   count the project's settings as trusted, this time
  -na, --no-approve               do not count them
  -h, --help                      show this help

VALUE is JSON; what is not JSON is taken as text: relay config set theme dark
"""


FLAGS = {
    "-l": "local",
    "--local": "local",
    "--json": "json",
    "-a": "approve",
    "--approve": "approve",
    "-na": "no-approve",
    "--no-approve": "no-approve",
    "-h": "help",
    "--help": "help",
}
WORDS = {"get": ("KEY",), "set": ("KEY", "VALUE"), "unset": ("KEY",), "list": ()}


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """The files that count in the working directory, what is in effect, and notes for stderr."""

    user_file: Path
    project_file: Path
    loaded: LoadedSettings
    notes: tuple[str, ...]

    def file(self, key: str) -> str | None:
        """The file that sets `key`, None for a default."""
        files = {"user": str(self.user_file), "project": str(self.project_file), "default": None}
        return files[self.loaded.origins[key]]

    def source(self, key: str) -> str:
        return f"{self.loaded.origins[key]}: {self.file(key)}" if self.file(key) else "default"


class _Request(msgspec.Struct, frozen=True, kw_only=True):
    """The command line of `relay config`, parsed."""

    action: str
    words: tuple[str, ...]
    flags: frozenset[str]

    @property
    def approve(self) -> bool | None:
        return True if "approve" in self.flags else False if "no-approve" in self.flags else None


def run(
    argv: Sequence[str],
    environ: Mapping[str, str],
    stdout: TextIO,
    stderr: TextIO,
    *,
    cwd: Path | None = None,
) -> int:
    """Runs `relay config`, `argv` being what follows; exit code 0, 1 (not done) or 2 (wrong usage)."""
    try:
        request = _parse(argv)
        if "help" in request.flags:
            stdout.write(USAGE)
            return 0
        place = _find_place(environ, cwd or Path.cwd(), request)
        stderr.writelines(f"{problem}\n" for problem in (*place.loaded.problems, *place.notes))
        return ACTIONS[request.action](request, place, stdout)
    except (UsageError, UnknownSetting) as error:
        stderr.write(f"{error}\n")
        return 2
    except ConfigError as error:
        stderr.write(f"{error}\n")
        return 1


def _parse(argv: Sequence[str]) -> _Request:
    words: list[str] = []
    flags: set[str] = set()
    for word in argv:
        value_of_set = len(words) == 2 and words[0] == "set"
        if word in FLAGS:
            flags.add(FLAGS[word])
        elif word.startswith("-") and not value_of_set:
            raise UsageError(
                f"relay config has no option {word!r}; `relay config --help` shows what it takes."
            )
        else:
            words.append(word)
    if "help" in flags:
        return _Request(action="help", words=(), flags=frozenset(flags))
    action, *rest = words or [""]
    if action not in WORDS:
        given = f"not {action!r}" if action else "and none was given"
        raise UsageError(f"relay config needs get, set, unset or list, {given}.\n\n{USAGE.rstrip()}")
    if len(rest) != len(WORDS[action]):
        wanted = " and ".join(WORDS[action]) or "no further argument"
        raise UsageError(f"relay config {action} takes {wanted}.")
    return _Request(action=action, words=tuple(rest), flags=frozenset(flags))


def _find_place(environ: Mapping[str, str], cwd: Path, request: _Request) -> _Place:
    agent, project = agent_dir(environ), project_dir(cwd)
    project_file = project / SETTINGS_FILE
    answer = decide_trust(cwd, environ, override=request.approve, interactive=False)
    trusted = isinstance(answer.decision, Trusted) or "local" in request.flags
    notes = list(answer.problems)
    if project_file.exists() and not trusted and request.approve is None:
        notes.append(f"{project_file} does not count: this project is not trusted. --approve counts it.")
    return _Place(
        user_file=agent / SETTINGS_FILE,
        project_file=project_file,
        loaded=load_settings(agent, project, trusted=trusted),
        notes=tuple(notes),
    )


def _get(request: _Request, place: _Place, stdout: TextIO) -> int:
    route = parse_key(request.words[0])
    depth = next(n for n in range(len(route), 0, -1) if ".".join(route[:n]) in place.loaded.values)
    key = ".".join(route[:depth])
    value = place.loaded.values[key]
    origin, source = place.loaded.origins[key], place.source(key)
    for name in route[depth:]:
        value = value.get(name) if isinstance(value, Mapping) else None
        if value is None:
            origin, source = "default", "not set"
    if "local" in request.flags and origin != "project":
        raise ConfigError(f"{place.project_file} does not set {request.words[0]}.")
    if "json" in request.flags:
        stdout.write(_json(_row(key, value, place)) + "\n")
    else:
        stdout.write(f"{_shown(key, value)}  ({source})\n")
    return 0


def _set(request: _Request, place: _Place, stdout: TextIO) -> int:
    key, text = request.words
    path = _target(request, place, key)
    value = _read_value(parse_key(key), text)
    save_setting(path, key, value)
    stdout.write(f"{printable(key)} is now {_json(value)} in {path}.\n")
    return 0


def _unset(request: _Request, place: _Place, stdout: TextIO) -> int:
    key = request.words[0]
    parse_key(key)
    path = place.project_file if "local" in request.flags else place.user_file
    removed = path.exists() and remove_setting(path, key)
    stdout.write(f"{key} is no longer in {path}.\n" if removed else f"{key} does not stand in {path}.\n")
    return 0


def _list(request: _Request, place: _Place, stdout: TextIO) -> int:
    local = "local" in request.flags
    keys = [s.key for s in SETTINGS if not local or place.loaded.origins[s.key] == "project"]
    values = place.loaded.values
    if "json" in request.flags:
        stdout.write(_json([_row(key, values[key], place) for key in keys]) + "\n")
        return 0
    width = max(map(len, keys), default=0)
    for key in keys:
        stdout.write(f"{key:<{width}}  {_shown(key, values[key])}  ({place.loaded.origins[key]})\n")
    for path in (place.user_file, place.project_file):
        for name in unknown_keys(path):
            near = near_keys(name)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            stdout.write(f"{path}: {printable(name)} is not a setting of Relay; it is kept.{hint}\n")
    return 0


ACTIONS = {"get": _get, "set": _set, "unset": _unset, "list": _list}


def unknown_keys(path: Path) -> tuple[str, ...]:
    """Dotted names in the file that no setting has."""
    known = {setting.path for setting in SETTINGS}
    found: list[str] = []

    def walk(data: Mapping[str, Any], above: tuple[str, ...]) -> None:
        for name, value in data.items():
            here = (*above, name)
            if here in SECTIONS and isinstance(value, Mapping):
                walk(value, here)
            elif here not in known and here not in SECTIONS and here != ("$schema",):
                found.append(".".join(here))

    walk(read_document(path).data or {}, ())
    return tuple(found)


def _target(request: _Request, place: _Place, key: str) -> Path:
    if "local" not in request.flags:
        return place.user_file
    if any(setting.global_only and setting.key == key for setting in SETTINGS):
        raise ConfigError(f"{key} can only be set in {place.user_file}; leave out --local.")
    return place.project_file


def _read_value(route: Sequence[str], text: str) -> Any:
    """`text` as JSON where that fits the setting, else as it stands; raises ConfigError when neither does."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    try:
        check_value(route, value)
    except ConfigError:
        if isinstance(value, str):
            raise
        try:
            check_value(route, text)
        except ConfigError:
            check_value(route, value)
        return text
    return value


def _row(key: str, value: Any, place: _Place) -> dict[str, Any]:
    return {"key": key, "value": value, "origin": place.loaded.origins[key], "file": place.file(key)}


def _shown(key: str, value: Any) -> str:
    setting = find_setting(key)
    return f"({setting.automatic})" if value in (None, {}) and setting.automatic else _json(value)


def _json(value: Any) -> str:
    return printable(json.dumps(value, ensure_ascii=False))
