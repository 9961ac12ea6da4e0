"""RPC commands for the model, the thinking level and the session's name."""

from __future__ import annotations

from typing import Any, cast

from relay.agent.events import SessionInfoChanged
from relay.ai.types import THINKING_LEVELS, ThinkingLevel
from relay.modes.rpc.records import Command, CommandError
from relay.runtime.live import LiveSession


async def set_model(session: LiveSession, command: Command) -> Any:
    provider, model_id = command.text("provider"), command.text("modelId")
    available = await session.available()
    for model in available:
        if (model.provider, model.id) == (provider, model_id):
            await session.choice.set_model(model)
            return model
    known = ", ".join(model.key for model in available[:20]) or "none"
    raise CommandError(
        f"There is no model {provider}/{model_id} with credentials. Models that can be used: {known}."
    )


async def cycle_model(session: LiveSession, command: Command) -> Any:
    model = await session.choice.cycle(session.available)
    if model is None:
        return None
    return {
        "model": model,
        "thinkingLevel": session.choice.thinking,
        "isScoped": bool(session.choice.scope),
    }


async def get_available_models(session: LiveSession, command: Command) -> Any:
    return {"models": await session.available()}


async def set_thinking_level(session: LiveSession, command: Command) -> None:
    await session.choice.set_thinking(cast(ThinkingLevel, command.choice("level", THINKING_LEVELS)))


async def cycle_thinking_level(session: LiveSession, command: Command) -> Any:
    levels = session.choice.levels
    if len(levels) < 2:
        return None
    at = levels.index(session.choice.thinking)
    await session.choice.set_thinking(levels[(at + 1) % len(levels)])
    return {"level": session.choice.thinking}


async def get_available_thinking_levels(session: LiveSession, command: Command) -> Any:
    return {"levels": session.choice.levels}


async def set_session_name(session: LiveSession, command: Command) -> None:
    name = command.text("name").strip()
    if not name:
        raise CommandError("set_session_name needs a name that is not blank.")
    await session.record.rename(name)
    await session.bus.emit(SessionInfoChanged(name=name))
