"""What the data package does not say about models: thinking levels and switches by family, newer models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from relay.ai.types import THINKING_LEVELS

Fields = Mapping[str, Any]
"""Fields of a model under their names in models.json."""

_Families = tuple[tuple[str, Mapping[str, str | None], Fields], ...]


def _levels(accepted: str, off: str | None = None) -> dict[str, str | None]:
    """A whole level map: the words of `accepted` are sent as they are, `off` as given, nothing else works."""
    words = accepted.split()
    levels: dict[str, str | None] = {
        level: (level if level in words else None) for level in THINKING_LEVELS if level != "off"
    }
    return {"off": off, **levels}


_LOW_TO_HIGH = _levels("low medium high")
_ADAPTIVE = {"forceAdaptiveThinking": True}
_ADAPTIVE_ONLY = {**_ADAPTIVE, "supportsTemperature": False}
_TO_XHIGH = {"xhigh": "xhigh", "max": "max"}
_GPT_NEW = _levels("low medium high xhigh max", off="none")
_GPT_ALWAYS = _levels("low medium high xhigh max")

_CLAUDE: _Families = (
    (r"claude-(opus|sonnet)-4[-.]6", {"max": "max"}, _ADAPTIVE),
    (r"claude-opus-4[-.][789]|claude-(opus|sonnet)-5(?![-.]5)", _TO_XHIGH, _ADAPTIVE_ONLY),
    (r"claude-(opus|sonnet)-5[-.]5", _GPT_ALWAYS, _ADAPTIVE_ONLY),
    (r"claude-haiku-5", {"minimal": None, **_TO_XHIGH}, _ADAPTIVE_ONLY),
    (r"claude-fable", {"off": None, **_TO_XHIGH}, _ADAPTIVE),
)

_GPT: _Families = (
    (r"gpt-5-pro", _levels("high"), {}),
    (r"gpt-5(-mini|-nano)?(-20[-\d]+)?$", _levels("minimal low medium high"), {}),
    (r"gpt-5-codex|gpt-5\.1-codex(-mini)?$", _LOW_TO_HIGH, {}),
    (r"gpt-5\.1-codex-max|gpt-5\.3-codex-spark", _levels("low medium high xhigh"), {}),
    (r"gpt-5\.1", _levels("low medium high", off="none"), {}),
    (r"gpt-5\.[2345]-pro", _levels("medium high xhigh"), {}),
    (r"gpt-5\.[2345]", _levels("low medium high xhigh", off="none"), {}),
    (r"gpt-(5\.6-cyber|6-(astra|cyber)|6\.1-sol|6\.2)", _GPT_ALWAYS, {}),
    (r"gpt-(5\.6|6)", _GPT_NEW, {}),
    (r"gpt-oss|o[134](-|$)", _LOW_TO_HIGH, {}),
)

_GEMINI: _Families = (
    (r"gemini-3-pro", _levels("low high"), {}),
    (r"gemini-(3\.1-pro|pro-latest|3\.[78]-flash)", _LOW_TO_HIGH, {}),
    (r"gemini-(3|flash)", _levels("minimal low medium high"), {}),
    (r"gemma-4", {**_levels(""), "minimal": "MINIMAL", "high": "HIGH"}, {}),
)

_OTHERS: _Families = (
    (r"deepseek-v4-pro", {"minimal": None, "low": None, "medium": None, "high": "high", "max": "max"}, {}),
    (r"deepseek-v4-flash", {"minimal": None, "medium": None, "high": "high", "max": "max"}, {}),
    (r"grok-4\.[34]", _levels("low medium high xhigh", off="none"), {}),
    (r"grok-4\.[5-9]", _levels("low medium high xhigh"), {}),
    (r"ring-2\.6", _levels("high xhigh"), {}),
    (r"kimi-k2\.7", {"off": None}, {}),
    (r"kimi-k3|kimi-for-coding", _levels("low high max"), {"supportsReasoningEffort": True}),
    (r"mimo-v2", {**_levels("high"), "off": "off"}, {}),
    (r"muse-", _levels("minimal low medium high xhigh"), {}),
)

FAMILIES: _Families = (*_CLAUDE, *_GPT, *_GEMINI, *_OTHERS)
"""(start of an id without its vendor prefix, thinking level map, compat): the first match counts."""


def family(model_id: str, api: str) -> tuple[Mapping[str, str | None], Fields]:
    """Thinking level map and compat switches of a reasoning model; both empty for an unknown family."""
    bare = model_id.rpartition("/")[2].lower()
    for pattern, levels, compat in FAMILIES:
        if re.match(pattern, bare):
            switches = {} if bare.startswith("claude") and api != "anthropic-messages" else compat
            return levels, switches
    return {}, {}


def _new(released: str, name: str, context: int, output: int, *, image: bool = True) -> Fields:
    """A reasoning model that the data package does not know yet. Its price is not known either: 0.

    `released` is only as exact as choosing the newest of several models needs.
    """
    return {
        "name": name,
        "reasoning": True,
        "input": ["text", "image"] if image else ["text"],
        "contextWindow": context,
        "maxTokens": output,
        "released": released,
    }


_K = 1000
_MILLION = 1_000_000
_MEGA = 1_048_576

_NEW_CLAUDE = {
    "claude-opus-5-5": _new("2026-11", "Claude Opus 5.5", _MILLION, 128 * _K),
    "claude-sonnet-5-5": _new("2026-11", "Claude Sonnet 5.5", _MILLION, 128 * _K),
    "claude-haiku-5-5": _new("2026-11", "Claude Haiku 5.5", _MILLION, 128 * _K),
    "claude-fable-5-1": _new("2026-10", "Claude Fable 5.1", _MILLION, 128 * _K),
    "claude-opus-5": _new("2026-08", "Claude Opus 5", _MILLION, 128 * _K),
    "claude-sonnet-5": _new("2026-08", "Claude Sonnet 5", _MILLION, 128 * _K),
    "claude-opus-4-8": _new("2026-06", "Claude Opus 4.8", _MILLION, 128 * _K),
}
_NEW_GPT = {
    f"gpt-{id}": _new(released, f"GPT-{name}", 272 * _K, 128 * _K)
    for released, id, name in (
        ("2026-08", "5.6-luna", "5.6 Luna"),
        ("2026-08", "5.6-sol", "5.6 Sol"),
        ("2026-08", "5.6-terra", "5.6 Terra"),
        ("2026-10", "6-luna", "6 Luna"),
        ("2026-10", "6-sol", "6 Sol"),
        ("2026-11", "6.1-terra", "6.1 Terra"),
        ("2026-11", "6.1-sol", "6.1 Sol"),
    )
}
_NEW_GEMINI = {
    "gemini-3.5-flash-lite": _new("2026-06", "Gemini 3.5 Flash-Lite", _MEGA, 65_536),
    "gemini-3.6-flash": _new("2026-07", "Gemini 3.6 Flash", _MEGA, 65_536),
    "gemini-3.7-flash": _new("2026-09", "Gemini 3.7 Flash", _MEGA, 65_536),
    "gemini-3.8-flash": _new("2026-10", "Gemini 3.8 Flash", _MEGA, 65_536),
}
_NEW_MUSE = {
    f"muse-spark-{version}": _new(f"2026-0{month}", f"Muse Spark {version}", _MEGA, 131_072)
    for month, version in ((5, "1.1"), (7, "1.2"), (9, "1.3"))
}
_NEW_LING = {
    "Ring-2.6-1T": _new("2026-05", "Ring 2.6 1T", 262_144, 65_536, image=False),
    "Ling-2.6-1T": {**_new("2026-05", "Ling 2.6 1T", 262_144, 65_536, image=False), "reasoning": False},
    "Ling-2.6-flash": {**_new("2026-05", "Ling 2.6 Flash", 262_144, 65_536, image=False), "reasoning": False},
}
_NEW_QWEN = {
    "qwen3.7-max": _new("2026-07", "Qwen3.7 Max", _MILLION, 131_072, image=False),
    "qwen3.7-plus": _new("2026-07", "Qwen3.7 Plus", _MILLION, 65_536),
    "qwen3.6-plus": _new("2026-04", "Qwen3.6 Plus", _MILLION, 65_536),
    "qwen3.6-flash": _new("2026-04", "Qwen3.6 Flash", _MILLION, 65_536),
}
_NEW_KIMI = {"kimi-for-coding": _new("2026-09", "Kimi For Coding", _MEGA, 32_768)}

NEWER: Mapping[str, Mapping[str, Fields]] = MappingProxyType(
    {
        "anthropic": _NEW_CLAUDE,
        "openai": _NEW_GPT,
        "google": _NEW_GEMINI,
        "meta": _NEW_MUSE,
        "ant-ling": _NEW_LING,
        "kimi-coding": _NEW_KIMI,
        "qwen-token-plan": _NEW_QWEN,
        "qwen-token-plan-cn": _NEW_QWEN,
        "qwen-token-plan-individual": _NEW_QWEN,
        "qwen-token-plan-individual-cn": _NEW_QWEN,
    }
)
"""Provider → id → fields. What the data package says about the same id wins, so entries age by themselves."""
