"""Model calls with everything filled in: credentials, local servers, transport settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from relay.agent.loop import ModelCall
from relay.ai.call import Call, PayloadHook
from relay.ai.local import library as local
from relay.ai.local.server import LocalServer
from relay.ai.model import Model
from relay.ai.provider import HttpProvider
from relay.ai.retry import RetryPolicy
from relay.ai.transport import TransportOptions
from relay.ai.types import Message
from relay.ai.wire.base import CallOptions
from relay.config.settings import Settings
from relay.runtime.surroundings import Surroundings


class ModelProvider(Protocol):
    """Starts model calls; a scripted one replaces the network in tests and in embedding programs."""

    async def call(
        self, model: Model, messages: Sequence[Message], options: CallOptions, *, on_payload: PayloadHook
    ) -> ModelCall: ...

    async def check(self, model: Model) -> None:
        """Raises ProviderError when a call could not even be made."""
        ...

    async def aclose(self) -> None: ...


class SessionProvider:
    """Resolves the key at each call, so that a changed auth.json or a command's new output is used."""

    def __init__(self, around: Surroundings, environ: Mapping[str, str]) -> None:
        self._credentials = around.credentials
        self._library = around.library
        self._server = LocalServer(around.agent / "logs" / "local-model.log")
        self._last: tuple[str, Call] | None = None
        self._http = HttpProvider(_transport_options(around.settings), environ, retry=_retry(around.settings))

    async def call(
        self, model: Model, messages: Sequence[Message], options: CallOptions, *, on_payload: PayloadHook
    ) -> ModelCall:
        """Raises ProviderError when there is no key or the local model cannot be served."""
        self._forget_refused_key()
        if model.provider == local.PROVIDER:
            path = self._library.find(model.id)
            address = await self._server.address(path, model.context_window)
            ready = msgspec.structs.replace(model, base_url=address.base_url)
            key: str | None = address.key
        else:
            resolved = await self._credentials.resolve(model)
            ready, key = resolved.apply(model), resolved.api_key
        options = msgspec.structs.replace(options, api_key=key)
        call = self._http.stream(ready, messages, options, on_payload=on_payload)
        self._last = (model.provider, call)
        return call

    def _forget_refused_key(self) -> None:
        """Lets the command behind a key run again when its last output was refused: tokens expire."""
        if self._last is not None:
            provider, call = self._last
            if call.error is not None and call.error.kind == "auth":
                self._credentials.forget(provider)

    async def check(self, model: Model) -> None:
        if model.provider == local.PROVIDER:
            self._library.find(model.id)
        else:
            await self._credentials.resolve(model)

    async def aclose(self) -> None:
        await self._server.close()
        await self._http.aclose()


def _transport_options(settings: Settings) -> TransportOptions:
    return TransportOptions(
        proxy=settings.http_proxy,
        idle_timeout_ms=settings.http_idle_timeout_ms,
        timeout_ms=settings.retry.provider.timeout_ms,
    )


def _retry(settings: Settings) -> RetryPolicy:
    provider = settings.retry.provider
    return RetryPolicy(max_retries=provider.max_retries, max_delay_ms=provider.max_retry_delay_ms)
