from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.harness import Place
from tests.e2e.server import ScriptedServer, serving


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving() as scripted:
        yield scripted
        assert scripted.surplus == 0, f"{scripted.surplus} requests more than the script has"
        assert scripted.unused == 0, f"{scripted.unused} replies were never asked for"


@pytest.fixture
def place(tmp_path: Path, server: ScriptedServer) -> Place:
    return Place(tmp_path, server)
