"""The wire adapter of the Google Generative AI API: a request from a conversation, an answer from chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from relay.ai.convert import prepare
from relay.ai.model import Model, clamp_thinking
from relay.ai.prompt import replay
from relay.ai.types import JsonObject, Message, ThinkingLevel, ToolSpec
from relay.ai.wire.base import CallOptions, StreamReader, WireAdapter, WireRequest
from relay.ai.wire.google_generative_ai_build import contents, generation
from relay.ai.wire.google_generative_ai_read import GoogleReader
from relay.ai.wire.google_generative_ai_schema import clean_schema

BUDGETS: Mapping[ThinkingLevel, int] = {
    "minimal": 512,
    "low": 2048,
    "medium": 8192,
    "high": 24576,
    "xhigh": 24576,
    "max": 24576,
}
"""Thinking tokens of each level for models that take a budget; 24576 is the most that all of them take."""

PRO_MOST = 32768
PRO_LEAST = 128
"""Range of gemini-2.5-pro, whose thinking cannot be switched off."""

LEVELS: Mapping[ThinkingLevel, str] = {
    "off": "MINIMAL",
    "minimal": "MINIMAL",
    "low": "LOW",
    "medium": "MEDIUM",
    "high": "HIGH",
    "xhigh": "HIGH",
    "max": "HIGH",
}
"""Words for models that take a level; their thinking cannot be switched off."""

ANSWER_ROOM = 1024
"""Tokens that thinking leaves for the answer."""


class GoogleGenerativeAI:
    """Stateless. The key goes out as `x-goog-api-key`, or as Bearer where the model says so."""

    def build(self, model: Model, messages: Sequence[Message], options: CallOptions) -> WireRequest:
        ready = prepare(messages, model, block_images=options.block_images)
        prompt = replay(ready)
        body: dict[str, object] = {"contents": contents(ready, model)}
        if prompt.text.strip():
            body["systemInstruction"] = {"parts": [{"text": prompt.text}]}
        if prompt.tools:
            body["tools"] = [{"functionDeclarations": [_declaration(tool) for tool in prompt.tools.values()]}]
        body["generationConfig"] = _generation_config(model, options)
        return WireRequest(url=endpoint(model), headers=_headers(model, options), body=body)

    def reader(self, model: Model, options: CallOptions, timestamp: int) -> StreamReader:
        return GoogleReader(model, options, timestamp)


ADAPTER: WireAdapter = GoogleGenerativeAI()


def endpoint(model: Model) -> str:
    """The URL of a streaming call; ids with a collection of their own (`tunedModels/x`) keep it."""
    name = model.id if "/" in model.id else f"models/{model.id}"
    return f"{model.base_url.rstrip('/')}/{quote(name)}:streamGenerateContent?alt=sse"


def thinking_config(model: Model, options: CallOptions) -> JsonObject | None:
    """`thinkingConfig` for the accepted level nearest to the one asked for; None without thinking.

    A mapped level is sent as a budget where it is a number, else as a level. Unmapped ones follow the
    generation: a budget up to Gemini 2.5 and for unknown ids, a level from Gemini 3 on.
    """
    if not model.reasoning:
        return None
    level = clamp_thinking(model, options.thinking)
    shown: JsonObject = {} if level == "off" else {"includeThoughts": True}
    mapped = model.thinking_level_map.get(level)
    if mapped:
        number = mapped.removeprefix("-").isdecimal()
        return (
            {**shown, "thinkingBudget": int(mapped)} if number else {**shown, "thinkingLevel": mapped.upper()}
        )
    version = generation(model)
    if "latest" in model.id or "gemma" in model.id or (version is not None and version >= (3, 0)):
        return {**shown, "thinkingLevel": _level(model, level)}
    return {**shown, "thinkingBudget": _budget(model, level, options)}


def _level(model: Model, level: ThinkingLevel) -> str:
    word = LEVELS[level]
    if "pro" not in model.id:
        return word
    if word == "MINIMAL":
        return "LOW"
    return "HIGH" if word == "MEDIUM" and generation(model) == (3, 0) else word


def _budget(model: Model, level: ThinkingLevel, options: CallOptions) -> int:
    pro = "2.5-pro" in model.id
    if level == "off":
        return PRO_LEAST if pro else 0
    budget = options.thinking_budgets.get(level)
    if budget is None:
        budget = PRO_MOST if pro and BUDGETS[level] == BUDGETS["high"] else BUDGETS[level]
    # The limit covers thinking and answer together.
    room = (options.max_tokens or model.max_tokens) - ANSWER_ROOM
    return min(budget, room) if room >= BUDGETS["minimal"] else budget


def _generation_config(model: Model, options: CallOptions) -> JsonObject:
    config: JsonObject = {"maxOutputTokens": options.max_tokens or model.max_tokens}
    if options.temperature is not None:
        config["temperature"] = options.temperature
    thinking = thinking_config(model, options)
    if thinking is not None:
        config["thinkingConfig"] = thinking
    return config


def _declaration(tool: ToolSpec) -> JsonObject:
    return {
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": clean_schema(tool.parameters),
    }


def _headers(model: Model, options: CallOptions) -> dict[str, str]:
    headers = {"content-type": "application/json", "accept": "text/event-stream"}
    if options.api_key and model.auth_header:
        headers["authorization"] = f"Bearer {options.api_key}"
    elif options.api_key:
        headers["x-goog-api-key"] = options.api_key
    return headers | {name.lower(): value for name, value in model.headers.items()}
