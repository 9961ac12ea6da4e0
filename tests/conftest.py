"""Settings that hold for every test: own home, no proxies, property tests of a fixed or a large size."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("soak", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

FOREIGN = ("_API_KEY", "_AUTH_TOKEN", "_PROXY", "_proxy")
"""Ends of variables of the developer's own that would change what a test sees."""


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for each test, without keys, proxies or Relay's variables."""
    for name in list(os.environ):
        if name.endswith(FOREIGN) or (name.startswith("RELAY_") and name not in KEPT):
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    return home


KEPT = ("RELAY_SHARED", "RELAY_REQUIRE_SHARED", "RELAY_UPDATE_SNAPSHOTS")
