"""The user's own shell commands: run beside the conversation and recorded in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from relay.agent.events import AgentSettled, EventBus, SessionEvent
from relay.agent.messages import BashExecutionMessage
from relay.base.clock import now_ms
from relay.runtime.record import SessionRecord
from relay.runtime.run import Runner
from relay.tools.shell import ShellOutcome, find_shell, run_shell
from relay.tools.shell_output import Snapshot
from relay.tools.shell_tool import ShellOptions, prefixed


class UserShell:
    """Owns the commands under way and the finished ones that wait for a run to settle.

    Made before the front end subscribes: who reads `agent_settled` finds the waiting ones recorded.
    """

    def __init__(
        self, bus: EventBus, runner: Runner, record: SessionRecord, cwd: Path, options: ShellOptions
    ) -> None:
        self._runner = runner
        self._record = record
        self._cwd = cwd
        self._options = options
        self._running: set[asyncio.Task[ShellOutcome]] = set()
        self._waiting: list[BashExecutionMessage] = []
        bus.subscribe(self._note)

    @property
    def busy(self) -> bool:
        return bool(self._running)

    async def run(
        self, command: str, *, exclude: bool = False, on_text: Callable[[str], None] | None = None
    ) -> BashExecutionMessage:
        """Runs `command` to its end or to `abort`, and records it; `exclude` keeps it from the model.

        `on_text` gets all output, piece by piece. Raises ToolError when it cannot be started.
        """
        shown = Snapshot(text="")

        def note(snapshot: Snapshot) -> None:
            nonlocal shown
            shown = snapshot

        task = asyncio.create_task(
            run_shell(
                prefixed(command, self._options.command_prefix),
                cwd=str(self._cwd),
                shell=find_shell(self._options.shell_path),
                tracker=self._options.tracker,
                environment=self._options.environment(),
                on_update=note,
                on_text=on_text,
                output_folder=self._options.output_folder,
            )
        )
        self._running.add(task)
        try:
            await asyncio.wait((task,))
            outcome = None if task.cancelled() else task.result()
            message = _message(command, shown if outcome is None else outcome.output, outcome, exclude)
            await self._keep(message)
        finally:
            task.cancel()
            self._running.discard(task)
        return message

    def abort(self) -> None:
        """Ends every command under way, with its processes; each is recorded as cancelled."""
        for task in self._running:
            task.cancel()

    async def settled(self) -> None:
        """Returns once no command is under way."""
        while self._running:
            await asyncio.wait(tuple(self._running))
            await asyncio.sleep(0)  # lets `run` record what has ended

    async def _keep(self, message: BashExecutionMessage) -> None:
        if self._runner.busy:
            # Between a tool call and its result nothing may stand.
            self._waiting.append(message)
        else:
            await self._record.add_shell(message)

    async def _note(self, event: SessionEvent) -> None:
        if isinstance(event, AgentSettled):
            while self._waiting:
                await self._record.add_shell(self._waiting.pop(0))


def _message(
    command: str, output: Snapshot, outcome: ShellOutcome | None, exclude: bool
) -> BashExecutionMessage:
    return BashExecutionMessage(
        command=command,
        output=output.text,
        exit_code=outcome.exit_code if outcome is not None else None,
        cancelled=outcome is None,
        truncated=output.truncation is not None,
        full_output_path=output.full_output_path,
        exclude_from_context=True if exclude else None,
        timestamp=now_ms(),
    )
