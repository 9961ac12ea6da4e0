"""Values of models.json and auth.json that are templates: `$NAME`, `${NAME}`, `!command`, `$$` and `$!`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Iterator, Mapping

from relay.ai.errors import ProviderError

COMMAND_SECONDS = 60.0
"""A secret manager may ask for a fingerprint first."""

LEAVE_SECONDS = 1.0

_PIECE = re.compile(r"\$(?:([$!])|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


def is_command(value: str) -> bool:
    return value.startswith("!")


def variables(value: str) -> Iterator[str]:
    """Names of the environment variables that `value` is made from; a command names none."""
    if not is_command(value):
        for found in _PIECE.finditer(value):
            name = found[2] or found[3]
            if name:
                yield name


def fill(value: str, environ: Mapping[str, str], where: str) -> str:
    """`value`, which is no command, with its variables filled in. An empty variable counts as not set.

    Anything else after a `$` stays as it is. Raises ProviderError (config) naming `where` and the variable.
    """

    def replace(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        name = found[2] or found[3]
        content = environ.get(name, "")
        if not content:
            raise ProviderError(
                f"{where} takes its value from the environment variable {name}, which is not set. "
                f"Set {name}, or write $$ for a literal dollar sign.",
                "config",
            )
        return content.strip("\r\n")

    return _PIECE.sub(replace, value)


class Commands:
    """Runs `!command` values, each at most once; owns their outputs and failures until it is forgotten."""

    def __init__(self, timeout: float = COMMAND_SECONDS) -> None:
        self._timeout = timeout
        self._results: dict[str, str | ProviderError] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def output(self, value: str, environ: Mapping[str, str], where: str) -> str:
        """What the command of `value` prints, without white space around it.

        Raises ProviderError (config) when it fails, takes too long or prints nothing; the same again later.
        """
        lock = self._locks.setdefault(value, asyncio.Lock())
        async with lock:
            result = self._results.get(value)
            if result is None:
                result = await self._run(value[1:], environ)
                self._results[value] = result
        if isinstance(result, ProviderError):
            raise ProviderError(f"{where} is the command `{value[1:].strip()}`, and {result}", result.kind)
        return result

    def forget(self, value: str) -> None:
        """Let the command run again, as for a token that the server no longer takes."""
        self._results.pop(value, None)

    async def _run(self, command: str, environ: Mapping[str, str]) -> str | ProviderError:
        try:
            process = await _start(command, environ)
        except (OSError, ValueError) as error:
            return ProviderError(f"it could not be started: {error}.", "config")
        ended = False
        try:
            async with asyncio.timeout(self._timeout):
                out, err = await process.communicate()
            ended = True
        except TimeoutError:
            return ProviderError(f"it did not end within {self._timeout:g} seconds.", "config")
        finally:
            if not ended:
                await _end(process)
        if process.returncode != 0:
            reason = err.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
            return ProviderError(
                f"it ended with exit code {process.returncode}" + (f": {reason}" if reason else "."), "config"
            )
        text = out.decode("utf-8", "replace").strip()
        return text or ProviderError("it printed nothing.", "config")


async def _start(command: str, environ: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start the command in a process group of its own.

    Cancelling a creation half-way would leave the group's other processes and its pipes behind, so it is
    completed first and then taken down.
    """
    creation = asyncio.ensure_future(
        asyncio.create_subprocess_shell(
            command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(environ),
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(creation)
    except asyncio.CancelledError:
        await _end(await creation)
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill what is left of the command's process group, its background children too, and wait for it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    # A process that left the group may hold the pipes open; nobody waits for that one.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LEAVE_SECONDS):
            await process.communicate()
