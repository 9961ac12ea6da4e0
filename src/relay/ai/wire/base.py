"""What a wire adapter is: two pure functions, build a request and read the answer's events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from relay.ai.events import BlockEvent
from relay.ai.model import Model
from relay.ai.types import AssistantMessage, Message, ThinkingLevel


class CallOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a call that is neither the model nor the conversation; counts are tokens."""

    api_key: str | None = None
    thinking: ThinkingLevel = "off"
    thinking_budgets: dict[str, int] = {}
    """Level → tokens, from the setting `thinkingBudgets`; missing levels take the adapter's defaults."""
    max_tokens: int | None = None
    """Overrides the model's own maximum output."""
    temperature: float | None = None
    session_id: str | None = None
    cache_retention: Literal["none", "short", "long"] = "short"
    block_images: bool = False
    """Never send images (`images.blockImages`); a line of text stands for each."""
    attribution: bool = True
    """Send the optional headers that tell the provider which program calls (`enableInstallTelemetry`)."""


class WireRequest(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    headers: dict[str, str]
    body: dict[str, object]
    """JSON body; encoded once, by the stream driver, after the payload hook has seen it."""


class ServerEvent(msgspec.Struct, frozen=True):
    """One server-sent event: `event` is its name ("" when none was given), `data` its raw UTF-8 bytes."""

    event: str
    data: bytes


class StreamReader(Protocol):
    """Reads the events of one answer into `message`, which it owns until `finish`.

    `feed` returns the block events that one server event causes, and raises ProviderError when the event is
    the server's error or is not the protocol. After the last server event, `finish` closes what is open,
    sets `stop_reason` and `usage` (cost included) and returns the closing block events; it raises
    ProviderError of kind transport when the stream broke off. `abandon` makes `message` whole after an abort
    or an error, and returns the ends of the blocks it keeps: those so far, without tool calls whose
    arguments are incomplete.
    """

    message: AssistantMessage

    def feed(self, event: ServerEvent) -> list[BlockEvent]: ...

    def finish(self) -> list[BlockEvent]: ...

    def abandon(self) -> list[BlockEvent]: ...


class WireAdapter(Protocol):
    """One protocol. Pure: no I/O, no clock but the one in `reader`."""

    def build(self, model: Model, messages: Sequence[Message], options: CallOptions) -> WireRequest: ...

    def reader(self, model: Model, options: CallOptions, timestamp: int) -> StreamReader: ...
