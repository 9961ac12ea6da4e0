"""Session events as records of the JSON stream: the one encoder of json and rpc mode."""

from __future__ import annotations

from typing import Any

import msgspec

from relay.agent.events import MessageUpdate, SessionEvent
from relay.agent.messages import Unknown
from relay.ai.events import BlockEvent
from relay.ai.types import Usage
from relay.base import jsonl


class _WireUpdate(msgspec.Struct, frozen=True, rename="camel", tag_field="type", tag="message_update"):
    """`message_update` without the growing message: the stream stays linear in size."""

    usage: Usage
    assistant_message_event: BlockEvent


def _plain(value: Any) -> Any:
    if isinstance(value, Unknown):
        return value.raw
    raise NotImplementedError(f"{type(value).__name__} is not plain data")


_encoder = msgspec.json.Encoder(enc_hook=_plain)


def encode_event(event: SessionEvent) -> bytes:
    """One JSON object without its line end; deltas carry the usage known so far, never the message."""
    record: Any = event
    if isinstance(event, MessageUpdate):
        record = _WireUpdate(event.message.usage, event.assistant_message_event)
    return encode_record(record)


def encode_record(record: Any) -> bytes:
    """Plain data, Structs and unknown messages as one JSON object; lone surrogates become escapes."""
    try:
        return _encoder.encode(record)
    except UnicodeEncodeError:
        return jsonl.encode(msgspec.to_builtins(record, enc_hook=_plain))
