"""The `openai-responses` switches of a model: what models.json says, over what its address tells."""

from __future__ import annotations

from typing import Any

from relay.ai.model import Model
from relay.ai.types import Data
from relay.ai.wire.common import is_openrouter
from relay.ai.wire.openai_common import Affinity, CacheKeyMode, convert_compat


class Compat(Data, frozen=True):
    """One field per switch of the models-configuration page that this adapter acts on."""

    supports_developer_role: bool = True
    supports_mid_convo_system_messages: bool = False
    supports_mid_convo_effort: bool = False
    session_affinity_format: Affinity = "openai"
    prompt_cache_key_mode: CacheKeyMode = "auto"
    supports_long_cache_retention: bool = True
    supports_explicit_prompt_cache_mode: bool = False
    supports_strict_mode: bool | None = None
    """None: strict is sent as false, since servers that know the field take its absence for true."""
    supports_max_output_tokens: bool = True


def compat_of(model: Model) -> Compat:
    """The switches in force; ProviderError of kind config names one that has a wrong value."""
    known: dict[str, Any] = {"sessionAffinityFormat": "openrouter"} if is_openrouter(model) else {}
    return convert_compat(model, known, Compat)
