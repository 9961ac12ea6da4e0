"""RPC commands that prompt, queue and stop."""

from __future__ import annotations

from typing import Any, cast

from relay.modes.rpc.records import Command, CommandError
from relay.runtime.inbox import QueueMode
from relay.runtime.live import LiveSession
from relay.runtime.prompter import user_content

_MODES = ("all", "one-at-a-time")


async def prompt(session: LiveSession, command: Command) -> Any:
    content = user_content(command.text("message"), command.images())
    if not session.runner.busy:
        session.prompter.start(content)
        return {"disposition": "started"}
    match command.fields.get("streamingBehavior"):
        case "steer":
            await session.prompter.steer(content)
        case "followUp":
            await session.prompter.follow_up(content)
        case _:
            raise CommandError(
                'A run is under way: add "streamingBehavior": "steer" (delivered before the next model call) '
                'or "followUp" (delivered when the model stops), or abort first.'
            )
    return {"disposition": "queued"}


async def steer(session: LiveSession, command: Command) -> Any:
    await session.prompter.steer(user_content(command.text("message"), command.images()))
    return {"disposition": "queued"}


async def follow_up(session: LiveSession, command: Command) -> Any:
    await session.prompter.follow_up(user_content(command.text("message"), command.images()))
    return {"disposition": "queued"}


async def abort(session: LiveSession, command: Command) -> None:
    """Answers once the run has settled."""
    session.runner.abort()
    await session.runner.settled()


async def clear_queue(session: LiveSession, command: Command) -> Any:
    steering, follow_ups = await session.inbox.clear()
    return {"steering": steering, "followUp": follow_ups}


async def set_steering_mode(session: LiveSession, command: Command) -> None:
    session.inbox.steering_mode = cast(QueueMode, command.choice("mode", _MODES))


async def set_follow_up_mode(session: LiveSession, command: Command) -> None:
    session.inbox.follow_up_mode = cast(QueueMode, command.choice("mode", _MODES))


async def set_auto_retry(session: LiveSession, command: Command) -> None:
    session.retry.enabled = command.flag("enabled")
