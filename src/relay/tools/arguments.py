"""Arguments as models send them: numbers as text, lists as JSON text."""

from __future__ import annotations

from typing import Any

from relay.agent.tool import ToolError


def text_argument(arguments: dict[str, Any], name: str, default: str | None = None) -> str:
    """The string under `name`; raises ToolError when it is absent without a default, or no string."""
    value = arguments.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        wrong = "is missing" if value is None else "must be a string"
        raise ToolError(f"The argument {name} {wrong}.")
    return value


def count_argument(arguments: dict[str, Any], name: str, *, least: int = 1) -> int | None:
    """The whole number under `name`, also where it came as text or as 3.0; None when it is absent.

    Raises ToolError for anything else and for numbers below `least`.
    """
    value = arguments.get(name)
    if value is None or value == "":
        return None
    try:
        number = (
            float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
        )
    except (ValueError, OverflowError):
        number = None
    if number is None or not number.is_integer():
        raise ToolError(f"The argument {name} must be a whole number, not {value!r}.")
    if number < least:
        raise ToolError(f"The argument {name} must be {least} or more; {value} was given.")
    return int(number)


def file_text_argument(value: Any, name: str) -> str:
    """`value`, if it is text that can be stored in a file; else ToolError naming the argument."""
    if not isinstance(value, str):
        raise ToolError(f"The argument {name} must be a string.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError(
            f"Character {error.start + 1} of {name} is half of a surrogate pair, which no file can hold."
        ) from error
    return value
