"""The model and thinking level in use: chosen at the start, changed by the user, recorded in the session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from relay.agent.events import EventBus, ThinkingLevelChanged
from relay.ai.model import Model, clamp_thinking, thinking_levels
from relay.ai.patterns import Choice
from relay.ai.types import ThinkingLevel


class ChoiceRecord(Protocol):
    """Where changes are written."""

    async def model_changed(self, provider: str, model_id: str) -> None: ...

    async def thinking_changed(self, level: ThinkingLevel) -> None: ...


class ModelChoice:
    """Alone holds the current model and the level in force."""

    def __init__(
        self,
        bus: EventBus,
        record: ChoiceRecord,
        *,
        model: Model,
        wanted: ThinkingLevel,
        per_model: Mapping[str, ThinkingLevel],
        scope: Sequence[Choice] = (),
    ) -> None:
        self._bus = bus
        self._record = record
        self._per_model = per_model
        self._scope_levels = {choice.model.key: choice.thinking for choice in scope}
        self.scope = tuple(choice.model for choice in scope)
        """Models named by --models or enabledModels; empty = all that have credentials."""
        self.model = model
        self.thinking = clamp_thinking(model, wanted)

    @property
    def levels(self) -> list[ThinkingLevel]:
        return thinking_levels(self.model)

    async def set_model(self, model: Model, level: ThinkingLevel | None = None) -> None:
        """Switches; the level becomes `level`, the model's own, or the one in force, clamped."""
        self.model = model
        await self._record.model_changed(model.provider, model.id)
        wanted = level or self._per_model.get(model.key) or self.thinking
        await self._apply(clamp_thinking(model, wanted))

    async def set_thinking(self, level: ThinkingLevel) -> None:
        """What the user wants from now on, clamped to what the model accepts."""
        await self._apply(clamp_thinking(self.model, level))

    async def cycle(self, available: Callable[[], Awaitable[Sequence[Model]]]) -> Model | None:
        """The next model of the scope, with its level there, or of all available; None: there is no other."""
        models = self.scope or tuple(await available())
        if len(models) < 2:
            return None
        keys = [model.key for model in models]
        at = keys.index(self.model.key) if self.model.key in keys else -1
        model = models[(at + 1) % len(models)]
        await self.set_model(model, self._scope_levels.get(model.key))
        return model

    async def _apply(self, level: ThinkingLevel) -> None:
        if level == self.thinking:
            return
        self.thinking = level
        await self._record.thinking_changed(level)
        await self._bus.emit(ThinkingLevelChanged(level=level))
