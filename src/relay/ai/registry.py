"""API name → wire adapter, imported when it is first used."""

from __future__ import annotations

from importlib import import_module

from relay.ai.errors import ProviderError
from relay.ai.model import Model
from relay.ai.wire.base import WireAdapter

ADAPTERS: dict[str, str] = {
    "openai-completions": "relay.ai.wire.openai_completions",
    "openai-responses": "relay.ai.wire.openai_responses",
    "anthropic-messages": "relay.ai.wire.anthropic_messages",
    "google-generative-ai": "relay.ai.wire.google_generative_ai",
}


def adapter_for(model: Model) -> WireAdapter:
    """Raises ProviderError for an API that no adapter speaks."""
    module = ADAPTERS.get(model.api)
    if module is None:
        raise ProviderError(
            f"{model.key} uses the API {model.api}, which Relay does not speak. "
            f"It speaks: {', '.join(ADAPTERS)}.",
            "config",
        )
    adapter: WireAdapter = import_module(module).ADAPTER
    if model.compat.get("emulatedTools"):
        emulated: WireAdapter = import_module("relay.ai.wire.emulated_tools").EmulatedTools(adapter)
        return emulated
    return adapter
