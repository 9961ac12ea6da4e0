"""Places where others take part in a run, in the order in which a turn reaches them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from relay.agent.tool import ToolResult
from relay.ai.call import PayloadHook
from relay.ai.model import Model
from relay.ai.types import AssistantMessage, Message, ToolCall


class Blocked(msgspec.Struct, frozen=True):
    """A tool call that must not run; `reason` goes to the model as the call's failed result."""

    reason: str


ContextHook = Callable[[list[Message]], Awaitable[list[Message]]]
AnswerHook = Callable[[AssistantMessage], Awaitable[None]]
BeforeToolHook = Callable[[ToolCall, dict[str, Any]], Awaitable[Blocked | None]]
AfterToolHook = Callable[[ToolCall, ToolResult], Awaitable[ToolResult]]


class Hooks:
    """Ordered lists; an extension or a rule appends its own coroutine function.

    `context` changes the messages of a request, `payload` its JSON body, `answer` sees each answer after
    its `message_end`, `before_tool` may block a call, `after_tool` may replace its result.
    """

    def __init__(self) -> None:
        self.context: list[ContextHook] = []
        self.payload: list[PayloadHook] = []
        self.answer: list[AnswerHook] = []
        self.before_tool: list[BeforeToolHook] = []
        self.after_tool: list[AfterToolHook] = []

    async def shape_context(self, messages: Sequence[Message]) -> list[Message]:
        shaped = list(messages)
        for hook in self.context:
            shaped = await hook(shaped)
        return shaped

    async def shape_payload(self, body: dict[str, object], model: Model) -> dict[str, object]:
        for hook in self.payload:
            body = await hook(body, model)
        return body

    async def answered(self, message: AssistantMessage) -> None:
        for hook in self.answer:
            await hook(message)

    async def admit(self, call: ToolCall, arguments: dict[str, Any]) -> Blocked | None:
        """The first objection, or None."""
        for hook in self.before_tool:
            objection = await hook(call, arguments)
            if objection is not None:
                return objection
        return None

    async def finish(self, call: ToolCall, result: ToolResult) -> ToolResult:
        for hook in self.after_tool:
            result = await hook(call, result)
        return result
