"""The wire adapter of the Anthropic Messages API: one request from a conversation, one answer from events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from relay.ai.convert import plain_ids, prepare
from relay.ai.model import Model, clamp_thinking
from relay.ai.prompt import replay
from relay.ai.types import JsonObject, Message, SystemMessage, ThinkingLevel
from relay.ai.wire.anthropic_messages_build import Conversation, Effort, began_unthought, converse
from relay.ai.wire.anthropic_messages_read import AnthropicReader
from relay.ai.wire.base import CallOptions, StreamReader, WireAdapter, WireRequest
from relay.ai.wire.common import ATTRIBUTION, affinity, is_openrouter

VERSION = "2023-06-01"
FINE_GRAINED_BETA = "fine-grained-tool-streaming-2025-05-14"
INTERLEAVED_BETA = "interleaved-thinking-2025-05-14"
BINDING_BETA = "thinking-binding-controls-2026-08-01"
OAUTH_BETA = "oauth-2025-04-20"
OAUTH_KEY = "sk-ant-oat"
"""Keys that begin so are access tokens, which the API takes as Bearer only."""

BUDGETS: Mapping[ThinkingLevel, int] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": 32768,
    "max": 65536,
}
"""Thinking tokens of each level."""

EFFORTS: Mapping[ThinkingLevel, str] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "max",
}
"""Effort words of adaptive thinking where the model maps none."""

IDS = plain_ids(keep_own=False)
"""The API checks the form of every id, so also of those that a gateway made up."""

LEAST_BUDGET = 1024
ANSWER_ROOM = 1024
"""Tokens that thinking leaves for the answer."""


class Thinking(NamedTuple):
    """The thinking fields of a request; `limit` is its max_tokens, `config` None where nothing is sent."""

    limit: int
    config: JsonObject | None
    effort: str | None = None


class AnthropicMessages:
    """Stateless. The key goes out as `x-api-key`, or as Bearer where the model says so."""

    def build(self, model: Model, messages: Sequence[Message], options: CallOptions) -> WireRequest:
        thinking = think(model, options)
        inside = bool(model.compat.get("supportsMidConvoSystemMessages", False))
        # Without a tool that is offered from the start the API refuses those that are added later.
        changes = inside and bool(model.compat.get("supportsMidConvoToolChanges", False))
        changes = changes and bool(replay(takewhile(_is_system, messages)).tools)
        ready = prepare(
            messages,
            model,
            call_ids=IDS,
            later_system=inside,
            later_tools=changes,
            block_images=options.block_images,
        )
        talk = converse(ready, model, _told_effort(model, thinking))
        if (
            thinking.config is not None
            and "budget_tokens" in thinking.config
            and began_unthought(talk.messages)
        ):
            thinking = thinking._replace(config={"type": "disabled"})
        body = _body(model, options, thinking, talk)
        betas = [*_betas(model, body), *talk.betas]
        return WireRequest(url=endpoint(model.base_url), headers=_headers(model, options, betas), body=body)

    def reader(self, model: Model, options: CallOptions, timestamp: int) -> StreamReader:
        return AnthropicReader(model, options, timestamp)


def _is_system(message: Message) -> bool:
    return isinstance(message, SystemMessage)


ADAPTER: WireAdapter = AnthropicMessages()


def endpoint(base_url: str) -> str:
    """The URL of a call; a base URL that already names the API's version is taken as it is."""
    base = base_url.rstrip("/")
    return f"{base}/messages" if base.endswith("/v1") else f"{base}/v1/messages"


def think(model: Model, options: CallOptions) -> Thinking:
    """The thinking fields for the level that the model accepts nearest to the one asked for.

    A budget counts towards max_tokens and leaves room for the answer; a caller's own limit is for the answer
    alone, so the budget is added to it as far as the model goes.
    """
    level = clamp_thinking(model, options.thinking)
    limit = options.max_tokens or model.max_tokens
    if not model.reasoning:
        return Thinking(limit, None)
    if level == "off":
        return Thinking(limit, {"type": "disabled"})
    mapped = model.thinking_level_map.get(level)
    if model.compat.get("forceAdaptiveThinking", False):
        return Thinking(limit, {"type": "adaptive", "display": "summarized"}, mapped or EFFORTS[level])
    budget = options.thinking_budgets.get(level)
    if budget is None:
        budget = int(mapped) if mapped and mapped.isdecimal() else BUDGETS[level]
    budget = max(budget, LEAST_BUDGET)
    if options.max_tokens is not None:
        limit = max(limit, min(limit + budget, model.max_tokens))
    budget = max(min(budget, limit - ANSWER_ROOM), LEAST_BUDGET)
    if budget >= limit:
        return Thinking(limit, {"type": "disabled"})
    return Thinking(limit, {"type": "enabled", "budget_tokens": budget, "display": "summarized"})


def cache_control(model: Model, options: CallOptions) -> JsonObject | None:
    """The marker of a cache breakpoint; None without caching."""
    if options.cache_retention == "none":
        return None
    if options.cache_retention == "long" and model.compat.get("supportsLongCacheRetention", True):
        return {"type": "ephemeral", "ttl": "1h"}
    return {"type": "ephemeral"}


def _told_effort(model: Model, thinking: Thinking) -> Effort | None:
    """The efforts to tell inside the conversation, so that a change keeps the prompt cache."""
    if thinking.effort is None or not model.compat.get("supportsMidConvoEffort", False):
        return None
    levels = {level: model.thinking_level_map.get(level) or word for level, word in EFFORTS.items()}
    return Effort({str(level): word for level, word in levels.items()}, thinking.effort)


def _body(model: Model, options: CallOptions, thinking: Thinking, talk: Conversation) -> dict[str, object]:
    body: dict[str, object] = {"model": model.id, "max_tokens": thinking.limit, "stream": True}
    if talk.system.strip():
        body["system"] = [{"type": "text", "text": talk.system}]
    if talk.tools:
        body["tools"] = talk.tools
    body["messages"] = talk.messages
    if thinking.config is not None:
        body["thinking"] = thinking.config
        if talk.effort is not None:
            # Its instructions may have been patched since: a signature that no longer fits is left out then.
            body["thinking"] = {
                **thinking.config,
                "block_binding": {"prefix_mismatch_behavior": "drop_block"},
            }
    if thinking.effort is not None:
        body["output_config"] = {"effort": talk.effort or thinking.effort}
    thinks = thinking.config is not None and thinking.config["type"] != "disabled"
    if options.temperature is not None and not thinks and model.compat.get("supportsTemperature", True):
        body["temperature"] = options.temperature
    marker = cache_control(model, options)
    if marker is not None:
        _mark(body, talk, marker, on_tools=bool(model.compat.get("supportsCacheControlOnTools", True)))
    return body


def _mark(body: dict[str, object], talk: Conversation, marker: JsonObject, *, on_tools: bool) -> None:
    """Sets the breakpoints: behind the system prompt, the tools, and the last user message."""
    system = body.get("system")
    if isinstance(system, list):
        system[-1]["cache_control"] = dict(marker)
    offered = [tool for tool in talk.tools if "defer_loading" not in tool]
    if on_tools and offered:
        offered[-1]["cache_control"] = dict(marker)
    said = [message for message in talk.messages if message["role"] == "user"]
    if said:
        said[-1]["content"][-1]["cache_control"] = dict(marker)


def _betas(model: Model, body: Mapping[str, object]) -> list[str]:
    betas = []
    if "tools" in body and not model.compat.get("supportsEagerToolInputStreaming", True):
        betas.append(FINE_GRAINED_BETA)
    thinking = body.get("thinking")
    if isinstance(thinking, dict):
        if thinking["type"] == "enabled":
            # Adaptive thinking interleaves by itself.
            betas.append(INTERLEAVED_BETA)
        if "block_binding" in thinking:
            betas.append(BINDING_BETA)
    return betas


def _headers(model: Model, options: CallOptions, betas: list[str]) -> dict[str, str]:
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "anthropic-version": VERSION,
    }
    key = options.api_key
    if key and (model.auth_header or key.startswith(OAUTH_KEY)):
        headers["authorization"] = f"Bearer {key}"
    elif key:
        headers["x-api-key"] = key
    if key and key.startswith(OAUTH_KEY):
        betas = [OAUTH_BETA, *betas]
    headers |= _of_program(model, options)
    for name, value in model.headers.items():
        if name.lower() == "anthropic-beta":
            betas = [*(part.strip() for part in value.split(",")), *betas]
        else:
            headers[name.lower()] = value
    if betas:
        headers["anthropic-beta"] = ",".join(dict.fromkeys(beta for beta in betas if beta))
    return headers


def _of_program(model: Model, options: CallOptions) -> dict[str, str]:
    """What tells who calls, and what leads calls of one session to the replica that holds its cache."""
    router = is_openrouter(model)
    headers = {"x-title": ATTRIBUTION} if router and options.attribution else {}
    wanted = model.compat.get("sendSessionAffinityHeaders", router)
    if not wanted or not options.session_id or options.cache_retention == "none":
        return headers
    routed = model.compat.get("sessionAffinityFormat", "openrouter" if router else "") == "openrouter"
    return headers | affinity(options.session_id, ("x-session-id" if routed else "x-session-affinity",))
