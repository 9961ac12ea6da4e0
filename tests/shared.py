"""The folder of shared inputs that some tests need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared(path: str) -> Path:
    """`path` in the folder that RELAY_SHARED names; skips the test where it is unset."""
    folder = os.environ.get("RELAY_SHARED")
    if folder:
        return Path(folder) / path
    message = "RELAY_SHARED names no folder with shared inputs"
    if os.environ.get("RELAY_REQUIRE_SHARED") == "1":
        pytest.fail(message)
    pytest.skip(message)
