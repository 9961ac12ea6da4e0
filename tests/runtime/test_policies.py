"""Tests of when a failed answer is tried again, and after what wait."""

from __future__ import annotations

import pytest

from relay.ai.errors import ErrorKind, ProviderError
from relay.runtime.policies import RetryLimits, RetryPolicy


def policy(
    *, enabled: bool = True, retries: int = 3, base: int = 100, most: int = 1000, server: int = 5000
) -> RetryPolicy:
    return RetryPolicy(
        RetryLimits(
            enabled=enabled,
            max_retries=retries,
            base_delay_ms=base,
            max_delay_ms=most,
            max_server_delay_ms=server,
        )
    )


def failed(kind: ErrorKind = "overload", wait: int | None = None) -> ProviderError:
    return ProviderError("no", kind, retry_after_ms=wait)


@pytest.mark.parametrize("kind", ["rate_limit", "overload", "transport"])
def test_what_may_pass_is_tried_again(kind: ErrorKind) -> None:
    assert policy().wants(failed(kind))


@pytest.mark.parametrize("kind", ["quota", "auth", "request", "overflow", "refusal", "config"])
def test_what_cannot_pass_is_not(kind: ErrorKind) -> None:
    assert not policy().wants(failed(kind))


def test_no_error_needs_no_retry_and_retrying_can_be_off() -> None:
    assert not policy().wants(None)
    assert not policy(enabled=False).wants(failed())


def test_attempts_are_counted_for_one_prompt() -> None:
    counting = policy(retries=2)
    seen = []
    while counting.wants(failed()):
        counting.attempt += 1
        seen.append(counting.delay_ms(failed()))
    assert seen == [100, 200]
    counting.reset()
    assert counting.wants(failed()) and counting.max_attempts == 2


def test_the_own_wait_doubles_up_to_its_limit_and_is_never_shorter_than_the_servers() -> None:
    waiting = policy(retries=60)
    waits = []
    for attempt in (1, 2, 4, 5, 50):
        waiting.attempt = attempt
        waits.append(waiting.delay_ms(failed()))
    assert waits == [100, 200, 800, 1000, 1000]
    assert waiting.delay_ms(failed(wait=4000)) == 4000


@pytest.mark.parametrize(
    ("limit", "wait", "wanted"),
    [(5000, 5000, True), (5000, 5001, False), (0, 10**9, True), (5000, None, True)],
)
def test_the_servers_wait_has_a_limit_unless_it_is_0(limit: int, wait: int | None, wanted: bool) -> None:
    assert policy(server=limit).wants(failed(wait=wait)) == wanted
