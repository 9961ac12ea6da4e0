"""Model calls over the network: the adapter of the model's API on the one transport."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay.ai.call import Call, PayloadHook
from relay.ai.model import Model
from relay.ai.registry import adapter_for
from relay.ai.retry import RetryPolicy
from relay.ai.transport import Transport, TransportOptions
from relay.ai.types import Message
from relay.ai.wire.base import CallOptions


class HttpProvider:
    """Owns the transport; `aclose` ends its connections."""

    def __init__(self, options: TransportOptions, environ: Mapping[str, str], *, retry: RetryPolicy) -> None:
        self._transport = Transport(options, environ)
        self._retry = retry

    def stream(
        self,
        model: Model,
        messages: Sequence[Message],
        options: CallOptions,
        *,
        on_payload: PayloadHook | None = None,
    ) -> Call:
        """A call that begins when it is iterated. Raises ProviderError for an unknown API."""
        return Call(
            adapter_for(model),
            self._transport,
            model,
            messages,
            options,
            on_payload=on_payload,
            retry=self._retry,
        )

    async def aclose(self) -> None:
        await self._transport.aclose()
