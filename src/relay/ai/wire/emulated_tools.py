"""Tool calls for models without a tool template: the answer is held to a JSON Schema that names the tools."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import msgspec

from relay.ai.events import BlockEvent, TextDelta
from relay.ai.growing import GrowingMessage
from relay.ai.model import Model
from relay.ai.prompt import Prompt, replay
from relay.ai.types import (
    AssistantMessage,
    JsonObject,
    Message,
    SystemMessage,
    TextContent,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
    text_of,
)
from relay.ai.wire.base import CallOptions, ServerEvent, StreamReader, WireAdapter, WireRequest

CALLS_PER_EXCHANGE = 4
"""After so many calls for one user message only an answer is admitted: small models repeat themselves."""

RESULT_SHARE = 4
"""A tool's result may have as many characters as a fourth of the window has tokens: about a 16th of it."""

_REMINDER = 500
"""Characters of the request that are repeated after a result; small models have lost it by then."""

_ANSWER = re.compile(r'\s*\{\s*"answer"\s*:\s*"')

_WHOLE = re.compile(
    r"""(?:[^"\\]|\\["\\/bfnrt]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|\\u(?![dD][89abAB])[0-9a-fA-F]{4})*"""
)
"""A piece of a JSON string without half an escape or half a surrogate pair."""

_REPLACED_SECTIONS = ("preamble", "tools", "rules")
"""Sections written for models with tools of their own; a short instruction takes their place."""


class EmulatedTools:
    """Wraps an adapter of a server that honours `response_format: json_schema` (llama.cpp does).

    Each answer is either `{"tool": NAME, "arguments": {…}}` or `{"answer": TEXT}`. Only required arguments
    are offered: small models fill optional ones with noise.
    """

    def __init__(self, inner: WireAdapter) -> None:
        self._inner = inner

    def build(self, model: Model, messages: Sequence[Message], options: CallOptions) -> WireRequest:
        prompt = replay(messages)
        exchange = _exchange(messages)
        tools = prompt.tools if _may_call(exchange) else {}
        shown = _examples() if "read" in prompt.tools else []
        limit = model.context_window // RESULT_SHARE
        plain = [_system(prompt), *shown, *_conversation(messages, limit)]
        request = self._inner.build(model, plain, options)
        schema = _schema(tools, must_call=_failed_once(exchange))
        named = {"name": "reply", "schema": schema, "strict": True}
        body = {**request.body, "response_format": {"type": "json_schema", "json_schema": named}}
        return msgspec.structs.replace(request, body=body)

    def reader(self, model: Model, options: CallOptions, timestamp: int) -> StreamReader:
        return _Reader(self._inner.reader(model, options, timestamp), model, options, timestamp)


class _Reader:
    """Collects the inner reader's text; an answer in it is told while it comes, a call when it is whole."""

    def __init__(self, inner: StreamReader, model: Model, options: CallOptions, timestamp: int) -> None:
        self._inner = inner
        self._growing = GrowingMessage(model, timestamp, options.thinking)
        self.message = self._growing.message
        self._text = ""
        self._read = 0
        """Characters of `_text` that have been told."""
        self._block: int | None = None

    def feed(self, event: ServerEvent) -> list[BlockEvent]:
        told = self._inner.feed(event)
        self.message.usage = self._inner.message.usage
        self._text += "".join(block.delta for block in told if isinstance(block, TextDelta))
        if self._block is not None:
            return self._go_on()
        opening = _ANSWER.match(self._text)
        if opening is None:
            return []
        self._read = opening.end()
        self._block, start = self._growing.start_text()
        return [start, *self._go_on()]

    def finish(self) -> list[BlockEvent]:
        self._inner.finish()
        self._adopt()
        if self._block is not None:
            return [self._growing.end(self._block)]
        reply = _object(self._text)
        if isinstance(reply.get("tool"), str):
            self.message.stop_reason = "toolUse"
            return self._call(reply["tool"], reply.get("arguments"))
        index, start = self._growing.start_text()
        return [start, self._growing.append(index, self._text), self._growing.end(index)]

    def abandon(self) -> list[BlockEvent]:
        self._inner.abandon()
        self._adopt()
        return self._growing.abandon()

    def _adopt(self) -> None:
        source = self._inner.message
        for name in ("usage", "stop_reason", "raw_stop_reason", "response_id", "response_model"):
            setattr(self.message, name, getattr(source, name))

    def _go_on(self) -> list[BlockEvent]:
        """Tells what has come of the answer, up to an escape that is not whole yet."""
        match = _WHOLE.match(self._text, self._read)
        if self._block is None or match is None or not match.group():
            return []
        self._read = match.end()
        return [self._growing.append(self._block, json.loads(f'"{match.group()}"', strict=False))]

    def _call(self, name: str, arguments: object) -> list[BlockEvent]:
        given = arguments if isinstance(arguments, dict) else {}
        index, start = self._growing.start_tool_call(f"call_{self.message.timestamp}_0", name)
        return [start, self._growing.append(index, json.dumps(given)), self._growing.end(index)]


def _object(text: str) -> JsonObject:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _schema(tools: dict[str, ToolSpec], *, must_call: bool) -> JsonObject:
    calls = [_call_schema(tool) for tool in tools.values()]
    answer = _closed({"answer": {"type": "string"}})
    return {"anyOf": calls if calls and must_call else [*calls, answer]}


def _call_schema(tool: ToolSpec) -> JsonObject:
    required = tool.parameters.get("required") or []
    properties = tool.parameters.get("properties") or {}
    arguments = _closed({name: properties[name] for name in required if name in properties})
    return _closed({"tool": {"const": tool.name}, "arguments": arguments})


def _closed(properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _system(prompt: Prompt) -> SystemMessage:
    """Names all tools throughout, so that the server's cache of the prompt stays valid."""
    lines = ["You answer the user's request. Reply with one JSON object and nothing else."]
    for tool in prompt.tools.values():
        required = tool.parameters.get("required") or []
        shape = json.dumps(
            {"tool": tool.name, "arguments": {name: "…" for name in required}}, ensure_ascii=False
        )
        lines.append(f"{tool.description.split('. ')[0].rstrip('.')}: {shape}")
    lines.append('When you know the answer: {"answer": "…"}')
    kept = [text for name, text in prompt.sections.items() if name not in _REPLACED_SECTIONS]
    return SystemMessage(content="\n\n".join(["\n".join(lines), *kept, *prompt.notes]), timestamp=0)


def _examples() -> list[Message]:
    """Exchanges that show a small model the form; whole sentences, for it answers as it is shown."""
    return [
        *_example(
            "What is in the file NOTES?",
            "NOTES",
            "Shopping list\nmilk, bread",
            "The file NOTES has a shopping list: milk, bread.",
        ),
        *_example(
            "Who is the author of the file docs/intro.md?",
            "docs/intro.md",
            "Author: Ada Brown\nWelcome to the course.",
            "The author is Ada Brown.",
        ),
        *_example(
            "Which version does the file VERSION have?",
            "VERSION",
            "3.2.1\nreleased in May",
            "The version is 3.2.1.",
        ),
    ]


def _example(question: str, path: str, content: str, answer: str) -> list[Message]:
    call = ToolCall(id="", name="read", arguments={"path": path})
    return [
        _user(question),
        _said(_call_text(call)),
        _user(_result_text("read", call, content, question)),
        _said(json.dumps({"answer": answer})),
    ]


def _conversation(messages: Sequence[Message], limit: int) -> list[Message]:
    """Calls and results as text; a result has at most `limit` characters and repeats the request."""
    plain: list[Message] = []
    calls: dict[str, ToolCall] = {}
    question = ""
    for message in messages:
        match message:
            case UserMessage():
                question = text_of(message.content)[:_REMINDER]
                plain.append(message)
            case AssistantMessage():
                calls |= {call.id: call for call in _calls(message)}
                plain += [_said(text) for text in _replies(message)]
            case ToolResultMessage():
                text = _cut(text_of(message.content), limit)
                call = calls.get(message.tool_call_id)
                plain.append(_user(_result_text(message.tool_name, call, text, question)))
            case SystemMessage():
                pass
    return plain


def _replies(message: AssistantMessage) -> list[str]:
    calls = _calls(message)
    if calls:
        return [_call_text(call) for call in calls]
    text = text_of(message.content)
    return [json.dumps({"answer": text}, ensure_ascii=False)] if text else []


def _call_text(call: ToolCall) -> str:
    return json.dumps({"tool": call.name, "arguments": call.arguments}, ensure_ascii=False)


def _result_text(name: str, call: ToolCall | None, text: str, question: str) -> str:
    values = " ".join(str(value) for value in call.arguments.values()) if call else ""
    return f"Result of {f'{name} {values}'.rstrip()[:_REMINDER]}:\n{text}\n\nQuestion: {question}"


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[{len(text) - limit} more characters are not shown]"


def _exchange(messages: Sequence[Message]) -> Sequence[Message]:
    """What came after the last user message."""
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], UserMessage):
            return messages[index + 1 :]
    return messages


def _may_call(exchange: Sequence[Message]) -> bool:
    """Not after too many calls, and not after one that repeats another: its result would be the same."""
    made = [
        (call.name, call.arguments)
        for message in exchange
        if isinstance(message, AssistantMessage)
        for call in _calls(message)
    ]
    return len(made) < CALLS_PER_EXCHANGE and all(made.count(call) == 1 for call in made)


def _failed_once(exchange: Sequence[Message]) -> bool:
    """Whether the exchange's only call failed: small models give up there, though the error names the way."""
    results = [message for message in exchange if isinstance(message, ToolResultMessage)]
    return len(results) == 1 and results[0].is_error


def _calls(message: AssistantMessage) -> list[ToolCall]:
    return [block for block in message.content if isinstance(block, ToolCall)]


def _user(text: str) -> UserMessage:
    return UserMessage(content=[TextContent(text=text)], timestamp=0)


def _said(text: str) -> AssistantMessage:
    growing = GrowingMessage(_NOBODY, 0)
    growing.message.content.append(TextContent(text=text))
    growing.message.stop_reason = "stop"
    return growing.message


_NOBODY = Model(id="", name="", api="", provider="", base_url="")
"""Texts of the emulation are nobody's: no adapter may take them for signed content of its own."""
