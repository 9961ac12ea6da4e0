from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from relay.ai.errors import ProviderError
from relay.ai.model import Model
from relay.ai.types import JsonObject, Message, ThinkingContent, ThinkingLevel, ToolSpec
from relay.ai.wire.base import CallOptions
from relay.ai.wire.openai_completions import ADAPTER
from tests.ai.wire.cases import CASE_NAMES, PNG, answer, call, conversation, result, system, user
from tests.ai.wire.openai_oracle import accepted_chat_body

MODEL = Model(
    id="m",
    name="M",
    api="openai-completions",
    provider="mock",
    base_url="http://x.test/v1",
    input=("text", "image"),
    reasoning=True,
)


def at(base_url: str, provider: str = "mock", **compat: Any) -> Model:
    return msgspec.structs.replace(MODEL, base_url=base_url, provider=provider, compat=compat)


def with_compat(**compat: Any) -> Model:
    return msgspec.structs.replace(MODEL, compat=compat)


def body_of(name: str, model: Model = MODEL, **options: Any) -> dict[str, Any]:
    messages = conversation(name, model, "reasoning_content")
    return ADAPTER.build(model, messages, CallOptions(**options)).body


@pytest.mark.parametrize("name", CASE_NAMES)
def test_the_sdks_types_take_every_body_whole(name: str) -> None:
    model = at("https://api.openai.com/v1")
    body = body_of(name, model, thinking="low", session_id="s1", max_tokens=100)
    kept = accepted_chat_body(body)
    for message in body["messages"]:
        message.pop("reasoning_content", None)  # known to other servers only
    assert kept == body


@pytest.mark.parametrize("name", CASE_NAMES)
def test_servers_that_check_the_order_of_messages_take_every_body(name: str) -> None:
    waiting: list[str] = []
    for message in body_of(name)["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            assert message["content"]
            continue
        assert not waiting
        assert message["role"] != "assistant" or message["content"] or message["tool_calls"]
        waiting = [item["id"] for item in message.get("tool_calls", [])]
        for item in message.get("tool_calls", []):
            assert isinstance(json.loads(item["function"]["arguments"]), dict)
            assert len(item["id"]) <= 40
    assert not waiting


def test_a_whole_tool_conversation() -> None:
    request = ADAPTER.build(
        MODEL, conversation("thinking_signed", MODEL, "reasoning_content"), CallOptions(api_key="k")
    )
    assert request.url == "http://x.test/v1/chat/completions"
    assert request.headers["Authorization"] == "Bearer k"
    assert request.body["messages"] == [
        {"role": "system", "content": "You are a tester.\n\nBe brief."},
        {"role": "user", "content": "think"},
        {
            "role": "assistant",
            "content": "done",
            "reasoning_content": "step one",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path":"a"}'},
                }
            ],
        },
        {"role": "tool", "content": "alpha", "tool_call_id": "call_1"},
    ]
    tools = request.body["tools"]
    assert isinstance(tools, list)
    assert [tool["function"]["name"] for tool in tools] == ["read", "bash"]
    assert request.body["stream_options"] == {"include_usage": True}
    assert request.body["store"] is False
    assert request.body["max_completion_tokens"] == 16384


def test_images_of_tool_results_follow_in_one_user_message() -> None:
    messages = body_of("parallel_calls")["messages"]
    assert [m["role"] for m in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
        "user",
        "user",
    ]
    assert messages[-2]["content"][-1] == {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{PNG}"},
    }
    only = body_of("tool_result_only_image")["messages"]
    assert "image" in only[-2]["content"]


def test_the_switches_of_messages() -> None:
    named = body_of("tool_call", with_compat(requiresToolResultName=True))["messages"]
    assert [m.get("name") for m in named if m["role"] == "tool"] == ["read"]

    bridged = body_of("late_result", with_compat(requiresAssistantAfterToolResult=True))["messages"]
    assert [m["role"] for m in bridged][3:7] == ["tool", "tool", "assistant", "user"]
    imaged = body_of("tool_result_image", with_compat(requiresAssistantAfterToolResult=True))["messages"]
    assert [m["role"] for m in imaged][3:] == ["tool", "assistant", "user", "user"]

    assert body_of("tool_call_only")["messages"][2]["content"] is None
    filled = body_of("tool_call_only", with_compat(requiresNonNullAssistantContent=True))["messages"]
    assert filled[2]["content"] == ""

    spoken = body_of("thinking_signed", with_compat(requiresThinkingAsText=True))["messages"][2]
    assert spoken["content"] == "<thinking>\nstep one\n</thinking>\n\ndone"
    assert "reasoning_content" not in spoken

    held = with_compat(requiresReasoningContentOnAssistantMessages=True)
    assert body_of("tool_call", held)["messages"][2]["reasoning_content"] == ""
    assert body_of("thinking_signed", held)["messages"][2]["reasoning_content"] == "step one"

    developer = body_of("system_sections", with_compat(supportsDeveloperRole=True))["messages"]
    assert developer[0]["role"] == "developer"
    plain = msgspec.structs.replace(with_compat(supportsDeveloperRole=True), reasoning=False)
    assert body_of("system_sections", plain)["messages"][0]["role"] == "system"

    later = body_of("later_system_message", with_compat(supportsMidConvoSystemMessages=True))["messages"]
    assert [m["role"] for m in later] == ["system", "user", "assistant", "system", "user"]


def test_the_switches_of_the_body() -> None:
    body = body_of(
        "tool_call",
        with_compat(
            supportsStore=False,
            supportsUsageInStreaming=False,
            maxTokensField="max_tokens",
            zaiToolStream=True,
            vllmPriority=-2,
            openRouterRouting={"only": ["a"]},
            vercelGatewayRouting={"order": ["b"]},
        ),
        max_tokens=77,
    )
    assert "store" not in body and "stream_options" not in body
    assert body["max_tokens"] == 77 and "max_completion_tokens" not in body
    assert (body["tool_stream"], body["priority"]) == (True, -2)
    assert body["provider"] == {"only": ["a"]}
    assert body["providerOptions"] == {"gateway": {"order": ["b"]}}


def test_empty_tools_are_sent_where_a_history_of_tools_needs_them() -> None:
    history: list[Message] = [user("a"), answer(MODEL, call("call_1")), result("call_1", "x")]
    needing = with_compat(requiresToolsWithToolHistory=True)
    assert ADAPTER.build(needing, history, CallOptions()).body["tools"] == []
    assert "tools" not in ADAPTER.build(needing, [user("a")], CallOptions()).body
    assert "tools" not in ADAPTER.build(MODEL, history, CallOptions()).body


def test_strict_is_asked_for_where_the_schema_allows_it() -> None:
    optional = ToolSpec(
        name="o",
        description="",
        parameters={"type": "object", "properties": {"a": {"type": "string"}}, "required": []},
    )
    nested = {
        "type": "array",
        "items": {"type": "object", "properties": {"b": {"type": "number"}}, "required": ["b"]},
    }
    whole = ToolSpec(
        name="w",
        description="",
        parameters={"type": "object", "properties": {"a": nested}, "required": ["a"]},
    )
    messages: list[Message] = [system(optional, whole), user("a")]
    tools: Any = ADAPTER.build(with_compat(supportsStrictMode=True), messages, CallOptions()).body["tools"]
    assert [tool["function"]["strict"] for tool in tools] == [False, True]
    assert tools[0]["function"]["parameters"] == optional.parameters
    closed = tools[1]["function"]["parameters"]
    assert closed["additionalProperties"] is False
    assert closed["properties"]["a"]["items"]["additionalProperties"] is False
    plain: Any = ADAPTER.build(MODEL, messages, CallOptions()).body["tools"]
    assert all("strict" not in tool["function"] for tool in plain)


FORMATS: list[tuple[str, JsonObject, JsonObject]] = [
    ("openai", {}, {"reasoning_effort": "high"}),
    ("openrouter", {"reasoning": {"effort": "none"}}, {"reasoning": {"effort": "high"}}),
    (
        "deepseek",
        {"thinking": {"type": "disabled"}},
        {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
    ),
    (
        "together",
        {"reasoning": {"enabled": False}},
        {"reasoning": {"enabled": True}, "reasoning_effort": "high"},
    ),
    (
        "baseten",
        {"chat_template_args": {"on": False}},
        {"chat_template_args": {"on": True, "effort": "high"}, "reasoning_effort": "high"},
    ),
    (
        "zai",
        {"thinking": {"type": "disabled"}},
        {"thinking": {"type": "enabled", "clear_thinking": False}, "reasoning_effort": "high"},
    ),
    ("qwen", {"enable_thinking": False}, {"enable_thinking": True, "reasoning_effort": "high"}),
    (
        "chat-template",
        {"chat_template_kwargs": {"on": False, "fixed": 1}},
        {"chat_template_kwargs": {"on": True, "effort": "high", "budget": 15360, "fixed": 1}},
    ),
    (
        "qwen-chat-template",
        {"chat_template_kwargs": {"enable_thinking": False, "preserve_thinking": True}},
        {"chat_template_kwargs": {"enable_thinking": True, "preserve_thinking": True}},
    ),
    ("string-thinking", {"thinking": "none"}, {"thinking": "high"}),
    ("ant-ling", {}, {}),
]
COMMON = {"model", "messages", "stream", "stream_options", "store", "max_completion_tokens", "tools"}


def thinking_of(level: ThinkingLevel, model: Model, **options: Any) -> JsonObject:
    body = body_of("no_system", model, thinking=level, **options)
    return {name: value for name, value in body.items() if name not in COMMON}


@pytest.mark.parametrize(("format", "off", "high"), FORMATS)
def test_thinking_formats(format: str, off: JsonObject, high: JsonObject) -> None:
    model = with_compat(
        thinkingFormat=format,
        chatTemplateKwargs={
            "on": {"$var": "thinking.enabled"},
            "effort": {"$var": "thinking.effort"},
            "budget": {"$var": "thinking.budget"},
            "fixed": 1,
        },
        chatTemplateArgs={"on": {"$var": "thinking.enabled"}, "effort": {"$var": "thinking.effort"}},
    )
    assert thinking_of("off", model) == off
    assert thinking_of("high", model) == high
    silent = msgspec.structs.replace(model, reasoning=False)
    assert thinking_of("high", silent) == {}


def test_levels_are_mapped_clamped_and_left_out_without_effort() -> None:
    mapped = msgspec.structs.replace(MODEL, thinking_level_map={"off": "zero", "high": "much", "max": None})
    assert thinking_of("off", mapped) == {"reasoning_effort": "zero"}
    assert thinking_of("max", mapped) == {"reasoning_effort": "much"}
    assert thinking_of("high", with_compat(supportsReasoningEffort=False)) == {}
    lings = msgspec.structs.replace(mapped, compat={"thinkingFormat": "ant-ling"})
    assert thinking_of("high", lings) == {"reasoning": {"effort": "much"}}


def test_thinking_budgets_leave_room_for_the_answer() -> None:
    model = with_compat(thinkingTokenBudgetField="thinking_budget")
    assert thinking_of("low", model)["thinking_budget"] == 2048
    assert thinking_of("low", model, thinking_budgets={"low": 500})["thinking_budget"] == 500
    assert thinking_of("high", model, max_tokens=4096)["thinking_budget"] == 3072
    assert "thinking_budget" not in thinking_of("off", model)
    assert "thinking_budget" not in thinking_of("low", model, max_tokens=100)
    assert thinking_of("low", with_compat(supportsThinkingTokenBudget=True))["thinking_token_budget"] == 2048


def test_sampling_fields_are_merged_by_level() -> None:
    model = msgspec.structs.replace(
        MODEL,
        sampling_params={"temperature": 1.0, "top_p": 0.9},
        sampling_params_by_thinking_level={"off": {"temperature": 0.5}, "high": {"top_k": 20}},
    )
    assert thinking_of("off", model) == {"temperature": 0.5, "top_p": 0.9}
    high = thinking_of("high", model, temperature=0.1)
    assert high == {"reasoning_effort": "high", "temperature": 0.1, "top_p": 0.9, "top_k": 20}


OLD = {"max_tokens"}
NEW = {"max_completion_tokens", "store"}


@pytest.mark.parametrize(
    ("base_url", "provider", "fields"),
    [
        ("http://x.test/v1", "mock", NEW | {"reasoning_effort"}),
        ("https://api.openai.com/v1", "mock", NEW | {"reasoning_effort", "prompt_cache_key"}),
        ("https://openrouter.ai/api/v1", "mock", NEW | {"reasoning"}),
        ("http://x.test/v1", "openrouter", NEW | {"reasoning"}),
        ("https://api.deepseek.com", "mock", OLD | {"thinking", "reasoning_effort"}),
        ("https://api.z.ai/api/paas/v4", "mock", OLD | {"thinking"}),
        ("https://open.bigmodel.cn/api/paas/v4", "mock", OLD | {"thinking"}),
        ("https://api.x.ai/v1", "mock", {"max_completion_tokens"}),
        ("https://api.cerebras.ai/v1", "mock", {"max_completion_tokens", "reasoning_effort"}),
        ("https://api.together.xyz/v1", "mock", OLD | {"reasoning"}),
        ("https://llm.chutes.ai/v1", "mock", OLD | {"reasoning_effort"}),
        ("https://opencode.ai/zen/v1", "mock", {"max_completion_tokens", "reasoning_effort"}),
        ("https://api.moonshot.ai/v1", "mock", OLD),
        ("https://api.ant-ling.com/v1", "mock", OLD),
        ("https://integrate.api.nvidia.com/v1", "mock", OLD),
        ("https://gateway.ai.cloudflare.com/v1/a/b/compat", "mock", OLD),
        ("https://api.groq.com/openai/v1", "mock", NEW | {"reasoning_effort"}),
        ("https://notopenrouter.ai.test/v1", "mock", NEW | {"reasoning_effort"}),
        ("", "deepseek", OLD | {"thinking", "reasoning_effort"}),
    ],
)
def test_switches_follow_from_the_address(base_url: str, provider: str, fields: set[str]) -> None:
    body = body_of("no_system", at(base_url, provider), thinking="high", session_id="s")
    assert set(body) - {"model", "messages", "stream", "stream_options"} == fields


def test_what_models_json_says_wins_over_the_address() -> None:
    model = at(
        "https://api.deepseek.com", supportsStore=True, thinkingFormat="openai", maxTokensField="max_tokens"
    )
    body = body_of("no_system", model, thinking="low")
    assert body["store"] is False and body["reasoning_effort"] == "low" and "thinking" not in body


def test_a_wrong_switch_is_named() -> None:
    with pytest.raises(ProviderError, match="mock/m.*maxTokensField") as caught:
        body_of("no_system", with_compat(maxTokensField="tokens"))
    assert caught.value.kind == "config"


def test_session_affinity_headers() -> None:
    def names(model: Model, **options: Any) -> set[str]:
        request = ADAPTER.build(model, [user("hi")], CallOptions(session_id="s 1\n", **options))
        return {name for name, value in request.headers.items() if value == "s 1"}

    assert names(MODEL) == set()
    sent = with_compat(sendSessionAffinityHeaders=True)
    assert names(sent) == {"session_id", "x-client-request-id", "x-session-affinity"}
    assert names(sent, cache_retention="none") == set()
    short = with_compat(sendSessionAffinityHeaders=True, sessionAffinityFormat="openai-nosession")
    assert names(short) == {"x-client-request-id", "x-session-affinity"}
    assert names(at("https://openrouter.ai/api/v1")) == {"x-session-id"}


def test_prompt_cache_fields() -> None:
    def fields(model: Model, **options: Any) -> dict[str, Any]:
        body = body_of("no_system", model, session_id="s" * 70, **options)
        return {name: value for name, value in body.items() if name.startswith("prompt_cache")}

    openai = at("https://api.openai.com/v1")
    assert fields(openai) == {"prompt_cache_key": "s" * 64}
    assert fields(openai, cache_retention="none") == {}
    assert fields(MODEL) == {}
    long = {"prompt_cache_key": "s" * 64, "prompt_cache_retention": "24h"}
    assert fields(MODEL, cache_retention="long") == long
    assert fields(with_compat(supportsLongCacheRetention=False), cache_retention="long") == {}
    assert fields(with_compat(promptCacheKeyMode="enabled")) == {"prompt_cache_key": "s" * 64}
    assert fields(at("https://api.openai.com/v1", promptCacheKeyMode="disabled")) == {}


def test_anthropic_cache_markers() -> None:
    model = with_compat(cacheControlFormat="anthropic")
    body = body_of("tool_call_only", model)
    marked = [
        m["role"]
        for m in body["messages"]
        if isinstance(m["content"], list) and "cache_control" in m["content"][-1]
    ]
    assert marked == ["system", "tool"]
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]
    long = body_of("no_system", model, cache_retention="long")
    assert long["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "prompt_cache_retention" not in long
    assert body_of("no_system", model, cache_retention="none")["messages"][0]["content"] == "hi"


def test_model_headers_win_and_attribution_can_be_off() -> None:
    model = msgspec.structs.replace(
        at("https://openrouter.ai/api/v1"), headers={"authorization": "Custom x", "X-Own": "1"}
    )
    request = ADAPTER.build(model, [user("hi")], CallOptions(api_key="k"))
    assert request.headers["authorization"] == "Custom x" and "Authorization" not in request.headers
    assert request.headers["X-Own"] == "1" and request.headers["X-Title"] == "Relay"
    silent = ADAPTER.build(model, [user("hi")], CallOptions(api_key="k", attribution=False))
    assert "X-Title" not in silent.headers


def test_encrypted_reasoning_goes_back_with_its_call() -> None:
    detail = '{"type":"reasoning.encrypted","id":"call_1","data":"abc"}'
    signed = msgspec.structs.replace(call("call_1"), thought_signature=detail)
    messages: list[Message] = [user("a"), answer(MODEL, signed), result("call_1", "x")]
    body: Any = ADAPTER.build(MODEL, messages, CallOptions()).body
    assert body["messages"][1]["reasoning_details"] == [json.loads(detail)]


def test_mistral_gets_ids_of_nine_characters() -> None:
    model = at("https://api.mistral.ai/v1")
    messages: Any = body_of("foreign_history", model)["messages"]
    call_id = messages[2]["tool_calls"][0]["id"]
    assert len(call_id) == 9 and call_id.isalnum()
    assert messages[3]["tool_call_id"] == call_id and messages[3]["name"] == "read"


def test_thinking_of_an_unknown_field_is_not_invented() -> None:
    own = answer(MODEL, ThinkingContent(thinking="t", thinking_signature="other"), "done")
    body: Any = ADAPTER.build(MODEL, [user("a"), own, user("b")], CallOptions()).body
    assert body["messages"][1] == {"role": "assistant", "content": "done"}


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://x.test/v1/", "http://x.test/v1/chat/completions"),
        ("http://x.test/v1/chat/completions", "http://x.test/v1/chat/completions"),
        ("http://x.test/v1?api-version=3", "http://x.test/v1/chat/completions?api-version=3"),
    ],
)
def test_addresses(base_url: str, url: str) -> None:
    assert ADAPTER.build(at(base_url), [user("hi")], CallOptions()).url == url


def test_blocked_images_are_told_in_text() -> None:
    assert PNG not in json.dumps(body_of("user_images", block_images=True))
    assert PNG in json.dumps(body_of("user_images"))
