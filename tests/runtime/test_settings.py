"""Each setting that a session reads changes what it does: told by its requests, files and results."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from PIL import Image

from relay.agent.events import AutoRetryStart
from relay.ai.errors import ProviderError
from relay.ai.testing import Reply
from relay.ai.types import ImageContent, ToolCall, ToolResultMessage, UserMessage, text_of
from relay.cli.arguments import parse
from relay.cli.prompts import make_prompts
from relay.runtime.assembly import open_session
from relay.runtime.live import LiveSession
from relay.runtime.prompter import user_content
from relay.runtime.start import ModelOptions, SessionOptions
from relay.runtime.surroundings import look_around
from tests.agent.fakes import Trace
from tests.ai.servers import Peer, serving
from tests.runtime.places import ENDPOINT, Home, say, tools_of

PLAIN = ModelOptions(pattern="mock/plain")
MEMORY = SessionOptions(kind="memory")
REFUSAL = b'{"error":{"message":"enough"}}'
ANSWER = (
    b'data: {"choices":[{"index":0,"delta":{"content":"fine"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)


class Sent(NamedTuple):
    """A request as the server got it."""

    line: str
    headers: dict[str, str]
    body: dict[str, Any]


class Wire:
    """A loopback server that keeps each request and gives the statuses in turn; the last one for ever."""

    def __init__(self, *statuses: int, silent: bool = False, **headers: str) -> None:
        self.requests: list[Sent] = []
        self._statuses = list(statuses)
        self._silent = silent
        self._headers = headers

    async def __call__(self, peer: Peer) -> None:
        line, headers, body = await peer.request()
        self.requests.append(Sent(line, headers, json.loads(body)))
        if self._silent:
            await peer.gone()
            return
        status = self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]
        if status == 200:
            await peer.answer(200, ANSWER, content_type="text/event-stream", connection="close")
        else:
            more = {"connection": "close", **self._headers}
            await peer.answer(status, REFUSAL, content_type="application/json", **more)


@asynccontextmanager
async def networked(home: Home, wire: Wire, level: str = "off", **model: Any) -> AsyncIterator[LiveSession]:
    """A session that really sends; `model` changes its entry in models.json, `{port}` is the server's."""
    async with serving(wire) as port:
        entry = {**ENDPOINT, "baseUrl": f"http://127.0.0.1:{port}/v1", "models": [{"id": "m", **model}]}
        entry |= {name: model.pop(name) for name in ("api", "baseUrl") if name in model}
        home.write_models({"net": entry})
        settings = json.loads((home.agent / "settings.json").read_text())
        if "httpProxy" in settings:
            home.write_settings(**settings | {"httpProxy": settings["httpProxy"].format(port=port)})
        options = home.options(model=ModelOptions(pattern=f"net/m:{level}"), session=MEMORY)
        live = await open_session(options, pytest.fail)
        await say(live, "hi")
        yield live
        assert await live.close()


async def sent(home: Home, **model: Any) -> Sent:
    """The one request of a session whose server refuses it for good."""
    wire = Wire(400)
    async with networked(home, wire, **model):
        pass
    (request,) = wire.requests
    return request


async def failure(home: Home, wire: Wire) -> str:
    """The error that the answer ends with."""
    async with networked(home, wire) as live:
        answer = live.record.last_answer
    assert answer is not None and answer.error_message is not None
    return answer.error_message


async def test_thinking_budgets_are_sent(home: Home) -> None:
    model = {"api": "anthropic-messages", "reasoning": True, "maxTokens": 30_000, "level": "low"}
    home.write_settings(thinkingBudgets={"low": 4321})
    assert (await sent(home, **model)).body["thinking"]["budget_tokens"] == 4321
    home.write_settings(thinkingBudgets={"high": 4321})
    assert (await sent(home, **model)).body["thinking"]["budget_tokens"] != 4321


async def test_the_proxy_of_the_settings_is_used(home: Home) -> None:
    home.write_settings(httpProxy="http://127.0.0.1:{port}")
    line = (await sent(home, baseUrl="http://models.invalid/v1")).line
    assert line == "POST http://models.invalid/v1/chat/completions HTTP/1.1"


async def test_a_projects_proxy_is_not_used(home: Home) -> None:
    home.write(".relay/settings.json", '{"httpProxy": "http://127.0.0.1:1"}')
    home.write_settings(defaultProjectTrust="always")
    wire = Wire(200)
    async with serving(wire) as port:
        home.write_models(
            {"net": {**ENDPOINT, "baseUrl": f"http://127.0.0.1:{port}", "models": [{"id": "m"}]}}
        )
        live = await open_session(home.options(session=MEMORY), home.told.append)
        await say(live, "hi")
        await live.close()
    assert len(wire.requests) == 1
    assert any("httpProxy" in sentence for sentence in home.told)


async def test_a_silent_server_is_given_up_after_the_idle_timeout(home: Home) -> None:
    home.write_settings(httpIdleTimeoutMs=40, retry={"enabled": False})
    error = await failure(home, Wire(silent=True))
    assert "0.04 s" in error and "httpIdleTimeoutMs" in error


async def test_an_answer_must_begin_within_the_providers_timeout(home: Home) -> None:
    home.write_settings(retry={"enabled": False, "provider": {"timeoutMs": 40}})
    assert "retry.provider.timeoutMs" in await failure(home, Wire(silent=True))


@pytest.mark.parametrize(("retries", "requests"), [(0, 1), (1, 2)])
async def test_requests_are_repeated_below_the_agent_as_often_as_the_settings_say(
    home: Home, retries: int, requests: int
) -> None:
    home.write_settings(retry={"enabled": False, "provider": {"maxRetries": retries}})
    wire = Wire(503, 200)
    async with networked(home, wire) as live:
        answer = live.record.last_answer
    assert answer is not None
    assert (len(wire.requests), answer.stop_reason) == (requests, "stop" if retries else "error")


async def test_a_wait_above_the_limit_is_not_made_below_the_agent(home: Home) -> None:
    home.write_settings(retry={"enabled": False, "provider": {"maxRetries": 3, "maxRetryDelayMs": 10}})
    wire = Wire(429, retry_after_ms="50")
    assert "retry.provider.maxRetryDelayMs allows (10 ms" in await failure(home, wire)
    assert len(wire.requests) == 1


@pytest.mark.parametrize(
    ("setting", "variable", "told"),
    [
        (True, None, True),
        (False, None, False),
        (True, "0", False),
        (True, "No", False),
        (False, "true", True),
        (False, "maybe", False),
        (True, "maybe", True),
    ],
)
async def test_the_provider_learns_the_programs_name_only_where_that_is_wanted(
    home: Home, setting: bool, variable: str | None, told: bool
) -> None:
    home.write_settings(enableInstallTelemetry=setting, httpProxy="http://127.0.0.1:{port}")
    if variable is not None:
        home.environ["RELAY_TELEMETRY"] = variable
    request = await sent(home, baseUrl="http://openrouter.ai/api/v1")
    assert ("x-title" in request.headers) == told


@pytest.mark.parametrize(("value", "kept"), [(None, "short"), ("long", "long"), ("other", "short")])
async def test_a_variable_asks_for_long_caching(home: Home, value: str | None, kept: str) -> None:
    if value is not None:
        home.environ["RELAY_CACHE_RETENTION"] = value
    async with home.running("ok", model=PLAIN, session=MEMORY) as (live, provider):
        await say(live, "hi")
    assert provider.requests[0].options.cache_retention == kept


async def test_a_models_own_level_comes_with_it_also_later(home: Home) -> None:
    home.write_settings(modelThinkingLevels={"mock/deep": "high", "other/wide": "minimal"})
    live = await home.open(
        model=ModelOptions(pattern="mock/deep", scope=("deep:xhigh", "wide")), session=MEMORY
    )
    levels = [live.choice.thinking]
    for _ in range(2):
        await live.choice.cycle(live.available)
        levels.append(live.choice.thinking)
    assert levels == ["high", "minimal", "xhigh"]
    await live.close()


def busy(wait: int | None = None) -> ProviderError:
    """A refusal; `wait` is what the server asks for, in milliseconds."""
    return ProviderError("busy", "overload", retry_after_ms=wait)


async def retries(home: Home, *script: ProviderError | str) -> list[AutoRetryStart]:
    """What is told of retries in a session whose calls end so; every call of the script must be made."""
    trace = Trace()
    async with home.running(*script, model=PLAIN, session=MEMORY) as (live, _):
        live.bus.subscribe(trace)
        await say(live, "hi")
    return trace.of(AutoRetryStart)


async def test_retrying_can_be_turned_off(home: Home) -> None:
    home.write_settings(retry={"baseDelayMs": 1})
    assert len(await retries(home, busy(), "ok")) == 1
    home.write_settings(retry={"baseDelayMs": 1, "enabled": False})
    assert await retries(home, busy()) == []


async def test_the_agent_tries_again_as_often_as_the_settings_say(home: Home) -> None:
    for count in (0, 2):
        home.write_settings(retry={"baseDelayMs": 1, "maxRetries": count})
        told = await retries(home, *[busy()] * (count + 1))
        assert [(start.attempt, start.max_attempts) for start in told] == [(1, 2), (2, 2)][:count]


async def test_waits_start_with_the_base_delay_and_double(home: Home) -> None:
    home.write_settings(retry={"baseDelayMs": 3})
    assert [start.delay_ms for start in await retries(home, busy(), busy(), busy(), "ok")] == [3, 6, 12]


async def test_the_agents_own_wait_has_a_limit(home: Home) -> None:
    home.write_settings(retry={"baseDelayMs": 600_000, "maxAgentDelayMs": 4})
    assert [start.delay_ms for start in await retries(home, busy(), busy(9), "ok")] == [4, 9]


async def test_a_server_may_ask_for_no_longer_wait_than_the_settings_allow(home: Home) -> None:
    home.write_settings(retry={"baseDelayMs": 1, "provider": {"maxRetryDelayMs": 5}})
    assert [start.delay_ms for start in await retries(home, busy(5), "ok")] == [5]
    assert await retries(home, busy(6)) == []


async def turns(home: Home, call: str, *, together: bool) -> list[list[str]]:
    """The user's texts that are new in each request, when `one` and `two` wait during the first answer."""
    gate = Reply(text="first", gate=asyncio.Event())
    after = ["second"] if together else ["second", "third"]
    async with home.running(gate, *after, model=PLAIN, session=MEMORY) as (live, provider):
        live.prompter.start(user_content("hi"))
        await gate.reached.wait()
        for text in ("one", "two"):
            await getattr(live.prompter, call)(user_content(text))
        assert gate.gate is not None
        gate.gate.set()
        await live.runner.settled()
        texts = [
            [text_of(message.content) for message in request.messages if isinstance(message, UserMessage)]
            for request in provider.requests
        ]
    return [now[len(before) :] for before, now in zip([[], *texts], texts, strict=False)]


@pytest.mark.parametrize(("key", "call"), [("steeringMode", "steer"), ("followUpMode", "follow_up")])
async def test_waiting_messages_are_delivered_as_the_settings_say(home: Home, key: str, call: str) -> None:
    other = {"steeringMode": "followUpMode", "followUpMode": "steeringMode"}[key]
    home.write_settings(**{key: "one-at-a-time", other: "all"})
    assert await turns(home, call, together=False) == [["hi"], ["one"], ["two"]]
    home.write_settings(**{key: "all", other: "one-at-a-time"})
    assert await turns(home, call, together=True) == [["hi"], ["one", "two"]]


async def test_the_default_tools_are_declared(home: Home) -> None:
    for setting, names in (
        (["read", "ls"], ["read", "ls"]),
        (["+grep", "-write"], ["read", "bash", "edit", "grep"]),
    ):
        home.write_settings(defaultTools=setting)
        async with home.running("ok", model=PLAIN, session=MEMORY) as (live, provider):
            await say(live, "hi")
        assert sorted(tools_of(provider.requests[0])) == sorted(names)


@pytest.mark.parametrize(
    ("option", "variable", "setting", "used"),
    [
        (None, None, "set", "set"),
        (None, "var", "set", "var"),
        ("opt", "var", "set", "opt"),
    ],
)
async def test_sessions_are_kept_where_the_settings_say(
    home: Home, option: str | None, variable: str | None, setting: str, used: str
) -> None:
    home.write_settings(sessionDir=setting)
    if variable is not None:
        home.environ["RELAY_CODING_AGENT_SESSION_DIR"] = variable
    async with home.running("ok", model=PLAIN, session=SessionOptions(folder=option)) as (live, _):
        await say(live, "hi")
    assert len(list((home.cwd / used).glob("*.jsonl"))) == 1
    assert home.sessions() == []


async def results(home: Home, name: str, **arguments: Any) -> ToolResultMessage:
    """The result of the one tool call of a session."""
    call = Reply(tool_calls=[ToolCall(id="c1", name=name, arguments=arguments)])
    async with home.running(call, "ok", model=ModelOptions(pattern="other/wide"), session=MEMORY) as (
        live,
        _,
    ):
        await say(live, "hi")
        (result,) = [message for message in live.record.messages if isinstance(message, ToolResultMessage)]
    return result


def picture(home: Home) -> bytes:
    """A picture wider than what is sent without being made smaller, saved as wide.png."""
    raw = io.BytesIO()
    Image.new("RGB", (2400, 8), "red").save(raw, "PNG")
    (home.cwd / "wide.png").write_bytes(raw.getvalue())
    return raw.getvalue()


def widths(content: list[Any]) -> list[int]:
    """The widths in pixels of the images in a message."""
    images = [base64.b64decode(block.data) for block in content if isinstance(block, ImageContent)]
    return [Image.open(io.BytesIO(raw)).width for raw in images]


@pytest.mark.parametrize(("setting", "width"), [(True, 2000), (False, 2400)])
async def test_images_are_made_smaller_unless_the_settings_say_no(
    home: Home, setting: bool, width: int
) -> None:
    picture(home)
    home.write_settings(images={"autoResize": setting})
    assert widths((await results(home, "read", path="wide.png")).content) == [width]
    assert widths(attached(home)) == [width]


def attached(home: Home) -> list[Any]:
    """What `@wide.png` becomes on the command line."""
    around = look_around(home.options(), pytest.fail)
    (prompt,) = make_prompts(parse(["@wide.png"]), "", home.cwd, home.root, around.settings.images)
    return prompt


@pytest.mark.parametrize("blocked", [True, False])
async def test_images_are_kept_back_where_the_settings_say_so(home: Home, blocked: bool) -> None:
    raw = base64.b64encode(picture(home)).decode()
    home.write_settings(images={"blockImages": blocked, "autoResize": False})
    assert len(widths((await results(home, "read", path="wide.png")).content)) == (not blocked)
    assert len(widths(attached(home))) == (not blocked)
    image = ImageContent(data=raw, mime_type="image/png")
    wire = Wire(400)
    async with networked(home, wire, input=["text", "image"]) as live:
        live.prompter.start(user_content("look", [image]))
        await live.runner.settled()
    assert (raw in json.dumps(wire.requests[-1].body)) == (not blocked)


def shell_of(home: Home) -> Path:
    shell = home.write("shell", '#!/bin/sh\necho mine\nexec /bin/sh "$@"\n')
    shell.chmod(0o755)
    return shell


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "a"),
        ({"shellPath": "SHELL"}, "mine\na"),
        ({"shellCommandPrefix": "echo before"}, "before\na"),
    ],
)
async def test_commands_run_in_the_shell_and_behind_the_prefix_of_the_settings(
    home: Home, settings: dict[str, str], text: str
) -> None:
    shell = shell_of(home)
    home.write_settings(**{key: value.replace("SHELL", str(shell)) for key, value in settings.items()})
    assert text_of((await results(home, "bash", command="echo a")).content).strip() == text
    live = await home.open(model=PLAIN, session=MEMORY)
    assert (await live.shell.run("echo a")).output.strip() == text
    await live.close()


@pytest.mark.parametrize(
    ("default", "option", "trusted"),
    [("always", None, True), ("never", None, False), ("never", True, True), ("always", False, False)],
)
async def test_a_projects_settings_count_where_it_is_trusted(
    home: Home, default: str, option: bool | None, trusted: bool
) -> None:
    home.write_settings(defaultProjectTrust=default, defaultTools=["read"])
    home.write(".relay/settings.json", '{"defaultTools": ["ls"]}')
    async with home.running("ok", model=PLAIN, session=MEMORY, approve=option) as (live, provider):
        await say(live, "hi")
    assert tools_of(provider.requests[0]) == (["ls"] if trusted else ["read"])
