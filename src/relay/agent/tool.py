"""What a tool is: a description for the model and one coroutine that runs a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec

from relay.ai.types import Data, ToolSpec, Usage, UserContent
from relay.base.errors import RelayError


class ToolError(RelayError):
    """A call that failed; its text goes to the model. `details` as in ToolResult."""

    def __init__(self, message: str, details: Any = None) -> None:
        super().__init__(message)
        self.details = details


class ToolResult(Data, frozen=True):
    """What a call gave: `content` for the model, `details` (plain JSON) for people and programs."""

    content: list[UserContent]
    details: Any = None
    is_error: bool | None = None
    """None means False; True marks a result that tells of a failure without an exception."""
    usage: Usage | None = None


class ToolCallContext(msgspec.Struct, frozen=True, kw_only=True):
    """Handed to a running call. `update` reports a partial result, which replaces the one before."""

    call_id: str
    update: Callable[[ToolResult], None]


class Tool(Protocol):
    """One tool.

    `spec` is what the model sees. `hint` is a line for the system prompt's tool list ("" leaves it out),
    `rules` are lines for its rules. `execution` "sequential" makes all calls of the turn run one by one.
    `path_written` names the absolute real path a call would change, None when it changes no single file:
    two calls that change the same file never overlap. `run` raises ToolError for what the model should
    read; it is cancelled by task cancellation and then cleans up before it ends. After cancellation it may
    leave what it has in the last `update`.
    """

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def hint(self) -> str: ...

    @property
    def rules(self) -> tuple[str, ...]: ...

    @property
    def execution(self) -> Literal["parallel", "sequential"]: ...

    def path_written(self, arguments: dict[str, Any]) -> str | None: ...

    async def run(self, arguments: dict[str, Any], context: ToolCallContext) -> ToolResult: ...
