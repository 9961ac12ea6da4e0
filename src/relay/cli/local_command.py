"""`relay local pull|list|remove`: the models that run on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TextIO

from relay.ai.errors import ProviderError
from relay.ai.local.library import SOURCES, Library
from relay.ai.local.pull import pull
from relay.ai.transport import Transport, TransportOptions
from relay.cli.errors import UsageError
from relay.config.loading import load_settings
from relay.config.paths import agent_dir

USAGE = (
    "Usage: relay local pull NAME     fetch a model\n"
    "       relay local list          show what is here and what can be fetched\n"
    "       relay local remove NAME   delete a model\n"
)

_MIB = 1 << 20


def run(argv: Sequence[str], environ: Mapping[str, str], stdout: TextIO, stderr: TextIO) -> int:
    """The exit code. Raises UsageError, and ProviderError for what cannot be fetched or found."""
    library = Library(agent_dir(environ) / "models")
    try:
        return _run(argv, library, environ, stdout, stderr)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ProviderError(
            f"The folder of local models, {library.folder}, cannot be used: {error.strerror or error}.",
            "config",
        ) from error


def _run(
    argv: Sequence[str], library: Library, environ: Mapping[str, str], stdout: TextIO, stderr: TextIO
) -> int:
    match list(argv):
        case ["list"]:
            _list(library, stdout)
        case ["pull", name]:
            path = asyncio.run(_pull(name, library, environ, stderr))
            stdout.write(f'local/{name} is ready: {path}\nTry it: relay -p --model local/{name} "Hello"\n')
        case ["remove", name]:
            gone = library.remove(name)
            stdout.write(f"Removed {gone.path}, {gone.size // _MIB} MiB.\n")
        case ["-h" | "--help", *_]:
            stdout.write(USAGE)
        case _:
            raise UsageError(USAGE.rstrip())
    return 0


def _list(library: Library, stdout: TextIO) -> None:
    here = library.files()
    for file in here:
        stdout.write(f"local/{file.id}  {file.size // _MIB} MiB  {file.path}\n")
    names = {file.id for file in here}
    for name, source in SOURCES.items():
        if name not in names:
            stdout.write(
                f"{name} can be fetched: {source.about} ({source.size // _MIB} MiB, {source.license})\n"
            )


async def _pull(name: str, library: Library, environ: Mapping[str, str], stderr: TextIO) -> object:
    settings = load_settings(agent_dir(environ), None, trusted=False).settings
    options = TransportOptions(proxy=settings.http_proxy, idle_timeout_ms=settings.http_idle_timeout_ms)
    transport = Transport(options, environ)
    meter = Meter(stderr)
    try:
        return await pull(name, library, transport, meter.show)
    finally:
        meter.end()
        await transport.aclose()


class Meter:
    """Shows progress in one line of a terminal; elsewhere each stage once."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._shown: tuple[str, int] = ("", -1)

    def show(self, stage: str, done: int, total: int) -> None:
        percent = done * 100 // total if total else 0
        if (stage, percent) == self._shown or (not self._live and stage == self._shown[0]):
            return
        self._shown = (stage, percent)
        if not self._live:
            self._stream.write(f"{stage} …\n")
        else:
            amount = f"{done // _MIB} of {total // _MIB} MiB" if total else f"{done // _MIB} MiB"
            self._stream.write(f"\r{stage}: {percent:3d} %, {amount}\x1b[K")
        self._stream.flush()

    def end(self) -> None:
        if self._live and self._shown[0]:
            self._stream.write("\n")
