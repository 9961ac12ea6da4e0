"""One model call: builds the request, drives the stream, and ends it in exactly one done or error event."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Literal, TypeVar

from relay.ai.errors import ProviderError
from relay.ai.events import Done, Failed, Start, StreamEvent
from relay.ai.model import Model
from relay.ai.retry import RetryPolicy
from relay.ai.transport import Transport
from relay.ai.types import Message
from relay.ai.wire.base import CallOptions, ServerEvent, StreamReader, WireAdapter, WireRequest
from relay.base import jsonl
from relay.base.clock import now_ms

PayloadHook = Callable[[dict[str, object], Model], Awaitable[dict[str, object]]]

_Result = TypeVar("_Result")

ABORTED = "The answer was aborted."


class Call:
    """Iterate it once. `abort` ends it from outside: a last `Failed` event with what came so far.

    Errors are data: a failure ends the stream with `Failed`, and `error` then says what happened.
    """

    def __init__(
        self,
        adapter: WireAdapter,
        transport: Transport,
        model: Model,
        messages: Sequence[Message],
        options: CallOptions,
        *,
        on_payload: PayloadHook | None = None,
        retry: RetryPolicy,
    ) -> None:
        self._adapter = adapter
        self._transport = transport
        self._model = model
        self._messages = messages
        self._options = options
        self._on_payload = on_payload
        self._retry = retry
        self._aborted = False
        self._stop: Callable[[], object] | None = None
        self.error: ProviderError | None = None

    def abort(self) -> None:
        """Ends the stream now, whatever it waits for."""
        self._aborted = True
        if self._stop is not None:
            self._stop()

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        started = time.monotonic()
        reader = self._adapter.reader(self._model, self._options, now_ms())
        message = reader.message
        # A message names its level when it is final; readers of the stream see none before.
        level, message.thinking_level = message.thinking_level, None
        try:
            async with aclosing(self._events(reader)) as events:
                async for event in events:
                    yield event
        except ProviderError as error:
            self.error = error
            self._give_up(reader, "error", str(error))
        except _Aborted:
            self._give_up(reader, "aborted", ABORTED)
        message.thinking_level = level
        message.duration_ms = int((time.monotonic() - started) * 1000)
        if message.stop_reason in ("error", "aborted"):
            yield Failed(reason=message.stop_reason, error=message)
        else:
            yield Done(reason=message.stop_reason, message=message)

    async def _events(self, reader: StreamReader) -> AsyncGenerator[StreamEvent, None]:
        request = await self._guarded(self._request())
        body = jsonl.encode(request.body)
        async with aclosing(self._answered(request, body)) as answer:
            batch = await self._guarded(anext(answer, None))
            yield Start(message=reader.message)
            while batch is not None:
                for event in batch:
                    for block in reader.feed(event):
                        yield block
                batch = await self._guarded(anext(answer, None))
        for block in reader.finish():
            yield block

    async def _request(self) -> WireRequest:
        request = self._adapter.build(self._model, self._messages, self._options)
        if self._on_payload is None:
            return request
        body = await self._on_payload(request.body, self._model)
        return WireRequest(url=request.url, headers=request.headers, body=body)

    async def _answered(self, request: WireRequest, body: bytes) -> AsyncGenerator[list[ServerEvent], None]:
        """The server's events; a request refused before its first event is sent again as the policy says."""
        retries = 0
        while True:
            begun = False
            try:
                async with aclosing(self._transport.stream(request.url, request.headers, body)) as batches:
                    async for batch in batches:
                        begun = True
                        yield batch
                return
            except ProviderError as error:
                delay = None if begun else self._retry.delay_ms(error, retries)
                if delay is None:
                    raise self._explained(error) from error
                retries += 1
                await asyncio.sleep(delay / 1000)

    def _explained(self, error: ProviderError) -> ProviderError:
        """Names the wait the server asks for where that is what ends the call."""
        if not error.retryable or not self._retry.too_long(error):
            return error
        seconds = (error.retry_after_ms or 0) / 1000
        return ProviderError(
            f"{error} The server asks to wait {seconds:g} s, longer than retry.provider.maxRetryDelayMs allows.",
            error.kind,
            status=error.status,
            code=error.code,
            retry_after_ms=error.retry_after_ms,
            context_window=error.context_window,
        )

    async def _guarded(self, work: Awaitable[_Result]) -> _Result:
        """Awaits `work` in a task of its own, so that `abort` can end the wait without ending its caller."""
        waiting = asyncio.ensure_future(work)
        self._stop = waiting.cancel
        if self._aborted:
            waiting.cancel()
        try:
            return await waiting
        except asyncio.CancelledError:
            if not self._aborted:
                waiting.cancel()
                raise
            raise _Aborted from None
        finally:
            self._stop = None

    def _give_up(self, reader: StreamReader, reason: Literal["error", "aborted"], text: str) -> None:
        reader.abandon()
        reader.message.stop_reason = reason
        reader.message.error_message = text


class _Aborted(Exception):
    """`abort` was called."""
