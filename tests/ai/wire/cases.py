"""The one table of conversations that every wire adapter builds requests from.

`cases(model)` maps a case's name to its messages. Assistant messages are the model's own unless the name
says foreign. `signature` is thinking replay data in the form of the adapter under test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relay.ai.model import Model
from relay.ai.types import (
    AssistantContent,
    AssistantMessage,
    ImageContent,
    Message,
    StopReason,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolReference,
    ToolResultMessage,
    ToolSpec,
    UserContent,
    UserMessage,
    no_usage,
)

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A whole PNG of one pixel, base64."""

READ = ToolSpec(
    name="read",
    description="Reads a file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Path of the file."}},
        "required": ["path"],
    },
)
BASH = ToolSpec(
    name="bash",
    description="Runs a command.",
    parameters={"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)


def image() -> ImageContent:
    return ImageContent(data=PNG, mime_type="image/png")


def system(*tools: ToolSpec, **sections: str | None) -> SystemMessage:
    """A system message that declares sections and tools."""
    return SystemMessage(content="", timestamp=1, sections=dict(sections), tools_added=list(tools) or None)


def user(*content: str | UserContent) -> UserMessage:
    """A user message: one string stays a string, anything else becomes blocks."""
    if len(content) == 1 and isinstance(content[0], str):
        return UserMessage(content=content[0], timestamp=2)
    blocks = [TextContent(text=part) if isinstance(part, str) else part for part in content]
    return UserMessage(content=blocks, timestamp=2)


def answer(
    model: Model, *content: str | AssistantContent, stop: StopReason | None = None
) -> AssistantMessage:
    """An answer of `model`; its stop reason follows from its content unless given."""
    blocks = [TextContent(text=part) if isinstance(part, str) else part for part in content]
    called = any(isinstance(block, ToolCall) for block in blocks)
    return AssistantMessage(
        content=blocks,
        api=model.api,
        provider=model.provider,
        model=model.id,
        usage=no_usage(),
        stop_reason=stop or ("toolUse" if called else "stop"),
        timestamp=3,
    )


def call(id: str, name: str = "read", *, raw: str | None = None, **arguments: Any) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments, raw_arguments=raw)


def result(
    id: str, *content: str | UserContent, name: str = "read", error: bool = False
) -> ToolResultMessage:
    blocks = [TextContent(text=part) if isinstance(part, str) else part for part in content]
    return ToolResultMessage(tool_call_id=id, tool_name=name, content=blocks, is_error=error, timestamp=4)


def foreign(model: Model) -> Model:
    """A model of another provider and protocol than `model`."""
    api = "anthropic-messages" if model.api != "anthropic-messages" else "openai-responses"
    return Model(id="elsewhere-1", name="Elsewhere", api=api, provider="elsewhere", base_url="https://x.test")


def sibling(model: Model) -> Model:
    """Another model of the same provider and protocol."""
    return Model(
        id=model.id + "-b", name="Sibling", api=model.api, provider=model.provider, base_url=model.base_url
    )


START: tuple[Message, ...] = (system(READ, BASH, base="You are a tester.", rules="Be brief."),)

Maker = Callable[[Model, str], list[Message]]

_MAKERS: dict[str, Maker] = {
    "plain_text": lambda m, s: [user("hi"), answer(m, "hello"), user("again")],
    "no_system": lambda m, s: [user("hi")],
    "system_sections": lambda m, s: [*START, user("hi")],
    "later_system_message": lambda m, s: [
        *START,
        user("hi"),
        answer(m, "hello"),
        SystemMessage(
            content="Mind the gap.",
            timestamp=5,
            sections={"rules": None, "mode": "Plan only."},
            tools_added=[ToolSpec(name="grep", description="Searches.", parameters={"type": "object"})],
            tools_removed=[ToolReference(name="bash")],
        ),
        user("go"),
    ],
    "user_images": lambda m, s: [user("look", image(), image()), answer(m, "two dots"), user(image())],
    "tool_call": lambda m, s: [
        *START,
        user("read a"),
        answer(m, "reading", call("call_1", path="a")),
        result("call_1", "alpha"),
        answer(m, "it says alpha"),
        user("thanks"),
    ],
    "tool_call_only": lambda m, s: [
        *START,
        user("read a"),
        answer(m, call("call_1", path="a")),
        result("call_1", "alpha"),
    ],
    "tool_result_empty": lambda m, s: [
        *START,
        user("run"),
        answer(m, call("call_1", "bash", command="true")),
        result("call_1", name="bash"),
    ],
    "tool_result_image": lambda m, s: [
        *START,
        user("see"),
        answer(m, call("call_1", path="a.png")),
        result("call_1", "a picture", image()),
        user("and?"),
    ],
    "tool_result_only_image": lambda m, s: [
        *START,
        user("see"),
        answer(m, call("call_1", path="a.png")),
        result("call_1", image()),
    ],
    "tool_result_error": lambda m, s: [
        *START,
        user("read b"),
        answer(m, call("call_1", path="b")),
        result("call_1", "no such file", error=True),
    ],
    "parallel_calls": lambda m, s: [
        *START,
        user("both"),
        answer(m, call("call_1", path="a"), call("call_2", path="b"), call("call_3", "bash", command="ls")),
        result("call_1", "alpha", image()),
        result("call_2", "beta", error=True),
        result("call_3", "a b", name="bash"),
        user("and?"),
    ],
    "raw_arguments": lambda m, s: [
        *START,
        user("run"),
        answer(m, call("call_1", "bash", raw='{"command": "echo hi"')),
        result("call_1", "the arguments are no JSON object", name="bash", error=True),
    ],
    "thinking_signed": lambda m, s: [
        *START,
        user("think"),
        answer(
            m,
            ThinkingContent(thinking="step one", thinking_signature=s),
            "done",
            call("call_1", path="a"),
        ),
        result("call_1", "alpha"),
    ],
    "thinking_unsigned": lambda m, s: [
        user("think"),
        answer(m, ThinkingContent(thinking="step one"), "done"),
        user("go on"),
    ],
    "thinking_redacted": lambda m, s: [
        user("think"),
        answer(m, ThinkingContent(thinking="", thinking_signature=s, redacted=True), "done"),
        user("go on"),
    ],
    "thinking_empty": lambda m, s: [
        user("think"),
        answer(m, ThinkingContent(thinking=""), "done"),
        user("go on"),
    ],
    "thinking_only": lambda m, s: [
        user("think"),
        answer(m, ThinkingContent(thinking="step one", thinking_signature=s)),
        user("go on"),
    ],
    "foreign_history": lambda m, s: [
        *START,
        user("think"),
        answer(
            foreign(m),
            ThinkingContent(thinking="foreign step", thinking_signature="FOREIGN-SIGNATURE"),
            ThinkingContent(thinking="", thinking_signature="FOREIGN-REDACTED", redacted=True),
            TextContent(text="done", text_signature="FOREIGN-TEXT"),
            ToolCall(
                id="toolu|odd id+/=" + "x" * 80,
                name="read",
                arguments={"path": "a"},
                thought_signature="FOREIGN-THOUGHT",
            ),
        ),
        result("toolu|odd id+/=" + "x" * 80, "alpha"),
        answer(foreign(m), "it says alpha"),
        user("thanks"),
    ],
    "sibling_history": lambda m, s: [
        user("think"),
        answer(sibling(m), ThinkingContent(thinking="sibling step", thinking_signature=s), "done"),
        user("go on"),
    ],
    "colliding_ids": lambda m, s: [
        user("a"),
        answer(foreign(m), call("c+1", path="a"), call("c/1", path="b")),
        result("c/1", "for b"),
        result("c+1", "for a"),
        answer(foreign(m), call("c+1", path="c")),
        result("c+1", "for c"),
    ],
    "orphan_call": lambda m, s: [
        *START,
        user("both"),
        answer(m, "looking", call("call_1", path="a"), call("call_2", path="b")),
        result("call_1", "alpha"),
        user("go on"),
    ],
    "orphan_call_at_end": lambda m, s: [*START, user("a"), answer(m, call("call_1", path="a"))],
    "orphan_result": lambda m, s: [result("call_9", "orphan output"), user("hi"), answer(m, "hello")],
    "late_result": lambda m, s: [
        *START,
        user("a"),
        answer(m, call("call_1", path="a"), call("call_2", path="b")),
        result("call_2", "beta"),
        user("are you there?"),
        result("call_1", "alpha"),
        answer(m, "yes"),
        user("good"),
    ],
    "doubled_result": lambda m, s: [
        user("a"),
        answer(m, call("call_1", path="a")),
        result("call_1", "alpha"),
        result("call_1", "alpha again"),
        user("go"),
    ],
    "failed_answers": lambda m, s: [
        user("one"),
        answer(m, "half", call("call_1", path="a"), stop="error"),
        result("call_1", "never sent"),
        user("two"),
        answer(m, "cut off", stop="aborted"),
        user("three"),
    ],
    "empty_answer": lambda m, s: [user("one"), answer(m), user("two"), answer(m, ""), user("three")],
    "lone_surrogates": lambda m, s: [
        system(base="broken \ud800 prompt"),
        user("broken \udfff text"),
        answer(m, "half \ud83d", call("call_1", path="p\ud800")),
        result("call_1", "out \udc00"),
        user("whole \U0001f600", image()),
    ],
}

CASE_NAMES: tuple[str, ...] = tuple(_MAKERS)


def cases(model: Model, signature: str = "SIGNATURE") -> dict[str, list[Message]]:
    """Every conversation by name, with answers of `model` and thinking signed with `signature`."""
    return {name: make(model, signature) for name, make in _MAKERS.items()}


def conversation(name: str, model: Model, signature: str = "SIGNATURE") -> list[Message]:
    """One conversation; KeyError for a name that is not in `CASE_NAMES`."""
    return _MAKERS[name](model, signature)
