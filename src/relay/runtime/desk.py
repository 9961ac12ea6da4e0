"""What the loop asks for: model calls over the recorded conversation, and the inbox."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import msgspec

from relay.agent.hooks import Hooks
from relay.agent.loop import ModelCall
from relay.agent.messages import AgentMessage, to_model
from relay.agent.tool import Tool
from relay.ai.model import Model
from relay.ai.types import ThinkingLevel
from relay.ai.wire.base import CallOptions
from relay.runtime.inbox import Inbox
from relay.runtime.model_choice import ModelChoice
from relay.runtime.provider import ModelProvider
from relay.runtime.record import SessionRecord


class SessionDesk:
    """Joins the owners for the loop. `options` are what every call shares; level and session come here."""

    def __init__(
        self,
        choice: ModelChoice,
        inbox: Inbox,
        record: SessionRecord,
        *,
        provider: ModelProvider,
        hooks: Hooks,
        tools: Mapping[str, Tool],
        options: CallOptions,
    ) -> None:
        self._choice = choice
        self._inbox = inbox
        self._record = record
        self._provider = provider
        self._hooks = hooks
        self._options = options
        self.tools = tools

    @property
    def model(self) -> Model:
        return self._choice.model

    @property
    def thinking(self) -> ThinkingLevel:
        return self._choice.thinking

    async def call(self) -> ModelCall:
        messages = await self._hooks.shape_context(to_model(self._record.messages))
        options = msgspec.structs.replace(
            self._options, thinking=self._choice.thinking, session_id=self._record.id
        )
        return await self._provider.call(
            self._choice.model, messages, options, on_payload=self._hooks.shape_payload
        )

    def queued(self, *, stopped: bool) -> bool:
        return self._inbox.queued(stopped=stopped)

    def take(self, *, stopped: bool) -> AsyncIterator[AgentMessage]:
        return self._inbox.take(stopped=stopped)
