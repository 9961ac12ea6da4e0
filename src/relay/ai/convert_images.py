"""Which images of a conversation must not be sent (again), and the text that stands for them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from relay.ai.model import Model
from relay.ai.types import (
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ToolResultMessage,
    UserMessage,
)

UNSUPPORTED = "this model does not take images"
BLOCKED = "sending images is switched off in the settings"
REFUSED = "the provider refused it in an earlier request"

_IMAGE = re.compile(r"\bimages?\b|image_url|media[_ ]type|image/", re.IGNORECASE)
_REFUSED = re.compile(
    r"invalid|not valid|valid image|could not|cannot|can't|unable|fail|unsupported|not support|unknown format"
    r"|corrupt|malformed|truncated|decod|exceed|too large|too big|at least|empty|must be",
    re.IGNORECASE,
)
_PASSING = re.compile(r"rate.?limit|overload|timed? ?out|try again|quota|\b(429|5\d\d)\b", re.IGNORECASE)


def stand_in(image: ImageContent, reason: str) -> TextContent:
    """The text sent in place of an image."""
    return TextContent(text=f"[{image.mime_type or 'image'} left out: {reason}]")


def refused_images(messages: Sequence[Message], model: Model) -> frozenset[int]:
    """Positions of the messages whose images this model's server refused.

    A failed answer of this model that speaks of a bad image means the images that came after the last good
    answer: older ones had been accepted. Without this rule one bad image fails every later request.
    """
    refused: set[int] = set()
    fresh: list[int] = []
    for position, message in enumerate(messages):
        if isinstance(message, UserMessage | ToolResultMessage):
            if has_image(message):
                fresh.append(position)
        elif isinstance(message, AssistantMessage):
            if message.stop_reason == "error":
                if _same(message, model) and names_bad_image(message.error_message or ""):
                    refused.update(fresh)
            elif message.stop_reason != "aborted":
                fresh = []
    return frozenset(refused)


def has_image(message: UserMessage | ToolResultMessage) -> bool:
    content = message.content
    return not isinstance(content, str) and any(isinstance(block, ImageContent) for block in content)


def names_bad_image(text: str) -> bool:
    """Whether an error's text says that the server does not accept an image of the request."""
    return bool(_IMAGE.search(text) and _REFUSED.search(text)) and not _PASSING.search(text)


def _same(message: AssistantMessage, model: Model) -> bool:
    return message.provider == model.provider and message.model == model.id
