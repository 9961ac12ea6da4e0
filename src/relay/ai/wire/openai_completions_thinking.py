"""How a Chat Completions request says how much the model is to think, in each server's own fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from relay.ai.model import Model
from relay.ai.types import JsonObject, ThinkingLevel
from relay.ai.wire.openai_common import effort_of
from relay.ai.wire.openai_completions_compat import Compat

BUDGETS: Mapping[ThinkingLevel, int] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": 32768,
    "max": 65536,
}
"""Thinking tokens of each level where the settings name none."""

ANSWER_ROOM = 1024
"""Tokens that thinking leaves for the answer: both share the maximum output on these servers."""


def budget_of(level: ThinkingLevel, budgets: Mapping[str, int], max_tokens: int) -> int | None:
    """Thinking tokens of a level within `max_tokens`; None when off or when there is no room."""
    wanted = budgets.get(level, BUDGETS.get(level, 0))
    room = min(wanted, max_tokens - ANSWER_ROOM)
    return room if room > 0 else None


def thinking_fields(model: Model, compat: Compat, level: ThinkingLevel, budget: int | None) -> JsonObject:
    """The request fields for `level`, which the model accepts; none for a model that does not reason."""
    if not model.reasoning:
        return {}
    on = level != "off"
    fields = _format(model, compat, level, budget)
    if on and compat.budget_field and budget:
        fields[compat.budget_field] = budget
    return fields


def _format(model: Model, compat: Compat, level: ThinkingLevel, budget: int | None) -> JsonObject:
    on = level != "off"
    effort = effort_of(model, level, off=None)
    told: JsonObject = {"reasoning_effort": effort} if effort and compat.supports_reasoning_effort else {}
    also = told if on else {}
    match compat.thinking_format:
        case "openai":
            return dict(told)
        case "openrouter":
            return {"reasoning": {"effort": effort or "none"}}
        case "deepseek":
            return {"thinking": {"type": "enabled" if on else "disabled"}, **also}
        case "together":
            return {"reasoning": {"enabled": on}, **also}
        case "baseten":
            return {"chat_template_args": _filled(compat.chat_template_args, on, effort, budget), **also}
        case "zai":
            # Without clear_thinking the server forgets the thinking that led to earlier tool calls.
            kept: JsonObject = {"type": "enabled", "clear_thinking": False}
            return {"thinking": kept if on else {"type": "disabled"}, **also}
        case "qwen":
            return {"enable_thinking": on, **also}
        case "chat-template":
            return {"chat_template_kwargs": _filled(compat.chat_template_kwargs, on, effort, budget)}
        case "qwen-chat-template":
            return {"chat_template_kwargs": {"enable_thinking": on, "preserve_thinking": True}}
        case "string-thinking":
            return {"thinking": effort or "none"}
        case "ant-ling":
            mapped = model.thinking_level_map.get(level)
            return {"reasoning": {"effort": mapped}} if mapped else {}
        case _:
            assert_never(compat.thinking_format)


def _filled(template: Mapping[str, Any], on: bool, effort: str | None, budget: int | None) -> JsonObject:
    """`template` with each `{"$var": …}` replaced by its value; a variable without a value is left out."""
    values = {
        "thinking.enabled": on,
        "thinking.effort": effort,
        "thinking.budget": budget if on else None,
    }
    filled: JsonObject = {}
    for name, item in template.items():
        value = values.get(item["$var"]) if isinstance(item, dict) and "$var" in item else item
        if value is not None:
            filled[name] = value
    return filled
