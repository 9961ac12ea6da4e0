import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from relay.ai.classify import classify
from tests.shared import shared

OVERFLOWS = (
    "openai",
    "openai_window",
    "vllm",
    "llamacpp",
    "llamacpp_old",
    "ollama",
    "anthropic",
    "anthropic_413",
    "gemini",
)
WINDOWS = {"openai": 8192, "vllm": 8192, "llamacpp": 8192, "anthropic": 8192, "gemini": 8192}


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


@pytest.mark.shared
@pytest.mark.parametrize("name", OVERFLOWS)
def test_reported_overflow_wordings(name: str) -> None:
    folder = shared("field/inputs/C04") / name
    status = json.loads((folder / "01.meta.json").read_bytes())["status"]
    found = classify(status, (folder / "01.body").read_bytes(), {})
    assert found.kind == "overflow"
    assert found.status == status
    assert found.context_window == WINDOWS.get(name)


@pytest.mark.shared
@pytest.mark.parametrize(("name", "kind"), [("NOT_rate", "rate_limit"), ("NOT_other", "request")])
def test_wordings_that_only_look_like_overflow(name: str, kind: str) -> None:
    folder = shared("field/inputs/C04") / name
    status = json.loads((folder / "01.meta.json").read_bytes())["status"]
    assert classify(status, (folder / "01.body").read_bytes(), {}).kind == kind


def cases() -> list[dict[str, Any]]:
    """Error bodies as servers word them: status, body, the kind they are, the window they name."""
    path = Path(__file__).parents[1] / "fixtures" / "provider_errors.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", cases())
def test_wordings_of_servers(case: dict[str, Any]) -> None:
    found = classify(case["status"], json.dumps(case["body"]).encode(), {})
    assert (found.kind, found.context_window) == (case["kind"], case["window"]), str(found)


def gemini(quota: str) -> dict[str, Any]:
    """Google words a limit per minute like a used-up quota; only the details tell them apart."""
    return {
        "error": {
            "code": 429,
            "status": "RESOURCE_EXHAUSTED",
            "message": "You exceeded your current quota, please check your plan and billing details.",
            "details": [
                {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
            ],
        }
    }


def test_google_limits_per_minute_and_per_day() -> None:
    minute = classify(429, gemini("GenerateRequestsPerMinutePerProject"), {})
    assert (minute.kind, minute.retry_after_ms) == ("rate_limit", 34_500)
    assert classify(429, gemini("GenerateRequestsPerDayPerProject"), {}).kind == "quota"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "7"}, 7000),
        ({"retry-after": "0.25"}, 250),
        ({"RETRY-AFTER-MS": "1500", "retry-after": "7"}, 1500),
        ({"retry-after-ms": "soon", "retry-after": "9999"}, 9_999_000),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "whenever"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({}, None),
    ],
)
def test_the_wait_a_server_asks_for(headers: dict[str, str], wait: int | None) -> None:
    assert classify(429, error("slow down"), headers).retry_after_ms == wait


def test_a_wait_as_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=7), usegmt=True)
    wait = classify(429, b"", {"Retry-After": date}).retry_after_ms
    assert wait is not None and 5000 < wait <= 7000


def test_a_wait_in_words() -> None:
    found = classify(429, error("Rate limit reached. Please try again in 1m2.5s."), {})
    assert found.retry_after_ms == 62_500


def test_the_message_is_the_providers_own_with_status_and_code() -> None:
    found = classify(400, error("zebra rejected", type="invalid_request_error"), {})
    assert str(found) == "The provider answered 400 (invalid_request_error): zebra rejected"
    assert (found.status, found.code) == (400, "invalid_request_error")


def test_bodies_without_a_message_where_one_is_expected() -> None:
    assert "answered 502: Bad Gateway: nginx" in str(
        classify(
            502,
            b"<html><head><title>Bad Gateway</title><style>a{}</style></head><body>nginx</body></html>",
            {},
        )
    )
    assert str(classify(503, b"upstream connect error", {})).endswith("503: upstream connect error")
    assert '{"wrong":[1]}' in str(classify(500, b'{"wrong":[1]}', {}))
    assert "no explanation" in str(classify(500, b"", {}))
    assert classify(500, b"[" * 100_000, {}).kind == "overload"


def test_a_long_message_is_shortened() -> None:
    assert len(str(classify(400, error("no " * 100_000), {}))) < 700
