"""What can go wrong in a call to a model, as one error with a kind.

RelayError
└── ProviderError    kind says what to do about it; codes and fields decide it before words do
"""

from __future__ import annotations

from typing import Literal

from relay.base.errors import RelayError

ErrorKind = Literal[
    "overflow",  # the request exceeds the context window: compact
    "rate_limit",  # wait and retry
    "quota",  # paid limit is used up: retrying does not help
    "overload",  # 5xx, 529: retry
    "auth",  # key missing or refused
    "refusal",  # policy
    "transport",  # connection refused, reset, timeout, stream cut: retry
    "protocol",  # the server sent something that is not its protocol: do not retry
    "request",  # 4xx: the request is wrong
    "config",  # nothing was sent: model, key or URL is missing or wrong
]

RETRYABLE: frozenset[ErrorKind] = frozenset({"rate_limit", "overload", "transport"})


class ProviderError(RelayError):
    """A failed call.

    `status` is the HTTP status or None; `code` the provider's own error code or type; `retry_after_ms`
    what the server asked us to wait; `context_window` a window size (tokens) named by an overflow error.
    """

    def __init__(
        self,
        message: str,
        kind: ErrorKind,
        *,
        status: int | None = None,
        code: str | None = None,
        retry_after_ms: int | None = None,
        context_window: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.code = code
        self.retry_after_ms = retry_after_ms
        self.context_window = context_window

    def asks_longer_than(self, limit_ms: int) -> bool:
        """Whether the server asks for a longer wait than the user allows; 0 allows any."""
        return bool(limit_ms and (self.retry_after_ms or 0) > limit_ms)

    @property
    def retryable(self) -> bool:
        return self.kind in RETRYABLE
