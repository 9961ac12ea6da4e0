"""Records of the event stream: deltas only, unknown messages as they came, lone surrogates kept."""

from __future__ import annotations

import json

from relay.agent.events import AgentEnd, MessageStart, MessageUpdate
from relay.agent.messages import Unknown
from relay.ai.events import TextDelta
from relay.ai.types import TextContent
from relay.modes.encode import encode_event, encode_record
from tests.agent.fakes import answer


def test_an_update_carries_usage_and_delta_but_not_the_message() -> None:
    message = answer(TextContent(text="long " * 1000))
    event = MessageUpdate(message=message, assistant_message_event=TextDelta(content_index=0, delta="x"))
    record = json.loads(encode_event(event))
    assert set(record) == {"type", "usage", "assistantMessageEvent"}
    assert record["assistantMessageEvent"] == {"type": "text_delta", "contentIndex": 0, "delta": "x"}
    assert record["usage"]["totalTokens"] == 0


def test_unknown_messages_come_out_as_they_came() -> None:
    raw = {"role": "future", "odd": [1, {"a": None}]}
    assert json.loads(encode_event(MessageStart(message=Unknown(raw))))["message"] == raw
    assert json.loads(encode_event(AgentEnd(messages=[Unknown(raw)], will_retry=False)))["messages"] == [raw]
    assert json.loads(encode_record({"messages": [Unknown(raw)]})) == {"messages": [raw]}


def test_lone_surrogates_become_escapes() -> None:
    event = MessageStart(message=answer(TextContent(text="a\ud83d b")))
    line = encode_event(event)
    assert b"\\ud83d" in line
    assert json.loads(line)["message"]["content"][0]["text"] == "a\ud83d b"
    assert json.loads(encode_record({"m": Unknown({"role": "x", "t": "\ud800"})}))["m"]["t"] == "\ud800"
