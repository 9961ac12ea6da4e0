"""RPC commands that run the user's own shell commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relay.modes.encode import encode_record
from relay.modes.rpc.records import Command
from relay.runtime.live import LiveSession


async def bash(session: LiveSession, command: Command, write: Callable[[bytes], None]) -> Any:
    """Answers when the command has ended; until then, `write` gets a record for each piece of output."""
    head = {"type": "bash_execution_update", **({"id": command.id} if command.id is not None else {})}

    def tell(text: str) -> None:
        write(encode_record(head | {"delta": text}))

    exclude = command.fields.get("excludeFromContext") is not None and command.flag("excludeFromContext")
    done = await session.shell.run(command.text("command"), exclude=exclude, on_text=tell)
    return {
        "output": done.output,
        **({"exitCode": done.exit_code} if done.exit_code is not None else {}),
        "cancelled": done.cancelled,
        "truncated": done.truncated,
        **({"fullOutputPath": done.full_output_path} if done.full_output_path is not None else {}),
    }


async def abort_bash(session: LiveSession, command: Command) -> None:
    """Answers once the commands have ended and are recorded."""
    session.shell.abort()
    await session.shell.settled()
