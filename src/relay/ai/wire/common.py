"""What adapters of several protocols share: whose address it is, session headers, counts of tokens."""

from __future__ import annotations

import re
from math import inf
from urllib.parse import urlsplit

from relay.ai.model import Model

ATTRIBUTION = "Relay"
"""The name that Relay gives itself where a provider counts the programs that call it."""


def host(model: Model) -> str:
    """The base URL's host, in lower case; "" when it has none."""
    return (urlsplit(model.base_url).hostname or "").lower()


def is_host(model: Model, *names: str) -> bool:
    """Whether the base URL's host is one of `names` or lies below one."""
    own = host(model)
    return any(own == name or own.endswith("." + name) for name in names)


def is_openrouter(model: Model) -> bool:
    return model.provider == "openrouter" or is_host(model, "openrouter.ai")


_BREAKS = re.compile(r"[\r\n]")


def affinity(session_id: str, names: tuple[str, ...]) -> dict[str, str]:
    """Headers that lead the requests of one session to the same server."""
    value = _BREAKS.sub("", session_id)
    return dict.fromkeys(names, value)


def count(value: object) -> int:
    """A token count of a server, which may be missing, null, a float or nonsense."""
    return int(value) if isinstance(value, int | float) and 0 < value < inf else 0
