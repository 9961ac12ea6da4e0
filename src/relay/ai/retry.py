"""When a request that was refused before its answer began is sent again, below the agent."""

from __future__ import annotations

import msgspec

from relay.ai.errors import ProviderError

BASE_DELAY_MS = 500
"""First wait where the server names none; it doubles each time."""

LONGEST_BACKOFF_MS = 30_000


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """`max_delay_ms`: the longest wait that a server may ask for; 0 = no limit."""

    max_retries: int = 0
    max_delay_ms: int = 60_000

    def delay_ms(self, error: ProviderError, retries: int) -> int | None:
        """The wait before the next attempt, after `retries` retries; None: give up."""
        if retries >= self.max_retries or not error.retryable or error.asks_longer_than(self.max_delay_ms):
            return None
        backoff: int = min(BASE_DELAY_MS * 2**retries, LONGEST_BACKOFF_MS)
        return max(backoff, error.retry_after_ms or 0)

    def explain(self, error: ProviderError) -> ProviderError:
        """`error`, and where the server's wait is what ends the call, a sentence that names that wait."""
        if not error.retryable or not error.asks_longer_than(self.max_delay_ms):
            return error
        said = str(error)
        end = "" if said.endswith((".", "!", "?")) else "."
        return ProviderError(
            f"{said}{end} It asks to wait {spoken(error.retry_after_ms or 0)}, longer than "
            f"retry.provider.maxRetryDelayMs allows ({spoken(self.max_delay_ms)}; 0 would allow any wait).",
            error.kind,
            status=error.status,
            code=error.code,
            retry_after_ms=error.retry_after_ms,
            context_window=error.context_window,
        )


def spoken(ms: int) -> str:
    """A span of time for a sentence: `7 s`, `9999 s (2 h 46 min 39 s)`."""
    if ms % 1000 and ms < 10_000:
        return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s"
    whole = ms // 1000
    minutes, seconds = divmod(whole, 60)
    if not minutes:
        return f"{whole} s"
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (seconds, "s")]
    return f"{whole} s ({' '.join(f'{count} {unit}' for count, unit in parts if count)})"
