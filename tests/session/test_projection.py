from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from relay.agent.messages import (
    AgentMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Unknown,
)
from relay.ai.types import AssistantMessage, TextContent, ToolResultMessage, UserMessage, no_usage
from relay.session.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
    UnknownEntry,
    UsageEntry,
    stamp,
)
from relay.session.projection import ModelRef, Projection, context_entries, project, session_context
from tests.session.samples import WHEN, WHEN_MS, answer, entry, system, user

RESULT = ToolResultMessage(
    tool_call_id="c1", tool_name="read", content=[TextContent(text="r")], is_error=False, timestamp=3
)
SHELL = BashExecutionMessage(
    command="ls", output="o", cancelled=False, truncated=False, timestamp=3, exit_code=0
)


def chain(*drafts: Entry) -> list[Entry]:
    """A path with the ids e0, e1, …"""
    return [
        stamp(draft, id=f"e{i}", parent_id=f"e{i - 1}" if i else None, timestamp=WHEN)
        for i, draft in enumerate(drafts)
    ]


def boundary(kept: str | None, *, checkpoint: str | None = "sys", summary: str = "sum") -> CompactionEntry:
    return CompactionEntry(
        summary=summary,
        first_kept_entry_id=kept,
        tokens_before=9,
        system_message=None if checkpoint is None else system(checkpoint),
    )


def edit(target: str, replacement: Any = None) -> ContextEditEntry:
    return ContextEditEntry(target_id=target, replacement=replacement)


def summary(text: str = "sum") -> CompactionSummaryMessage:
    return CompactionSummaryMessage(summary=text, tokens_before=9, timestamp=WHEN_MS)


def messages(path: Sequence[Entry]) -> list[AgentMessage]:
    return session_context(path).messages


def test_every_kind_of_entry_gives_its_message_or_none() -> None:
    path = chain(
        SessionInfoEntry(name="n"),
        ModelChangeEntry(provider="p", model_id="m"),
        ThinkingLevelChangeEntry(thinking_level="low"),
        entry(system()),
        entry(user()),
        entry(answer()),
        entry(RESULT),
        entry(SHELL),
        CustomEntry(custom_type="x"),
        CustomMessageEntry(custom_type="x", content="in", display=False, details={"k": 1}),
        LabelEntry(target_id="e0", label="l"),
        UsageEntry(kind="k", provider="p", model="m", usage=no_usage()),
        BranchSummaryEntry(from_id="e1", summary="left"),
        BranchSummaryEntry(from_id="e1", summary=""),
        UnknownEntry(id="", parent_id="", timestamp="", raw={"type": "mystery"}),
        entry(Unknown({"role": "narrator"})),
    )
    assert messages(path) == [
        system(),
        user(),
        answer(),
        RESULT,
        SHELL,
        CustomMessage(custom_type="x", content="in", display=False, details={"k": 1}, timestamp=WHEN_MS),
        BranchSummaryMessage(summary="left", from_id="e1", timestamp=WHEN_MS),
        Unknown({"role": "narrator"}),
    ]
    assert context_entries(path) == path


def test_a_compaction_leads_with_checkpoint_and_summary_and_drops_older_system_messages() -> None:
    path = chain(
        entry(system("old")),
        entry(user("lost")),
        entry(user("kept")),
        CustomEntry(custom_type="state"),
        entry(system("patch")),
        entry(answer("kept too")),
        boundary("e2", checkpoint="all"),
        entry(system("later")),
        entry(user("new")),
    )
    assert [item.id for item in context_entries(path)] == ["e6", "e2", "e3", "e5", "e7", "e8"]
    assert messages(path) == [
        system("all"),
        summary(),
        user("kept"),
        answer("kept too"),
        system("later"),
        user("new"),
    ]


def test_what_a_compaction_may_keep() -> None:
    before = (entry(user("one")), entry(user("two")))
    assert messages(chain(*before, boundary("e2"))) == [system("sys"), summary()]
    assert messages(chain(*before, boundary(None))) == [system("sys"), summary()]
    assert messages(chain(*before, boundary("gone"))) == [system("sys"), summary()]
    assert messages(chain(*before, boundary("e0"))) == [system("sys"), summary(), user("one"), user("two")]
    assert messages(chain(*before, boundary("e1", checkpoint=None))) == [summary(), user("two")]


def test_only_the_latest_compaction_counts() -> None:
    path = chain(
        entry(user("one")),
        boundary("e0", summary="first", checkpoint="old"),
        entry(user("two")),
        boundary("e0", summary="second", checkpoint="new"),
        entry(user("three")),
    )
    assert messages(path) == [system("new"), summary("second"), user("one"), user("two"), user("three")]


def test_an_edit_omits_or_replaces_and_the_latest_wins() -> None:
    start = (entry(user("u")), entry(answer("a")))
    assert messages(chain(*start, edit("e1"))) == [user("u")]
    assert messages(chain(*start, edit("e0", {"content": "new"}))) == [user("new"), answer("a")]
    assert messages(chain(*start, edit("e0", "bare"))) == [user("bare"), answer("a")]
    assert messages(chain(*start, edit("e1"), edit("e1", "back"))) == [user("u"), answer("back")]
    assert messages(chain(*start, edit("e1", "x"), edit("e1"))) == [user("u")]
    assert messages(chain(*start, edit("gone"))) == [user("u"), answer("a")]


def test_texts_become_one_block_where_the_role_needs_blocks() -> None:
    path = chain(entry(answer("a")), entry(RESULT), edit("e0", "new"), edit("e1", {"content": "short"}))
    first, second = messages(path)
    assert isinstance(first, AssistantMessage)
    assert first.content == [TextContent(text="new")]
    assert (first.model, first.stop_reason) == ("m1", "stop")
    assert isinstance(second, ToolResultMessage)
    assert (second.content, second.tool_call_id) == ([TextContent(text="short")], "c1")


def test_block_lists_replace_and_unreadable_content_changes_nothing() -> None:
    blocks = [{"type": "text", "text": "b"}, {"type": "hologram"}]
    assert messages(chain(entry(user("u")), edit("e0", {"content": blocks}))) == [
        UserMessage(content=[TextContent(text="b")], timestamp=1)
    ]
    for odd in (7, {"content": 7}, {}, {"text": "x"}):
        assert messages(chain(entry(user("u")), edit("e0", odd))) == [user("u")]


def test_custom_messages_are_edited_in_both_their_forms() -> None:
    custom = CustomMessage(custom_type="x", content="in", display=True, timestamp=1)
    injected = CustomMessageEntry(custom_type="x", content="in", display=True)
    path = chain(entry(custom), injected, edit("e0", "one"), edit("e1", {"content": "two"}))
    first, second = messages(path)
    assert isinstance(first, CustomMessage)
    assert isinstance(second, CustomMessage)
    assert (first.content, second.content) == ("one", "two")
    assert messages(chain(injected, edit("e0"))) == []


def test_no_edit_hides_system_messages() -> None:
    assert messages(chain(entry(system()), edit("e0"))) == [system()]
    path = chain(entry(user()), boundary("e0"), edit("e1"))
    assert messages(path) == [system("sys"), user()]


def test_an_edit_leaves_the_source_as_it_was() -> None:
    path = chain(entry(user("u")), edit("e0", "new"))
    item = project(path)[0]
    assert item.entry is path[0]
    assert item.entry == stamp(entry(user("u")), id="e0", parent_id=None, timestamp=WHEN)


def test_edits_from_before_the_boundary_still_hold_for_what_it_keeps() -> None:
    path = chain(entry(user("one")), entry(answer("bad")), edit("e1"), boundary("e0"), entry(user("two")))
    assert messages(path) == [system("sys"), summary(), user("one"), user("two")]


def test_the_model_is_the_later_of_change_and_answer() -> None:
    change = ModelChangeEntry(provider="p", model_id="chosen")
    assert session_context([]).model is None
    assert session_context(chain(change)).model == ModelRef("p", "chosen")
    assert session_context(chain(change, entry(answer(model="m2")))).model == ModelRef("mock", "m2")
    assert session_context(chain(entry(answer()), change)).model == ModelRef("p", "chosen")
    assert session_context(chain(change, boundary(None))).model == ModelRef("p", "chosen")


def test_the_level_is_the_last_change_and_stamps_only_stand_in() -> None:
    low = ThinkingLevelChangeEntry(thinking_level="low")
    stamped = entry(answer(level="high"))
    assert session_context([]).thinking_level is None
    assert session_context(chain(low, stamped)).thinking_level == "low"
    assert session_context(chain(stamped, entry(answer()))).thinking_level == "high"
    assert session_context(chain(low, boundary(None))).thinking_level == "low"


def grown(path: Sequence[Entry]) -> Projection:
    """What a log does: append, and start anew at a compaction."""
    projection = Projection()
    for position, item in enumerate(path):
        if not projection.append(item):
            projection = Projection(path[: position + 1])
    return projection


DRAFTS = st.one_of(
    st.sampled_from(
        [
            entry(system("s")),
            entry(user("u")),
            entry(answer("a", model="m2", level="high")),
            entry(RESULT),
            entry(SHELL),
            CustomEntry(custom_type="x"),
            CustomMessageEntry(custom_type="x", content="in", display=True),
            BranchSummaryEntry(from_id=None, summary="left"),
            ModelChangeEntry(provider="p", model_id="m"),
            ThinkingLevelChangeEntry(thinking_level="low"),
        ]
    ),
    st.builds(
        edit,
        st.integers(0, 14).map(lambda i: f"e{i}"),
        st.sampled_from([None, "bare", {"content": "c"}, {"content": [{"type": "text", "text": "t"}]}]),
    ),
    st.builds(boundary, st.none() | st.integers(0, 14).map(lambda i: f"e{i}")),
)


@settings(max_examples=300)
@given(st.lists(DRAFTS, max_size=14))
def test_growing_entry_by_entry_gives_what_the_whole_path_gives(drafts: list[Entry]) -> None:
    path = chain(*drafts)
    projection = grown(path)
    whole = session_context(path)
    assert projection.messages == whole.messages
    assert projection.items == project(path)
    assert (projection.model, projection.thinking_level) == (whole.model, whole.thinking_level)


@settings(max_examples=300)
@given(st.lists(DRAFTS, max_size=14))
def test_the_context_equals_a_slow_reading_of_the_rules(drafts: list[Entry]) -> None:
    path = chain(*drafts)
    assert [name_of(message) for message in messages(path)] == slow_names(path)


def name_of(message: AgentMessage) -> str:
    content = getattr(message, "content", getattr(message, "summary", ""))
    if isinstance(content, list):
        content = content[0].text
    return f"{type(message).__name__}:{content}"


def slow_names(path: list[Entry]) -> list[str]:
    """The rules of the format page, one after the other, on names instead of messages."""
    last = max((i for i, item in enumerate(path) if isinstance(item, CompactionEntry)), default=-1)
    kept = len(path) and last
    order = list(range(len(path)))
    if last >= 0:
        point = path[last]
        assert isinstance(point, CompactionEntry)
        kept = next((i for i in range(last) if path[i].id == point.first_kept_entry_id), last)
        order = [last, *range(kept, last), *range(last + 1, len(path))]
    out: list[str] = []
    for i in order:
        item = path[i]
        edits = [e for e in path[i:] if isinstance(e, ContextEditEntry) and e.target_id == item.id]
        old = i < last
        out += slow_names_of(item, edits[-1] if edits else None, old=old, leads=i == last)
    return out


def slow_names_of(item: Entry, last: ContextEditEntry | None, *, old: bool, leads: bool) -> list[str]:
    if isinstance(item, CompactionEntry):
        hidden = last is not None and last.replacement is None
        return (["SystemMessage:sys"] + ([] if hidden else ["CompactionSummaryMessage:sum"])) if leads else []
    if isinstance(item, MessageEntry):
        name = name_of(item.message)
        if name.startswith("SystemMessage"):
            return [] if old else [name]
    elif isinstance(item, CustomMessageEntry):
        name = "CustomMessage:in"
    elif isinstance(item, BranchSummaryEntry):
        name = "BranchSummaryMessage:left"
    else:
        return []
    if last is None:
        return [name]
    if last.replacement is None:
        return []
    if name.startswith(("BashExecution", "BranchSummary")):
        return [name]
    new = last.replacement["content"] if isinstance(last.replacement, dict) else last.replacement
    return [name.split(":")[0] + ":" + (new[0]["text"] if isinstance(new, list) else new)]


def test_an_append_touches_nothing_that_was_there() -> None:
    projection = Projection(chain(*(entry(user(str(i))) for i in range(1000))))
    before = list(projection.messages)
    live = projection.messages
    projection.append(stamp(entry(user("new")), id="n", parent_id="e999", timestamp=WHEN))
    assert projection.messages is live
    assert all(a is b for a, b in zip(before, live, strict=False))
