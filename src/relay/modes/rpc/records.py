"""The records of the RPC protocol: what a command may hold and how a response looks."""

from __future__ import annotations

from typing import Any

import msgspec

from relay.ai.types import ImageContent
from relay.base import jsonl
from relay.base.errors import RelayError


class CommandError(RelayError):
    """A command that cannot be carried out; its text becomes the response's `error`."""


class ParseError(CommandError):
    """A record that is not JSON at all."""


class Command(msgspec.Struct, frozen=True):
    """One command: its `fields` are all members of the JSON object."""

    type: str
    id: str | None
    fields: dict[str, Any]

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise CommandError(f"{self.type} needs {name}, a string.")
        return value

    def optional_text(self, name: str) -> str | None:
        return None if self.fields.get(name) is None else self.text(name)

    def flag(self, name: str) -> bool:
        value = self.fields.get(name)
        if not isinstance(value, bool):
            raise CommandError(f"{self.type} needs {name}, true or false.")
        return value

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        value = self.fields.get(name)
        if value not in allowed:
            raise CommandError(f"{self.type} needs {name}: one of {', '.join(allowed)}.")
        return str(value)

    def images(self) -> list[ImageContent]:
        given = self.fields.get("images")
        if given is None:
            return []
        try:
            return msgspec.convert(given, list[ImageContent])
        except msgspec.ValidationError as error:
            raise CommandError(
                f'{self.type}: images must be a list of {{"type": "image", "data": BASE64, '
                f'"mimeType": "image/png"}} objects ({error}).'
            ) from error


class Response(
    msgspec.Struct, frozen=True, tag="response", tag_field="type", omit_defaults=True, kw_only=True
):
    """The answer to one command; `id` repeats the command's."""

    id: str | None = None
    command: str | None = None
    success: bool
    data: Any = msgspec.UNSET
    error: str | None = None


def read_command(record: bytes) -> Command:
    """Raises ParseError for what is not JSON, CommandError for what is no object with a `type`."""
    try:
        value = jsonl.decode(record)
    except (ValueError, RecursionError) as error:
        raise ParseError(
            f"This record is not JSON ({error}): send one JSON object per line, ended by a line feed."
        ) from error
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise CommandError('A command is a JSON object with a string "type", such as {"type": "get_state"}.')
    given = value.get("id")
    return Command(value["type"], given if isinstance(given, str) else None, value)
