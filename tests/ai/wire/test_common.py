"""Tests of what the adapters share."""

from __future__ import annotations

import pytest

from relay.ai.wire.common import affinity, count


@pytest.mark.parametrize(
    ("told", "tokens"),
    [(7, 7), (7.9, 7), (0, 0), (-3, 0), (None, 0), ("7", 0), (float("inf"), 0), (float("nan"), 0)],
)
def test_a_count_is_a_whole_number_whatever_a_server_says(told: object, tokens: int) -> None:
    assert count(told) == tokens


def test_a_session_id_cannot_begin_another_header() -> None:
    assert affinity("a\r\nb", ("x-session-id",)) == {"x-session-id": "ab"}
