"""The providers that Relay knows without any configuration: address, protocol, key variables, defaults."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from relay.ai.model import Api


class Endpoint(msgspec.Struct, frozen=True):
    """Where a provider serves the models of one SDK, which is how the data package tells them apart."""

    api: str
    base_url: str


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """A provider and what its models share. `base_url` may hold `{NAME}` for a variable listed in `needs`."""

    id: str
    name: str
    base_url: str = ""
    api: str = ""
    """Empty only for a configured provider whose models each name theirs."""
    env: tuple[str, ...] = ()
    """Variables that may hold the key; the first one set is used."""
    bearer_env: tuple[str, ...] = ()
    """Variables that hold a token sent as `Authorization: Bearer`; they come before `env`."""
    needs: tuple[str, ...] = ()
    """Variables without which no request can be made, besides the key."""
    key_header: str = ""
    """Header that takes `Bearer <key>` instead of the protocol's own place for the key."""
    source: str = ""
    """Name in the data package; empty where the package does not list the provider."""
    default_model: str = ""
    headers: dict[str, str] = {}
    compat: dict[str, Any] = {}
    endpoints: dict[str, Endpoint] = {}
    """SDK name in the data package → where those models are served, where it is not `base_url`."""
    shared: dict[str, Any] = {}
    """Fields that all of its models get unless they say otherwise."""
    needs_key: bool = True


_COMPLETIONS: Api = "openai-completions"
_RESPONSES: Api = "openai-responses"
_ANTHROPIC: Api = "anthropic-messages"
_GOOGLE: Api = "google-generative-ai"

_PLAIN = {"supportsStore": False, "supportsLongCacheRetention": False}
"""A Chat Completions server that takes none of OpenAI's additions."""
_PLAIN_MAX = {**_PLAIN, "maxTokensField": "max_tokens"}
_DEEPSEEK = {
    "supportsStore": False,
    "maxTokensField": "max_tokens",
    "thinkingFormat": "deepseek",
    "requiresReasoningContentOnAssistantMessages": True,
}
_KIMI = {
    "supportsStore": False,
    "maxTokensField": "max_tokens",
    "supportsReasoningEffort": False,
    "thinkingFormat": "deepseek",
}
_ZAI = {
    "supportsStore": False,
    "maxTokensField": "max_tokens",
    "thinkingFormat": "zai",
    "zaiToolStream": True,
}
_QWEN = {"supportsStore": False, "thinkingFormat": "qwen"}
_MIMO = {
    "supportsReasoningEffort": False,
    "thinkingFormat": "deepseek",
    "requiresReasoningContentOnAssistantMessages": True,
}
_TOGETHER = {**_PLAIN_MAX, "supportsReasoningEffort": False, "thinkingFormat": "together"}
_SDK_ANTHROPIC = "@ai-sdk/anthropic"
_SDK_OPENAI = "@ai-sdk/openai"
_SDK_GOOGLE = "@ai-sdk/google"


def _zen(root: str) -> dict[str, Endpoint]:
    return {
        _SDK_ANTHROPIC: Endpoint(_ANTHROPIC, f"{root}/anthropic"),
        _SDK_OPENAI: Endpoint(_RESPONSES, f"{root}/openai/v1"),
        _SDK_GOOGLE: Endpoint(_GOOGLE, f"{root}/google/v1beta"),
    }


def _provider(id: str, name: str, api: str, base_url: str, key: str, **more: Any) -> Provider:
    values = {"source": id, **more}
    return Provider(id=id, name=name, api=api, base_url=base_url, env=(key,), **values)


_MAIN = (
    _provider(
        "anthropic",
        "Anthropic",
        _ANTHROPIC,
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        bearer_env=("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN"),
        default_model="claude-opus-5-5",
        shared={
            "promptCache": {"short": 300, "long": 3600},
            "inputLimits": {"maxRequestBytes": 33_554_432, "images": {"maxPerRequest": 100}},
        },
    ),
    _provider(
        "openai",
        "OpenAI",
        _RESPONSES,
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        default_model="gpt-6-sol",
    ),
    _provider(
        "google",
        "Google Gemini",
        _GOOGLE,
        "https://generativelanguage.googleapis.com/v1beta",
        "GEMINI_API_KEY",
        default_model="gemini-3.1-pro-preview",
        shared={"inputLimits": {"maxRequestBytes": 20_971_520}},
    ),
    _provider(
        "deepseek",
        "DeepSeek",
        _COMPLETIONS,
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        compat=_DEEPSEEK,
        default_model="deepseek-v4-pro",
    ),
    _provider(
        "xai",
        "xAI",
        _RESPONSES,
        "https://api.x.ai/v1",
        "XAI_API_KEY",
        compat={"supportsLongCacheRetention": False},
        default_model="grok-4.3",
    ),
    _provider(
        "mistral",
        "Mistral",
        _COMPLETIONS,
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        compat=_PLAIN_MAX,
        default_model="mistral-large-latest",
    ),
    _provider(
        "groq",
        "Groq",
        _COMPLETIONS,
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        default_model="openai/gpt-oss-120b",
    ),
    _provider(
        "cerebras",
        "Cerebras",
        _COMPLETIONS,
        "https://api.cerebras.ai/v1",
        "CEREBRAS_API_KEY",
        compat={"supportsStore": False},
        default_model="gpt-oss-120b",
    ),
)

_GATEWAYS = (
    _provider("openrouter", "OpenRouter", _COMPLETIONS, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY",
              compat={"thinkingFormat": "openrouter"}, default_model="anthropic/claude-opus-4.7"),
    _provider("vercel-ai-gateway", "Vercel AI Gateway", _ANTHROPIC, "https://ai-gateway.vercel.sh",
              "AI_GATEWAY_API_KEY", source="vercel", default_model="anthropic/claude-opus-4.7"),
    _provider("opencode", "OpenCode Zen", _COMPLETIONS, "https://opencode.ai/inference/openai/v1",
              "OPENCODE_API_KEY", compat={"supportsStore": False, "maxTokensField": "max_tokens"},
              endpoints=_zen("https://opencode.ai/inference"), default_model="claude-opus-4-7"),
    _provider("opencode-go", "OpenCode Go", _COMPLETIONS, "https://opencode.ai/inference/go/openai/v1",
              "OPENCODE_API_KEY", compat={"supportsStore": False, "maxTokensField": "max_tokens"},
              endpoints=_zen("https://opencode.ai/inference/go")),
    _provider(
        "cloudflare-ai-gateway", "Cloudflare AI Gateway", _COMPLETIONS,
        "https://gateway.ai.cloudflare.com/v1/{CLOUDFLARE_ACCOUNT_ID}/{CLOUDFLARE_GATEWAY_ID}/compat",
        "CLOUDFLARE_API_KEY", needs=("CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID"),
        key_header="cf-aig-authorization",
        compat={**_PLAIN_MAX, "supportsReasoningEffort": False, "sendSessionAffinityHeaders": True},
    ),
    _provider(
        "cloudflare-workers-ai", "Cloudflare Workers AI", _COMPLETIONS,
        "https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1",
        "CLOUDFLARE_API_KEY", needs=("CLOUDFLARE_ACCOUNT_ID",),
        compat={**_PLAIN, "sendSessionAffinityHeaders": True},
    ),
    _provider("huggingface", "Hugging Face", _COMPLETIONS, "https://router.huggingface.co/v1", "HF_TOKEN"),
    _provider("fireworks", "Fireworks", _COMPLETIONS, "https://api.fireworks.ai/inference/v1",
              "FIREWORKS_API_KEY", source="fireworks-ai",
              default_model="accounts/fireworks/models/kimi-k2p6",
              compat={**_PLAIN, "sendSessionAffinityHeaders": True}),
    _provider("together", "Together AI", _COMPLETIONS, "https://api.together.ai/v1", "TOGETHER_API_KEY",
              source="togetherai", compat=_TOGETHER, default_model="zai-org/GLM-5.1"),
    _provider("baseten", "Baseten", _COMPLETIONS, "https://inference.baseten.co/v1", "BASETEN_API_KEY",
              compat={**_PLAIN_MAX, "sendSessionAffinityHeaders": True}),
    _provider("nvidia", "NVIDIA NIM", _COMPLETIONS, "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY",
              default_model="z-ai/glm-5.1",
              compat={**_PLAIN_MAX, "supportsReasoningEffort": False},
              headers={"NVCF-POLL-SECONDS": "3600"}),
)  # fmt: skip

_LABS = (
    _provider("ant-ling", "Ant Ling", _COMPLETIONS, "https://api.ant-ling.com/v1", "ANT_LING_API_KEY",
              source="", default_model="Ring-2.6-1T",
              compat={**_PLAIN_MAX, "supportsReasoningEffort": False, "thinkingFormat": "ant-ling"}),
    _provider("kimi-coding", "Kimi For Coding", _COMPLETIONS, "https://api.kimi.com/coding/v1",
              "KIMI_API_KEY", source="kimi-for-coding", compat=_KIMI, default_model="kimi-for-coding"),
    _provider("meta", "Meta", _RESPONSES, "https://api.meta.ai/v1", "META_API_KEY",
              source="", default_model="muse-spark-1.3"),
    _provider("minimax", "MiniMax", _ANTHROPIC, "https://api.minimax.io/anthropic", "MINIMAX_API_KEY",
              default_model="MiniMax-M2.7"),
    _provider("minimax-cn", "MiniMax (China)", _ANTHROPIC, "https://api.minimaxi.com/anthropic",
              "MINIMAX_CN_API_KEY", default_model="MiniMax-M2.7"),
    _provider("moonshotai", "Moonshot AI", _COMPLETIONS, "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY",
              compat=_KIMI, default_model="kimi-k2.6"),
    _provider("moonshotai-cn", "Moonshot AI (China)", _COMPLETIONS, "https://api.moonshot.cn/v1",
              "MOONSHOT_API_KEY", compat=_KIMI, default_model="kimi-k2.6"),
    _provider("zai", "ZAI Coding Plan", _COMPLETIONS, "https://api.z.ai/api/coding/paas/v4", "ZAI_API_KEY",
              source="zai-coding-plan", compat=_ZAI, default_model="glm-5.1"),
    _provider("zai-coding-cn", "ZAI Coding Plan (China)", _COMPLETIONS,
              "https://open.bigmodel.cn/api/coding/paas/v4", "ZAI_CODING_CN_API_KEY",
              source="zhipuai-coding-plan", compat=_ZAI, default_model="glm-5.1"),
    _provider("xiaomi", "Xiaomi MiMo", _COMPLETIONS, "https://api.xiaomimimo.com/v1", "XIAOMI_API_KEY",
              compat=_MIMO, default_model="mimo-v2.5-pro"),
    *(
        _provider(f"xiaomi-token-plan-{region}", f"Xiaomi MiMo Token Plan ({place})", _COMPLETIONS,
                  f"https://token-plan-{region}.xiaomimimo.com/v1",
                  f"XIAOMI_TOKEN_PLAN_{region.upper()}_API_KEY", compat=_MIMO, default_model="mimo-v2.5-pro")
        for region, place in (("cn", "China"), ("ams", "Amsterdam"), ("sgp", "Singapore"))
    ),
    *(
        _provider(id, name, _COMPLETIONS, f"https://token-plan.maas.{host}/compatible-mode/v1", key,
                  source="", compat=_QWEN, default_model="qwen3.7-max")
        for id, name, host, key in (
            ("qwen-token-plan", "Qwen Token Plan Team", "qwencloudapi.com",
             "QWEN_TOKEN_PLAN_TEAM_API_KEY"),
            ("qwen-token-plan-cn", "Qwen Token Plan Team (China)", "qianwenaiapi.com",
             "QWEN_TOKEN_PLAN_TEAM_CN_API_KEY"),
            ("qwen-token-plan-individual", "Qwen Token Plan Individual", "qwencloudapi.com",
             "QWEN_TOKEN_PLAN_INDIVIDUAL_API_KEY"),
            ("qwen-token-plan-individual-cn", "Qwen Token Plan Individual (China)", "qianwenaiapi.com",
             "QWEN_TOKEN_PLAN_INDIVIDUAL_CN_API_KEY"),
        )
    ),
)  # fmt: skip

PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {provider.id: provider for provider in (*_MAIN, *_GATEWAYS, *_LABS)}
)
"""In the order in which a default model is looked for."""
