from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from relay.ai.errors import ProviderError
from relay.ai.model import Model
from relay.ai.types import Message, TextContent, ThinkingContent
from relay.ai.wire.base import CallOptions
from relay.ai.wire.openai_responses import ADAPTER
from tests.ai.wire.cases import CASE_NAMES, PNG, answer, call, conversation, result, sibling, system, user
from tests.ai.wire.openai_oracle import accepted_responses_body

MODEL = Model(
    id="m",
    name="M",
    api="openai-responses",
    provider="mock",
    base_url="http://x.test/v1",
    input=("text", "image"),
    reasoning=True,
)
REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "step one"}],
    "encrypted_content": "enc",
}
SIGNATURE = json.dumps(REASONING)


def with_compat(**compat: Any) -> Model:
    return msgspec.structs.replace(MODEL, compat=compat)


def body_of(name: str, model: Model = MODEL, **options: Any) -> dict[str, Any]:
    return ADAPTER.build(model, conversation(name, model, SIGNATURE), CallOptions(**options)).body


def built(messages: list[Message], model: Model = MODEL, **options: Any) -> dict[str, Any]:
    return ADAPTER.build(model, messages, CallOptions(**options)).body


@pytest.mark.parametrize("name", CASE_NAMES)
def test_the_sdks_types_take_every_body_whole(name: str) -> None:
    body = body_of(name, thinking="low", session_id="s1")
    assert accepted_responses_body(body) == body


@pytest.mark.parametrize("name", CASE_NAMES)
def test_every_call_is_answered_and_no_reasoning_stands_alone(name: str) -> None:
    items = body_of(name)["input"]
    waiting: list[str] = []
    for item, following in zip(items, [*items[1:], {}], strict=True):
        kind = item.get("type", "message")
        if kind == "function_call":
            assert isinstance(json.loads(item["arguments"]), dict)
            assert len(item["call_id"]) <= 64 and "|" not in item["call_id"]
            waiting.append(item["call_id"])
        elif kind == "function_call_output":
            assert item["output"]
            waiting.remove(item["call_id"])
        elif kind == "reasoning":
            assert following.get("type") in ("message", "function_call", "reasoning")
        elif item["role"] == "user":
            assert not waiting
    assert not waiting


def test_a_whole_tool_conversation() -> None:
    request = ADAPTER.build(
        MODEL, conversation("thinking_signed", MODEL, SIGNATURE), CallOptions(api_key="k", thinking="high")
    )
    assert request.url == "http://x.test/v1/responses"
    assert request.headers["Authorization"] == "Bearer k"
    body = request.body
    assert body["input"] == [
        {"role": "developer", "content": "You are a tester.\n\nBe brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "think"}]},
        REASONING,
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "done", "annotations": []}],
            "status": "completed",
            "id": "msg_2_1",
        },
        {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"path":"a"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "alpha"},
    ]
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}
    assert body["include"] == ["reasoning.encrypted_content"]
    assert (body["store"], body["stream"], body["max_output_tokens"]) == (False, True, 16384)
    assert "service_tier" not in body
    tools = body["tools"]
    assert isinstance(tools, list) and tools[0]["name"] == "read" and tools[0]["strict"] is False


def test_item_ids_go_back_only_to_the_model_that_made_them() -> None:
    def ids(model: Model) -> tuple[Any, Any, Any]:
        text = TextContent(text="t", text_signature='{"v":1,"id":"msg_9","phase":"commentary"}')
        messages: list[Message] = [answer(model, text, call("c1|fc_9")), result("c1|fc_9", "x")]
        message, function_call, output = built(messages)["input"]
        return (message["id"], message.get("phase")), function_call.get("id"), output["call_id"]

    assert ids(MODEL) == (("msg_9", "commentary"), "fc_9", "c1")
    assert ids(sibling(MODEL)) == (("msg_0_0", None), None, "c1")


def test_older_text_signatures_are_bare_ids_and_odd_ones_are_passed_over() -> None:
    for signature, id in (("msg_7", "msg_7"), ("{broken", "msg_0_0"), ('{"v":1,"id":5}', "msg_0_0")):
        text = TextContent(text="t", text_signature=signature)
        assert built([answer(MODEL, text)])["input"][0]["id"] == id


def test_calls_that_share_an_id_get_their_own() -> None:
    messages: list[Message] = [
        answer(MODEL, call("c1|fc_1")),
        result("c1|fc_1", "one"),
        answer(MODEL, call("c1|fc_2")),
        result("c1|fc_2", "two"),
    ]
    items = built(messages)["input"]
    assert [(item["call_id"], item.get("id")) for item in items] == [
        ("c1", "fc_1"),
        ("c1", None),
        ("c1_1", "fc_2"),
        ("c1_1", None),
    ]


def test_reasoning_of_another_form_is_not_sent() -> None:
    own = answer(MODEL, ThinkingContent(thinking="t", thinking_signature="reasoning_content"), "done")
    assert [item["type"] for item in built([own])["input"]] == ["message"]
    alone = answer(MODEL, ThinkingContent(thinking="t", thinking_signature=SIGNATURE))
    assert built([user("a"), alone, user("b")])["input"] == [
        {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "b"}]},
    ]


def test_images_go_in_messages_and_in_results() -> None:
    part = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"}
    output = body_of("tool_result_image")["input"][-2]["output"]
    assert output == [{"type": "input_text", "text": "a picture"}, part]
    assert body_of("user_images")["input"][0]["content"] == [
        {"type": "input_text", "text": "look"},
        part,
        part,
    ]


def test_the_system_role() -> None:
    def role(model: Model) -> str:
        return str(body_of("system_sections", model)["input"][0]["role"])

    assert role(MODEL) == "developer"
    assert role(with_compat(supportsDeveloperRole=False)) == "system"
    assert role(msgspec.structs.replace(MODEL, reasoning=False)) == "system"
    later = body_of("later_system_message", with_compat(supportsMidConvoSystemMessages=True))["input"]
    assert [item["role"] for item in later] == ["developer", "user", "assistant", "developer", "user"]


def test_reasoning_fields() -> None:
    assert body_of("no_system")["reasoning"] == {"effort": "none"}
    assert "include" not in body_of("no_system")
    mapped = msgspec.structs.replace(MODEL, thinking_level_map={"off": None, "low": "little"})
    assert body_of("no_system", mapped, thinking="low")["reasoning"] == {
        "effort": "little",
        "summary": "auto",
    }
    plain = msgspec.structs.replace(MODEL, reasoning=False)
    assert "reasoning" not in body_of("no_system", plain, thinking="high")


def test_effort_changes_inside_the_conversation() -> None:
    model = with_compat(supportsMidConvoEffort=True)
    first = answer(model, "one")
    first.thinking_level = "low"
    messages: list[Message] = [user("a"), first, user("b")]
    body = built(messages, model, thinking="high")
    assert body["reasoning"] == {"effort": "medium", "summary": "auto"}
    update = [
        item["reasoning"]["effort"] for item in body["input"] if item.get("type") == "configuration_update"
    ]
    assert update == ["low", "high"]
    assert body["input"][1]["type"] == body["input"][-1]["type"] == "configuration_update"
    grown = built([*messages, answer(model, "two"), user("c")], model, thinking="high")
    assert grown["input"][: len(body["input"]) - 1] == body["input"][:-1]
    assert accepted_responses_body(body) == body


def test_strict_tools() -> None:
    tool = conversation("system_sections", MODEL)[0]
    strict = built([tool, user("a")], with_compat(supportsStrictMode=True))["tools"]
    assert [t["strict"] for t in strict] == [True, True]
    assert strict[0]["parameters"]["additionalProperties"] is False
    absent = built([tool, user("a")], with_compat(supportsStrictMode=False))["tools"]
    assert all("strict" not in t for t in absent)


def test_cache_fields() -> None:
    def fields(model: Model = MODEL, **options: Any) -> dict[str, Any]:
        body = body_of("no_system", model, session_id="s1", **options)
        return {name: value for name, value in body.items() if name.startswith("prompt_cache")}

    assert fields() == {"prompt_cache_key": "s1"}
    assert fields(cache_retention="none") == {}
    assert fields(cache_retention="long") == {"prompt_cache_key": "s1", "prompt_cache_retention": "24h"}
    explicit = with_compat(supportsExplicitPromptCacheMode=True, promptCacheKeyMode="disabled")
    assert fields(explicit, cache_retention="long") == {"prompt_cache_options": {"ttl": "30m"}}
    assert fields(with_compat(supportsLongCacheRetention=False), cache_retention="long") == fields()


def test_session_affinity_headers() -> None:
    def names(model: Model, **options: Any) -> set[str]:
        request = ADAPTER.build(model, [user("hi")], CallOptions(session_id="s1", **options))
        return {name for name, value in request.headers.items() if value == "s1"}

    assert names(MODEL) == {"session-id", "x-client-request-id"}
    assert names(MODEL, cache_retention="none") == set()
    assert names(with_compat(sessionAffinityFormat="openai-nosession")) == {"x-client-request-id"}
    router = msgspec.structs.replace(MODEL, base_url="https://openrouter.ai/api/v1")
    assert names(router) == {"x-session-id"}


def test_limits_and_sampling() -> None:
    assert body_of("no_system", max_tokens=9)["max_output_tokens"] == 9
    assert "max_output_tokens" not in body_of("no_system", with_compat(supportsMaxOutputTokens=False))
    sampled = msgspec.structs.replace(MODEL, sampling_params={"top_p": 0.5})
    assert body_of("no_system", sampled, temperature=0.2)["top_p"] == 0.5


def test_a_wrong_switch_is_named() -> None:
    with pytest.raises(ProviderError, match="mock/m.*promptCacheKeyMode") as caught:
        built([system(a="b"), user("hi")], with_compat(promptCacheKeyMode="on"))
    assert caught.value.kind == "config"


def test_blocked_images_are_told_in_text() -> None:
    assert PNG not in json.dumps(body_of("user_images", block_images=True))
    assert PNG in json.dumps(body_of("user_images"))
