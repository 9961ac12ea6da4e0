"""A home with models, settings and a working directory of its own, and sessions started in it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from relay.ai.errors import ProviderError
from relay.ai.testing import Reply, Request, ScriptedProvider
from relay.ai.types import SystemMessage
from relay.runtime.assembly import open_session
from relay.runtime.live import LiveSession
from relay.runtime.prompter import user_content
from relay.runtime.start import StartOptions

ENDPOINT = {"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions", "apiKey": "k"}
LEVELS = {"xhigh": "xhigh", "minimal": None}
PROVIDERS: dict[str, Any] = {
    "mock": {
        **ENDPOINT,
        "models": [{"id": "plain"}, {"id": "deep", "reasoning": True, "thinkingLevelMap": LEVELS}],
    },
    "other": {**ENDPOINT, "models": [{"id": "wide", "reasoning": True, "input": ["text", "image"]}]},
    "keyless": {**ENDPOINT, "apiKey": "$NOT_SET_ANYWHERE", "models": [{"id": "locked"}]},
}
"""plain has only the level off, deep all but minimal and max, wide all but xhigh and max."""


class Home:
    """`cwd` is the working directory; nothing of the machine's own environment is seen."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cwd = root / "work"
        self.agent = root / ".relay" / "agent"
        for folder in (self.cwd, self.agent):
            folder.mkdir(parents=True)
        self.environ = {"HOME": str(root), "PATH": "/usr/bin:/bin"}
        self.told: list[str] = []
        """What was reported."""
        self.write_models(PROVIDERS)

    def write_models(self, providers: dict[str, Any]) -> None:
        (self.agent / "models.json").write_text(json.dumps({"providers": providers}))

    def write_settings(self, **settings: Any) -> None:
        (self.agent / "settings.json").write_text(json.dumps(settings))

    def write(self, name: str, text: str) -> Path:
        """A file below the working directory."""
        path = self.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def options(self, **parts: Any) -> StartOptions:
        return StartOptions(cwd=self.cwd, environ=self.environ, **parts)

    async def open(self, provider: ScriptedProvider | None = None, **parts: Any) -> LiveSession:
        """A session whose problems go to `told`."""
        calls = provider or ScriptedProvider(())
        return await open_session(self.options(**parts), self.told.append, provider=calls)

    @asynccontextmanager
    async def running(
        self, *script: str | Reply | ProviderError, **parts: Any
    ) -> AsyncIterator[tuple[LiveSession, ScriptedProvider]]:
        """A session over a scripted model, closed at the end; every reply must be used."""
        provider = ScriptedProvider(script)
        live = await self.open(provider, **parts)
        try:
            yield live, provider
        finally:
            assert await live.close()
        provider.assert_finished()
        assert provider.closed

    def sessions(self) -> list[Path]:
        return sorted((self.agent / "sessions").rglob("*.jsonl"))

    def session(self) -> list[dict[str, Any]]:
        """The lines of the one session that was saved."""
        (path,) = self.sessions()
        return [json.loads(line) for line in path.read_text().splitlines()]


async def say(live: LiveSession, text: str) -> None:
    """A prompt, until it has settled."""
    live.prompter.start(user_content(text))
    await live.runner.settled()


def kinds(lines: Iterable[dict[str, Any]]) -> list[str]:
    """The type of each line; of a message its role."""
    return [line["message"]["role"] if line["type"] == "message" else line["type"] for line in lines]


def prompt_of(request: Request) -> str:
    """All sections that a request's system messages declare."""
    found = [message for message in request.messages if isinstance(message, SystemMessage)]
    return "\n".join(text for message in found for text in (message.sections or {}).values() if text)


def tools_of(request: Request) -> list[str]:
    """The names of the tools that a request declares."""
    found = [message for message in request.messages if isinstance(message, SystemMessage)]
    return [tool.name for message in found for tool in message.tools_added or ()]
