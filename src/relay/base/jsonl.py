"""JSON in the one encoding that session files and protocols use: compact, UTF-8, lone surrogates kept."""

from __future__ import annotations

import json
from typing import Any

import msgspec

_encoder = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    """Compact JSON bytes of plain data and Structs; what UTF-8 cannot hold is written as `\\udXXX`."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value)
        return json.dumps(plain, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def decode(line: bytes | str) -> Any:
    """Plain data of one JSON text. What msgspec refuses and `json` accepts (lone surrogates) is valid.

    Raises ValueError (of either library) when neither reads it.
    """
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return _by_json(line)


def _by_json(line: bytes | str) -> Any:
    try:
        return json.loads(line)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
