"""Tests of a session that is put together: what it writes, sends and tells its commands, and how it ends."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from relay.agent.messages import BashExecutionMessage
from relay.ai.errors import ProviderError
from relay.ai.testing import Reply, ScriptedProvider
from relay.ai.types import AssistantMessage, SystemMessage, ToolCall, ToolResultMessage, UserMessage, text_of
from relay.base.errors import RelayError
from relay.runtime.prompter import user_content
from relay.runtime.start import ModelOptions, SessionOptions, StartError, ToolOptions
from relay.session.errors import SessionBusy
from tests.runtime.places import ENDPOINT, Home, kinds, prompt_of, say, tools_of

DEEP = ModelOptions(pattern="mock/deep:low")
MEMORY = SessionOptions(kind="memory")
NEWEST = SessionOptions(kind="continue")
START = ["session", "model_change", "thinking_level_change", "system", "user", "assistant"]


async def once(home: Home, **parts: Any) -> list[dict[str, Any]]:
    """The lines that a session with one prompt adds to the one file there is."""
    before = len(home.session()) if home.sessions() else 0
    async with home.running("ok", **parts) as (live, _):
        await say(live, "hi")
    return home.session()[before:]


async def test_a_new_session_begins_with_model_and_level(home: Home) -> None:
    lines = await once(home, model=DEEP)
    assert kinds(lines) == START
    header, model, level = lines[:3]
    assert (header["cwd"], header["version"]) == (str(home.cwd), 3)
    assert (model["provider"], model["modelId"], model["parentId"]) == ("mock", "deep", None)
    assert (level["thinkingLevel"], level["parentId"]) == ("low", model["id"])


async def test_a_name_is_written_first_and_only_when_it_is_new(home: Home) -> None:
    named = SessionOptions(name="Work")
    lines = await once(home, model=DEEP, session=named)
    assert kinds(lines) == [START[0], "session_info", *START[1:]]
    assert lines[1]["name"] == "Work"
    again = SessionOptions(kind="continue", name="Work")
    assert kinds(await once(home, model=DEEP, session=again)) == ["user", "assistant"]
    other = SessionOptions(kind="continue", name="Other")
    assert kinds(await once(home, model=DEEP, session=other)) == ["session_info", "user", "assistant"]


async def test_a_resumed_session_writes_only_what_is_new(home: Home) -> None:
    await once(home, model=DEEP)
    assert kinds(await once(home, session=NEWEST)) == ["user", "assistant"]
    level = await once(home, session=NEWEST, model=ModelOptions(thinking="high"))
    assert kinds(level) == ["thinking_level_change", "user", "assistant"]
    model = await once(home, session=NEWEST, model=ModelOptions(pattern="other/wide"))
    assert kinds(model) == ["model_change", "user", "assistant"]
    both = await once(home, session=NEWEST, model=ModelOptions(pattern="mock/plain"))
    assert kinds(both) == ["model_change", "thinking_level_change", "user", "assistant"]
    assert both[1]["thinkingLevel"] == "off"


async def test_a_session_that_was_opened_and_not_used_is_as_it_was(home: Home) -> None:
    live = await home.open(model=DEEP)
    assert await live.close()
    assert home.sessions() == []
    await once(home, model=DEEP)
    before = home.sessions()[0].read_bytes()
    live = await home.open(session=NEWEST)
    assert await live.close()
    assert home.sessions()[0].read_bytes() == before


async def test_the_whole_prompt_is_declared_once(home: Home) -> None:
    async with home.running("one", "two", model=DEEP, session=MEMORY) as (live, provider):
        await say(live, "a")
        await say(live, "b")
    for request in provider.requests:
        assert [isinstance(message, SystemMessage) for message in request.messages].count(True) == 1
    prompt = prompt_of(provider.requests[0])
    assert str(home.cwd) in prompt and "- read:" in prompt


async def test_what_changed_in_the_prompt_is_declared_with_the_next_one(home: Home) -> None:
    home.write("AGENTS.md", "Use tabs.")
    first = (await once(home, model=DEEP))[3]
    assert "Use tabs." in first["message"]["sections"]["project_context"]
    home.write("AGENTS.md", "Use spaces.")
    lines = await once(home, session=NEWEST, tools=ToolOptions(exclude=("bash", "write")))
    assert kinds(lines) == ["system", "user", "assistant"]
    patch = lines[0]["message"]
    assert sorted(patch["sections"]) == ["project_context", "rules", "tools"]
    assert "Use spaces." in patch["sections"]["project_context"]
    assert [tool["name"] for tool in patch["toolsRemoved"]] == ["bash", "write"]
    assert "toolsAdded" not in patch
    (home.cwd / "AGENTS.md").unlink()
    lines = await once(home, session=NEWEST)
    assert lines[0]["message"]["sections"]["project_context"] is None
    assert [tool["name"] for tool in lines[0]["message"]["toolsAdded"]] == ["bash", "write"]
    assert "toolsRemoved" not in lines[0]["message"]


async def sections(home: Home, **parts: Any) -> str:
    async with home.running("ok", session=MEMORY, model=DEEP, **parts) as (live, provider):
        await say(live, "hi")
    return prompt_of(provider.requests[0])


async def test_the_prompt_of_the_user_takes_the_place_of_relays_own(home: Home) -> None:
    (home.agent / "SYSTEM.md").write_text("From the user's file.")
    (home.agent / "APPEND_SYSTEM.md").write_text("And this.")
    prompt = await sections(home)
    assert prompt.startswith("From the user's file.") and "And this." in prompt
    assert "You are Relay" not in prompt and "- read:" not in prompt
    prompt = await sections(home, system_prompt="Said.", append_system_prompt=("More.", "Even more."))
    assert prompt.startswith("Said.") and "More.\n\nEven more." in prompt
    assert "file" not in prompt and "And this." not in prompt


@pytest.mark.parametrize("approve", [True, False, None])
async def test_a_projects_own_prompt_needs_trust(home: Home, approve: bool | None) -> None:
    home.write(".relay/SYSTEM.md", "Project speaks.")
    prompt = await sections(home, approve=approve)
    assert ("Project speaks." in prompt) == (approve is True)
    assert ("You are Relay" in prompt) == (approve is not True)
    assert len(home.told) == (approve is None)


async def test_texts_for_the_prompt_that_cannot_be_read_are_told(home: Home) -> None:
    home.write("AGENTS.md", "a")
    (home.cwd / "AGENTS.md").write_bytes(b"\x00\x01\xff\xfe\x00" * 9)
    await sections(home, append_system_prompt=("missing.md",))
    assert any(str(home.cwd / "missing.md") in sentence for sentence in home.told)
    assert any(str(home.cwd / "AGENTS.md") in sentence for sentence in home.told)


async def test_instructions_of_the_project_can_be_left_out(home: Home) -> None:
    (home.agent / "AGENTS.md").write_text("Everywhere.")
    home.write("CLAUDE.md", "Here.")
    prompt = await sections(home)
    assert prompt.index("Everywhere.") < prompt.index("Here.")
    prompt = await sections(home, context_files=False)
    assert "Everywhere." not in prompt and "Here." not in prompt


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (ToolOptions(), {"read", "bash", "edit", "write"}),
        (ToolOptions(only=("gr*", "ls")), {"grep", "ls"}),
        (ToolOptions(exclude=("bash",)), {"read", "edit", "write"}),
        (ToolOptions(none=True), set()),
        (ToolOptions(no_builtin=True), set()),
    ],
)
async def test_the_options_choose_the_tools(home: Home, options: ToolOptions, names: set[str]) -> None:
    async with home.running("ok", session=MEMORY, model=DEEP, tools=options) as (live, provider):
        await say(live, "hi")
    assert set(tools_of(provider.requests[0])) == names


async def test_a_tool_that_does_not_exist_is_told(home: Home) -> None:
    async with home.running("ok", session=MEMORY, model=DEEP, tools=ToolOptions(only=("raed",))) as (live, _):
        await say(live, "hi")
    assert len(home.told) == 1 and '"raed"' in home.told[0]


SHOW = "env | grep ^RELAY_ | grep -v COMMANDS | sort"


async def variables(home: Home, **parts: Any) -> dict[str, str]:
    """Relay's variables in a command of the model's, which are those in a command of the user's."""
    call = Reply(tool_calls=[ToolCall(id="c1", name="bash", arguments={"command": SHOW})])
    async with home.running(call, "ok", model=DEEP, **parts) as (live, _):
        await say(live, "hi")
        (result,) = [message for message in live.record.messages if isinstance(message, ToolResultMessage)]
        shown = text_of(result.content)
        own = await live.shell.run(SHOW)
        assert isinstance(own, BashExecutionMessage) and own.output.strip() == shown.strip()
        every = dict(line.split("=", 1) for line in shown.splitlines())
        # A command also inherits what the tests themselves are run with.
        found = {name: value for name, value in every.items() if os.environ.get(name) != value}
        assert found.pop("RELAY_SESSION_ID") == live.record.id
        assert found.pop("RELAY_SESSION_FILE", None) == (str(live.record.file) if live.record.file else None)
    return found


async def test_commands_learn_where_they_run(home: Home) -> None:
    expected = {
        "RELAY_CODING_AGENT": "true",
        "RELAY_PROVIDER": "mock",
        "RELAY_MODEL": "deep",
        "RELAY_REASONING_LEVEL": "low",
    }
    assert await variables(home) == expected
    assert await variables(home, session=MEMORY) == expected


async def test_commands_learn_of_a_changed_model(home: Home) -> None:
    live = await home.open(model=DEEP, session=MEMORY)
    await live.choice.set_model(next(model for model in await live.available() if model.id == "wide"), "high")
    shown = (await live.shell.run(SHOW)).output
    assert "RELAY_PROVIDER=other\nRELAY_REASONING_LEVEL=high" in shown and "RELAY_MODEL=wide" in shown
    await live.close()


async def test_models_that_can_be_used_have_a_key(home: Home) -> None:
    live = await home.open(model=DEEP, session=MEMORY)
    assert [model.key for model in await live.available()] == ["mock/plain", "mock/deep", "other/wide"]
    await live.close()


async def test_a_start_that_fails_gives_the_session_back(home: Home) -> None:
    await once(home, model=DEEP)
    before = home.sessions()[0].read_bytes()
    for wrong in (ModelOptions(pattern="nonsense"), ModelOptions(scope=("nonsense",))):
        with pytest.raises(RelayError):
            await home.open(session=NEWEST, model=wrong)
    with pytest.raises(ProviderError, match="no"):
        await home.open(Refusing(()), session=NEWEST)
    assert home.sessions()[0].read_bytes() == before
    live = await home.open(session=NEWEST)
    await live.close()


class Refusing(ScriptedProvider):
    """Has no key for any model."""

    async def check(self, model: object) -> None:
        raise ProviderError("no key", "auth")


async def test_without_a_key_the_session_does_not_start(home: Home) -> None:
    home.write_models({"keyless": {**ENDPOINT, "apiKey": "$NOT_SET_ANYWHERE", "models": [{"id": "locked"}]}})
    with pytest.raises(StartError, match="Three ways"):
        await home.open()


async def test_a_session_is_locked_until_it_is_closed(home: Home) -> None:
    live = await home.open(model=DEEP)
    live.prompter.start(user_content("hi"))
    await live.runner.settled()
    await live.close()
    one = await home.open(session=NEWEST)
    with pytest.raises(StartError, match=rf"open in process {os.getpid()}.*--continue"):
        await home.open(session=NEWEST)
    with pytest.raises(SessionBusy, match="--fork"):
        await home.open(session=SessionOptions(kind="open", value=str(home.sessions()[0])))
    await one.close()
    two = await home.open(session=NEWEST)
    await two.close()


async def test_closing_aborts_what_runs_and_keeps_what_came(home: Home) -> None:
    reply = Reply(text="half of it", gate=asyncio.Event(), gate_at=1)
    provider = ScriptedProvider([reply])
    live = await home.open(provider, model=DEEP)
    live.prompter.start(user_content("hi"))
    await reply.reached.wait()
    assert await live.close()
    last = home.session()[-1]["message"]
    assert (last["role"], last["stopReason"]) == ("assistant", "aborted")
    assert text_of_blocks(last["content"]) == "half of "
    assert provider.closed


def text_of_blocks(content: list[dict[str, Any]]) -> str:
    return "".join(block["text"] for block in content)


async def test_entries_that_cannot_be_saved_are_told_at_the_end(home: Home) -> None:
    provider = ScriptedProvider(["one"])
    live = await home.open(provider, model=DEEP)
    folder = home.agent / "sessions"
    spoil(folder)
    await say(live, "hi")
    assert live.record.unsaved > 0
    types = [type(message) for message in live.record.messages]
    assert types == [SystemMessage, UserMessage, AssistantMessage]
    assert not await live.close()
    assert any("not saved" in sentence or "cannot" in sentence for sentence in home.told), home.told


def spoil(folder: Path) -> None:
    """Puts a file where the sessions' folder is."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir()
    if folder.exists():
        folder.rmdir()
    folder.write_text("in the way")
