from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from msgspec.structs import replace

from relay.ai.model import Model
from relay.ai.types import JsonObject, Message, TextContent, ThinkingContent, ToolCall
from relay.ai.wire.base import CallOptions, WireRequest
from relay.ai.wire.google_generative_ai import ADAPTER, endpoint, thinking_config
from relay.ai.wire.google_generative_ai_schema import clean_schema
from tests.ai.wire import cases
from tests.ai.wire.snapshots import check_bodies
from tests.ai.wire.tool_schemas import schemas

MODEL = Model(
    id="gemini-3-flash",
    name="Test",
    api="google-generative-ai",
    provider="google",
    base_url="https://generativelanguage.googleapis.com/v1beta",
    reasoning=True,
    input=("text", "image"),
    max_tokens=65_536,
)
OLDER = replace(MODEL, id="gemini-2.5-flash")
SIGNATURE = "U2lnbmF0dXJl"


def request(messages: Sequence[Message], model: Model = MODEL, **options: Any) -> WireRequest:
    return ADAPTER.build(model, messages, CallOptions(**{"api_key": "k", **options}))


def build(messages: Sequence[Message], model: Model = MODEL, **options: Any) -> dict[str, Any]:
    """The body; the vendor's types, which forbid unknown fields, accept each part of it."""
    body: dict[str, Any] = request(messages, model, **options).body
    assert body.keys() <= {"contents", "systemInstruction", "tools", "generationConfig"}
    for content in body["contents"]:
        types.Content.model_validate_json(json.dumps(content))
    types.Content.model_validate(body.get("systemInstruction", {}))
    for tool in body.get("tools", ()):
        types.Tool.model_validate(tool)
    types.GenerationConfig.model_validate(body["generationConfig"])
    return body


def case(name: str, model: Model = MODEL) -> list[Message]:
    return cases.conversation(name, model, SIGNATURE)


def parts(body: dict[str, Any], role: str) -> list[JsonObject]:
    return [part for content in body["contents"] if content["role"] == role for part in content["parts"]]


@pytest.mark.parametrize("name", cases.CASE_NAMES)
@pytest.mark.parametrize(
    "model", [MODEL, OLDER, replace(MODEL, id="m1", reasoning=False)], ids=lambda m: m.id
)
def test_every_case_is_a_valid_request(name: str, model: Model) -> None:
    body = build(case(name, model), model, thinking="high")
    open_calls: list[str] = []
    for content in body["contents"]:
        assert content["parts"]
        answered = [
            part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part
        ]
        assert answered == open_calls, "each call is answered in the next turn, nothing else is"
        open_calls = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]
    assert not open_calls
    assert "FOREIGN" not in str(body)


def test_bodies_are_the_recorded_ones() -> None:
    check_bodies(
        "google-generative-ai",
        {name: request(case(name), thinking="medium").body for name in cases.CASE_NAMES},
    )


def test_a_plain_request() -> None:
    made = request(case("system_sections"), thinking="off", temperature=0.5)
    assert made.url == f"{MODEL.base_url}/models/gemini-3-flash:streamGenerateContent?alt=sse"
    assert made.headers == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "x-goog-api-key": "k",
    }
    declared = [
        {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
        for tool in (cases.READ, cases.BASH)
    ]
    assert made.body == {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "systemInstruction": {"parts": [{"text": "You are a tester.\n\nBe brief."}]},
        "tools": [{"functionDeclarations": declared}],
        "generationConfig": {
            "maxOutputTokens": 65_536,
            "temperature": 0.5,
            "thinkingConfig": {"thinkingLevel": "MINIMAL"},
        },
    }


def test_keys_headers_and_names() -> None:
    hi = case("no_system")
    bearer = request(hi, replace(MODEL, auth_header=True, headers={"X-Extra": "1"})).headers
    assert (bearer["authorization"], bearer["x-extra"]) == ("Bearer k", "1")
    assert "x-goog-api-key" not in bearer
    assert "x-goog-api-key" not in request(hi, api_key=None).headers
    assert endpoint(replace(MODEL, id="tunedModels/my model")).endswith(
        "/v1beta/tunedModels/my%20model:streamGenerateContent?alt=sse"
    )


@pytest.mark.parametrize(
    ("id", "level", "sent"),
    [
        ("gemini-2.5-flash", "off", {"thinkingBudget": 0}),
        ("gemini-2.5-flash", "low", {"includeThoughts": True, "thinkingBudget": 2048}),
        ("gemini-2.5-flash", "high", {"includeThoughts": True, "thinkingBudget": 24576}),
        ("gemini-2.5-pro", "off", {"thinkingBudget": 128}),
        ("gemini-2.5-pro", "high", {"includeThoughts": True, "thinkingBudget": 32768}),
        ("gemini-3-flash-preview", "off", {"thinkingLevel": "MINIMAL"}),
        ("gemini-3-flash-preview", "medium", {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        ("gemini-3-pro-preview", "off", {"thinkingLevel": "LOW"}),
        ("gemini-3-pro-preview", "medium", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("gemini-3.1-pro-preview", "medium", {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        ("gemini-flash-latest", "high", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("m1", "medium", {"includeThoughts": True, "thinkingBudget": 8192}),
    ],
)
def test_thinking_by_generation(id: str, level: Any, sent: dict[str, Any]) -> None:
    config = thinking_config(replace(MODEL, id=id), CallOptions(thinking=level))
    assert config == sent
    types.ThinkingConfig.model_validate(config)


def test_thinking_by_map_and_settings() -> None:
    mapped = replace(OLDER, thinking_level_map={"off": None, "minimal": None, "low": "1000", "xhigh": "high"})
    assert thinking_config(mapped, CallOptions(thinking="off")) == {
        "includeThoughts": True,
        "thinkingBudget": 1000,
    }
    assert thinking_config(mapped, CallOptions(thinking="xhigh")) == {
        "includeThoughts": True,
        "thinkingLevel": "HIGH",
    }
    own = CallOptions(thinking="medium", thinking_budgets={"medium": 77})
    assert thinking_config(OLDER, own) == {"includeThoughts": True, "thinkingBudget": 77}
    assert thinking_config(replace(OLDER, reasoning=False), CallOptions(thinking="high")) is None
    narrow = thinking_config(OLDER, CallOptions(thinking="high", max_tokens=4096))
    assert narrow == {"includeThoughts": True, "thinkingBudget": 3072}


def test_signatures_go_back_to_their_own_model_only() -> None:
    call = replace(cases.call("call_1", path="a"), thought_signature=SIGNATURE)
    answer = cases.answer(
        MODEL,
        ThinkingContent(thinking="hm", thinking_signature=SIGNATURE),
        TextContent(text="ok", text_signature=SIGNATURE),
        call,
    )
    messages: list[Message] = [cases.user("a"), answer, cases.result("call_1", "alpha")]
    own = parts(build(messages), "model")
    assert [part["thoughtSignature"] for part in own] == [SIGNATURE] * 3
    assert own[0]["thought"] is True
    other = parts(build(messages, cases.sibling(MODEL)), "model")
    assert SIGNATURE not in str(other)
    assert "thought" not in other[0]


def test_calls_that_gemini_3_did_not_sign_are_marked_so() -> None:
    modern = parts(build(case("parallel_calls")), "model")
    assert [part.get("thoughtSignature") for part in modern] == [
        "skip_thought_signature_validator",
        None,
        None,
    ]
    assert "thoughtSignature" not in str(build(case("parallel_calls", OLDER), OLDER))


def test_an_empty_part_that_carries_a_signature_is_kept() -> None:
    answer = cases.answer(MODEL, "ok", TextContent(text="", text_signature=SIGNATURE))
    sent = parts(build([cases.user("a"), answer, cases.user("b")]), "model")
    assert sent == [{"text": "ok"}, {"text": "", "thoughtSignature": SIGNATURE}]


def test_blocked_images_are_told_in_text() -> None:
    (told,) = build([cases.user(cases.image())], block_images=True)["contents"][0]["parts"]
    assert told.keys() == {"text"}


def test_results_share_a_turn_and_carry_images_inside_from_gemini_3_on() -> None:
    contents = build(case("parallel_calls"))["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user", "user"]
    first, second, third = [part["functionResponse"] for part in contents[2]["parts"]]
    assert first["response"] == {"output": "alpha"}
    assert first["parts"] == [{"inlineData": {"mimeType": "image/png", "data": cases.PNG}}]
    assert second == {"name": "read", "id": "call_2", "response": {"error": "beta"}}
    assert third["name"] == "bash"


def test_older_models_get_images_behind_the_results_and_no_ids() -> None:
    contents = build(case("tool_result_only_image", OLDER), OLDER)["contents"]
    response = contents[2]["parts"][0]["functionResponse"]
    assert response == {"name": "read", "response": {"output": "(see the image)"}}
    assert contents[3]["parts"][1]["inlineData"]["mimeType"] == "image/png"
    assert "call_1" not in str(contents)


def test_user_images_and_empty_texts() -> None:
    body = build([cases.user("look", cases.image(), " "), cases.answer(MODEL, "x"), cases.user("b")])
    assert body["contents"][0]["parts"] == [
        {"text": "look"},
        {"inlineData": {"mimeType": "image/png", "data": cases.PNG}},
    ]


def test_later_system_messages_are_folded() -> None:
    body = build(case("later_system_message"))
    text = body["systemInstruction"]["parts"][0]["text"]
    assert "Mind the gap." in text
    assert "Be brief." not in text
    names = [tool["name"] for tool in body["tools"][0]["functionDeclarations"]]
    assert names == ["read", "grep"]


@pytest.mark.parametrize(
    ("schema", "cleaned"),
    [
        ({}, {"type": "object", "properties": {}}),
        (
            {
                "$schema": "x",
                "type": "object",
                "properties": {"a": {"const": "b"}},
                "required": ["a", "gone"],
            },
            {"type": "object", "properties": {"a": {"enum": ["b"]}}, "required": ["a"]},
        ),
        (
            {
                "type": "object",
                "properties": {"a": True, "b": {"type": "string", "default": "x"}},
                "required": [],
            },
            {"type": "object", "properties": {"a": {}, "b": {"type": "string"}}},
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/definitions/A"}},
                "definitions": {"A": {"type": "array", "items": {"type": "integer", "exclusiveMinimum": 0}}},
                "patternProperties": {"^x": {}},
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/A"}},
                "$defs": {"A": {"type": "array", "items": {"type": "integer"}}},
                "additionalProperties": False,
            },
        ),
        (
            {
                "allOf": [
                    {"properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"properties": {"b": {"anyOf": [{"type": "null"}, {"type": "number", "not": {}}]}}},
                ]
            },
            {
                "type": "object",
                "properties": {
                    "a": {"type": "string"},
                    "b": {"anyOf": [{"type": "null"}, {"type": "number"}]},
                },
                "required": ["a"],
            },
        ),
    ],
)
def test_schemas_are_reduced_to_what_the_api_takes(schema: JsonObject, cleaned: JsonObject) -> None:
    assert clean_schema(schema) == cleaned


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    schema = {"type": "object", "properties": {"$ref": {"type": "string"}, "pattern": {"type": "string"}}}
    assert clean_schema(schema) == schema


def test_calls_of_this_model_keep_their_arguments() -> None:
    answer = cases.answer(MODEL, ToolCall(id="1", name="read", arguments={"path": "é", "n": [1, None]}))
    sent = parts(build([cases.user("a"), answer, cases.result("1", "x")]), "model")
    assert sent[0]["functionCall"] == {"name": "read", "args": {"path": "é", "n": [1, None]}, "id": "1"}


@given(schemas())
def test_no_schema_of_a_tool_stops_a_request(schema: JsonObject) -> None:
    cleaned = clean_schema(schema)
    assert cleaned["type"] == "object"
    assert set(cleaned.get("required", ())) <= set(cleaned.get("properties", ()))
