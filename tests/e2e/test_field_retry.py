"""Field fault P07: the wait that a server asks for is kept, told, or refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.e2e.harness import Place, Process
from tests.e2e.server import ScriptedServer, failure, recorded, text
from tests.events_grammar import check_events
from tests.shared import shared


def _delay(place: Place) -> int:
    """The wait that the retry announces, in milliseconds; the wait itself is aborted."""
    with place.rpc() as rpc:
        rpc.ask("prompt", message="go")
        delay = rpc.event("auto_retry_start")["delayMs"]
        _abort(rpc)
        assert isinstance(delay, int)
        return delay


def _abort(rpc: Process) -> None:
    assert rpc.ask("abort")["success"]
    rpc.event("agent_settled")
    check_events(rpc.records)
    assert rpc.finish() == 0


@pytest.mark.parametrize("status", [429, 503, 529])
def test_seconds(place: Place, server: ScriptedServer, status: int) -> None:
    server.add(failure(status, retry_after="7"))
    assert 7000 <= _delay(place) <= 8000


def test_a_fraction_of_seconds_and_milliseconds(place: Place, server: ScriptedServer) -> None:
    server.add(failure(429, retry_after_ms="7500"))
    assert 7500 <= _delay(place) <= 8000


def test_a_date(place: Place, server: ScriptedServer) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=30)
    server.add(failure(429, retry_after=format_datetime(moment, usegmt=True)))
    assert 10_000 <= _delay(place) <= 30_000


@pytest.mark.parametrize("value", ["soon", "-5", "", "NaN", "Mon, 01 Jan 2001 00:00:00 GMT", "1e99999"])
def test_nonsense_and_the_past_fall_back_to_the_own_delay(
    place: Place, server: ScriptedServer, value: str
) -> None:
    server.add(failure(429, retry_after=value), text("recovered"))
    ended = place.run("-p", "go")
    assert (ended.code, ended.out) == (0, "recovered\n")


def test_the_own_delay_stays_the_lower_limit(place: Place, server: ScriptedServer) -> None:
    place.write_settings(retry={"baseDelayMs": 20_000})
    server.add(failure(429, retry_after="7"))
    assert _delay(place) == 20_000


def test_the_limit_of_the_own_delay_does_not_shorten_the_servers(
    place: Place, server: ScriptedServer
) -> None:
    place.write_settings(retry={"baseDelayMs": 1, "maxAgentDelayMs": 100})
    server.add(failure(429, retry_after="7"))
    assert _delay(place) >= 7000


def test_a_short_wait_is_made_and_the_answer_comes(place: Place, server: ScriptedServer) -> None:
    server.add(failure(429, retry_after_ms="30"), text("recovered"))
    assert place.run("-p", "go").out == "recovered\n"


def test_too_long_a_wait_fails_at_once_and_names_it(place: Place, server: ScriptedServer) -> None:
    server.add(failure(429, {"error": {"message": "slow down"}}, retry_after="9999"))
    ended = place.run("-p", "go")
    assert ended.code == 1
    assert "2 h 46 min 39 s" in ended.err and "slow down" in ended.err and "maxRetryDelayMs" in ended.err


def test_no_limit_at_all(place: Place, server: ScriptedServer) -> None:
    place.write_settings(retry={"baseDelayMs": 1, "provider": {"maxRetryDelayMs": 0}})
    server.add(failure(429, retry_after="9999"))
    assert _delay(place) >= 9_999_000


@pytest.mark.shared
def test_p07(place: Place, server: ScriptedServer) -> None:
    server.add(recorded(shared("field/inputs/P07"))[0])
    assert _delay(place) >= 7000


@pytest.mark.shared
def test_p07_too_long(place: Place, server: ScriptedServer) -> None:
    server.add(*recorded(shared("field/inputs/P07/too_long")))
    ended = place.run("-p", "go")
    assert ended.code == 1 and "2 h 46 min 39 s" in ended.err
