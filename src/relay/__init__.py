"""Relay's public Python face: few names, loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_LAZY: dict[str, str] = {}
"""Public name → module that defines it. Grows with the SDK."""

__all__ = ["__version__"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'relay' has no attribute {name!r}")
