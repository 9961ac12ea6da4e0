"""Says what kind of failure an error answer tells of: by codes and fields first, by words last."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from relay.ai.classify_codes import CODES, STATUSES
from relay.ai.classify_read import Said, read
from relay.ai.classify_waits import asked_wait
from relay.ai.errors import ErrorKind, ProviderError

_OVERFLOW = (
    # Strings: they are compiled when a call has failed, not at each start.
    r"(?:prompt|input|request|messages?|conversation) (?:is |are |was )?(?:far |much )?too (?:long|large)"
    r"|prompt[^.]{0,40}too (?:long|large) (?:for|to fit)"
    r"|too (?:long|large)[^.]{0,40}(?:for|to fit)[^.]{0,40}(?:context|model)"
    r"|(?:max(?:imum)?|available|total|model(?:'s)?) (?:context|sequence|prompt|input|model) "
    r"(?:length|size|window|limit)"
    r"|context[ _](?:length|size|window|limit)[^.]{0,60}"
    r"(?:exceed|overflow|not enough|too (?:small|short)|surpass)"
    r"|(?:exceed|surpass|overflow|larger|longer|greater|more)\w*[^.]{0,80}(?:context|token limit|"
    r"(?:number of )?(?:input )?tokens allowed|maximum input)"
    r"|exceed\w*[^.]{0,40}(?:prompt|input)[^.]{0,20}(?:length|tokens|size)"
    r"|(?:prompt|input)[^.]{0,30}token(?:s| count)[^.]{0,40}(?:exceed|greater|larger|over|above)"
    r"|(?:prompt|input)[^.]{0,20}exceeds?[^.]{0,20}(?:max|limit|length)"
    r"|context (?:is |was )?(?:full|overflow)|out of context|n_keep[^.]{0,20}n_ctx"
    r"|reduce (?:the length of )?(?:the|your) (?:messages|prompt|input|conversation)"
    r"|(?:range of input length|`?inputs`? (?:tokens|must have less than))"
    r"|input length and `?max_tokens`?|too many (?:input |prompt )?tokens in|too many tokens: "
    r"|request (?:entity|body)? ?(?:exceeds|too large)|request_too_large"
    r"|上下文[^。]{0,20}(?:超|过长)|(?:输入|提示)[^。]{0,20}(?:过长|超)"
)
_NOT_OVERFLOW = (
    # Waits, and limits on the answer or on one part of the request: a shorter conversation helps neither.
    r"per (?:minute|hour|day|second)|\b[tr]p[mdh]\b|rate[ -]?limit|throttl|please wait|try again (?:in|later)"
    r"|too many requests|(?:max_(?:completion_|output_)?tokens|budget_tokens)\W[^.]{0,40}"
    r"(?:must|at most|too large|should|cannot|less|greater)|completion tokens, whereas"
    r"|\bimages?\b[^.]{0,40}(?:exceed|too large|maximum)|unknown (?:parameter|field|name)|unrecognized"
    r"|string too long|tool (?:name|description)|(?:top_k|temperature|stop)\b[^.]{0,30}(?:too|must|maximum)"
)
_QUOTA = (
    r"insufficient[ _]?(?:quota|credits?|balance|funds|account)|credit balance"
    r"|exceeded (?:your )?current quota"
    r"|(?:usage|spend(?:ing)?|billing|monthly|weekly|daily|plan|account)[ _](?:limits?|cap|quota)\b"
    r"|(?:out of|no|not enough|more|purchase|add|remaining) credits|payment required|extra usage is required"
    r"|quota (?:is |has been |was )?(?:used up|exhausted|exceeded|reached)"
    r"|exceeded (?:the|your)[^.]{0,20}quota|arrears|余额不足|欠费"
)
_PLANS = r"billing|recharge|upgrade (?:your|to)"
_AUTH = (
    r"(?:invalid|incorrect|missing|no|expired|revoked|wrong)[^.]{0,20}(?:api[ _-]?key|token|credentials)\b"
    r"|api[ _-]?key[^.]{0,30}(?:invalid|not valid|expired|missing|required|not found)"
    r"|unauthori[sz]ed|authentication"
)
_REFUSAL = (
    r"content (?:management )?(?:policy|filter)|safety (?:system|reasons|filter)|terms of service|usage polic"
    r"|flagged|moderation|inappropriate content|sensitive content|violat\w+[^.]{0,40}polic"
)
_RATE = r"rate[ -]?limit|too many requests|per minute|throttl|slow down|concurren"
_OVERLOAD = r"overload|temporarily|at capacity|try again later|unavailable|internal (?:server )?error"


def classify(status: int | None, body: bytes | dict[str, Any], headers: Mapping[str, str]) -> ProviderError:
    """The error that an HTTP answer or an error event tells of.

    `status` is the HTTP status, None for an error inside a stream that began well; a status that the body
    itself names then counts. `headers` may hold names in any case; the wait they ask for ends up in
    `retry_after_ms`.
    """
    said = read(body)
    if status is None or status < 400:
        status = said.status
    kind = kind_of(status, said)
    return ProviderError(
        _sentence(status, said, kind),
        kind,
        status=status,
        code=said.code,
        retry_after_ms=asked_wait(headers, said),
        context_window=said.window if kind == "overflow" else None,
    )


def kind_of(status: int | None, said: Said) -> ErrorKind:
    """Codes that name one cause decide; then the status where it does; then words; then vague codes."""
    named = [CODES[code] for code in said.codes if code in CODES]
    if (clear := _clear(status, said, named)) is not None:
        return clear
    if (spoken := _spoken(status, said, named)) is not None:
        return spoken
    if status is not None and status in STATUSES:
        return STATUSES[status]
    if named:
        return named[0]
    if status is not None and status >= 500:
        return "overload"
    if status is not None and status >= 400:
        return "request"
    return _guess(said.text)


def _clear(status: int | None, said: Said, named: list[ErrorKind]) -> ErrorKind | None:
    """What a code says so plainly that neither status nor words matter."""
    if status == 413:
        return "overflow"
    for kind in ("overflow", "quota", "refusal"):
        if kind in named:
            return kind
    if said.waits_for_day:
        return "quota"
    if said.retry_ms is not None and (status in (None, 429) or "rate_limit" in named):
        return "rate_limit"
    if "auth" in named and status not in (429, 402):
        return "auth"
    return None


def _spoken(status: int | None, said: Said, named: list[ErrorKind]) -> ErrorKind | None:
    """What the words say, where the status leaves room for it."""
    text = said.text
    limited = status == 429 or "rate_limit" in named
    if not limited and status not in (401, 402, 403, 404) and overflows(text):
        return "overflow"
    if status in (None, 400, 402, 403, 422, 429) and _is_spent(text, coded="rate_limit" in named):
        return "quota"
    if limited:
        return "rate_limit"
    if status in (400, 403, 422, 451) and _found(_REFUSAL, text):
        return "refusal"
    if status == 400 and _found(_AUTH, text):
        return "auth"
    return None


def overflows(text: str) -> bool:
    """Whether words say that the conversation does not fit the context window."""
    return _found(_OVERFLOW, text) and not _found(_NOT_OVERFLOW, text)


def _is_spent(text: str, *, coded: bool) -> bool:
    """Whether words tell of a paid limit that is used up.

    Many add advice about plans to a limit per minute: plans count only where no code tells of a rate.
    """
    if _found(r"per min(?:ute)?\b|per second|\b[tr]pm\b", text):
        return False
    return _found(_QUOTA, text) or (not coded and _found(_PLANS, text))


def _guess(text: str) -> ErrorKind:
    """An error without status and known code: what it says, else a failure that may pass."""
    if _found(_REFUSAL, text):
        return "refusal"
    if _found(_RATE, text):
        return "rate_limit"
    if _found(_AUTH, text):
        return "auth"
    if _found(_OVERLOAD, text) or not text:
        return "overload"
    return "request" if _found(r"invalid|unsupported|not found|must ", text) else "overload"


def _sentence(status: int | None, said: Said, kind: ErrorKind) -> str:
    place = "The provider reported an error" if status is None else f"The provider answered {status}"
    if said.code and said.code != str(status) and said.code.lower() not in said.message.lower():
        place += f" ({said.code})"
    message = said.message or _unexplained(status)
    advice = _advice(kind)
    if advice and not message.endswith((".", "!", "?")):
        message += "."
    return f"{place}: {message}{advice}"


def _unexplained(status: int | None) -> str:
    known = {413: "the request is too large.", 404: "nothing is found at this URL; check the base URL."}
    return known.get(status or 0, "it gave no explanation.")


def _advice(kind: ErrorKind) -> str:
    if kind == "auth":
        return " Check the key of this provider (--api-key, auth.json, models.json or environment variable)."
    return ""


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None
