"""Says what kind of failure an error answer tells of: by codes and fields first, by words last."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from relay.ai.errors import ErrorKind, ProviderError
from relay.base import jsonl
from relay.base.clock import now_ms

_SHOWN = 600
"""Characters of a provider's message shown to the user."""

_CODES: dict[str, ErrorKind] = {
    "context_length_exceeded": "overflow",
    "exceed_context_size_error": "overflow",
    "request_too_large": "overflow",
    "model_context_window_exceeded": "overflow",
    "string_above_max_length": "overflow",
    "insufficient_quota": "quota",
    "billing_hard_limit_reached": "quota",
    "billing_error": "quota",
    "credit_balance_too_low": "quota",
    "usage_limit_reached": "quota",
    "rate_limit_exceeded": "rate_limit",
    "rate_limit_error": "rate_limit",
    "tokens": "rate_limit",
    "resource_exhausted": "rate_limit",
    "overloaded_error": "overload",
    "server_is_overloaded": "overload",
    "slow_down": "rate_limit",
    "unavailable": "overload",
    "internal": "overload",
    "server_error": "overload",
    "api_error": "overload",
    "timeout_error": "overload",
    "authentication_error": "auth",
    "permission_error": "auth",
    "invalid_api_key": "auth",
    "unauthenticated": "auth",
    "permission_denied": "auth",
    "content_filter": "refusal",
    "content_policy_violation": "refusal",
    "refusal": "refusal",
    "invalid_request_error": "request",
    "not_found_error": "request",
    "invalid_argument": "request",
    "model_not_found": "request",
}
"""Lower-cased `code`, `type` or `status` of an error body → kind."""

_STATUSES: dict[int, ErrorKind] = {
    401: "auth",
    402: "quota",
    403: "auth",
    408: "transport",
    409: "overload",
    413: "overflow",
    425: "overload",
    429: "rate_limit",
    529: "overload",
}

_OVERFLOW = re.compile(
    r"prompt (?:is )?too long|maximum context length|max(?:imum)? context (?:length|size|window)|"
    r"context (?:length|size|window)[^.]{0,40}(?:exceed|too (?:small|large|long))|"
    r"exceed\w*[^.]{0,60}(?:context (?:length|size|window)|maximum number of tokens allowed)|"
    r"input (?:token count|length|is too long)[^.]{0,60}(?:exceed|too long|maximum)|"
    r"too many (?:input )?tokens in|reduce the length of the (?:messages|prompt|input)|"
    r"input is too long|request exceeds the maximum size|(?:prompt|input)[^.]{0,30}larger than the context",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient[ _](?:quota|credit|balance|funds)|credit balance|exceeded your current quota|"
    r"(?:usage|spend\w*|billing) limit|out of credits?|payment required|quota (?:is )?(?:used up|exhausted)",
    re.IGNORECASE,
)
_REFUSAL = re.compile(r"content (?:policy|filter)|safety system|terms of service|usage polic", re.IGNORECASE)
_WINDOWS = (
    re.compile(r"maximum context length is (\d+)", re.IGNORECASE),
    re.compile(r"tokens? > (\d+) maximum", re.IGNORECASE),
    re.compile(r"context size \((\d+)", re.IGNORECASE),
    re.compile(r"maximum number of tokens allowed \((\d+)", re.IGNORECASE),
)


class _Said(NamedTuple):
    """What an error body says, wherever its server puts it."""

    message: str
    codes: tuple[str, ...]
    window: int | None


def classify(status: int | None, body: bytes | dict[str, Any], headers: Mapping[str, str]) -> ProviderError:
    """The error that an HTTP answer or an error event tells of. `status` None: it came inside a stream."""
    said = _read(body)
    kind = _kind(status, said)
    code = next(iter(said.codes), None)
    shown = said.message if len(said.message) <= _SHOWN else said.message[:_SHOWN] + "…"
    place = (
        f"The server answered with status {status}" if status is not None else "The server reported an error"
    )
    text = f"{place}: {shown}" if shown else f"{place}{f' ({code})' if code else ''} and no explanation."
    return ProviderError(
        text + _advice(kind),
        kind,
        status=status,
        code=code,
        retry_after_ms=retry_after(headers),
        context_window=said.window if kind == "overflow" else None,
    )


def retry_after(headers: Mapping[str, str]) -> int | None:
    """Milliseconds that the server asks us to wait: `retry-after-ms`, or `retry-after` in seconds or as a date."""
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    for name, factor in (("retry-after-ms", 1), ("retry-after", 1000)):
        value = lowered.get(name)
        if value is None:
            continue
        try:
            return max(0, int(float(value) * factor))
        except (ValueError, OverflowError):
            pass
        try:
            return max(0, int(parsedate_to_datetime(value).timestamp() * 1000) - now_ms())
        except (ValueError, TypeError):
            continue
    return None


def _kind(status: int | None, said: _Said) -> ErrorKind:
    named = [_CODES[code] for code in said.codes if code in _CODES]
    for decisive in ("overflow", "quota", "refusal"):
        if decisive in named:
            return decisive
    if status not in (401, 403) and "rate_limit" not in named and _OVERFLOW.search(said.message):
        return "overflow"
    if _QUOTA.search(said.message) and status in (None, 400, 402, 403, 429):
        return "quota"
    if status in _STATUSES:
        return _STATUSES[status]
    if status is not None and status >= 500:
        return "overload"
    if _REFUSAL.search(said.message):
        return "refusal"
    if status is not None and 400 <= status < 500:
        return "request"
    return named[0] if named else ("overload" if status is None else "request")


def _read(body: bytes | dict[str, Any]) -> _Said:
    if isinstance(body, bytes):
        try:
            value = jsonl.decode(body)
        except (ValueError, RecursionError):
            return _Said(_plain(body), (), None)
    else:
        value = body
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return _Said(str(value), (), None)
    inner = value.get("error")
    error = inner if isinstance(inner, dict) else value
    message = next(
        (text for text in (error.get("message"), inner, value.get("message"), value.get("detail")) if text),
        "",
    )
    codes = [str(error[key]).lower() for key in ("code", "type", "status") if error.get(key) is not None]
    text = message if isinstance(message, str) else jsonl.encode(message).decode()
    return _Said(text.strip(), tuple(code for code in codes if not code.isdigit()), _window(error, text))


def _window(error: dict[str, Any], message: str) -> int | None:
    if isinstance(error.get("n_ctx"), int):
        return int(error["n_ctx"])
    found = next((match for pattern in _WINDOWS if (match := pattern.search(message))), None)
    return int(found[1]) if found else None


def _plain(body: bytes) -> str:
    """Text of an answer that is no JSON; of a page only its words."""
    text = body.decode("utf-8", "replace")
    return " ".join(re.sub(r"<[^>]*>", " ", text).split()) if "<" in text[:200] else text.strip()


def _advice(kind: ErrorKind) -> str:
    if kind == "auth":
        return " Check the key of this provider (environment variable, auth.json or --api-key)."
    return ""
