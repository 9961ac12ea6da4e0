"""Tests of what the settings become in a session that is put together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relay.ai.testing import ScriptedProvider
from relay.runtime.assembly import open_session
from relay.runtime.prompter import user_content
from relay.runtime.start import ModelOptions, SessionOptions, StartOptions

MODELS = {
    "providers": {
        "mock": {
            "baseUrl": "http://127.0.0.1:1/v1",
            "api": "openai-completions",
            "apiKey": "k",
            "models": [{"id": "m1"}],
        }
    }
}


@pytest.mark.parametrize("blocked", [True, False])
async def test_calls_are_told_whether_images_may_be_sent(own_home: Path, blocked: bool) -> None:
    agent = own_home / ".relay" / "agent"
    agent.mkdir(parents=True)
    (agent / "models.json").write_text(json.dumps(MODELS))
    (agent / "settings.json").write_text(json.dumps({"images": {"blockImages": blocked}}))
    options = StartOptions(
        cwd=own_home,
        environ={"HOME": str(own_home)},
        model=ModelOptions(pattern="mock/m1"),
        session=SessionOptions(kind="memory"),
    )
    provider = ScriptedProvider(["hello"])
    session = await open_session(options, pytest.fail, provider=provider)
    session.prompter.start(user_content("hi"))
    await session.runner.settled()
    assert await session.close()
    assert [request.options.block_images for request in provider.requests] == [blocked]
