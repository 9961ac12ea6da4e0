"""One answer, written as each of the four protocols streams it: thinking and its signature, text, calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.e2e.server import Reply

CHAT = "openai-completions"
RESPONSES = "openai-responses"
ANTHROPIC = "anthropic-messages"
GOOGLE = "google-generative-ai"
APIS = (CHAT, RESPONSES, ANTHROPIC, GOOGLE)

ROOTS = {CHAT: "/v1", RESPONSES: "/v1", ANTHROPIC: "", GOOGLE: "/v1beta"}
"""What the provider's base URL ends in."""


@dataclass(frozen=True)
class Answer:
    """`calls` are (id, name, arguments). `number` makes signatures and item ids of several answers differ."""

    number: int
    thinking: str = ""
    text: str = ""
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    cut: bool = False
    """The answer reached the limit of output tokens."""

    @property
    def signature(self) -> str:
        return f"c2lnbmF0dXJl{self.number:04}"


def written(api: str, answer: Answer) -> Reply:
    return Reply(list(WRITERS[api](answer)))


def _data(record: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(record).encode() + b"\n\n"


def _event(type: str, **fields: Any) -> bytes:
    return f"event: {type}\n".encode() + _data({"type": type, **fields})


def _chat(answer: Answer) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        head = {"id": f"chatcmpl-{answer.number}", "object": "chat.completion.chunk", "model": "m1"}
        return _data({**head, "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""})
    if answer.thinking:
        yield chunk({"reasoning_content": answer.thinking})
    if answer.text:
        yield chunk({"content": answer.text})
    for index, (id, name, arguments) in enumerate(answer.calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        yield chunk({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
    finish = "length" if answer.cut else "tool_calls" if answer.calls else "stop"
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    yield chunk({}, finish, usage=usage)
    yield b"data: [DONE]\n\n"


def _responses(answer: Answer) -> Iterator[bytes]:
    items: list[dict[str, Any]] = []

    def item(opened: dict[str, Any], done: dict[str, Any], *between: bytes) -> Iterator[bytes]:
        yield _event("response.output_item.added", output_index=len(items), item=opened)
        yield from between
        yield _event("response.output_item.done", output_index=len(items), item=done)
        items.append(done)

    head = {"id": f"resp_{answer.number}", "object": "response", "model": "m1"}
    yield _event("response.created", response={**head, "status": "in_progress", "output": []})
    if answer.thinking:
        opened: dict[str, Any] = {"type": "reasoning", "id": f"rs_{answer.number}", "summary": []}
        part = {"type": "summary_text", "text": answer.thinking}
        yield from item(
            opened,
            {**opened, "summary": [part], "encrypted_content": answer.signature},
            _event(
                "response.reasoning_summary_part.added",
                output_index=0,
                summary_index=0,
                part={**part, "text": ""},
            ),
            _event(
                "response.reasoning_summary_text.delta",
                output_index=0,
                summary_index=0,
                delta=answer.thinking,
            ),
            _event("response.reasoning_summary_part.done", output_index=0, summary_index=0, part=part),
        )
    if answer.text:
        opened = {"type": "message", "id": f"msg_{answer.number}", "role": "assistant", "content": []}
        spoken: dict[str, Any] = {"type": "output_text", "text": answer.text, "annotations": []}
        place = {"output_index": len(items), "content_index": 0}
        yield from item(
            opened,
            {**opened, "status": "completed", "content": [spoken]},
            _event("response.content_part.added", **place, part={**spoken, "text": ""}),
            _event("response.output_text.delta", **place, delta=answer.text),
            _event("response.output_text.done", **place, text=answer.text),
        )
    for index, (id, name, arguments) in enumerate(answer.calls):
        raw = json.dumps(arguments)
        opened = {"type": "function_call", "id": f"fc_{answer.number}_{index}", "call_id": id, "name": name}
        place = {"output_index": len(items)}
        yield from item(
            {**opened, "arguments": ""},
            {**opened, "arguments": raw, "status": "completed"},
            _event("response.function_call_arguments.delta", **place, delta=raw),
            _event("response.function_call_arguments.done", **place, arguments=raw),
        )
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    whole = {**head, "output": items, "usage": usage}
    if answer.cut:
        why = {"reason": "max_output_tokens"}
        yield _event(
            "response.incomplete", response={**whole, "status": "incomplete", "incomplete_details": why}
        )
    else:
        yield _event("response.completed", response={**whole, "status": "completed"})


def _anthropic(answer: Answer) -> Iterator[bytes]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": f"msg_{answer.number}",
        "type": "message",
        "role": "assistant",
        "model": "m1",
        "content": [],
    }
    yield _event("message_start", message={**message, "stop_reason": None, "usage": usage})
    index = 0

    def block(opened: dict[str, Any], *deltas: dict[str, Any]) -> Iterator[bytes]:
        nonlocal index
        yield _event("content_block_start", index=index, content_block=opened)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
        index += 1

    if answer.thinking:
        yield from block(
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": answer.thinking},
            {"type": "signature_delta", "signature": answer.signature},
        )
    if answer.text:
        yield from block({"type": "text", "text": ""}, {"type": "text_delta", "text": answer.text})
    for id, name, arguments in answer.calls:
        yield from block(
            {"type": "tool_use", "id": id, "name": name, "input": {}},
            {"type": "input_json_delta", "partial_json": json.dumps(arguments)},
        )
    reason = "max_tokens" if answer.cut else "tool_use" if answer.calls else "end_turn"
    yield _event(
        "message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 5}
    )
    yield _event("message_stop")


def _google(answer: Answer) -> Iterator[bytes]:
    def chunk(parts: list[dict[str, Any]], finish: str | None = None, **more: Any) -> bytes:
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
        if finish:
            candidate["finishReason"] = finish
        return _data(
            {"candidates": [candidate], "modelVersion": "m1", "responseId": f"g{answer.number}", **more}
        )

    if answer.thinking:
        yield chunk([{"text": answer.thinking, "thought": True}])
    if answer.text:
        yield chunk([{"text": answer.text}])
    for index, (id, name, arguments) in enumerate(answer.calls):
        part: dict[str, Any] = {"functionCall": {"id": id, "name": name, "args": arguments}}
        if index == 0:  # a server signs the first of its calls only
            part["thoughtSignature"] = answer.signature
        yield chunk([part])
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    yield chunk([], "MAX_TOKENS" if answer.cut else "STOP", usageMetadata=usage)


WRITERS: dict[str, Callable[[Answer], Iterator[bytes]]] = {
    CHAT: _chat,
    RESPONSES: _responses,
    ANTHROPIC: _anthropic,
    GOOGLE: _google,
}
