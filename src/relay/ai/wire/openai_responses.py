"""The wire adapter of OpenAI's Responses API, used without stored state: the whole conversation is sent."""

from __future__ import annotations

from collections.abc import Sequence

from relay.ai.convert import prepare
from relay.ai.model import Model
from relay.ai.types import JsonObject, Message
from relay.ai.wire.base import CallOptions, StreamReader, WireAdapter, WireRequest
from relay.ai.wire.common import affinity
from relay.ai.wire.openai_common import (
    cache_key,
    effort_of,
    endpoint,
    function_of,
    headers,
    level_of,
    sampling,
    tools_of,
)
from relay.ai.wire.openai_responses_compat import Compat, compat_of
from relay.ai.wire.openai_responses_items import Efforts, call_ids, input_items
from relay.ai.wire.openai_responses_read import ResponsesReader

_AFFINITY = {
    "openai": ("session-id", "x-client-request-id"),
    "openai-nosession": ("x-client-request-id",),
    "openrouter": ("x-session-id",),
}

ENCRYPTED = "reasoning.encrypted_content"
"""Without it reasoning cannot be sent back, since nothing is stored at the provider."""


class OpenAIResponses:
    """Stateless. The key goes out as Bearer."""

    def build(self, model: Model, messages: Sequence[Message], options: CallOptions) -> WireRequest:
        compat = compat_of(model)
        prepared = prepare(
            messages,
            model,
            call_ids=call_ids,
            block_images=options.block_images,
            later_system=compat.supports_mid_convo_system_messages,
        )
        return WireRequest(
            url=endpoint(model, "/responses"),
            headers=headers(model, options, _session(compat, options)),
            body=_body(model, compat, prepared, options),
        )

    def reader(self, model: Model, options: CallOptions, timestamp: int) -> StreamReader:
        return ResponsesReader(model, options, timestamp)


ADAPTER: WireAdapter = OpenAIResponses()


def _session(compat: Compat, options: CallOptions) -> dict[str, str]:
    if not options.session_id or options.cache_retention == "none":
        return {}
    return affinity(options.session_id, _AFFINITY[compat.session_affinity_format])


def _body(model: Model, compat: Compat, prepared: list[Message], options: CallOptions) -> JsonObject:
    level = level_of(model, options)
    effort = effort_of(model, level, off="none") if model.reasoning else None
    efforts = Efforts(model) if effort and compat.supports_mid_convo_effort else None
    items = input_items(prepared, model, compat, efforts)
    if efforts is not None:
        items += efforts.change_to(effort)
    body: JsonObject = {"model": model.id, "input": items, "stream": True, "store": False}
    if compat.supports_max_output_tokens:
        body["max_output_tokens"] = options.max_tokens or model.max_tokens
    if tools := tools_of(prepared):
        body["tools"] = [
            _tool(function_of(tool, compat.supports_strict_mode is True), compat) for tool in tools
        ]
    body.update(_cache_fields(compat, options))
    if effort:
        if level != "off" or efforts is not None:
            body["reasoning"] = {"effort": efforts.base if efforts else effort, "summary": "auto"}
            body["include"] = [ENCRYPTED]
        else:
            body["reasoning"] = {"effort": effort}
    body.update(sampling(model, level, options))
    return body


def _tool(function: JsonObject, compat: Compat) -> JsonObject:
    if compat.supports_strict_mode is None:
        function["strict"] = False
    return {"type": "function", **function}


def _cache_fields(compat: Compat, options: CallOptions) -> JsonObject:
    fields: JsonObject = {}
    if options.cache_retention == "none":
        return fields
    if options.session_id and compat.prompt_cache_key_mode != "disabled":
        fields["prompt_cache_key"] = cache_key(options.session_id)
    if options.cache_retention == "long" and compat.supports_long_cache_retention:
        if compat.supports_explicit_prompt_cache_mode:
            fields["prompt_cache_options"] = {"ttl": "30m"}
        else:
            fields["prompt_cache_retention"] = "24h"
    return fields
