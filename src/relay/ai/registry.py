"""What a call needs and a start does not: wire adapters by API name, the HTTP library; imported on demand."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from relay.ai.errors import ProviderError
from relay.ai.model import Model
from relay.ai.wire.base import WireAdapter

if TYPE_CHECKING:
    from relay.ai.pools import Pools

ADAPTERS: Mapping[str, str] = MappingProxyType(
    {
        "openai-completions": "relay.ai.wire.openai_completions",
        "openai-responses": "relay.ai.wire.openai_responses",
        "anthropic-messages": "relay.ai.wire.anthropic_messages",
        "google-generative-ai": "relay.ai.wire.google_generative_ai",
    }
)
"""API → the module whose `ADAPTER` speaks it."""


def adapter_for(model: Model) -> WireAdapter:
    """Raises ProviderError for an API that no adapter speaks."""
    module = ADAPTERS.get(model.api)
    if module is None:
        raise ProviderError(
            f"{model.key} uses the API {model.api!r}, which Relay does not speak. "
            f"It speaks: {', '.join(ADAPTERS)}.",
            "config",
        )
    adapter: WireAdapter = import_module(module).ADAPTER
    if model.compat.get("emulatedTools"):
        emulated: WireAdapter = import_module("relay.ai.wire.emulated_tools").EmulatedTools(adapter)
        return emulated
    return adapter


def load_pools(environ: Mapping[str, str]) -> Pools:
    """The connections of a transport; imports the HTTP library."""
    pools: Pools = import_module("relay.ai.pools").Pools(environ)
    return pools
