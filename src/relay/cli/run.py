"""Runs a session from the command line: options in, a mode, an exit code out."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import cast

from relay.ai.types import ThinkingLevel, UserContent
from relay.cli.arguments import Arguments
from relay.cli.errors import UsageError
from relay.cli.prompts import Prompts, make_prompts, read_piped
from relay.cli.tell import tell
from relay.config.paths import home_dir
from relay.modes.json_mode import run_json
from relay.modes.output import claim_stdout
from relay.modes.print_mode import run_print
from relay.modes.rpc.server import RpcServer
from relay.runtime.assembly import open_session
from relay.runtime.sessions import SessionHost
from relay.runtime.start import ModelOptions, SessionOptions, StartError, StartOptions, ToolOptions

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """The exit code. Raises RelayError for what keeps a session from starting."""
    mode = _mode(arguments)
    piped = read_piped() if mode != "rpc" else ""
    if mode == "print" and not (arguments.messages or arguments.files or piped.strip()):
        return 0
    channel = claim_stdout() if mode in ("json", "rpc") else -1
    return asyncio.run(_run(mode, arguments, environ, piped, channel))


def _mode(arguments: Arguments) -> str:
    named = arguments.get("mode")
    if named in ("json", "rpc"):
        return named
    if not arguments.flag("print") and sys.stdin.isatty() and sys.stdout.isatty():
        raise UsageError(
            'The interactive terminal is not built yet. Ask one thing with relay -p "…", '
            "or drive Relay from a program with --mode rpc."
        )
    return "print"


async def _run(mode: str, arguments: Arguments, environ: Mapping[str, str], piped: str, channel: int) -> int:
    options = _start_options(arguments, environ)
    session = await open_session(options, _report)
    host = SessionHost(session, options, _report)
    if not gc.isenabled():
        # The start is over; what it made is never garbage.
        gc.freeze()
        gc.enable()
    ending = Ending(host)
    try:
        if mode == "rpc":
            server = RpcServer(host, 0, channel)
            ending.watch(server.stop)
            await server.serve()
            code = 0
        else:
            ending.watch(session.runner.abort)
            home = home_dir(environ)
            made = make_prompts(arguments, piped, options.cwd, home, session.settings.images)
            prompts = ending.until_signalled(made)
            if mode == "json":
                code = await run_json(session, prompts, channel)
            else:
                code = await run_print(session, prompts, sys.stdout, sys.stderr)
    finally:
        saved = await host.close()
    if not saved:
        _report("Not everything of this session could be saved: see the message above.")
        code = code or 1
    return ending.code or code


class Ending:
    """Turns the first SIGTERM, SIGHUP or SIGINT into an orderly end, and the second into an immediate one."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host
        self.code = 0
        """128 + the signal's number, once one came."""

    def watch(self, stop: Callable[[], None]) -> None:
        """Calls `stop` at the first signal."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._caught, number, stop)

    def until_signalled(self, prompts: Prompts) -> Iterator[list[UserContent]]:
        """The prompts one by one; none after a signal, also one that found no run to abort."""
        for prompt in prompts:
            if self.code:
                return
            yield prompt

    def _caught(self, number: signal.Signals, stop: Callable[[], None]) -> None:
        if self.code:
            self._host.kill()
            os._exit(self.code)
        self.code = 128 + number
        stop()


def _report(sentence: str) -> None:
    tell(sys.stderr, sentence)


def _start_options(arguments: Arguments, environ: Mapping[str, str]) -> StartOptions:
    models = arguments.get("models")
    return StartOptions(
        cwd=Path.cwd(),
        environ=environ,
        model=ModelOptions(
            pattern=arguments.get("model"),
            provider=arguments.get("provider"),
            scope=_list(models) if models is not None else None,
            api_key=arguments.get("api_key"),
            thinking=cast(ThinkingLevel | None, arguments.get("thinking")),
        ),
        session=_session_options(arguments),
        tools=ToolOptions(
            only=_list(arguments.values["tools"]) if arguments.flag("tools") else None,
            exclude=_list(arguments.get("exclude_tools") or ""),
            none=arguments.flag("no_tools"),
            no_builtin=arguments.flag("no_builtin_tools"),
        ),
        system_prompt=arguments.get("system_prompt"),
        append_system_prompt=arguments.repeated.get("append_system_prompt", ()),
        context_files=not arguments.flag("no_context_files"),
        approve=_approval(arguments),
    )


def _session_options(arguments: Arguments) -> SessionOptions:
    folder, name = arguments.get("session_dir"), arguments.get("name")
    if arguments.flag("fork"):
        return _fork_options(arguments, folder, name)
    if arguments.flag("no_session"):
        return SessionOptions(kind="memory", folder=folder, name=name)
    if arguments.flag("continue"):
        return SessionOptions(kind="continue", folder=folder, name=name)
    for key, kind in (("session", "open"), ("session_id", "id")):
        if arguments.flag(key):
            value = arguments.values[key]
            return SessionOptions(
                kind="open" if kind == "open" else "id", value=value, folder=folder, name=name
            )
    return SessionOptions(folder=folder, name=name)


def _fork_options(arguments: Arguments, folder: str | None, name: str | None) -> SessionOptions:
    """Raises StartError, not UsageError: programs that are driven like this one end with 1 here."""
    for key in ("session", "continue", "no_session"):
        if arguments.flag(key):
            other = "--" + key.replace("_", "-")
            raise StartError(f"--fork cannot be combined with {other}: leave one out.")
    return SessionOptions(
        kind="fork",
        value=arguments.values["fork"],
        new_id=arguments.get("session_id"),
        folder=folder,
        name=name,
    )


def _approval(arguments: Arguments) -> bool | None:
    if arguments.flag("approve"):
        return True
    return False if arguments.flag("no_approve") else None


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
