"""When a failed answer is tried again, and after what wait."""

from __future__ import annotations

import msgspec

from relay.ai.errors import ProviderError


class RetryLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The settings `retry.*`; times in milliseconds, 0 = no limit for the server's wait."""

    enabled: bool
    max_retries: int
    base_delay_ms: int
    max_delay_ms: int
    max_server_delay_ms: int


class RetryPolicy:
    """Counts the attempts of one prompt."""

    def __init__(self, limits: RetryLimits) -> None:
        self._limits = limits
        self.enabled = limits.enabled
        self.attempt = 0
        """Retries made for the current prompt."""

    @property
    def max_attempts(self) -> int:
        return self._limits.max_retries

    def reset(self) -> None:
        self.attempt = 0

    def wants(self, error: ProviderError | None) -> bool:
        """Whether another attempt follows this failure."""
        if error is None or not self.enabled or not error.retryable:
            return False
        limits = self._limits
        return self.attempt < limits.max_retries and not error.asks_longer_than(limits.max_server_delay_ms)

    def delay_ms(self, error: ProviderError) -> int:
        """The wait before retry number `attempt`: doubling, capped, never shorter than the server asks."""
        backoff: int = self._limits.base_delay_ms * 2 ** (self.attempt - 1)
        return max(min(backoff, self._limits.max_delay_ms), error.retry_after_ms or 0)
