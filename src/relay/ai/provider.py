"""Model calls over the network: the adapter of the model's API on the one transport."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from relay.ai.call import Call, CallTools, PayloadHook
from relay.ai.model import Model
from relay.ai.registry import adapter_for
from relay.ai.retry import RetryPolicy
from relay.ai.transport import Transport, TransportOptions
from relay.ai.types import Message
from relay.ai.wire.base import CallOptions

LOCAL = "local"
"""The provider whose servers Relay runs itself on this machine: no proxy can reach them."""


class Provider(Protocol):
    """Starts model calls. A call begins when it is iterated and never raises: its errors are events."""

    def stream(
        self,
        model: Model,
        messages: Sequence[Message],
        options: CallOptions,
        *,
        on_payload: PayloadHook | None = None,
    ) -> Call: ...

    async def aclose(self) -> None: ...


class HttpProvider:
    """Owns the transport, which connects at the first call; `aclose` ends its connections."""

    def __init__(
        self, options: TransportOptions, environ: Mapping[str, str], *, retry: RetryPolicy | None = None
    ) -> None:
        self._transport = Transport(options, environ)
        self._retry = retry or RetryPolicy()

    def stream(
        self,
        model: Model,
        messages: Sequence[Message],
        options: CallOptions,
        *,
        on_payload: PayloadHook | None = None,
    ) -> Call:
        tools = CallTools(
            find_adapter=partial(adapter_for, model),
            opener=self._transport,
            retry=self._retry,
            on_payload=on_payload,
            direct=model.provider == LOCAL,
        )
        return Call(tools, model, messages, options)

    async def aclose(self) -> None:
        await self._transport.aclose()
