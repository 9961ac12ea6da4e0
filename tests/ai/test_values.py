"""Templates of models.json and auth.json: variables, escapes and commands."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.ai.errors import ProviderError
from relay.ai.values import Commands, fill, is_command, variables

ENV = {"K": "val", "LONG_NAME2": "two", "EMPTY": "", "LINES": "one\n"}


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ("plain", "plain"),
        ("K", "K"),
        ("$K", "val"),
        ("${K}", "val"),
        ("pre-$K-${LONG_NAME2}$$x$!y", "pre-val-two$x!y"),
        ("$$K", "$K"),
        ("$$$K", "$val"),
        ("$!echo hi", "!echo hi"),
        ("a$1b$ c${BAD-x} ${} $", "a$1b$ c${BAD-x} ${} $"),
        ("$LINES", "one"),
    ],
)
def test_variables_and_escapes_are_filled_in(value: str, filled: str) -> None:
    assert fill(value, ENV, "here") == filled


@pytest.mark.parametrize("value", ["$NONE", "x${NONE}", "$EMPTY$NONE"])
def test_an_unset_variable_is_named_with_its_place(value: str) -> None:
    name = next(variables(value))
    with pytest.raises(ProviderError, match=rf"^models\.json: providers\.p\.apiKey .*{name}") as caught:
        fill(value, ENV, "models.json: providers.p.apiKey")
    assert caught.value.kind == "config"


def test_only_templates_name_variables() -> None:
    assert list(variables("$A-${B}-$$C")) == ["A", "B"]
    assert list(variables("!echo $A")) == []
    assert is_command("!x")
    assert not is_command("$!x")


@given(st.text())
def test_doubled_dollars_give_any_text_back(text: str) -> None:
    assert fill(text.replace("$", "$$"), {}, "here") == text


async def test_a_command_runs_once_for_all_who_ask(tmp_path: Path) -> None:
    log = tmp_path / "ran"
    commands = Commands()
    value = f"!echo x >> {log}; echo '  secret  '"
    answers = await asyncio.gather(*(commands.output(value, os.environ, "here") for _ in range(5)))
    assert answers == ["secret"] * 5
    assert log.read_text() == "x\n"
    commands.forget(value)
    assert await commands.output(value, os.environ, "here") == "secret"
    assert log.read_text() == "x\nx\n"


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("echo no vault >&2; exit 3", "exit code 3: no vault"),
        ("exit 1", "exit code 1"),
        ("true", "printed nothing"),
        ("printf ' \\n'", "printed nothing"),
        ("surely-no-such-program-here", "exit code 127"),
    ],
)
async def test_a_failed_command_says_why_and_does_not_run_again(
    tmp_path: Path, command: str, word: str
) -> None:
    log = tmp_path / "ran"
    commands = Commands()
    for _ in range(2):
        with pytest.raises(ProviderError) as caught:
            await commands.output(f"!echo x >> {log}; {command}", os.environ, "auth.json: p.key")
        assert str(caught.value).startswith("auth.json: p.key is the command")
        assert word in str(caught.value)
    assert log.read_text() == "x\n"


async def test_a_command_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    alive = tmp_path / "fifo"
    os.mkfifo(alive)
    reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    try:
        commands = Commands(timeout=0.3)
        with pytest.raises(ProviderError, match=r"did not end within 0\.3 seconds"):
            await commands.output(f"!(exec 3>{alive}; sleep 100) & sleep 100", os.environ, "here")
        await asyncio.to_thread(_wait_for_end, reader)
    finally:
        os.close(reader)


def _wait_for_end(reader: int) -> None:
    """Returns when no process holds the other end of the pipe."""
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""


async def test_an_abort_kills_the_command_and_caches_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    commands = Commands()
    value = f"!echo started > {pipe}; if [ -e {tmp_path}/second ]; then echo key; else sleep 100; fi"
    task = asyncio.create_task(commands.output(value, os.environ, "here"))
    assert await asyncio.to_thread(pipe.read_text) == "started\n"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (tmp_path / "second").touch()
    again = asyncio.create_task(commands.output(value, os.environ, "here"))
    assert await asyncio.to_thread(pipe.read_text) == "started\n"
    assert await again == "key"


async def test_the_command_sees_the_given_environment() -> None:
    env = {"PATH": os.environ["PATH"], "MINE": "yes"}
    assert await Commands().output('!echo "$MINE"', env, "here") == "yes"
