"""The driver of one call, over the scripted provider and over the network."""

from __future__ import annotations

import asyncio
import json
from functools import partial

import pytest

from relay.ai.call import Call, CallTools
from relay.ai.errors import ProviderError
from relay.ai.events import Done, Failed, Start, StreamEvent, TextDelta, TextEnd
from relay.ai.model import Model
from relay.ai.provider import HttpProvider
from relay.ai.registry import adapter_for
from relay.ai.retry import RetryPolicy, spoken
from relay.ai.testing import Reply, ScriptedProvider, check_stream_grammar
from relay.ai.transport import Transport, TransportOptions
from relay.ai.types import Message, TextContent, ThinkingContent, ToolCall, UserMessage
from relay.ai.wire.base import CallOptions
from tests.ai.servers import Peer, serving

MODEL = Model(id="m", name="m", api="openai-completions", provider="mock", base_url="http://127.0.0.1:1/v1")
ASKED: list[Message] = [UserMessage(content="hi", timestamp=1)]
OPTIONS = CallOptions(api_key="k")


class StillClock:
    """Time that only passes where a call sleeps."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def now_ms(self) -> int:
        return 1000 + int(self.seconds() * 1000)

    def seconds(self) -> float:
        return sum(self.waits)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


async def drained(call: Call) -> list[StreamEvent]:
    return [event async for event in call]


def limited(wait_ms: int | None = None) -> ProviderError:
    return ProviderError("slow down", "rate_limit", status=429, retry_after_ms=wait_ms)


async def test_a_good_answer() -> None:
    provider = ScriptedProvider(
        [
            Reply(
                thinking="hm",
                text="hello there",
                tool_calls=[ToolCall(id="1", name="read", arguments={"a": 1})],
            )
        ]
    )
    call = provider.stream(MODEL, ASKED, OPTIONS)
    events = await drained(call)
    message = check_stream_grammar(events)
    assert [type(block) for block in message.content] == [ThinkingContent, TextContent, ToolCall]
    assert (message.stop_reason, call.error, call.message) == ("toolUse", None, message)
    assert message.duration_ms is not None


@pytest.mark.parametrize("refused", [True, False])
async def test_an_error_is_the_last_event(refused: bool) -> None:
    error = ProviderError("zebra", "request", status=400)
    call = ScriptedProvider([Reply(text="so far", error=error, refused=refused)]).stream(
        MODEL, ASKED, OPTIONS
    )
    events = await drained(call)
    message = check_stream_grammar(events)
    assert isinstance(events[-1], Failed)
    assert (call.error, message.error_message, message.stop_reason) == (error, "zebra", "error")
    assert len(message.content) == (0 if refused else 1)


async def test_an_answer_that_never_began_starts_with_its_final_message() -> None:
    call = ScriptedProvider([limited()]).stream(MODEL, ASKED, OPTIONS)
    seen = [event.message.stop_reason async for event in call if isinstance(event, Start)]
    assert seen == ["error"]


async def test_abort_in_the_middle_closes_the_text_and_keeps_it() -> None:
    reply = Reply(text="firstpart secondpart", gate=asyncio.Event(), gate_at=1)
    call = ScriptedProvider([reply]).stream(MODEL, ASKED, OPTIONS)
    running = asyncio.create_task(drained(call))
    await reply.reached.wait()
    call.abort()
    events = await running
    message = check_stream_grammar(events)
    assert [type(event) for event in events[-3:]] == [TextDelta, TextEnd, Failed]
    assert (message.stop_reason, message.content) == ("aborted", [TextContent(text="firstpar")])
    assert call.error is None


async def test_abort_drops_a_tool_call_that_is_not_complete() -> None:
    calls = [ToolCall(id="1", name="bash", arguments={"command": "rm -rf build"})]
    reply = Reply(tool_calls=calls, gate=asyncio.Event(), gate_at=2)
    call = ScriptedProvider([reply]).stream(MODEL, ASKED, OPTIONS)
    running = asyncio.create_task(drained(call))
    await reply.reached.wait()
    call.abort()
    assert check_stream_grammar(await running).content == []


async def test_abort_before_the_answer_and_before_the_first_event() -> None:
    reply = Reply(gate=asyncio.Event())
    provider = ScriptedProvider([reply, "never"])
    call = provider.stream(MODEL, ASKED, OPTIONS)
    running = asyncio.create_task(drained(call))
    await reply.reached.wait()
    call.abort()
    call.abort()
    assert [type(event) for event in await running] == [Start, Failed]
    early = provider.stream(MODEL, ASKED, OPTIONS)
    early.abort()
    assert check_stream_grammar(await drained(early)).stop_reason == "aborted"


async def test_abort_from_the_loop_that_reads() -> None:
    call = ScriptedProvider([Reply(text="a" * 100, chunk=1)]).stream(MODEL, ASKED, OPTIONS)
    events = []
    async for event in call:
        events.append(event)
        if len(events) == 5:
            call.abort()
    assert check_stream_grammar(events).stop_reason == "aborted"
    assert len(events) == 7


async def test_a_cancelled_reader_leaves_a_whole_message() -> None:
    reply = Reply(text="firstpart secondpart", gate=asyncio.Event(), gate_at=1)
    call = ScriptedProvider([reply]).stream(MODEL, ASKED, OPTIONS)
    running = asyncio.create_task(drained(call))
    await reply.reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (call.message.stop_reason, call.message.content) == ("aborted", [TextContent(text="firstpar")])


async def test_the_payload_hook_sees_and_changes_the_body() -> None:
    async def hook(body: dict[str, object], model: Model) -> dict[str, object]:
        assert model is MODEL
        return {**body, "added": True}

    provider = ScriptedProvider(["fine"])
    await drained(provider.stream(MODEL, ASKED, OPTIONS, on_payload=hook))
    assert provider.bodies[0]["added"] is True


async def test_a_body_that_is_no_json_is_an_error_event() -> None:
    async def hook(body: dict[str, object], model: Model) -> dict[str, object]:
        return {"bad": object()}

    call = ScriptedProvider(["fine"]).stream(MODEL, ASKED, OPTIONS, on_payload=hook)
    check_stream_grammar(await drained(call))
    assert call.error is not None and call.error.kind == "request"


async def test_retries_below_the_agent_wait_as_the_server_asks() -> None:
    clock = StillClock()
    provider = ScriptedProvider(
        [limited(), limited(7000), "at last"], retry=RetryPolicy(max_retries=3), clock=clock
    )
    call = provider.stream(MODEL, ASKED, OPTIONS)
    message = check_stream_grammar(await drained(call))
    assert message.content == [TextContent(text="at last")]
    assert clock.waits == [0.5, 7.0]
    assert message.duration_ms == 7500
    provider.assert_finished()


@pytest.mark.parametrize("retries", [0, 2])
async def test_a_wait_that_is_too_long_ends_the_call_and_is_named(retries: int) -> None:
    provider = ScriptedProvider([limited(9_999_000), "never"], retry=RetryPolicy(max_retries=retries))
    call = provider.stream(MODEL, ASKED, OPTIONS)
    message = check_stream_grammar(await drained(call))
    assert message.error_message is not None and "2 h 46 min 39 s" in message.error_message
    assert call.error is not None
    assert (call.error.kind, call.error.retry_after_ms, call.error.status) == ("rate_limit", 9_999_000, 429)


async def test_no_limit_no_retry_for_other_kinds_and_none_once_an_answer_began() -> None:
    clock = StillClock()
    policy = RetryPolicy(max_retries=1, max_delay_ms=0)
    provider = ScriptedProvider([limited(9_999_000), "patient"], retry=policy, clock=clock)
    await drained(provider.stream(MODEL, ASKED, OPTIONS))
    assert clock.waits == [9999.0]
    for reply in (
        ProviderError("no", "quota", status=429),
        Reply(text="begun", error=ProviderError("cut", "transport")),
    ):
        provider = ScriptedProvider([reply, "never"], retry=policy, clock=clock)
        assert isinstance((await drained(provider.stream(MODEL, ASKED, OPTIONS)))[-1], Failed)
    assert clock.waits == [9999.0]


def test_spans_of_time_in_words() -> None:
    assert [spoken(ms) for ms in (0, 250, 7000, 7500, 60_000, 9_999_000)] == [
        "0 s",
        "250 ms",
        "7 s",
        "7.5 s",
        "60 s (1 min)",
        "9999 s (2 h 46 min 39 s)",
    ]


async def test_an_unknown_api_is_an_error_event() -> None:
    provider = HttpProvider(TransportOptions(), {})
    model = Model(id="m", name="m", api="telepathy", provider="p", base_url="")
    call = provider.stream(model, ASKED, OPTIONS)
    message = check_stream_grammar(await drained(call))
    assert message.error_message is not None and "openai-completions" in message.error_message
    assert call.error is not None and call.error.kind == "config"
    await provider.aclose()


def delta(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n"


def over_http(port: int, transport: Transport) -> Call:
    model = Model(
        id="m", name="m", api="openai-completions", provider="p", base_url=f"http://127.0.0.1:{port}/v1"
    )
    return Call(CallTools(find_adapter=partial(adapter_for, model), opener=transport), model, ASKED, OPTIONS)


async def test_abort_closes_the_connection_at_once() -> None:
    closed, sent = asyncio.Event(), asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.begin()
        await peer.chunk(delta("half "))
        sent.set()
        await peer.gone()
        closed.set()

    transport = Transport(TransportOptions(), {})
    async with serving(script) as port:
        call = over_http(port, transport)
        events: list[StreamEvent] = []
        async for event in call:
            events.append(event)
            if isinstance(event, TextDelta):
                asyncio.get_running_loop().call_soon(call.abort)
        await closed.wait()
    await transport.aclose()
    assert check_stream_grammar(events).content == [TextContent(text="half ")]


async def test_a_server_that_keeps_the_connection_open_after_its_last_event() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.begin()
        await peer.chunk(delta("whole", "stop") + b"data: [DONE]\n\n")
        await peer.gone()

    transport = Transport(TransportOptions(idle_timeout_ms=0), {})
    async with serving(script) as port:
        events = await drained(over_http(port, transport))
    await transport.aclose()
    assert isinstance(events[-1], Done)


async def test_the_connection_serves_the_next_call_too() -> None:
    connections: list[int] = []

    async def script(peer: Peer) -> None:
        connections.append(peer.number)
        while True:
            await peer.request()
            await peer.begin()
            await peer.chunk(delta("whole", "stop"))
            await peer.chunk(b"data: [DONE]\n\n")
            await peer.end()

    transport = Transport(TransportOptions(), {})
    async with serving(script) as port:
        for _ in range(3):
            assert isinstance((await drained(over_http(port, transport)))[-1], Done)
    await transport.aclose()
    assert connections == [0]


async def test_a_reset_in_the_middle_keeps_what_came() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.begin()
        await peer.chunk(delta("half "))
        peer.cut()

    transport = Transport(TransportOptions(), {})
    async with serving(script) as port:
        call = over_http(port, transport)
        message = check_stream_grammar(await drained(call))
    await transport.aclose()
    assert call.error is not None and call.error.kind == "transport"
    assert message.content == [TextContent(text="half ")]
