"""Pairs tool calls with their results, so that each call is answered once and right after it."""

from __future__ import annotations

from collections.abc import Sequence

from relay.ai.types import AssistantMessage, Message, TextContent, ToolCall, ToolResultMessage

INTERRUPTED = "This call was interrupted and has no result. It was not run again."

FAILED = ("error", "aborted")
"""Stop reasons of answers that the model never sees again, nor the results of their calls."""


class _Slot:
    """One call of one answer, and the result that was found for it."""

    __slots__ = ("call", "result")

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        self.result: ToolResultMessage | None = None


def paired(messages: Sequence[Message]) -> list[Message]:
    """`messages` without failed answers, and with results directly after their calls, in call order.

    A call without a result gets a made-up failed one; results without a call, and second results, go.
    Servers and models use ids again, so a result belongs to the newest answer before it that used its id.
    """
    found: list[tuple[Message, list[_Slot]]] = []
    newest: dict[str, list[_Slot]] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            slots = [_Slot(block) for block in message.content if isinstance(block, ToolCall)]
            newest.update({slot.call.id: slots for slot in slots})
            if message.stop_reason not in FAILED:
                found.append((message, slots))
        elif isinstance(message, ToolResultMessage):
            _file(message, newest.get(message.tool_call_id, []))
        else:
            found.append((message, []))
    ordered: list[Message] = []
    for message, slots in found:
        ordered.append(message)
        ordered.extend(slot.result or _interrupted(slot.call, message.timestamp) for slot in slots)
    return ordered


def _file(result: ToolResultMessage, slots: list[_Slot]) -> None:
    for slot in slots:
        if slot.call.id == result.tool_call_id and slot.result is None:
            slot.result = result
            return


def _interrupted(call: ToolCall, timestamp: int) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call.id,
        tool_name=call.name,
        content=[TextContent(text=INTERRUPTED)],
        is_error=True,
        timestamp=timestamp,
    )
