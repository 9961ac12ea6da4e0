"""Tests of the system prompt's sections, and of the message that declares what changed."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from relay.agent.tool import Tool, ToolCallContext, ToolResult
from relay.ai.prompt import replay
from relay.ai.types import SystemMessage
from relay.config.context_files import ContextFile
from relay.runtime.system_prompt import PREAMBLE, PromptSources, build_sections, declare
from tests.agent.fakes import FakeTool

HERE = Path("/work")


async def nothing(arguments: dict[str, object], context: ToolCallContext) -> ToolResult:
    return ToolResult(content=[])


def tool(name: str, hint: str = "", *rules: str) -> FakeTool:
    made = FakeTool(name, nothing)
    made.hint, made.rules = hint, rules
    return made


def tools(*made: FakeTool) -> dict[str, Tool]:
    return {one.spec.name: one for one in made}


def test_the_sections_in_the_order_in_which_they_are_read() -> None:
    sources = PromptSources(
        cwd=HERE, addenda=("one", "two"), context_files=(ContextFile(HERE / "AGENTS.md", "Be brief."),)
    )
    sections = build_sections(sources, tools(tool("a", "does a", "Rule.", "Same."), tool("b", "", "Same.")))
    assert list(sections) == ["preamble", "tools", "rules", "addendum", "project_context", "cwd"]
    assert sections["preamble"] == PREAMBLE
    assert sections["tools"] == "<tools>\n- a: does a\n</tools>"
    assert sections["rules"].count("Same.") == 1
    assert sections["addendum"] == "<addendum>\none\n\ntwo\n</addendum>"
    assert f'<project_instructions path="{HERE / "AGENTS.md"}">\nBe brief.\n' in sections["project_context"]
    assert sections["cwd"] == f"<cwd>\n{HERE}\n</cwd>"


def test_what_there_is_nothing_of_has_no_section() -> None:
    assert list(build_sections(PromptSources(cwd=HERE), {})) == ["preamble", "tools", "rules", "cwd"]
    assert "(none)" in build_sections(PromptSources(cwd=HERE), {})["tools"]


def test_a_prompt_of_the_users_own_brings_no_tools_and_rules_of_ours() -> None:
    sections = build_sections(PromptSources(cwd=HERE, preamble="Mine."), tools(tool("a", "does a")))
    assert (list(sections), sections["preamble"]) == (["preamble", "cwd"], "Mine.")


def test_nothing_is_declared_where_nothing_changed() -> None:
    first = declare(replay([]), {"a": "1"}, tools(tool("x")), 5)
    assert first is not None and first.timestamp == 5
    assert declare(replay([first]), {"a": "1"}, tools(tool("x")), 6) is None


def test_a_tool_whose_description_changed_is_declared_again() -> None:
    first = declare(replay([]), {}, tools(tool("x"), tool("y")), 1)
    assert first is not None and first.sections is None
    changed = FakeTool("x", nothing, properties={"path": {"type": "string"}})
    patch = declare(replay([first]), {}, tools(changed, tool("y")), 2)
    assert patch is not None
    assert (patch.tools_added, patch.tools_removed, patch.sections) == ([changed.spec], None, None)


SECTIONS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"))
NAMES = st.sets(st.sampled_from("xyz"))


@given(st.lists(st.tuples(SECTIONS, NAMES), max_size=5))
def test_the_declarations_add_up_to_what_is_wanted(wanted: list[tuple[dict[str, str], set[str]]]) -> None:
    said: list[SystemMessage] = []
    for sections, names in wanted:
        patch = declare(replay(said), sections, tools(*map(tool, sorted(names))), 1)
        said += [patch] if patch is not None else []
        now = replay(said)
        assert (dict(now.sections), set(now.tools)) == (sections, names)
