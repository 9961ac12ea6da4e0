"""Reads an error body of any provider into the few things that say what went wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from relay.base import jsonl

SHOWN = 600
"""Characters of a provider's message that the user sees."""

_MESSAGES = (
    "message",
    "msg",
    "detail",
    "details",
    "error_description",
    "error_message",
    "errorMessage",
    "reason",
)
_CODES = ("code", "type", "status", "error_code", "__type", "reason", "finish_reason")
_WINDOW_FIELDS = ("n_ctx", "context_window", "max_context_length", "context_length", "max_model_len")
_COUNT = r"(\d[\d,_]*)"
_WINDOWS = tuple(
    pattern.replace("N", _COUNT)
    for pattern in (
        r"(?:maximum|max|total|available|model'?s?|of only) (?:context|sequence|prompt|model|input) "
        r"(?:length|size|window|limit)(?: is| of| was|:)?(?: only)? ?\(?N",
        r"context (?:length|size|window|limit)(?: of| is|:)?(?: only)? ?\(?N(?:\)| tokens| token|\b(?! \+))",
        r"n_ctx\W{1,4}N",
        r"tokens? > N",
        r"\+ \d[\d,_]* > N",
        r"N maximum context",
        r"tokens allowed \(?N",
        r"(?:token|prompt) limit(?: of|:)? ?N",
        r"exceeds the limit of N",
        r"while limit is N",
        r"less than or equal to N tokens",
        r"must be <= N",
    )
)
_WAIT = r"(?:retry|try again|wait)[^.]{0,20}?(?:in|after|for) (?:(\d+)m)?(\d+(?:\.\d+)?) ?(ms|s)\b"
_DEPTH = 6


class Said(NamedTuple):
    """What an error body says, wherever its server puts it.

    `message` is for the user, `text` all words for matching, `codes` lower-cased, the innermost cause last;
    `code` is the one to show. `status` is an HTTP status inside the body, `retry_ms` a wait in milliseconds,
    `window` a context window in tokens; `waits_for_day` tells of a limit that no wait of minutes ends.
    """

    message: str
    text: str
    codes: tuple[str, ...]
    code: str | None
    status: int | None
    window: int | None
    retry_ms: int | None
    waits_for_day: bool


def read(body: bytes | dict[str, Any]) -> Said:
    """Never fails: what is no JSON is taken as text, a web page as its words."""
    value: Any = body
    if isinstance(body, bytes):
        try:
            value = jsonl.decode(body)
        except (ValueError, RecursionError):
            value = _words(body)
    objects = list(_objects(value, 0))
    messages = [text for found in objects for text in _texts(found)] or _loose(value)
    message = _best(messages)
    codes = [(str(found[key]), found) for found in objects for key in _CODES if _is_code(found.get(key))]
    texts = " ".join(messages)
    return Said(
        message=message if len(message) <= SHOWN else message[: SHOWN - 1] + "…",
        text=texts[:20_000],
        codes=tuple(_plain_code(code) for code, _ in codes),
        code=next((code for code, _ in codes if code.lower() not in ("error", "none")), None),
        status=_status(objects),
        window=_window(objects, texts),
        retry_ms=_retry(objects, texts),
        waits_for_day=any("perday" in str(found.get("quotaId", "")).lower() for found in objects),
    )


def _objects(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """Every object of the body, outside first; JSON inside strings (gateways quote it) is opened too."""
    if depth > _DEPTH:
        return
    if isinstance(value, str):
        start = value.find("{")
        if start < 0 or not value.rstrip().endswith("}"):
            return
        try:
            value = jsonl.decode(value[start:])
        except (ValueError, RecursionError):
            return
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            if isinstance(inner, dict | list | str):
                yield from _objects(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value[:20]:
            yield from _objects(inner, depth + 1)


def _texts(found: dict[str, Any]) -> Iterator[str]:
    for key in ("error", *_MESSAGES):
        value = found.get(key)
        if isinstance(value, str) and value.strip():
            yield value.strip()


def _loose(value: Any) -> list[str]:
    """The words of a body that has no message where one is expected."""
    if isinstance(value, str):
        return [value.strip()] if value.strip() else []
    return [jsonl.encode(value).decode("utf-8", "replace")] if value else []


def _best(messages: list[str]) -> str:
    """The outermost message, unless it only says that another provider failed."""
    for message in messages:
        if " " in message and not re.fullmatch(r"provider returned error\W*", message, re.IGNORECASE):
            return message
    return messages[0] if messages else ""


def _is_code(value: object) -> bool:
    return (isinstance(value, str) and 0 < len(value) <= 80 and " " not in value) or (
        isinstance(value, int) and not isinstance(value, bool)
    )


def _plain_code(code: str) -> str:
    """AWS writes `com.amazon…#ThrottlingException`, others capitals or dashes."""
    return code.rpartition("#")[2].partition(":")[0].lower().replace("-", "_").replace(" ", "_")


def _status(objects: list[dict[str, Any]]) -> int | None:
    for found in objects:
        for key in ("status", "status_code", "statusCode", "http_code", "code"):
            value = found.get(key)
            if isinstance(value, str) and value.isdecimal():
                value = int(value)
            if isinstance(value, int) and 400 <= value <= 599:
                return value
    return None


def _window(objects: list[dict[str, Any]], text: str) -> int | None:
    for found in objects:
        for field in _WINDOW_FIELDS:
            value = found.get(field)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    for pattern in _WINDOWS:
        if (match := re.search(pattern, text, re.IGNORECASE)) is not None:
            return int(re.sub(r"[,_]", "", match[1])) or None
    return None


def _retry(objects: list[dict[str, Any]], text: str) -> int | None:
    """Google's `retryDelay: "34s"`, or words like `try again in 1m20.5s`."""
    for found in objects:
        value = found.get("retryDelay")
        if isinstance(value, str) and re.fullmatch(r"\d+(?:\.\d+)?s", value):
            return int(float(value[:-1]) * 1000)
    match = re.search(_WAIT, text, re.IGNORECASE)
    if match is None:
        return None
    spent = float(match[2]) * (1 if match[3].lower() == "ms" else 1000)
    return int(spent) + int(match[1] or 0) * 60_000


def _words(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    if "<" not in text[:200]:
        return text.strip()
    bare = re.sub(r"<(script|style|head)\b.*?</\1>", " ", text, flags=re.IGNORECASE | re.DOTALL)
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    words = " ".join(re.sub(r"<[^>]*>", " ", bare).split())
    return f"{title[1].strip()}: {words}" if title and title[1].strip() not in words else words
