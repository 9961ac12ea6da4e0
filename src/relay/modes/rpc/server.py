"""The RPC server: reads commands, answers each as it finishes, and ends in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from relay.base.errors import RelayError
from relay.modes.encode import encode_record
from relay.modes.input import RecordInput
from relay.modes.json_mode import EventWriter
from relay.modes.output import RecordOutput
from relay.modes.rpc import models, sessions, shell, state, steering
from relay.modes.rpc.records import Command, CommandError, ParseError, Response, read_command
from relay.runtime.live import LiveSession
from relay.runtime.sessions import SessionHost

_log = logging.getLogger(__name__)

Handler = Callable[[LiveSession, Command], Awaitable[Any]]

HANDLERS: Mapping[str, Handler] = {
    handler.__name__: handler
    for handler in (
        steering.prompt,
        steering.steer,
        steering.follow_up,
        steering.abort,
        steering.clear_queue,
        steering.set_steering_mode,
        steering.set_follow_up_mode,
        steering.set_auto_retry,
        state.get_state,
        state.get_messages,
        state.get_entries,
        state.get_last_assistant_text,
        models.set_model,
        models.cycle_model,
        models.get_available_models,
        models.set_thinking_level,
        models.cycle_thinking_level,
        models.get_available_thinking_levels,
        models.set_session_name,
        shell.abort_bash,
        sessions.get_session_stats,
        sessions.get_fork_messages,
        sessions.get_tree,
    )
}
"""Command type → what carries it out. A handler returns the response's `data`; None leaves it out,
except for commands that answer `null`."""

EXCHANGES: Mapping[str, Callable[[SessionHost, Command], Awaitable[Any]]] = {
    handler.__name__: handler
    for handler in (sessions.new_session, sessions.switch_session, sessions.fork, sessions.clone)
}
"""The commands that put another session in the place of the current one."""

_NULL_ANSWERS = ("cycle_model", "cycle_thinking_level")


class RpcServer:
    """Owns the commands under way. `stop` ends it as the end of the input does."""

    def __init__(self, host: SessionHost, input_descriptor: int, output_descriptor: int) -> None:
        self._host = host
        self._ended = asyncio.Event()
        self._output = RecordOutput(output_descriptor, closed=self.stop)
        self._input = RecordInput(input_descriptor)
        self._running: set[asyncio.Task[None]] = set()
        host.subscribe(EventWriter(self._output))

    def stop(self) -> None:
        self._ended.set()

    async def serve(self) -> None:
        """Returns after the input ended or `stop`: the run aborted and saved, every command answered."""
        reading = asyncio.create_task(self._read())
        ending = asyncio.create_task(self._ended.wait())
        await asyncio.wait((reading, ending), return_when=asyncio.FIRST_COMPLETED)
        for task in (reading, ending):
            task.cancel()
        session = await self._host.ready()
        session.runner.abort()
        session.shell.abort()
        await session.runner.settled()
        if self._running:
            await asyncio.wait(self._running)
        await self._output.finish()

    async def _read(self) -> None:
        async for record in self._input:
            task = asyncio.create_task(self._carry_out(record))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            # One turn of the loop: commands take effect in the order in which they came.
            await asyncio.sleep(0)

    async def _carry_out(self, record: bytes) -> None:
        self._output.write(encode_record(await self._answer(record)))
        if not self._output.roomy:
            await self._output.drain()

    async def _answer(self, record: bytes) -> Response:
        try:
            command = read_command(record)
        except CommandError as error:
            stage = "parse" if isinstance(error, ParseError) else None
            return Response(command=stage, success=False, error=str(error))
        try:
            data = await self._data(command)
        except RelayError as error:
            return _failure(command, str(error))
        except Exception as error:  # noqa: BLE001  one command's fault must not end the server
            _log.exception("command %s failed", command.type)
            return _failure(command, f"{command.type} failed unexpectedly: {error}")
        if data is None and command.type not in _NULL_ANSWERS:
            data = msgspec.UNSET
        return Response(id=command.id, command=command.type, success=True, data=data)

    async def _data(self, command: Command) -> Any:
        exchange = EXCHANGES.get(command.type)
        if exchange is not None:
            return await exchange(self._host, command)
        session = await self._host.ready()
        if command.type == "bash":
            return await shell.bash(session, command, self._output.write)
        handler = HANDLERS.get(command.type)
        if handler is None:
            raise _unknown(command.type)
        return await handler(session, command)


def _unknown(type: str) -> CommandError:
    known = ", ".join(sorted((*HANDLERS, *EXCHANGES, "bash")))
    return CommandError(f"There is no command {type}. Commands: {known}.")


def _failure(command: Command, error: str) -> Response:
    return Response(id=command.id, command=command.type, success=False, error=error)
