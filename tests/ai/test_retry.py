"""The waits of the retry below the agent."""

import pytest

from relay.ai.errors import ErrorKind, ProviderError
from relay.ai.retry import LONGEST_BACKOFF_MS, RetryPolicy


def error(kind: ErrorKind, wait: int | None = None) -> ProviderError:
    return ProviderError("no.", kind, retry_after_ms=wait)


def test_waits_double_and_are_capped_and_never_shorter_than_asked() -> None:
    policy = RetryPolicy(max_retries=20)
    assert [policy.delay_ms(error("overload"), n) for n in range(3)] == [500, 1000, 2000]
    assert policy.delay_ms(error("overload"), 15) == LONGEST_BACKOFF_MS
    assert policy.delay_ms(error("rate_limit", 60_000), 0) == 60_000
    assert policy.delay_ms(error("rate_limit", 10), 0) == 500


@pytest.mark.parametrize("kind", ["quota", "auth", "request", "overflow", "refusal", "protocol", "config"])
def test_what_a_repetition_cannot_help_is_not_repeated(kind: ErrorKind) -> None:
    assert RetryPolicy(max_retries=5).delay_ms(error(kind), 0) is None


def test_the_limits() -> None:
    assert RetryPolicy().delay_ms(error("overload"), 0) is None
    assert RetryPolicy(max_retries=1).delay_ms(error("overload"), 1) is None
    assert RetryPolicy(max_retries=1).delay_ms(error("rate_limit", 60_001), 0) is None
    assert RetryPolicy(max_retries=1, max_delay_ms=0).delay_ms(error("rate_limit", 10**9), 0) == 10**9


def test_only_a_wait_that_is_too_long_is_explained() -> None:
    policy = RetryPolicy()
    short, spent = error("rate_limit", 1000), error("quota", 10**9)
    assert policy.explain(short) is short
    assert policy.explain(spent) is spent
    assert str(policy.explain(error("rate_limit", 90_000))) == (
        "no. It asks to wait 90 s (1 min 30 s), longer than retry.provider.maxRetryDelayMs allows "
        "(60 s (1 min); 0 would allow any wait)."
    )
