"""A model as the catalog describes it: where it is, what it can do, what it costs."""

from __future__ import annotations

from typing import Any, Literal

from relay.ai.types import THINKING_LEVELS, Data, ThinkingLevel

Api = Literal["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai"]


class CostTier(Data, frozen=True):
    """Prices that apply to the whole request when its input exceeds `input_tokens_above` tokens."""

    input_tokens_above: int
    input: float
    output: float
    cache_read: float
    cache_write: float


class Pricing(Data, frozen=True, omit_defaults=False):
    """US dollars per million tokens."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    tiers: list[CostTier] = []


class Model(Data, frozen=True, omit_defaults=False):
    """`provider/id` names it. `compat` holds the switches of the models-configuration page for its `api`.

    `headers` are resolved values. `thinking_level_map`: level → value sent to the provider; None marks the
    level unsupported.
    """

    id: str
    name: str
    api: str
    provider: str
    base_url: str
    reasoning: bool = False
    thinking_level_map: dict[str, str | None] = {}
    input: tuple[str, ...] = ("text",)
    cost: Pricing = Pricing()
    context_window: int = 128_000
    """Tokens; default of the models-configuration page."""
    max_tokens: int = 16_384
    """Tokens; default of the models-configuration page."""
    headers: dict[str, str] = {}
    compat: dict[str, Any] = {}
    sampling_params: dict[str, Any] = {}
    sampling_params_by_thinking_level: dict[str, dict[str, Any]] = {}
    input_limits: dict[str, Any] | None = None
    prompt_cache: dict[str, Any] | None = None
    auth_header: bool = False
    """Send the key as `Authorization: Bearer` whatever the API's own header is."""

    @property
    def key(self) -> str:
        return f"{self.provider}/{self.id}"


def thinking_levels(model: Model) -> list[ThinkingLevel]:
    """Accepted levels in rising order: `["off"]` without reasoning; xhigh and max only if mapped."""
    if not model.reasoning:
        return ["off"]
    levels: list[ThinkingLevel] = []
    for level in THINKING_LEVELS:
        mapped = model.thinking_level_map.get(level, "" if level not in ("xhigh", "max") else None)
        if mapped is not None:
            levels.append(level)
    return levels


def clamp_thinking(model: Model, level: ThinkingLevel) -> ThinkingLevel:
    """The nearest level the model accepts: the highest one not above `level`, else its lowest."""
    levels = thinking_levels(model)
    if level in levels:
        return level
    wanted = THINKING_LEVELS.index(level)
    below = [known for known in levels if THINKING_LEVELS.index(known) <= wanted]
    return below[-1] if below else levels[0]
