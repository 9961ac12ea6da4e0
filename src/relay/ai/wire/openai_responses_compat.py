"""The `openai-responses` switches of a model: what models.json says, over what its address tells."""

from __future__ import annotations

from typing import Any

import msgspec

from relay.ai.errors import ProviderError
from relay.ai.model import Model
from relay.ai.types import Data
from relay.ai.wire.openai_common import Affinity, CacheKeyMode, is_openrouter


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
    try:
        return msgspec.convert({**known, **model.compat}, Compat)
    except msgspec.ValidationError as error:
        raise ProviderError(
            f"The compat switches of {model.key} in models.json are wrong: {error}.", "config"
        ) from error
