"""Compares request bodies with the recorded ones; RELAY_UPDATE_SNAPSHOTS=1 records them anew."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from tests.ai.wire.streams import FIXTURES


def check_bodies(api: str, bodies: Mapping[str, Any]) -> None:
    """Every body, by case name, is the one recorded for it in `bodies.json` of the protocol's folder."""
    path = FIXTURES / api / "bodies.json"
    if os.environ.get("RELAY_UPDATE_SNAPSHOTS") == "1":
        path.write_text(json.dumps(bodies, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    recorded = json.loads(path.read_text("utf-8"))
    assert recorded.keys() == bodies.keys()
    for name, body in bodies.items():
        assert body == recorded[name], f"the body of case {name} changed"
