"""Tool calls for models without a tool template: the answer is held to a JSON Schema that names the tools."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from relay.ai.events import BlockEvent
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

CALLS_PER_EXCHANGE = 6
"""After so many calls for one user message only an answer is admitted: small models repeat themselves."""

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
        tools = prompt.tools if _calls_since_user(messages) < CALLS_PER_EXCHANGE else {}
        plain = [_system(prompt, tools), *_examples(tools), *_conversation(messages)]
        request = self._inner.build(model, plain, options)
        schema = {"name": "reply", "schema": _schema(tools), "strict": True}
        body = {**request.body, "response_format": {"type": "json_schema", "json_schema": schema}}
        return msgspec.structs.replace(request, body=body)

    def reader(self, model: Model, options: CallOptions, timestamp: int) -> StreamReader:
        return _Reader(self._inner.reader(model, options, timestamp), model, options, timestamp)


class _Reader:
    """Lets the inner reader collect the JSON text, then tells what it says as a call or as text."""

    def __init__(self, inner: StreamReader, model: Model, options: CallOptions, timestamp: int) -> None:
        self._inner = inner
        self._growing = GrowingMessage(model, timestamp, options.thinking)
        self.message = self._growing.message

    def feed(self, event: ServerEvent) -> list[BlockEvent]:
        self._inner.feed(event)
        self.message.usage = self._inner.message.usage
        return []

    def finish(self) -> list[BlockEvent]:
        self._inner.finish()
        self._adopt()
        if self.message.stop_reason not in ("stop", "toolUse"):
            return self._tell(text_of(self._inner.message.content))
        text = text_of(self._inner.message.content)
        reply = _object(text)
        if isinstance(reply.get("tool"), str):
            self.message.stop_reason = "toolUse"
            return self._call(reply["tool"], reply.get("arguments"))
        answer = reply.get("answer")
        return self._tell(answer if isinstance(answer, str) else text)

    def abandon(self) -> list[BlockEvent]:
        self._inner.abandon()
        self._adopt()
        return self._growing.abandon()

    def _adopt(self) -> None:
        source = self._inner.message
        for name in ("usage", "stop_reason", "raw_stop_reason", "response_id", "response_model"):
            setattr(self.message, name, getattr(source, name))

    def _call(self, name: str, arguments: object) -> list[BlockEvent]:
        given = arguments if isinstance(arguments, dict) else {}
        index, start = self._growing.start_tool_call(f"call_{self.message.timestamp}_0", name)
        return [start, self._growing.append(index, json.dumps(given)), self._growing.end(index)]

    def _tell(self, text: str) -> list[BlockEvent]:
        index, start = self._growing.start_text()
        return [start, self._growing.append(index, text), self._growing.end(index)]


def _object(text: str) -> JsonObject:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _schema(tools: dict[str, ToolSpec]) -> JsonObject:
    answer = _closed({"answer": {"type": "string"}})
    return {"anyOf": [*(_call_schema(tool) for tool in tools.values()), answer]} if tools else answer


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


def _system(prompt: Prompt, tools: dict[str, ToolSpec]) -> SystemMessage:
    lines = ["You answer the user's request. Reply with one JSON object and nothing else."]
    for tool in tools.values():
        required = tool.parameters.get("required") or []
        shape = json.dumps(
            {"tool": tool.name, "arguments": {name: "…" for name in required}}, ensure_ascii=False
        )
        lines.append(f"{tool.description.split('. ')[0].rstrip('.')}: {shape}")
    lines.append('When you know the answer: {"answer": "…"}')
    kept = [text for name, text in prompt.sections.items() if name not in _REPLACED_SECTIONS]
    return SystemMessage(content="\n\n".join(["\n".join(lines), *kept, *prompt.notes]), timestamp=0)


def _examples(tools: dict[str, ToolSpec]) -> list[Message]:
    """Exchanges that show a small model the form; only where the tool they use is there."""
    if "read" not in tools:
        return []
    return [
        *_example(
            "Read NOTES. What is on the shopping list?",
            "NOTES",
            "# Shopping list\nmilk, bread",
            "milk, bread",
        ),
        *_example(
            "Who wrote docs/intro.md?",
            "docs/intro.md",
            "Author: Ada Smith\nWelcome to the course.",
            "Ada Smith",
        ),
        *_example(
            "Read setup.cfg. What is the port?",
            "setup.cfg",
            "host = localhost\nport = 8071\ndebug = no",
            "The port is 8071.",
        ),
    ]


def _example(question: str, path: str, content: str, answer: str) -> list[Message]:
    call = {"tool": "read", "arguments": {"path": path}}
    return [
        _user(question),
        _said(json.dumps(call)),
        _user(_result_text("read", content, question)),
        _said(json.dumps({"answer": answer})),
    ]


def _conversation(messages: Sequence[Message]) -> list[Message]:
    plain: list[Message] = []
    question = ""
    for message in messages:
        match message:
            case UserMessage():
                question = text_of(message.content)
                plain.append(message)
            case AssistantMessage():
                plain += [_said(text) for text in _replies(message)]
            case ToolResultMessage():
                plain.append(_user(_result_text(message.tool_name, text_of(message.content), question)))
            case SystemMessage():
                pass
    return plain


def _replies(message: AssistantMessage) -> list[str]:
    calls = [block for block in message.content if isinstance(block, ToolCall)]
    if calls:
        return [json.dumps({"tool": call.name, "arguments": call.arguments}) for call in calls]
    text = text_of(message.content)
    return [json.dumps({"answer": text})] if text else []


def _result_text(name: str, text: str, question: str) -> str:
    return f"Result of {name}:\n{text}\n\nThe request was: {question}"


def _calls_since_user(messages: Sequence[Message]) -> int:
    count = 0
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            break
        count += isinstance(message, ToolResultMessage)
    return count


def _user(text: str) -> UserMessage:
    return UserMessage(content=[TextContent(text=text)], timestamp=0)


def _said(text: str) -> AssistantMessage:
    growing = GrowingMessage(_NOBODY, 0)
    growing.message.content.append(TextContent(text=text))
    growing.message.stop_reason = "stop"
    return growing.message


_NOBODY = Model(id="", name="", api="", provider="", base_url="")
"""Texts of the emulation are nobody's: no adapter may take them for signed content of its own."""
