"""Turns a stored conversation into one that a model's server accepts: pairs, ids, thinking, images, prompt.

Everything here happens in the request only; the session keeps what it has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import count
from operator import is_
from typing import TypeVar

import msgspec

from relay.ai.convert_images import BLOCKED, REFUSED, UNSUPPORTED, has_image, refused_images, stand_in
from relay.ai.convert_pairs import paired
from relay.ai.convert_text import clean, clean_text, tool_name
from relay.ai.model import Model
from relay.ai.prompt import Prompt, replay
from relay.ai.types import (
    AssistantContent,
    AssistantMessage,
    ImageContent,
    Message,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserContent,
    UserMessage,
    text_of,
)

CallIds = Callable[[str, int, bool], str]
"""Makes a tool-call id valid for a protocol: (stored id, attempt, whether this model's server made it).

Attempt 0 is the natural form; 1, 2, … must each give another one, for ids that would otherwise collide.
What stands before the first `|` is compared.
"""


def plain_ids(allowed: str = "a-zA-Z0-9_-", length: int = 64, *, keep_own: bool = True) -> CallIds:
    """Ids of characters in the regex class `allowed`, at most `length` long.

    With `keep_own` an id that this model's server made is repeated as it is, whatever it looks like.
    """
    outside = re.compile(f"[^{allowed}]")

    def make(original: str, attempt: int, own: bool) -> str:
        if own and keep_own and attempt == 0 and original:
            return original
        base = outside.sub("_", original.partition("|")[0]) or "call"
        suffix = f"_{attempt}" if attempt else ""
        return base[: length - len(suffix)] + suffix

    return make


PLAIN_IDS = plain_ids()
"""Ids as most protocols take them."""


def prepare(
    messages: Sequence[Message],
    model: Model,
    *,
    call_ids: CallIds = PLAIN_IDS,
    later_system: bool = False,
    later_tools: bool = False,
    block_images: bool = False,
) -> list[Message]:
    """The messages to send to `model`.

    At most one system message leads: its content is the prompt as text, its `tools_added` all tools in
    force at the end. Later ones are folded into it, unless `later_system`: then they stay in place, text
    only, or with `later_tools` with the tools they add and remove. Each call is followed by its one
    result. Other models' thinking and signatures are gone, failed answers too.
    """
    bare = _without_images(messages, model, block_images)
    rest: list[Message] = []
    ids = _Ids(call_ids)
    for message in paired(bare):
        match message:
            case SystemMessage():
                rest.append(message)
            case UserMessage():
                rest.append(_user(message))
            case AssistantMessage():
                answer = _answer(message, is_own(message, model), ids)
                if answer.content:
                    rest.append(answer)
            case ToolResultMessage():
                rest.append(_result(message, ids))
    return _system_first(rest, later_system, later_system and later_tools)


def is_own(message: AssistantMessage, model: Model) -> bool:
    """Whether `model` itself wrote the answer, so that its signatures may be replayed."""
    return (message.api, message.provider, message.model) == (model.api, model.provider, model.id)


class _Ids:
    """Hands out one unique valid id per call, and gives it to the result that follows the call."""

    def __init__(self, call_ids: CallIds) -> None:
        self._make = call_ids
        self._used: set[str] = set()
        self._waiting: dict[str, list[str]] = {}
        self._next: dict[str, int] = {}

    def of_call(self, original: str, own: bool) -> str:
        for attempt in count(self._next.get(original, 0)):
            made = self._make(original, attempt, own)
            key = made.partition("|")[0]
            if key not in self._used:
                self._used.add(key)
                self._next[original] = attempt + 1
                self._waiting.setdefault(original, []).append(made)
                return made
        raise AssertionError("count() does not end")

    def of_result(self, original: str) -> str:
        """`paired` has seen to it that every result comes after its call, in call order."""
        return self._waiting[original].pop(0)


def _user(message: UserMessage) -> UserMessage:
    if isinstance(message.content, str):
        text = clean_text(message.content)
        return message if text is message.content else msgspec.structs.replace(message, content=text)
    content = _clean_blocks(message.content)
    return message if content is message.content else msgspec.structs.replace(message, content=content)


def _result(message: ToolResultMessage, ids: _Ids) -> ToolResultMessage:
    made = ids.of_result(message.tool_call_id)
    name, content = tool_name(message.tool_name), _clean_blocks(message.content)
    if made == message.tool_call_id and name == message.tool_name and content is message.content:
        return message
    return msgspec.structs.replace(message, tool_call_id=made, tool_name=name, content=content)


Block = TypeVar("Block", bound=UserContent | TextContent)


def _clean_blocks(blocks: list[Block]) -> list[Block]:
    """The same list when nothing had to be replaced."""
    cleaned = [_clean_block(block) for block in blocks]
    return blocks if all(map(is_, cleaned, blocks)) else cleaned


def _clean_block(block: Block) -> Block:
    if not isinstance(block, TextContent):
        return block
    text = clean_text(block.text)
    return block if text is block.text else msgspec.structs.replace(block, text=text)


def _answer(message: AssistantMessage, own: bool, ids: _Ids) -> AssistantMessage:
    content: list[AssistantContent] = []
    for block in message.content:
        match block:
            case TextContent():
                content += _text(block, own)
            case ThinkingContent():
                content += _thinking(block) if own else []
            case ToolCall():
                content.append(_call(block, own, ids))
    if len(content) == len(message.content) and all(map(is_, content, message.content)):
        return message
    return msgspec.structs.replace(message, content=content)


def _text(block: TextContent, own: bool) -> list[AssistantContent]:
    """Blank text is refused by some servers; it stays only where it carries the model's own signature."""
    signature = block.text_signature if own else None
    if not block.text.strip() and signature is None:
        return []
    text = clean_text(block.text)
    if text is block.text and signature == block.text_signature:
        return [block]
    return [TextContent(text=text, text_signature=signature)]


def _thinking(block: ThinkingContent) -> list[AssistantContent]:
    if not block.thinking.strip() and not block.thinking_signature:
        return []
    text = clean_text(block.thinking)
    return [block if text is block.thinking else msgspec.structs.replace(block, thinking=text)]


def _call(block: ToolCall, own: bool, ids: _Ids) -> ToolCall:
    id = ids.of_call(block.id, own)
    name, arguments = tool_name(block.name), clean(block.arguments)
    if own and id == block.id and name == block.name and arguments is block.arguments:
        return block
    return ToolCall(
        id=id,
        name=name,
        arguments=arguments,
        thought_signature=block.thought_signature if own else None,
        namespace=block.namespace if own else None,
    )


def _without_images(messages: Sequence[Message], model: Model, blocked: bool) -> Sequence[Message]:
    """`messages` with the images that must not be sent replaced by a line of text each."""
    if blocked or "image" not in model.input:
        reason = BLOCKED if blocked else UNSUPPORTED
        return [_replaced(message, reason) for message in messages]
    refused = refused_images(messages, model)
    if not refused:
        return messages
    return [_replaced(m, REFUSED) if position in refused else m for position, m in enumerate(messages)]


def _replaced(message: Message, reason: str) -> Message:
    if not isinstance(message, UserMessage | ToolResultMessage) or isinstance(message.content, str):
        return message
    if not has_image(message):
        return message
    content = [stand_in(b, reason) if isinstance(b, ImageContent) else b for b in message.content]
    return msgspec.structs.replace(message, content=content)


def _system_first(messages: list[Message], later_system: bool, later_tools: bool) -> list[Message]:
    """One leading system message, or none; later ones folded into it, or reduced to their text and tools."""
    opening = next((n for n, m in enumerate(messages) if not isinstance(m, SystemMessage)), len(messages))
    end = replay(messages)
    start = replay(messages[:opening]) if later_system else end
    rest: list[Message] = []
    for message in messages[opening:]:
        if not isinstance(message, SystemMessage):
            rest.append(message)
        elif later_tools and (message.tools_added or message.tools_removed):
            rest.append(msgspec.structs.replace(message, content=_patch_text(message), sections=None))
        elif later_system and (text := _patch_text(message)):
            rest.append(SystemMessage(content=text, timestamp=message.timestamp))
    leading = _leading(start, start if later_tools else end, messages[0].timestamp if messages else 0)
    return [leading, *rest] if leading else rest


def _leading(start: Prompt, end: Prompt, timestamp: int) -> SystemMessage | None:
    text = clean_text(start.text)
    tools = list(end.tools.values())
    if not text and not tools:
        return None
    return SystemMessage(content=text, timestamp=timestamp, tools_added=tools or None)


def _patch_text(message: SystemMessage) -> str:
    """A later system message in words: what it appends, and which sections of the prompt it changes."""
    parts = [text_of(message.content)]
    for name, section in (message.sections or {}).items():
        if section is None:
            parts.append(f'The part "{name}" of the instructions above no longer applies.')
        else:
            parts.append(f'The part "{name}" of the instructions now reads:\n{section}')
    return clean_text("\n\n".join(part for part in parts if part))
