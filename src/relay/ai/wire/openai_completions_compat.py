"""The `openai-completions` switches of a model: what models.json says, over what its address tells."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

from relay.ai.convert import CallIds, plain_ids
from relay.ai.model import Model
from relay.ai.types import Data
from relay.ai.wire.common import is_host, is_openrouter
from relay.ai.wire.openai_common import Affinity, CacheKeyMode, convert_compat

ThinkingFormat = Literal[
    "openai",
    "openrouter",
    "deepseek",
    "together",
    "baseten",
    "zai",
    "qwen",
    "chat-template",
    "qwen-chat-template",
    "string-thinking",
    "ant-ling",
]


class Compat(Data, frozen=True):
    """One field per switch of the models-configuration page; the defaults fit an unknown server."""

    supports_store: bool = True
    supports_developer_role: bool = False
    supports_reasoning_effort: bool = True
    supports_usage_in_streaming: bool = True
    supports_finish_reason: bool = True
    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    requires_tool_result_name: bool = False
    requires_assistant_after_tool_result: bool = False
    requires_non_null_assistant_content: bool = False
    requires_tools_with_tool_history: bool = False
    requires_thinking_as_text: bool = False
    requires_reasoning_content_on_assistant_messages: bool = False
    thinking_format: ThinkingFormat = "openai"
    chat_template_kwargs: dict[str, Any] = {}
    chat_template_args: dict[str, Any] = {}
    open_router_routing: dict[str, Any] | None = None
    vercel_gateway_routing: dict[str, Any] | None = None
    zai_tool_stream: bool = False
    thinking_token_budget_field: (
        Literal["thinking_token_budget", "thinking_budget", "thinking_budget_tokens"] | None
    ) = None
    supports_thinking_token_budget: bool = False
    supports_mid_convo_system_messages: bool = False
    supports_strict_mode: bool = False
    cache_control_format: Literal["anthropic"] | None = None
    send_session_affinity_headers: bool = False
    session_affinity_format: Affinity = "openai"
    prompt_cache_key_mode: CacheKeyMode = "auto"
    supports_long_cache_retention: bool = True
    vllm_priority: int | None = None

    @property
    def budget_field(self) -> str | None:
        if self.thinking_token_budget_field:
            return self.thinking_token_budget_field
        return "thinking_token_budget" if self.supports_thinking_token_budget else None


_NO_STORE: Mapping[str, object] = {"supportsStore": False}
_OLD_LIMIT: Mapping[str, object] = {"supportsStore": False, "maxTokensField": "max_tokens"}
_NO_EFFORT: Mapping[str, object] = {**_OLD_LIMIT, "supportsReasoningEffort": False}
_NO_LONG: Mapping[str, object] = {**_NO_EFFORT, "supportsLongCacheRetention": False}

_KNOWN: tuple[tuple[tuple[str, ...], tuple[str, ...], Mapping[str, object]], ...] = (
    (("openai",), ("api.openai.com",), {"supportsDeveloperRole": True}),
    (
        ("openrouter",),
        ("openrouter.ai",),
        {
            "thinkingFormat": "openrouter",
            "sendSessionAffinityHeaders": True,
            "sessionAffinityFormat": "openrouter",
        },
    ),
    (
        ("deepseek",),
        ("deepseek.com",),
        {
            **_OLD_LIMIT,
            "thinkingFormat": "deepseek",
            "requiresReasoningContentOnAssistantMessages": True,
        },
    ),
    (("zai",), ("z.ai", "bigmodel.cn"), {**_NO_EFFORT, "thinkingFormat": "zai"}),
    (("xai",), ("x.ai",), {**_NO_STORE, "supportsReasoningEffort": False}),
    (("cerebras",), ("cerebras.ai",), _NO_STORE),
    (
        ("together",),
        ("together.xyz", "together.ai"),
        {**_NO_LONG, "thinkingFormat": "together"},
    ),
    (("chutes",), ("chutes.ai",), _OLD_LIMIT),
    (("opencode",), ("opencode.ai",), _NO_STORE),
    (("moonshotai", "moonshotai-cn"), ("moonshot.ai", "moonshot.cn"), _NO_EFFORT),
    (("ant-ling",), ("ant-ling.com",), {**_NO_LONG, "thinkingFormat": "ant-ling"}),
    (("nvidia",), ("api.nvidia.com",), _NO_LONG),
    (
        ("cloudflare-ai-gateway", "cloudflare-workers-ai"),
        ("gateway.ai.cloudflare.com", "api.cloudflare.com"),
        _NO_LONG,
    ),
    (
        ("mistral",),
        ("mistral.ai",),
        {**_OLD_LIMIT, "requiresToolResultName": True, "supportsLongCacheRetention": False},
    ),
)
"""Provider ids, hosts, and the switches they are known to need."""


def compat_of(model: Model) -> Compat:
    """The switches in force; ProviderError of kind config names one that has a wrong value."""
    known = next(
        (s for providers, hosts, s in _KNOWN if model.provider in providers or is_host(model, *hosts)), {}
    )
    return convert_compat(model, known, Compat)


def sends_cache_key(model: Model, compat: Compat, long: bool) -> bool:
    """Whether prompt_cache_key is sent while caching is active."""
    match compat.prompt_cache_key_mode:
        case "enabled":
            return True
        case "disabled":
            return False
        case "auto":
            return is_host(model, "api.openai.com") or (long and compat.supports_long_cache_retention)


_SHORT_IDS = plain_ids(length=40)


def call_ids_of(model: Model) -> CallIds:
    """The form of tool-call ids: at most 40 characters, and exactly nine at Mistral."""
    mistral = model.provider == "mistral" or is_host(model, "mistral.ai")
    return _nine if mistral and not is_openrouter(model) else _SHORT_IDS


def _nine(original: str, attempt: int, own: bool) -> str:
    if own and attempt == 0 and original:
        return original
    return hashlib.sha256(f"{original}:{attempt}".encode("utf-8", "replace")).hexdigest()[:9]
