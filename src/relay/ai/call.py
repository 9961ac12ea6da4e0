"""One model call: builds the request, drives the stream, ends it in exactly one done or error event."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Literal, Protocol

import msgspec

from relay.ai.errors import ProviderError
from relay.ai.events import Done, Failed, Start, StreamEvent
from relay.ai.growing import GrowingMessage
from relay.ai.interrupt import Interrupt, Interrupted
from relay.ai.model import Model
from relay.ai.retry import RetryPolicy
from relay.ai.types import AssistantMessage, Message, ThinkingLevel
from relay.ai.wire.base import CallOptions, ServerEvent, StreamReader, WireAdapter, WireRequest
from relay.base import jsonl
from relay.base.clock import now_ms

PayloadHook = Callable[[dict[str, object], Model], Awaitable[dict[str, object]]]
"""Sees the JSON body before it is sent and returns the one to send."""

ABORTED = "The answer was aborted."

_LAST_EVENTS = frozenset({"message_stop", "response.completed", "response.incomplete", "response.failed"})
"""Names of events after which nothing comes, although some servers keep the connection open."""


class Events(Protocol):
    """The server's events: those that arrived together, an empty list at the end; see `EventStream`."""

    async def read(self) -> list[ServerEvent]: ...

    async def aclose(self) -> None: ...


class Opener(Protocol):
    """Sends a request. The `Transport`, or a script in its place. Raises ProviderError."""

    async def open(
        self, url: str, headers: dict[str, str], body: bytes, *, direct: bool = False
    ) -> Events: ...


class Clock(Protocol):
    """Time as a call sees it: Unix milliseconds, seconds that only grow, and waiting."""

    def now_ms(self) -> int: ...

    def seconds(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The real time."""

    def now_ms(self) -> int:
        return now_ms()

    def seconds(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class CallTools(msgspec.Struct, frozen=True, kw_only=True):
    """What a call works with besides its own input; `find_adapter` may raise ProviderError.

    `direct`: no proxy, for a server of ours on this machine.
    """

    find_adapter: Callable[[], WireAdapter]
    opener: Opener
    retry: RetryPolicy = RetryPolicy()
    clock: Clock = SystemClock()
    on_payload: PayloadHook | None = None
    direct: bool = False


class Call:
    """Iterate it once. `abort` ends it from outside: a last `Failed` event with what came so far.

    Errors are data: a failure ends the stream with `Failed`, and `error` then says what happened. When the
    iterating task itself is cancelled no event follows, but `message` is made whole all the same.
    """

    def __init__(
        self, tools: CallTools, model: Model, messages: Sequence[Message], options: CallOptions
    ) -> None:
        self._tools = tools
        self._model = model
        self._messages = messages
        self._options = options
        self._interrupt = Interrupt()
        self._reader: StreamReader | None = None
        self._started = False
        self._level: ThinkingLevel | None = options.thinking
        self.message: AssistantMessage = GrowingMessage(model, tools.clock.now_ms(), options.thinking).message
        """The growing answer; whole once the iteration is over, however it ended."""
        self.error: ProviderError | None = None

    def abort(self) -> None:
        """Ends the stream now, whatever it waits for; does nothing when it is over."""
        self._interrupt.request()

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        began = self._tools.clock.seconds()
        ends: Sequence[StreamEvent] = ()
        complete = False
        try:
            async with aclosing(self._events()) as events:
                async for event in events:
                    yield event
            complete = True
        except ProviderError as error:
            self.error = error
            self._give_up("error", str(error))
            complete = True
        except Interrupted:
            ends = self._give_up("aborted", ABORTED)
            complete = True
        finally:
            if not complete:
                self._give_up("aborted", ABORTED)
            self.message.thinking_level = self._level
            self.message.duration_ms = int((self._tools.clock.seconds() - began) * 1000)
        if not self._started:
            yield Start(message=self.message)
        for event in ends:
            yield event
        yield self._last()

    async def _events(self) -> AsyncGenerator[StreamEvent, None]:
        tools = self._tools
        adapter = tools.find_adapter()
        reader = self._reader = adapter.reader(self._model, self._options, tools.clock.now_ms())
        self.message = reader.message
        # A message names its level when it is final; whoever reads the stream sees none before.
        self._level, self.message.thinking_level = self.message.thinking_level, None
        run = self._interrupt.run
        request = await run(self._request(adapter))
        answer = await run(self._answer(request))
        try:
            self._started = True
            yield Start(message=self.message)
            while batch := await run(answer.read()):
                for server_event in batch:
                    for event in _fed(reader, server_event):
                        self._interrupt.check()
                        yield event
                self._interrupt.check()
                if _is_last(batch[-1]):
                    await run(self._drain(answer))
                    break
            for event in reader.finish():
                yield event
        finally:
            await answer.aclose()

    async def _request(self, adapter: WireAdapter) -> WireRequest:
        request = adapter.build(self._model, self._messages, self._options)
        if self._tools.on_payload is None:
            return request
        body = await self._tools.on_payload(request.body, self._model)
        return WireRequest(url=request.url, headers=request.headers, body=body)

    async def _answer(self, request: WireRequest) -> Events:
        """The answer as it begins; a request refused before that is sent again as the policy says."""
        tools, retries = self._tools, 0
        body = _encoded(request.body)
        while True:
            try:
                return await tools.opener.open(request.url, request.headers, body, direct=tools.direct)
            except ProviderError as error:
                delay = tools.retry.delay_ms(error, retries)
                if delay is None:
                    raise tools.retry.explain(error) from error
            retries += 1
            await tools.clock.sleep(delay / 1000)

    async def _drain(self, answer: Events) -> None:
        """Reads what closes the body, so that the connection can be used again; not for long."""
        try:
            async with asyncio.timeout(0.25):
                while await answer.read():
                    pass
        except (TimeoutError, ProviderError):
            # The answer is complete; how the connection ends does not matter.
            return

    def _give_up(self, reason: Literal["error", "aborted"], text: str) -> Sequence[StreamEvent]:
        """Makes the message whole; the events that close what came of texts."""
        ends = self._reader.abandon() if self._reader is not None else []
        self.message.stop_reason = reason
        self.message.error_message = text
        return ends

    def _last(self) -> StreamEvent:
        reason = self.message.stop_reason
        if reason in ("error", "aborted"):
            return Failed(reason=reason, error=self.message)
        return Done(reason=reason, message=self.message)


def _fed(reader: StreamReader, event: ServerEvent) -> Sequence[StreamEvent]:
    try:
        return reader.feed(event)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        # What a server may send is without limit; the user gets a sentence and keeps the session.
        shown = event.data[:120].decode("utf-8", "replace")
        raise ProviderError(
            f"The provider sent an event that does not fit its protocol ({error}): {shown!r}.", "protocol"
        ) from error


def _encoded(body: dict[str, object]) -> bytes:
    try:
        return jsonl.encode(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise ProviderError(f"The request holds what JSON cannot ({error}).", "request") from error


def _is_last(event: ServerEvent) -> bool:
    return event.data == b"[DONE]" or event.event in _LAST_EVENTS
