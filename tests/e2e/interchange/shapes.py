"""What each protocol demands of a conversation, checked on a request's body as its server would.

Each check takes the body and raises AssertionError naming what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from tests.e2e.interchange.wires import ANTHROPIC, CHAT, GOOGLE, RESPONSES

Part = dict[str, Any]


def check(model: str, body: Part) -> None:
    """`model` is `api/id`."""
    api, _, id = model.partition("/")
    CHECKS[api](body)
    if id.startswith("gemini-3"):
        _signed_calls(body)


def _text_present(value: object) -> None:
    assert isinstance(value, str), f"{value!r} is not text"
    assert value.strip(), "a blank text"
    value.encode()


def _unique(ids: Sequence[str], pattern: str) -> None:
    assert len(set(ids)) == len(ids), f"doubled ids: {ids}"
    for id in ids:
        assert re.fullmatch(pattern, id), f"the server refuses the id {id!r}"


def _chat(body: Part) -> None:
    messages = body["messages"]
    assert [m["role"] for m in messages].index("user") >= 1
    seen: list[str] = []
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            assert message["tool_call_id"] in waiting, f"{message} answers no call of the answer before it"
            waiting.remove(message["tool_call_id"])
            _chat_content(message["content"])
            continue
        assert not waiting, f"calls without a result: {waiting}"
        assert role in (("system", "developer") if number == 0 else ("user", "assistant")), message
        if role == "assistant":
            made = message.get("tool_calls", [])
            assert made or message.get("content"), f"an empty answer: {message}"
            assert all(call["type"] == "function" for call in made)
            assert all(isinstance(call["function"]["arguments"], str) for call in made)
            waiting = {call["id"] for call in made}
            seen += [call["id"] for call in made]
        if message.get("content"):
            _chat_content(message["content"])
    assert not waiting
    _unique(seen, r"[a-zA-Z0-9_-]{1,40}")


def _chat_content(content: object) -> None:
    if isinstance(content, str):
        _text_present(content)
        return
    assert isinstance(content, list)
    for part in content:
        if part["type"] == "text":
            _text_present(part["text"])
        else:
            assert part["type"] == "image_url", part
            assert part["image_url"]["url"].startswith("data:image/")


def _responses(body: Part) -> None:
    items = body["input"]
    calls = [item for item in items if item.get("type") == "function_call"]
    outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    _unique([call["call_id"] for call in calls], r"[a-zA-Z0-9_-]{1,64}")
    _unique([item["id"] for item in items if "id" in item], r"[a-zA-Z0-9_-]{1,64}")
    assert sorted(outputs) == sorted(call["call_id"] for call in calls), "calls and outputs differ"
    for number, item in enumerate(items):
        match item.get("type", "message"):
            case "function_call":
                assert item.get("id", "fc_").startswith("fc_"), item
                assert isinstance(item["arguments"], str)
                following = next(
                    i for i, later in enumerate(items) if later.get("call_id") == item["call_id"]
                )
                assert following == number, "an output stands before its call"
            case "reasoning":
                assert item["id"].startswith("rs_"), item
                assert item["encrypted_content"], "reasoning that the server cannot read"
                after = items[number + 1]
                assert after.get("type") in ("function_call", "message", "reasoning"), (
                    "reasoning stands alone"
                )
                assert after.get("role", "assistant") == "assistant", "reasoning stands alone"
            case "message":
                assert item.get("id", "msg_").startswith("msg_"), item
                _responses_content(item)
            case other:
                assert other == "function_call_output", item


def _responses_content(item: Part) -> None:
    if isinstance(item["content"], str):
        _text_present(item["content"])
        return
    kind = "output_text" if item["role"] == "assistant" else "input_text"
    assert item["content"], f"an empty message: {item}"
    for part in item["content"]:
        if part["type"] == "input_image":
            assert item["role"] == "user"
            assert part["image_url"].startswith("data:image/")
        else:
            assert part["type"] == kind, item
            _text_present(part["text"])


def _anthropic(body: Part) -> None:
    turns = _turns(body["messages"])
    assert turns[0]["role"] == turns[-1]["role"] == "user"
    made: list[str] = []
    for before, message in zip([None, *turns], turns, strict=False):
        blocks = message["content"]
        kinds = [block["type"] for block in blocks]
        if message["role"] == "assistant":
            assert blocks, "an empty answer"
            _anthropic_answer(blocks)
            made += [block["id"] for block in blocks if block["type"] == "tool_use"]
            continue
        asked = [b["id"] for b in before["content"] if b["type"] == "tool_use"] if before else []
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(results) == sorted(asked), f"calls {asked}, results {results}"
        assert kinds[: len(results)] == ["tool_result"] * len(results), "results must come first"
        for block in blocks:
            if block["type"] == "text":
                _text_present(block["text"])
    _unique(made, r"[a-zA-Z0-9_-]{1,64}")


def _turns(messages: Sequence[Part]) -> list[Part]:
    """Messages of one role that follow each other are one turn, as the server joins them."""
    turns: list[Part] = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if turns and turns[-1]["role"] == message["role"]:
            turns[-1]["content"] = [*turns[-1]["content"], *blocks]
        else:
            turns.append({"role": message["role"], "content": blocks})
    return turns


def _anthropic_answer(blocks: list[Part]) -> None:
    for block in blocks:
        match block["type"]:
            case "thinking":
                assert block["signature"], "thinking that the server cannot check"
            case "text":
                _text_present(block["text"])
            case "tool_use":
                assert isinstance(block["input"], dict)
            case other:
                assert other == "redacted_thinking", block


def _google(body: Part) -> None:
    contents = body["contents"]
    assert contents[0]["role"] == "user"
    made: list[str] = []
    for before, content in zip([None, *contents], contents, strict=False):
        assert content["role"] in ("user", "model")
        parts = content["parts"]
        assert parts, "a turn without parts"
        for part in parts:
            assert part.keys() & {"text", "functionCall", "functionResponse", "inlineData"}, part
            if "text" in part and "thoughtSignature" not in part:
                _text_present(part["text"])
        asked = [p["functionCall"] for p in before["parts"] if "functionCall" in p] if before else []
        answered = [part["functionResponse"] for part in parts if "functionResponse" in part]
        assert [(a["name"], a.get("id")) for a in answered] == [(c["name"], c.get("id")) for c in asked]
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        assert all(isinstance(call["args"], dict) for call in calls)
        made += [call["id"] for call in calls if "id" in call]
    assert not any("functionCall" in part for part in contents[-1]["parts"]), "a call without a response"
    _unique(made, r"[a-zA-Z0-9_-]{1,64}")


def _signed_calls(body: Part) -> None:
    """Gemini 3 refuses an answer whose first call is unsigned."""
    for content in body["contents"]:
        calls = [part for part in content["parts"] if "functionCall" in part]
        assert not calls or calls[0].get("thoughtSignature"), f"an unsigned call: {calls[0]}"


CHECKS: dict[str, Callable[[Part], None]] = {
    CHAT: _chat,
    RESPONSES: _responses,
    ANTHROPIC: _anthropic,
    GOOGLE: _google,
}
