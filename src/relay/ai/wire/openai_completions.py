"""The wire adapter of OpenAI's Chat Completions, which most other servers speak too."""

from __future__ import annotations

from collections.abc import Sequence

from relay.ai.convert import prepare
from relay.ai.model import Model
from relay.ai.types import AssistantMessage, JsonObject, Message, ToolCall, ToolResultMessage
from relay.ai.wire.base import CallOptions, StreamReader, WireAdapter, WireRequest
from relay.ai.wire.common import affinity
from relay.ai.wire.openai_common import (
    cache_key,
    endpoint,
    function_of,
    headers,
    level_of,
    sampling,
    tools_of,
)
from relay.ai.wire.openai_completions_compat import Compat, call_ids_of, compat_of, sends_cache_key
from relay.ai.wire.openai_completions_messages import chat_messages, mark_for_cache
from relay.ai.wire.openai_completions_read import CompletionsReader
from relay.ai.wire.openai_completions_thinking import budget_of, thinking_fields

_AFFINITY = {
    "openai": ("session_id", "x-client-request-id", "x-session-affinity"),
    "openai-nosession": ("x-client-request-id", "x-session-affinity"),
    "openrouter": ("x-session-id",),
}


class OpenAICompletions:
    """Stateless. The key goes out as Bearer."""

    def build(self, model: Model, messages: Sequence[Message], options: CallOptions) -> WireRequest:
        compat = compat_of(model)
        prepared = prepare(
            messages,
            model,
            call_ids=call_ids_of(model),
            block_images=options.block_images,
            later_system=compat.supports_mid_convo_system_messages,
        )
        return WireRequest(
            url=endpoint(model, "/chat/completions"),
            headers=headers(model, options, _session(compat, options)),
            body=_body(model, compat, prepared, options),
        )

    def reader(self, model: Model, options: CallOptions, timestamp: int) -> StreamReader:
        return CompletionsReader(model, options, timestamp)


ADAPTER: WireAdapter = OpenAICompletions()


def _session(compat: Compat, options: CallOptions) -> dict[str, str]:
    if (
        not compat.send_session_affinity_headers
        or not options.session_id
        or options.cache_retention == "none"
    ):
        return {}
    return affinity(options.session_id, _AFFINITY[compat.session_affinity_format])


def _body(model: Model, compat: Compat, prepared: list[Message], options: CallOptions) -> JsonObject:
    messages = chat_messages(prepared, model, compat)
    tools = [_tool(function_of(tool, compat.supports_strict_mode)) for tool in tools_of(prepared)]
    control = _cache_control(compat, options)
    if control:
        mark_for_cache(messages, tools, control)
    body: JsonObject = {"model": model.id, "messages": messages, "stream": True}
    if compat.supports_usage_in_streaming:
        body["stream_options"] = {"include_usage": True}
    if compat.supports_store:
        body["store"] = False
    max_tokens = options.max_tokens or model.max_tokens
    body[compat.max_tokens_field] = max_tokens
    if tools or (compat.requires_tools_with_tool_history and _has_tool_history(prepared)):
        body["tools"] = tools
    if tools and compat.zai_tool_stream:
        body["tool_stream"] = True
    level = level_of(model, options)
    budget = budget_of(level, options.thinking_budgets, max_tokens)
    body.update(_cache_fields(model, compat, options))
    body.update(thinking_fields(model, compat, level, budget))
    body.update(_routing(compat))
    body.update(sampling(model, level, options))
    return body


def _tool(function: JsonObject) -> JsonObject:
    return {"type": "function", "function": function}


def _cache_control(compat: Compat, options: CallOptions) -> JsonObject | None:
    if compat.cache_control_format is None or options.cache_retention == "none":
        return None
    if options.cache_retention == "long" and compat.supports_long_cache_retention:
        return {"type": "ephemeral", "ttl": "1h"}
    return {"type": "ephemeral"}


def _cache_fields(model: Model, compat: Compat, options: CallOptions) -> JsonObject:
    fields: JsonObject = {}
    if options.cache_retention == "none":
        return fields
    long = options.cache_retention == "long"
    if options.session_id and sends_cache_key(model, compat, long):
        fields["prompt_cache_key"] = cache_key(options.session_id)
    if long and compat.supports_long_cache_retention and compat.cache_control_format is None:
        fields["prompt_cache_retention"] = "24h"
    return fields


def _routing(compat: Compat) -> JsonObject:
    fields: JsonObject = {}
    if compat.open_router_routing:
        fields["provider"] = compat.open_router_routing
    if compat.vercel_gateway_routing:
        fields["providerOptions"] = {"gateway": compat.vercel_gateway_routing}
    if compat.vllm_priority is not None:
        fields["priority"] = compat.vllm_priority
    return fields


def _has_tool_history(messages: Sequence[Message]) -> bool:
    return any(
        isinstance(message, ToolResultMessage)
        or (isinstance(message, AssistantMessage) and any(isinstance(b, ToolCall) for b in message.content))
        for message in messages
    )
