from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming as BetaParams
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from hypothesis import given
from msgspec.structs import replace
from pydantic import TypeAdapter

from relay.ai.model import Model
from relay.ai.types import JsonObject, Message, SystemMessage, ThinkingContent, ToolSpec
from relay.ai.wire.anthropic_messages import ADAPTER, endpoint, think
from relay.ai.wire.anthropic_messages_tools import input_schema
from relay.ai.wire.base import CallOptions, WireRequest
from tests.ai.wire import cases
from tests.ai.wire.snapshots import check_bodies
from tests.ai.wire.tool_schemas import schemas

MODEL = Model(
    id="claude-test",
    name="Test",
    api="anthropic-messages",
    provider="anthropic",
    base_url="https://api.anthropic.com",
    reasoning=True,
    input=("text", "image"),
    max_tokens=32_000,
)
PARAMS: TypeAdapter[Any] = TypeAdapter(MessageCreateParamsStreaming)
BETA_PARAMS: TypeAdapter[Any] = TypeAdapter(BetaParams)


def settled(value: Any) -> Any:
    """Validated data with its lazy iterators read."""
    if isinstance(value, dict):
        return {key: settled(item) for key, item in value.items()}
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return value
    return [settled(item) for item in value]


def with_compat(model: Model = MODEL, **compat: Any) -> Model:
    return replace(model, compat={**model.compat, **compat})


def build(
    messages: Sequence[Message], model: Model = MODEL, *, beta: bool = False, **options: Any
) -> dict[str, Any]:
    """The body; every field of it is one that the vendor's types know."""
    body = request(messages, model, **options).body
    assert settled((BETA_PARAMS if beta else PARAMS).validate_python(body)) == body
    return body


def request(messages: Sequence[Message], model: Model = MODEL, **options: Any) -> WireRequest:
    return ADAPTER.build(model, messages, CallOptions(**{"api_key": "k", **options}))


def case(name: str, model: Model = MODEL) -> list[Message]:
    return cases.conversation(name, model)


def blocks(body: dict[str, Any], role: str) -> list[JsonObject]:
    return [block for message in body["messages"] if message["role"] == role for block in message["content"]]


@pytest.mark.parametrize("name", cases.CASE_NAMES)
@pytest.mark.parametrize("thinking", ["off", "high"])
def test_every_case_is_a_valid_request(name: str, thinking: str) -> None:
    body = build(case(name), thinking=thinking)
    open_calls: list[str] = []
    for message in body["messages"]:
        results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert results == open_calls, "each call is answered in the next message, nothing else is"
        assert message["content"]
        kinds = [block["type"] for block in message["content"]]
        assert kinds[: len(results)] == ["tool_result"] * len(results)
        assert all(block["text"].strip() for block in message["content"] if block["type"] == "text")
        open_calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", id) for id in open_calls)
        assert len(set(open_calls)) == len(open_calls)
    assert not open_calls
    assert "FOREIGN" not in str(body)
    assert str(body).count("cache_control") <= 4


def test_bodies_are_the_recorded_ones() -> None:
    check_bodies(
        "anthropic-messages",
        {name: request(case(name), thinking="medium").body for name in cases.CASE_NAMES},
    )


def test_a_plain_request() -> None:
    made = request(case("system_sections"))
    assert made.url == "https://api.anthropic.com/v1/messages"
    assert made.headers == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "anthropic-version": "2023-06-01",
        "x-api-key": "k",
    }
    marker = {"type": "ephemeral"}
    read = {
        "name": "read",
        "description": "Reads a file.",
        "eager_input_streaming": True,
        "input_schema": cases.READ.parameters,
    }
    assert made.body["system"] == [
        {"type": "text", "text": "You are a tester.\n\nBe brief.", "cache_control": marker}
    ]
    assert made.body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": marker}]}
    ]
    tools = made.body["tools"]
    assert isinstance(tools, list)
    assert tools[0] == read
    assert tools[1]["cache_control"] == marker
    assert (made.body["model"], made.body["max_tokens"], made.body["stream"]) == ("claude-test", 32_000, True)
    assert made.body["thinking"] == {"type": "disabled"}


def test_base_urls_with_and_without_a_version() -> None:
    assert endpoint("http://x.test/") == "http://x.test/v1/messages"
    assert endpoint("http://x.test/api/v1") == "http://x.test/api/v1/messages"


def test_keys_and_headers() -> None:
    hi = case("no_system")
    bearer = request(hi, replace(MODEL, auth_header=True)).headers
    assert bearer["authorization"] == "Bearer k"
    assert "x-api-key" not in bearer
    token = request(hi, api_key="sk-ant-oat01-x").headers
    assert (token["authorization"], token["anthropic-beta"]) == ("Bearer sk-ant-oat01-x", "oauth-2025-04-20")
    own = replace(MODEL, headers={"Anthropic-Beta": "a, b", "X-Api-Key": "mine"})
    headers = request(hi, own, thinking="low").headers
    assert headers["anthropic-beta"] == "a,b,interleaved-thinking-2025-05-14"
    assert headers["x-api-key"] == "mine"
    assert "x-api-key" not in request(hi, api_key=None).headers


@pytest.mark.parametrize(
    ("level", "budget"),
    [("minimal", 1024), ("low", 2048), ("medium", 8192), ("high", 16384), ("xhigh", 30976), ("max", 30976)],
)
def test_budgets_stay_below_max_tokens(level: str, budget: int) -> None:
    model = replace(MODEL, thinking_level_map={"xhigh": "xhigh", "max": "max"})
    body = build(case("no_system"), model, thinking=level)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": budget, "display": "summarized"}
    assert budget < body["max_tokens"] == 32_000


def test_budgets_are_set_by_settings_and_by_numbers_in_the_map() -> None:
    model = replace(MODEL, thinking_level_map={"high": "5000"})
    assert think(model, CallOptions(thinking="high")).config == {
        "type": "enabled",
        "budget_tokens": 5000,
        "display": "summarized",
    }
    own = think(model, CallOptions(thinking="high", thinking_budgets={"high": 6000})).config
    assert own is not None
    assert own["budget_tokens"] == 6000


def test_a_callers_limit_is_for_the_answer() -> None:
    body = build(case("no_system"), thinking="low", max_tokens=4000)
    assert (body["max_tokens"], body["thinking"]["budget_tokens"]) == (6048, 2048)
    small = build(case("no_system"), replace(MODEL, max_tokens=1000), thinking="high")
    assert (small["max_tokens"], small["thinking"]) == (1000, {"type": "disabled"})
    narrow = build(case("no_system"), replace(MODEL, max_tokens=1500), thinking="high")
    assert (narrow["max_tokens"], narrow["thinking"]["budget_tokens"]) == (1500, 1024)


@pytest.mark.parametrize(
    ("level", "effort"),
    [("minimal", "low"), ("low", "low"), ("medium", "medium"), ("high", "max"), ("xhigh", "xhigh")],
)
def test_adaptive_thinking(level: str, effort: str) -> None:
    model = replace(
        with_compat(forceAdaptiveThinking=True), thinking_level_map={"high": "max", "xhigh": "xhigh"}
    )
    made = request(case("no_system"), model, thinking=level)
    assert made.body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert made.body["output_config"] == {"effort": effort}
    assert "anthropic-beta" not in made.headers


def test_without_reasoning_nothing_is_said_about_thinking() -> None:
    assert "thinking" not in build(case("no_system"), replace(MODEL, reasoning=False), thinking="high")


def test_a_budget_is_not_switched_on_amid_calls_made_without_thinking() -> None:
    assert build(case("tool_call_only"), thinking="high")["thinking"] == {"type": "disabled"}
    assert "anthropic-beta" not in request(case("tool_call_only"), thinking="high").headers
    for name in ("thinking_signed", "tool_call"):  # thought before; at a new prompt
        assert build(case(name), thinking="high")["thinking"]["type"] == "enabled"
    adaptive = with_compat(forceAdaptiveThinking=True)
    assert (
        build(case("tool_call_only", adaptive), adaptive, thinking="high")["thinking"]["type"] == "adaptive"
    )


def test_thinking_that_cannot_be_switched_off_takes_the_lowest_level() -> None:
    model = replace(MODEL, thinking_level_map={"off": None, "minimal": None})
    assert build(case("no_system"), model, thinking="off")["thinking"]["budget_tokens"] == 2048


def test_temperature_goes_with_neither_thinking_nor_models_that_refuse_it() -> None:
    # Newer versions of the vendor's types no longer name the field; older models and gateways take it.
    hi = case("no_system")
    assert request(hi, temperature=0.2).body["temperature"] == 0.2
    assert "temperature" not in build(hi, temperature=0.2, thinking="low")
    assert "temperature" not in build(hi, with_compat(supportsTemperature=False), temperature=0.2)


def test_cache_retention() -> None:
    messages = case("tool_call")
    assert "cache_control" not in str(build(messages, cache_retention="none"))
    hour = build(messages, cache_retention="long")
    assert hour["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert str(hour).count("'ttl': '1h'") == 3
    short = build(messages, with_compat(supportsLongCacheRetention=False), cache_retention="long")
    assert short["system"][0]["cache_control"] == {"type": "ephemeral"}
    bare = build(messages, with_compat(supportsCacheControlOnTools=False))
    assert "cache_control" not in str(bare["tools"])
    assert bare["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


def test_tool_argument_streaming() -> None:
    model = with_compat(supportsEagerToolInputStreaming=False)
    made = request(case("tool_call"), model)
    assert "eager_input_streaming" not in str(made.body)
    assert made.headers["anthropic-beta"] == "fine-grained-tool-streaming-2025-05-14"
    assert "anthropic-beta" not in request(case("plain_text"), model).headers


def test_session_affinity() -> None:
    hi = case("no_system")
    on = with_compat(sendSessionAffinityHeaders=True)
    assert request(hi, on, session_id="s").headers["x-session-affinity"] == "s"
    routed = with_compat(on, sessionAffinityFormat="openrouter")
    assert request(hi, routed, session_id="s").headers["x-session-id"] == "s"
    router = replace(MODEL, base_url="https://openrouter.ai/api")
    assert request(hi, router, session_id="s").headers["x-session-id"] == "s"
    assert request(hi, router).headers["x-title"] == "Relay"
    assert "x-title" not in request(hi, router, attribution=False).headers
    for headers in (
        request(hi, session_id="s").headers,
        request(hi, on).headers,
        request(hi, on, session_id="s", cache_retention="none").headers,
    ):
        assert not [name for name in headers if name.startswith("x-session")]


def test_thinking_goes_back_signed() -> None:
    signed = blocks(build(case("thinking_signed")), "assistant")
    assert signed[0] == {"type": "thinking", "thinking": "step one", "signature": "SIGNATURE"}
    redacted = blocks(build(case("thinking_redacted")), "assistant")
    assert redacted[0] == {"type": "redacted_thinking", "data": "SIGNATURE"}


def test_unsigned_thinking_becomes_text_unless_empty_signatures_are_allowed() -> None:
    unsigned = blocks(build(case("thinking_unsigned")), "assistant")
    assert unsigned[0] == {"type": "text", "text": "step one"}
    allowed = blocks(build(case("thinking_unsigned"), with_compat(allowEmptySignature=True)), "assistant")
    assert allowed[0] == {"type": "thinking", "thinking": "step one", "signature": ""}


def test_thinking_without_text_keeps_its_signature() -> None:
    block = ThinkingContent(thinking="", thinking_signature="SIG")
    messages: list[Message] = [cases.user("a"), cases.answer(MODEL, block, "b"), cases.user("c")]
    assert blocks(build(messages), "assistant")[0] == {"type": "thinking", "thinking": "", "signature": "SIG"}


def test_parallel_results_share_a_message_and_failed_ones_hold_text_only() -> None:
    third = build(case("parallel_calls"))["messages"][2]
    assert [block["type"] for block in third["content"]] == ["tool_result"] * 3
    assert [part["type"] for part in third["content"][0]["content"]] == ["text", "image"]
    assert third["content"][1] == {
        "type": "tool_result",
        "tool_use_id": "call_2",
        "content": "beta",
        "is_error": True,
    }
    failed: list[Message] = [
        cases.user("a"),
        cases.answer(MODEL, cases.call("call_1")),
        cases.result("call_1", "broken", cases.image(), error=True),
    ]
    content = build(failed)["messages"][-1]["content"]
    assert (content[0]["content"], content[1]["type"]) == ("broken", "image")


def test_an_empty_result_says_so() -> None:
    assert build(case("tool_result_empty"))["messages"][-1]["content"][0]["content"] == "(no output)"


def test_images_of_types_the_api_refuses_become_a_note() -> None:
    picture = replace(cases.image(), mime_type="image/bmp")
    (note,) = build([cases.user(picture)])["messages"][0]["content"]
    assert "image/bmp" in note["text"]


def test_blocked_images_are_told_in_text() -> None:
    (told,) = build([cases.user(cases.image())], block_images=True)["messages"][0]["content"]
    assert told["type"] == "text"


def test_later_system_messages_are_folded_unless_the_model_takes_them() -> None:
    folded = build(case("later_system_message"))
    assert "Mind the gap." in folded["system"][0]["text"]
    assert "Be brief." not in folded["system"][0]["text"]
    assert [tool["name"] for tool in folded["tools"]] == ["read", "grep"]
    placed = build(case("later_system_message"), with_compat(supportsMidConvoSystemMessages=True))
    assert placed["system"][0]["text"] == "You are a tester.\n\nBe brief."
    assert [message["role"] for message in placed["messages"]] == ["user", "assistant", "user", "system"]
    assert "Mind the gap." in placed["messages"][-1]["content"][0]["text"]


def test_tool_changes_stand_inside_where_the_model_takes_them() -> None:
    model = with_compat(supportsMidConvoSystemMessages=True, supportsMidConvoToolChanges=True)
    messages = case("later_system_message")
    body = build(messages, model, beta=True)
    assert [(tool["name"], "defer_loading" in tool) for tool in body["tools"]] == [
        ("read", False),
        ("bash", False),
        ("grep", True),
    ]
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True, False]
    told = body["messages"][-1]
    assert told["role"] == "system"
    assert told["content"][:2] == [
        {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "bash"}},
        {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "grep"}},
    ]
    assert "Mind the gap." in told["content"][2]["text"]
    assert request(messages, model).headers["anthropic-beta"] == "mid-conversation-tool-changes-2026-07-01"
    # With no tool at the start there is none that the API would take as not deferred.
    bare = [cases.user("a"), cases.answer(model, "b"), *messages[3:]]
    assert [tool["name"] for tool in build(bare, model)["tools"]] == ["grep"]


def test_effort_changes_are_told_inside_the_conversation() -> None:
    model = with_compat(forceAdaptiveThinking=True, supportsMidConvoEffort=True)
    low, high = cases.answer(model, "one"), cases.answer(model, "two")
    low.thinking_level, high.thinking_level = "low", "high"
    messages: list[Message] = [cases.user("a"), low, cases.user("b"), high, cases.user("c")]
    body = build(messages, model, beta=True, thinking="medium")
    assert body["output_config"] == {"effort": "low"}
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant", "user", "system", "assistant", "user", "system"]
    assert body["messages"][3] == {"role": "system", "output_config": {"effort": "high"}}
    assert body["messages"][6] == {"role": "system", "output_config": {"effort": "medium"}}
    assert body["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    betas = request(messages, model, thinking="medium").headers["anthropic-beta"].split(",")
    assert {"mid-conversation-output-config-2026-07-01", "thinking-binding-controls-2026-08-01"} == set(betas)
    same = build([cases.user("a"), low, cases.user("b")], model, beta=True, thinking="low")
    assert "output_config" not in str(same["messages"])


def test_strict_tools_only_where_the_schema_allows_it() -> None:
    fit: JsonObject = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}},
        "required": ["a"],
        "additionalProperties": False,
    }
    loose = {**fit, "properties": {"a": {"type": "string", "minLength": 1}}}
    silent = {key: value for key, value in fit.items() if key != "additionalProperties"}
    open_ended = {**fit, "additionalProperties": True}
    tools = [
        ToolSpec(name=name, description="d", parameters=schema)
        for name, schema in (("fit", fit), ("loose", loose), ("open", open_ended), ("silent", silent))
    ]
    start = SystemMessage(content="", timestamp=1, tools_added=tools)
    body = build([start, cases.user("a")], with_compat(supportsStrictTools=True))
    assert [tool.get("strict", False) for tool in body["tools"]] == [True, False, False, True]
    assert [tool["input_schema"] for tool in body["tools"]] == [fit, loose, open_ended, fit]
    assert "strict" not in str(build([start, cases.user("a")]))


def test_strict_tools_stay_within_the_limits_of_a_request() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in "abcde"},
        "additionalProperties": False,
    }
    tools = [ToolSpec(name=f"t{n}", description="d", parameters=schema) for n in range(8)]
    start = SystemMessage(content="", timestamp=1, tools_added=tools)
    body = build([start, cases.user("a")], with_compat(supportsStrictTools=True))
    assert sum(tool.get("strict", False) for tool in body["tools"]) == 4


def test_top_level_combinations_are_merged() -> None:
    schema: JsonObject = {
        "anyOf": [
            {"properties": {"a": {"type": "string"}, "c": {}}, "required": ["a", "c"]},
            {"properties": {"b": {"type": "string"}}, "required": ["c"]},
        ],
        "description": "one of two",
    }
    assert input_schema(schema) == {
        "type": "object",
        "description": "one of two",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {}},
        "required": ["c"],
    }


@given(schemas())
def test_no_schema_of_a_tool_stops_a_request(schema: JsonObject) -> None:
    tools = [ToolSpec(name="t", description="d", parameters=schema)]
    start = SystemMessage(content="", timestamp=1, tools_added=tools)
    body = build([start, cases.user("a")], with_compat(supportsStrictTools=True))
    assert body["tools"][0]["input_schema"]["type"] == "object"
