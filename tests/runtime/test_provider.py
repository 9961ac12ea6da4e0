"""Keys that commands print: asked once, and again after the server refused them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relay.ai.errors import ProviderError
from relay.ai.types import UserMessage
from relay.ai.wire.base import CallOptions
from relay.runtime.provider import SessionProvider
from relay.runtime.start import StartOptions
from relay.runtime.surroundings import look_around


async def same(body: dict[str, object], model: object) -> dict[str, object]:
    return body


async def test_a_refused_key_is_made_anew(own_home: Path) -> None:
    agent = own_home / ".relay" / "agent"
    agent.mkdir(parents=True)
    count = own_home / "count"
    entry = {
        "baseUrl": "http://127.0.0.1:1/v1",
        "api": "openai-completions",
        "apiKey": f"!echo x >> {count}; echo key",
        "models": [{"id": "m1"}],
    }
    (agent / "models.json").write_text(json.dumps({"providers": {"mock": entry}}))
    problems: list[str] = []
    environ = {"HOME": str(own_home), "PATH": "/usr/bin:/bin"}
    around = look_around(StartOptions(cwd=own_home, environ=environ), problems.append)
    model = around.catalog.get("mock", "m1")
    assert model is not None and problems == []
    provider = SessionProvider(around, environ)
    messages = [UserMessage(content="hi", timestamp=1)]

    async def call() -> None:
        await provider.call(model, messages, CallOptions(), on_payload=same)

    await call()
    await call()
    assert count.read_text() == "x\n"
    started = await provider.call(model, messages, CallOptions(), on_payload=same)
    started.error = ProviderError("401", "auth")  # type: ignore[misc]  # what the server's refusal leaves there
    await call()
    assert count.read_text() == "x\nx\n"
    await provider.aclose()


async def test_a_missing_key_is_told_before_a_call(own_home: Path) -> None:
    environ = {"HOME": str(own_home)}
    around = look_around(StartOptions(cwd=own_home, environ=environ), lambda sentence: None)
    model = around.catalog.get("openai", "gpt-5")
    assert model is not None
    provider = SessionProvider(around, environ)
    with pytest.raises(ProviderError, match="OPENAI_API_KEY"):
        await provider.check(model)
