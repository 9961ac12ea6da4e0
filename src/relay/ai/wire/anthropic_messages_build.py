"""Turns a prepared conversation into the `system`, `messages` and `tools` fields of Anthropic Messages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple, cast

from relay.ai.convert import is_own
from relay.ai.model import Model
from relay.ai.prompt import replay
from relay.ai.types import (
    AssistantMessage,
    ImageContent,
    JsonObject,
    Message,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserContent,
    UserMessage,
    text_of,
)
from relay.ai.wire.anthropic_messages_tools import declare

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
CHANGES_BETA = "mid-conversation-tool-changes-2026-07-01"
EFFORT_BETA = "mid-conversation-output-config-2026-07-01"


class Effort(NamedTuple):
    """What each answer was asked for: `levels` maps a thinking level to the provider's effort word."""

    levels: dict[str, str]
    now: str


class Conversation(NamedTuple):
    """The conversation's fields; `effort` is the one it began with, `betas` what its forms need."""

    system: str
    messages: list[JsonObject]
    tools: list[JsonObject]
    effort: str | None
    betas: list[str]


def converse(messages: Sequence[Message], model: Model, effort: Effort | None) -> Conversation:
    """Builds the fields from a prepared conversation: one system message leads it, later ones stay in place.

    `effort` is given when its changes are to be told inside the conversation.
    """
    lead = 1 if messages and isinstance(messages[0], SystemMessage) else 0
    prompt = replay(messages[:lead])
    told = _Told(effort)
    wire = told.walk(messages[lead:], model)
    later = {name: tool for name, tool in told.tools.items() if name not in prompt.tools}
    tools = declare([*({**prompt.tools, **told.tools}).values()], model, deferred=frozenset(later))
    betas = [CHANGES_BETA] * told.tools_told + [EFFORT_BETA] * told.effort_told
    return Conversation(prompt.text, wire, tools, told.base, betas)


def began_unthought(messages: Sequence[JsonObject]) -> bool:
    """Whether the request stands amid calls that were made without any thinking, by this model or another.

    The API refuses to switch a thinking budget on before the next prompt of the user then.
    """
    answers: list[JsonObject] = []
    for message in reversed(messages):
        if message["role"] == "assistant":
            answers.append(message)
        elif message["role"] == "user" and message["content"][0]["type"] != "tool_result":
            break
    kinds = {block["type"] for answer in answers for block in answer["content"]}
    return bool(kinds) and kinds.isdisjoint({"thinking", "redacted_thinking"})


class _Told:
    """Walks the conversation once; what a system message says waits for the place where it may stand.

    That place is behind a user message and before the next answer, or at the end.
    """

    def __init__(self, effort: Effort | None) -> None:
        self._effort = effort
        self._running: str | None = None
        self._waiting: list[JsonObject] = []
        self._wire: list[JsonObject] = []
        self.base = effort.now if effort else None
        self.effort_told = False
        self.tools_told = False
        self.tools: dict[str, ToolSpec] = {}

    def walk(self, messages: Sequence[Message], model: Model) -> list[JsonObject]:
        for kind, group in groupby(messages, type):
            if kind is ToolResultMessage:
                self._add("user", results(cast("list[ToolResultMessage]", list(group))))
                continue
            for message in group:
                self._one(message, model)
        self._tell(self._effort.now if self._effort else None)
        return self._wire

    def _one(self, message: Message, model: Model) -> None:
        if isinstance(message, SystemMessage):
            self._waiting += self._changed(message)
        elif isinstance(message, UserMessage):
            self._add("user", user_blocks(message.content))
        elif isinstance(message, AssistantMessage):
            blocks = answer_blocks(message, model)
            if blocks:
                self._tell(self._asked(message, model))
                self._add("assistant", blocks)

    def _add(self, role: str, blocks: list[JsonObject]) -> None:
        if blocks:
            self._wire.append({"role": role, "content": blocks})

    def _asked(self, message: AssistantMessage, model: Model) -> str | None:
        """The effort that an answer of this model was asked for; None where that is not known."""
        if self._effort is None or not is_own(message, model):
            return None
        return self._effort.levels.get(message.thinking_level or "")

    def _tell(self, effort: str | None) -> None:
        if not self._wire or self._wire[-1]["role"] != "user":
            return
        entry: JsonObject = {"role": "system"}
        if self._waiting:
            entry["content"], self._waiting = self._waiting, []
        if effort is not None:
            if self._running is None:
                self.base = effort
            elif effort != self._running:
                entry["output_config"] = {"effort": effort}
                self.effort_told = True
            self._running = effort
        if len(entry) > 1:
            self._wire.append(entry)

    def _changed(self, message: SystemMessage) -> list[JsonObject]:
        blocks: list[JsonObject] = []
        for kind, tools in (("tool_removal", message.tools_removed), ("tool_addition", message.tools_added)):
            names = [tool.name for tool in tools or ()]
            blocks += [{"type": kind, "tool": {"type": "tool_reference", "name": name}} for name in names]
        self.tools_told = self.tools_told or bool(blocks)
        self.tools |= {tool.name: tool for tool in message.tools_added or ()}
        return [*blocks, *_texts(text_of(message.content))]


def user_blocks(content: str | list[UserContent]) -> list[JsonObject]:
    """Blocks of user content. Blank texts are left out: the API refuses a message that holds one."""
    if isinstance(content, str):
        return _texts(content)
    blocks: list[JsonObject] = []
    for block in content:
        blocks += _texts(block.text) if isinstance(block, TextContent) else [_image(block)]
    return blocks


def results(group: Sequence[ToolResultMessage]) -> list[JsonObject]:
    """The results of one answer's calls as blocks of one user message.

    A failed result may hold only text, so its images follow behind all results.
    """
    blocks: list[JsonObject] = []
    behind: list[JsonObject] = []
    for message in group:
        content = user_blocks(message.content)
        images = [block for block in content if block["type"] == "image"]
        if images and message.is_error:
            behind += images
            images = []
        text = text_of(message.content)
        block: JsonObject = {"type": "tool_result", "tool_use_id": message.tool_call_id}
        if images:
            block["content"] = content
        else:
            # A failed result without a word is refused.
            block["content"] = text if text.strip() else "(no output)"
        block["is_error"] = message.is_error
        blocks.append(block)
    return [*blocks, *behind]


def answer_blocks(message: AssistantMessage, model: Model) -> list[JsonObject]:
    """Blocks of an earlier answer; thinking goes back signed, or else as text."""
    blocks: list[JsonObject] = []
    for block in message.content:
        if isinstance(block, TextContent):
            blocks += _texts(block.text)
        elif isinstance(block, ToolCall):
            blocks.append({"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments})
        else:
            blocks += _thinking(block, model)
    return blocks


def _thinking(block: ThinkingContent, model: Model) -> list[JsonObject]:
    signature = block.thinking_signature or ""
    if block.redacted:
        return [{"type": "redacted_thinking", "data": signature}] if signature else []
    if signature or (block.thinking and model.compat.get("allowEmptySignature", False)):
        return [{"type": "thinking", "thinking": block.thinking, "signature": signature}]
    return _texts(block.thinking)


def _texts(text: str) -> list[JsonObject]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _image(block: ImageContent) -> JsonObject:
    if block.mime_type not in IMAGE_TYPES:
        return {"type": "text", "text": f"[an image of type {block.mime_type}, which this API does not take]"}
    source = {"type": "base64", "media_type": block.mime_type, "data": block.data}
    return {"type": "image", "source": source}
