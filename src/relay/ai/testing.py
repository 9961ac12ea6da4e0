"""A scripted provider for tests of whatever talks to models, and a checker of stream grammar."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from relay.ai.call import Call, CallTools, Clock, Events, PayloadHook, SystemClock
from relay.ai.errors import ProviderError
from relay.ai.events import (
    BlockEvent,
    Done,
    Failed,
    Start,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from relay.ai.growing import GrowingMessage
from relay.ai.model import Model
from relay.ai.retry import RetryPolicy
from relay.ai.types import (
    AssistantContent,
    AssistantMessage,
    Cost,
    Message,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    Usage,
)
from relay.ai.wire.base import CallOptions, ServerEvent, StreamReader, WireRequest
from relay.base import jsonl

USAGE = Usage(input=10, output=5, cache_read=0, cache_write=0, total_tokens=15, cost=Cost())


class Reply(msgspec.Struct, kw_only=True):
    """One scripted answer: thinking, then text, then tool calls; or `blocks` in their own order.

    `chunk` is the length of a delta in characters, 0 sends each block in one. With `gate` the answer is held
    until that event is set: before it begins, or before delta number `gate_at` (from 0). `reached` is set
    when it holds there. `error` ends the answer after its blocks; with `refused` it comes instead of one.
    """

    text: str = ""
    thinking: str = ""
    tool_calls: Sequence[ToolCall] = ()
    blocks: Sequence[AssistantContent] | None = None
    usage: Usage = USAGE
    stop_reason: StopReason | None = None
    """None: `toolUse` when there are tool calls, else `stop`."""
    chunk: int = 8
    gate: asyncio.Event | None = None
    gate_at: int | None = None
    reached: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    error: ProviderError | None = None
    refused: bool = False

    def content(self) -> list[AssistantContent]:
        if self.blocks is not None:
            return list(self.blocks)
        found: list[AssistantContent] = []
        if self.thinking:
            found.append(ThinkingContent(thinking=self.thinking))
        if self.text:
            found.append(TextContent(text=self.text))
        return [*found, *self.tool_calls]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What the provider was asked; `messages` is the conversation as it stood then."""

    model: Model
    messages: tuple[Message, ...]
    options: CallOptions


class ScriptExhausted(AssertionError):
    """More calls were made than the script has replies."""


class ScriptedProvider:
    """Answers call after call from `script`: a text, a Reply, or an error that refuses the call.

    The calls run through the same driver as real ones. `requests` are the calls begun, `bodies` what the
    payload hook returned for each call that has one. A call without a reply left fails the test.
    """

    def __init__(
        self,
        script: Iterable[str | Reply | ProviderError],
        *,
        retry: RetryPolicy | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._replies = [_reply(item) for item in script]
        self._retry = retry or RetryPolicy()
        self._clock = clock or SystemClock()
        self.requests: list[Request] = []
        self.bodies: list[dict[str, object]] = []
        self.closed = False

    def add(self, *script: str | Reply | ProviderError) -> None:
        """Appends replies."""
        self._replies.extend(_reply(item) for item in script)

    def stream(
        self,
        model: Model,
        messages: Sequence[Message],
        options: CallOptions,
        *,
        on_payload: PayloadHook | None = None,
    ) -> Call:
        if not self._replies:
            raise ScriptExhausted(
                f"The script has no reply for call {len(self.requests) + 1} to {model.key}; "
                "add one, or find out why this call was made."
            )
        self.requests.append(Request(model=model, messages=tuple(messages), options=options))
        stage = _Stage(self._replies, self.bodies, hooked=on_payload is not None)
        tools = CallTools(
            find_adapter=lambda: stage,
            opener=stage,
            retry=self._retry,
            clock=self._clock,
            on_payload=on_payload,
        )
        return Call(tools, model, messages, options)

    async def call(
        self,
        model: Model,
        messages: Sequence[Message],
        options: CallOptions,
        *,
        on_payload: PayloadHook | None = None,
    ) -> Call:
        """`stream` for callers that await credentials first."""
        return self.stream(model, messages, options, on_payload=on_payload)

    async def check(self, model: Model) -> None:
        """Every model can be called."""

    async def aclose(self) -> None:
        self.closed = True

    def assert_finished(self) -> None:
        """Fails when replies are left over."""
        assert not self._replies, f"{len(self._replies)} scripted replies were not asked for"


def _reply(item: str | Reply | ProviderError) -> Reply:
    if isinstance(item, Reply):
        return item
    if isinstance(item, ProviderError):
        return Reply(error=item, refused=True)
    return Reply(text=item)


class _Stage:
    """Adapter and transport of one scripted call; it takes a reply each time the request is sent."""

    def __init__(self, replies: list[Reply], bodies: list[dict[str, object]], *, hooked: bool) -> None:
        self._replies = replies
        self._bodies = bodies
        self._hooked = hooked
        self.reply = replies[0]

    def build(self, model: Model, messages: Sequence[Message], options: CallOptions) -> WireRequest:
        body: dict[str, object] = {"model": model.id, "messages": msgspec.to_builtins(list(messages))}
        return WireRequest(url="scripted:", headers={}, body=body)

    def reader(self, model: Model, options: CallOptions, timestamp: int) -> StreamReader:
        return _Reader(GrowingMessage(model, timestamp, options.thinking), self)

    async def open(self, url: str, headers: dict[str, str], body: bytes, *, direct: bool = False) -> Events:
        if self._hooked:
            self._bodies.append(jsonl.decode(body))
        if not self._replies:
            raise ScriptExhausted("The call was tried again, but the script has no reply left for that.")
        reply = self.reply = self._replies.pop(0)
        if reply.gate_at is None:
            await _hold(reply)
        if reply.refused and reply.error is not None:
            raise reply.error
        return _Playing(reply)


async def _hold(reply: Reply) -> None:
    if reply.gate is not None:
        reply.reached.set()
        await reply.gate.wait()


class _Playing:
    """The answer: an event `block:from:to` for each piece, `to` -1 at the end of the block."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._steps = _steps(reply)
        self._deltas = 0

    async def read(self) -> list[ServerEvent]:
        step = next(self._steps, None)
        if step is None:
            if self._reply.error is not None:
                raise self._reply.error
            return []
        if step.event == "delta":
            if self._deltas == self._reply.gate_at:
                await _hold(self._reply)
            self._deltas += 1
        return [step]

    async def aclose(self) -> None:
        """Nothing is held."""


def _steps(reply: Reply) -> Iterator[ServerEvent]:
    for number, block in enumerate(reply.content()):
        yield ServerEvent("start", b"%d" % number)
        length = len(_text(block))
        size = reply.chunk or max(length, 1)
        for start in range(0, length, size):
            yield ServerEvent("delta", b"%d:%d:%d" % (number, start, start + size))
        yield ServerEvent("end", b"%d" % number)


def _text(block: AssistantContent) -> str:
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, ThinkingContent):
        return block.thinking
    return block.raw_arguments or jsonl.encode(block.arguments).decode()


class _Reader:
    """Turns the steps of the stage's reply into block events."""

    def __init__(self, growing: GrowingMessage, stage: _Stage) -> None:
        self._growing = growing
        self._stage = stage
        self._index = 0
        self.message = growing.message

    def feed(self, event: ServerEvent) -> list[BlockEvent]:
        number, *span = (int(part) for part in event.data.split(b":"))
        block = self._stage.reply.content()[number]
        if event.event == "start":
            return [self._start(block)]
        if event.event == "delta":
            return [self._growing.append(self._index, _text(block)[span[0] : span[1]])]
        return [self._end(block)]

    def finish(self) -> list[BlockEvent]:
        reply = self._stage.reply
        calls = any(isinstance(block, ToolCall) for block in reply.content())
        self.message.usage = reply.usage
        self.message.stop_reason = reply.stop_reason or ("toolUse" if calls else "stop")
        return self._growing.end_all()

    def abandon(self) -> list[BlockEvent]:
        return self._growing.abandon()

    def _start(self, block: AssistantContent) -> BlockEvent:
        if isinstance(block, TextContent):
            self._index, event = self._growing.start_text()
        elif isinstance(block, ThinkingContent):
            self._index, event = self._growing.start_thinking()
        else:
            self._index, event = self._growing.start_tool_call(block.id, block.name)
        return event

    def _end(self, block: AssistantContent) -> BlockEvent:
        signature = (
            block.text_signature
            if isinstance(block, TextContent)
            else block.thinking_signature
            if isinstance(block, ThinkingContent)
            else block.thought_signature
        )
        if signature is not None:
            self._growing.sign(self._index, signature)
        return self._growing.end(self._index)


_STARTS = {TextStart: "text", ThinkingStart: "thinking", ToolCallStart: "tool call"}
_DELTAS = {TextDelta: "text", ThinkingDelta: "thinking", ToolCallDelta: "tool call"}
_ENDS = {TextEnd: "text", ThinkingEnd: "thinking", ToolCallEnd: "tool call"}


def check_stream_grammar(events: Sequence[StreamEvent]) -> AssistantMessage:
    """The message of a whole stream. Raises AssertionError where it breaks the grammar of `ai.events`.

    `start` first, blocks with their start, deltas and end in order, exactly one `done` or `error`, last;
    after `done` every block is closed, its text is the sum of its deltas and stands in the message.
    """
    assert events, "the stream is empty"
    first, *blocks, last = events if len(events) > 1 else (events[0], events[0])
    assert isinstance(first, Start), f"the stream begins with {first}"
    assert isinstance(last, Done | Failed), f"the stream ends with {last}"
    opened = _check_blocks(blocks)
    message = last.message if isinstance(last, Done) else last.error
    assert message is first.message, "the last event holds another message than the first"
    assert message.stop_reason == last.reason, f"{message.stop_reason} is not {last.reason}"
    failed = last.reason in ("error", "aborted")
    assert isinstance(last, Failed) == failed, f"{type(last).__name__} with the reason {last.reason}"
    assert not failed or message.error_message, "a failed message has no error message"
    if not failed:
        assert not opened, f"blocks {sorted(opened)} are not closed"
        _check_message(blocks, message)
    return message


def _check_blocks(events: Sequence[StreamEvent]) -> dict[int, tuple[str, list[str]]]:
    """The blocks that are still open after `events`: content index → kind and pieces."""
    opened: dict[int, tuple[str, list[str]]] = {}
    seen: set[int] = set()
    for event in events:
        assert not isinstance(event, Start | Done | Failed), f"{event} in the middle of the stream"
        index = event.content_index
        if (kind := _STARTS.get(type(event))) is not None:
            assert index not in seen, f"block {index} starts twice"
            seen.add(index)
            opened[index] = (kind, [])
            continue
        assert index in opened, f"{event} outside a block"
        kind = _DELTAS.get(type(event)) or _ENDS[type(event)]
        assert kind == opened[index][0], f"{event} in a block of {opened[index][0]}"
        if isinstance(event, TextDelta | ThinkingDelta | ToolCallDelta):
            opened[index][1].append(event.delta)
            continue
        pieces = "".join(opened.pop(index)[1])
        if isinstance(event, TextEnd | ThinkingEnd):
            assert event.content == pieces, f"block {index} ends with other text than its deltas"
    assert seen == set(range(len(seen))), f"content indexes {sorted(seen)} have gaps"
    return opened


def _check_message(events: Sequence[StreamEvent], message: AssistantMessage) -> None:
    """Every block that ended stands in the finished message as its end event says."""
    for event in events:
        if isinstance(event, TextEnd | ThinkingEnd | ToolCallEnd):
            block = message.content[event.content_index]
            if isinstance(event, ToolCallEnd):
                assert block == event.tool_call, f"block {event.content_index} is not {event.tool_call}"
            else:
                assert isinstance(block, TextContent | ThinkingContent)
                assert _text(block) == event.content, f"block {event.content_index} holds other text"
