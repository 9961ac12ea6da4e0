"""The session that a front end works on, and its exchange for another one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import msgspec

from relay.agent.events import Sink
from relay.base.errors import RelayError
from relay.runtime.assembly import open_session
from relay.runtime.live import LiveSession
from relay.runtime.provider import ModelProvider
from relay.runtime.start import SessionOptions, StartOptions
from relay.runtime.startup_session import MakeLog, copied_log, fresh_log, opened_log
from relay.runtime.surroundings import Report
from relay.session.fork import fork_points
from relay.session.locate import read_header

_log = logging.getLogger(__name__)


class SwitchError(RelayError):
    """Another session cannot be taken up as asked; the present one goes on."""


class SessionHost:
    """Owns which session is current, what it was started with, and the front end's sinks.

    `provider` makes what replaces the network, once for each session.
    """

    def __init__(
        self,
        live: LiveSession,
        options: StartOptions,
        report: Report,
        *,
        provider: Callable[[], ModelProvider] | None = None,
    ) -> None:
        self._live = live
        self._options = options
        self._report = report
        self._provider = provider
        self._switching = asyncio.Lock()
        self._sinks: list[Sink] = []
        self._lost = False
        """A session that was left could not be saved whole."""
        key_provider = live.choice.model.provider if options.model.api_key is not None else None
        self._model = msgspec.structs.replace(options.model, key_provider=key_provider)

    @property
    def live(self) -> LiveSession:
        """The session of this moment; during a switch still the old one."""
        return self._live

    async def ready(self) -> LiveSession:
        """The current session, once no switch is under way."""
        async with self._switching:
            return self._live

    def subscribe(self, sink: Sink) -> None:
        """The sink gets the events of the current session, and after a switch those of the new one."""
        self._sinks.append(sink)
        self._live.bus.subscribe(sink)

    async def new(self, parent: str | None = None) -> None:
        """A session of the same model and directory; `parent` is noted in its header. Raises RelayError."""
        async with self._switching:
            await self._exchange(self._here(), fresh_log(parent))

    async def clone(self) -> None:
        """A copy of the active branch as it stands. Raises RelayError, also when there is nothing to copy."""
        async with self._switching:
            log = self._live.record.log
            if not self._live.record.messages:
                raise SwitchError("There is nothing to clone yet: the session has no message.")
            await self._stop()
            await self._exchange(self._here(), copied_log(log, log.leaf_id))

    async def fork(self, entry_id: str) -> str:
        """A copy of the branch before a user message; returns the message's text. Raises RelayError."""
        async with self._switching:
            log = self._live.record.log
            point = next((point for point in fork_points(log) if point.entry_id == entry_id), None)
            if point is None:
                raise SwitchError(
                    f"The session has no user message with the entry id {entry_id}: "
                    "get_fork_messages lists those that can be forked from."
                )
            await self._exchange(self._here(), copied_log(log, point.parent_id))
            return point.text

    async def switch(self, path: Path) -> None:
        """Takes up the session of that file, in its own directory with its own model. Raises RelayError."""
        async with self._switching:
            named = _absolute(path, self._options.cwd)
            current = self._live.record.file
            if current is not None and _is_same(named, current):
                await self._stop()
            else:
                await self._exchange(self._of(named), opened_log(named))

    async def close(self) -> bool:
        """Ends the current session; False when entries of it or of one before could not be saved."""
        async with self._switching:
            saved = await self._live.close()
            return saved and not self._lost

    def kill(self) -> None:
        """Ends running commands at once."""
        self._live.kill()

    async def _exchange(self, options: StartOptions, make_log: MakeLog) -> None:
        """When it raises, the old session is still the current one, and works."""
        await self._stop()
        provider = self._provider() if self._provider is not None else None
        old = self._live
        new = await open_session(options, self._report, provider=provider, make_log=make_log)
        new.inbox.steering_mode, new.inbox.follow_up_mode = old.inbox.steering_mode, old.inbox.follow_up_mode
        new.retry.enabled = old.retry.enabled
        if old.inbox.size:
            await old.inbox.clear()
        self._options = options
        self._live = new
        for sink in self._sinks:
            new.bus.subscribe(sink)
        if not await _leave(old):
            self._lost = True

    async def _stop(self) -> None:
        self._live.runner.abort()
        self._live.shell.abort()
        try:
            await self._live.runner.settled()
        except Exception:  # noqa: BLE001  a run that broke must not tie the user to its session
            _log.exception("the run of the session being left broke")
        await self._live.shell.settled()

    def _here(self) -> StartOptions:
        """The start of another session with the model and level in use."""
        choice = self._live.choice
        model = msgspec.structs.replace(
            self._model, pattern=choice.model.key, provider=None, thinking=choice.thinking
        )
        return msgspec.structs.replace(self._options, model=model, session=self._place())

    def _of(self, path: Path) -> StartOptions:
        """The start of a saved session: its directory if that exists, and its model."""
        if not path.exists():
            return self._here()
        header = read_header(path)
        cwd = Path(header.cwd) if header is not None and header.cwd else self._options.cwd
        if not cwd.is_dir():
            self._report(f"The session's directory {cwd} does not exist: it goes on in {self._options.cwd}.")
            cwd = self._options.cwd
        model = msgspec.structs.replace(self._model, pattern=None, provider=None, thinking=None)
        approve = self._options.approve if cwd == self._options.cwd else None
        return msgspec.structs.replace(
            self._options, cwd=cwd, model=model, session=self._place(), approve=approve
        )

    def _place(self) -> SessionOptions:
        """Saved or not, and where, as the present one; a name is given only once."""
        given = self._options.session
        return SessionOptions(kind="memory" if given.kind == "memory" else "new", folder=given.folder)


async def _leave(live: LiveSession) -> bool:
    """False when entries could not be saved."""
    try:
        return await live.close()
    except Exception:  # noqa: BLE001  the new session is there already and has to go on
        _log.exception("the session that was left did not close in order")
        return live.record.unsaved == 0


def _absolute(path: Path, cwd: Path) -> Path:
    return cwd / path.expanduser()


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return path == other
