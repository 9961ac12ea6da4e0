"""Model calls over the network: the adapter of the model's API on the one transport."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from relay.ai.call import Call, CallTools, PayloadHook
from relay.ai.local import library as local
from relay.ai.model import Model
from relay.ai.registry import adapter_for
from relay.ai.retry import RetryPolicy
from relay.ai.transport import Transport, TransportOptions
from relay.ai.types import Message
from relay.ai.wire.base import CallOptions


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
        """A call that begins when it is iterated and never raises: its errors are events.

        Servers that Relay runs itself are spoken to directly: no proxy can reach them.
        """
        tools = CallTools(
            find_adapter=partial(adapter_for, model),
            opener=self._transport,
            retry=self._retry,
            on_payload=on_payload,
            direct=model.provider == local.PROVIDER,
        )
        return Call(tools, model, messages, options)

    async def aclose(self) -> None:
        await self._transport.aclose()
