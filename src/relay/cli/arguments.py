"""Parses the command line of `relay` into plain values, with errors that name the way out."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import NamedTuple

from relay.cli.errors import UsageError
from relay.cli.options import LIST_MODELS, Option, all_options


class Arguments(NamedTuple):
    """`values`: option key → text, a flag's is ""; `repeated`: options that may come again.

    `list_models` is the search text, None when no list was asked for.
    """

    values: dict[str, str]
    repeated: dict[str, tuple[str, ...]]
    list_models: str | None
    files: tuple[str, ...]
    """Paths given as `@path`, without the `@`."""
    messages: tuple[str, ...]

    def flag(self, key: str) -> bool:
        return key in self.values

    def get(self, key: str) -> str | None:
        return self.values.get(key)


def parse(argv: Sequence[str]) -> Arguments:
    """Raises UsageError naming the argument that is wrong."""
    known = all_options()
    values: dict[str, str] = {}
    repeated: dict[str, tuple[str, ...]] = {}
    list_models: str | None = None
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        option, given = _option(word, known)
        if option is LIST_MODELS:
            optional = rest.pop(0) if rest and not rest[0].startswith("-") else ""
            list_models = given if given is not None else optional
            continue
        value = _value(option, word, given, rest)
        if option.repeats:
            repeated[option.key] = (*repeated.get(option.key, ()), value)
        else:
            values[option.key] = value
    files = tuple(word[1:] for word in words if word.startswith("@") and len(word) > 1)
    messages = tuple(word for word in words if not (word.startswith("@") and len(word) > 1))
    arguments = Arguments(values, repeated, list_models, files, messages)
    _check_combinations(arguments)
    return arguments


def _option(word: str, known: dict[str, Option]) -> tuple[Option, str | None]:
    name, equals, given = word.partition("=")
    if name in known and (not equals or name.startswith("--")):
        return known[name], given if equals else None
    near = get_close_matches(name, known, n=2, cutoff=0.7)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise UsageError(
        f"Unknown option {name}.{hint} `relay --help` lists them; a prompt that begins with - goes after --."
    )


def _value(option: Option, word: str, given: str | None, rest: list[str]) -> str:
    if not option.value:
        if given is not None:
            raise UsageError(f"{option.names[-1]} takes no value, but {word} gives one.")
        return ""
    if given is None:
        if not rest:
            raise UsageError(f"{word} needs a value: {word} {option.value}.")
        given = rest.pop(0)
    if option.choices and given not in option.choices:
        raise UsageError(f"{word} cannot be {given!r}: use {', '.join(option.choices)}.")
    return given


_EXCLUSIVE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("session_id", ("session", "continue")),
    ("continue", ("session",)),
    ("approve", ("no_approve",)),
)


def _check_combinations(arguments: Arguments) -> None:
    for key, others in _EXCLUSIVE:
        for other in others:
            if arguments.flag(key) and arguments.flag(other):
                raise UsageError(f"{_dashed(key)} cannot be combined with {_dashed(other)}: leave one out.")
    if arguments.flag("provider") and not arguments.flag("model"):
        raise UsageError(
            "--provider only narrows --model: name a model too, as in --provider NAME --model ID."
        )
    if arguments.flag("api_key") and not (arguments.flag("model") or arguments.flag("models")):
        raise UsageError("--api-key needs to know which model it is for: add --model or --models.")
    if arguments.get("mode") == "rpc" and arguments.files:
        raise UsageError("--mode rpc takes no @files: send file contents in a prompt command.")
    plus_minus = [
        name for name in (arguments.get("tools") or "").split(",") if name.strip()[:1] in ("+", "-")
    ]
    if plus_minus:
        raise UsageError(
            f"--tools takes names and patterns, not {plus_minus[0].strip()}: list every tool you want, "
            "or use the setting defaultTools for +name and -name."
        )


def _dashed(key: str) -> str:
    return "--" + key.replace("_", "-")
