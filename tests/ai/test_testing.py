"""The scripted provider and the grammar checker themselves."""

from __future__ import annotations

import pytest

from relay.ai.events import Done, Failed, Start, StreamEvent, TextDelta, TextEnd, TextStart
from relay.ai.growing import GrowingMessage
from relay.ai.model import Model
from relay.ai.testing import USAGE, Reply, ScriptedProvider, ScriptExhausted, check_stream_grammar
from relay.ai.types import (
    AssistantContent,
    AssistantMessage,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    UserMessage,
)
from relay.ai.wire.base import CallOptions

MODEL = Model(id="m", name="m", api="openai-completions", provider="mock", base_url="")
OPTIONS = CallOptions(session_id="s")


async def test_it_records_what_it_was_asked_and_fails_when_the_script_is_over() -> None:
    provider = ScriptedProvider(["one"])
    with pytest.raises(AssertionError, match="1 scripted replies"):
        provider.assert_finished()
    messages = [UserMessage(content="hi", timestamp=1)]
    call = await provider.call(MODEL, messages, OPTIONS)
    assert [event async for event in call]
    messages.clear()
    [request] = provider.requests
    assert (request.model, request.options.session_id, len(request.messages)) == (MODEL, "s", 1)
    with pytest.raises(ScriptExhausted, match="no reply for call 2"):
        provider.stream(MODEL, [], OPTIONS)
    provider.add("two")
    provider.stream(MODEL, [], OPTIONS)
    await provider.aclose()
    assert provider.closed


async def test_blocks_keep_their_order_signatures_and_raw_arguments() -> None:
    blocks: list[AssistantContent] = [
        TextContent(text="first", text_signature="t"),
        ThinkingContent(thinking="then", thinking_signature="s"),
        ToolCall(id="1", name="x", arguments={}, raw_arguments="{broken", thought_signature="g"),
        TextContent(text=""),
    ]
    provider = ScriptedProvider([Reply(blocks=blocks, chunk=0, stop_reason="length")])
    message = check_stream_grammar([event async for event in provider.stream(MODEL, [], OPTIONS)])
    assert message.content == blocks
    assert (message.stop_reason, message.usage) == ("length", USAGE)


def message(text: str, reason: StopReason) -> AssistantMessage:
    made = GrowingMessage(MODEL, 1).message
    made.content.append(TextContent(text=text))
    made.stop_reason = reason
    return made


GOOD = message("ab", "stop")
OTHER = message("ab", "stop")
START = Start(message=GOOD)
TEXT: list[StreamEvent] = [TextStart(content_index=0), TextDelta(content_index=0, delta="ab")]
END = TextEnd(content_index=0, content="ab")
DONE = Done(reason="stop", message=GOOD)


def test_a_good_stream_passes() -> None:
    assert check_stream_grammar([START, *TEXT, END, DONE]) is GOOD


@pytest.mark.parametrize(
    "events",
    [
        [],
        [START],
        [*TEXT, END, DONE],
        [START, *TEXT, END],
        [START, *TEXT, DONE],
        [START, *TEXT, END, DONE, DONE],
        [START, START, *TEXT, END, DONE],
        [START, *TEXT, END, *TEXT, END, DONE],
        [START, TEXT[1], END, DONE],
        [START, *TEXT, TextEnd(content_index=0, content="other"), DONE],
        [START, TextStart(content_index=1), TextEnd(content_index=1, content=""), DONE],
        [START, *TEXT, END, Done(reason="stop", message=OTHER)],
        [START, *TEXT, END, Done(reason="length", message=GOOD)],
        [START, *TEXT, END, Failed(reason="stop", error=GOOD)],
    ],
)
def test_broken_streams_fail(events: list[StreamEvent]) -> None:
    with pytest.raises(AssertionError):
        check_stream_grammar(events)
