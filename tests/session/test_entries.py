from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from relay.agent.messages import CustomMessage, Unknown
from relay.ai.types import AssistantMessage, TextContent, ToolCall, UserMessage
from relay.session.entries import (
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    Entry,
    KnownEntry,
    LabelEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    UnknownEntry,
    UsageEntry,
    encode_entry,
    milliseconds,
    stamp,
)
from relay.session.source import decode_entry, decode_header
from tests.session.samples import USAGE, WHEN, WHEN_MS, answer_line, line, user, user_line

EVERY_KIND = [
    user_line("a0000001", None),
    answer_line("a0000002", "a0000001", thinkingLevel="high"),
    line("model_change", "a1", "a0", provider="openai", modelId="gpt-4o"),
    line("thinking_level_change", "a2", "a1", thinkingLevel="high"),
    line("usage", "a3", "a2", kind="cache_warm", provider="p", model="m", usage=USAGE),
    line("compaction", "a4", "a3", summary="s", firstKeptEntryId="a3", tokensBefore=7, details={"x": [1]}),
    line("compaction", "a4", "a3", summary="s", firstKeptEntryId=None, tokensBefore=7),
    line("context_edit", "a5", "a4", targetId="a3", replacement=None),
    line("context_edit", "a5", "a4", targetId="a3", replacement={"content": "new"}),
    line("branch_summary", "a6", "a5", fromId="a3", summary="left", fromHook=True),
    line("custom", "a7", "a6", customType="ext", data={"count": 42}),
    line("custom_message", "a8", "a7", customType="ext", content="in", display=False, details={"k": 1}),
    line("label", "a9", "a8", targetId="a3", label="here"),
    line("label", "a9", "a8", targetId="a3"),
    line("session_info", "b0", "a9", name="Name"),
]


def decoded(text: str) -> Entry:
    entry = decode_entry(text.encode("utf-8", "surrogatepass"))
    assert entry is not None
    return entry


@pytest.mark.parametrize("text", EVERY_KIND)
def test_every_kind_survives_a_read_and_a_write(text: str) -> None:
    entry = decoded(text)
    assert not isinstance(entry, UnknownEntry)
    assert json.loads(encode_entry(entry)) == json.loads(text)


def test_all_kinds_are_in_the_table_above() -> None:
    kinds = {type(decoded(text)) for text in EVERY_KIND}
    assert kinds == set(KnownEntry.__args__)


def test_a_line_begins_as_the_format_shows_it() -> None:
    entry = stamp(MessageEntry(message=user()), id="a1", parent_id=None, timestamp=WHEN)
    assert encode_entry(entry).startswith(
        b'{"type":"message","id":"a1","parentId":null,"timestamp":"' + WHEN.encode() + b'","message":{'
    )


def test_unknown_entries_and_messages_are_written_as_they_came() -> None:
    for text in (
        line("mystery", "a1", "a0", payload={"x": 1}),
        line("message", "a1", "a0", message={"role": "narrator", "words": [1, None]}),
        line("message", "a1", "a0", message="no object"),
        line("compaction", "a1", "a0", summary=None),
    ):
        assert json.loads(encode_entry(decoded(text))) == json.loads(text)


def test_an_unknown_entry_moves_to_a_new_parent_with_its_payload() -> None:
    moved = stamp(decoded(line("mystery", "a1", "a0", payload=[1])), id="b1", parent_id="b0")
    assert json.loads(encode_entry(moved)) == json.loads(line("mystery", "b1", "b0", payload=[1]))


def test_lone_surrogates_are_read_and_written_as_escapes() -> None:
    text = user_line("a1", None, "half \ud83d pair")
    assert "\\ud83d" in text
    entry = decoded(text)
    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, UserMessage)
    assert entry.message.content == "half \ud83d pair"
    assert json.loads(encode_entry(entry)) == json.loads(text)


def test_bytes_that_are_no_utf8_do_not_cost_the_line() -> None:
    entry = decode_entry(user_line("a1", None, "caf@").encode().replace(b"@", b"\xe9"))
    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, UserMessage)
    assert entry.message.content == "caf\ufffd"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "42",
        "null",
        '"text"',
        "{}",
        '{"type":5}',
        '{"type":"message","id":"a1"',
        '{"type":"custom","data":NaN}',
        '{"type":"session","id":"s1"}',
        "[" * 100_000,
        '{"type":"custom","data":' + "[" * 100_000,
        "\x00" * 64,
    ],
)
def test_damaged_lines_are_none(text: str) -> None:
    assert decode_entry(text.encode()) is None


def test_usage_fields_that_are_missing_count_as_nothing() -> None:
    entry = decoded(answer_line("a1", None, usage={"input": 3, "cost": {"total": 0.5}}))
    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, AssistantMessage)
    usage = entry.message.usage
    assert (usage.input, usage.output, usage.total_tokens, usage.cost.total) == (3, 0, 0, 0.5)


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": "hi"}, {"type": "hologram", "data": "?"}],
        [{"type": "hologram"}, {"type": "text", "text": "hi", "textSignature": 5}, {"type": "text"}, 7, None],
        "hi",
    ],
)
def test_blocks_of_unknown_kinds_are_left_out_and_the_rest_is_read(content: Any) -> None:
    entry = decoded(answer_line("a1", None, content=content))
    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, AssistantMessage)
    assert entry.message.content == [TextContent(text="hi")]


def test_an_answer_with_odd_parts_keeps_everything_else() -> None:
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": "not an object"}
    entry = decoded(
        answer_line(
            "a1",
            None,
            content=[call],
            stopReason="exploded",
            timestamp=12.0,
            thinkingLevel="extreme",
            api=None,
        )
    )
    assert isinstance(entry, MessageEntry)
    message = entry.message
    assert isinstance(message, AssistantMessage)
    assert message.content == [ToolCall(id="c1", name="read", arguments={})]
    assert (message.stop_reason, message.timestamp, message.thinking_level, message.api) == (
        "stop",
        12,
        None,
        "",
    )


def test_an_image_without_data_never_becomes_an_empty_image() -> None:
    image = {"type": "image", "mimeType": "image/png"}
    text = line("message", "a1", None, message={"role": "user", "content": [image], "timestamp": 1})
    entry = decoded(text)
    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, UserMessage)
    assert entry.message.content == []


def test_a_message_without_a_time_takes_its_entrys() -> None:
    entry = decoded(line("message", "a1", None, message={"role": "user", "content": "hello"}))
    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, UserMessage)
    assert entry.message.timestamp == WHEN_MS


def test_the_old_name_of_custom_messages_is_read() -> None:
    old = {"role": "hookMessage", "customType": "ext", "content": "words", "display": True, "timestamp": 1}
    entry = decoded(line("message", "a1", None, message=old))
    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, CustomMessage)
    assert entry.message.content == "words"


def test_a_role_nobody_knows_stays_whole() -> None:
    entry = decoded(line("message", "a1", None, message={"role": "narrator", "words": 3}))
    assert isinstance(entry, MessageEntry)
    assert entry.message == Unknown({"role": "narrator", "words": 3})


def test_odd_entries_of_known_types_are_mended_or_kept_unknown() -> None:
    compaction = decoded(line("compaction", "a1", None, summary="s", firstKeptEntryId="a0", tokensBefore="9"))
    assert isinstance(compaction, CompactionEntry)
    assert compaction.tokens_before == 0
    assert isinstance(decoded(line("compaction", "a1", None, summary="s", tokensBefore=9)), CompactionEntry)
    assert isinstance(decoded(line("model_change", "a1", None, provider="p")), UnknownEntry)
    assert isinstance(decoded(line("context_edit", "a1", None, replacement=None)), UnknownEntry)
    usage = decoded(line("usage", "a1", None, kind="k", provider="p", model="m", usage={"input": 4}))
    assert isinstance(usage, UsageEntry)
    assert usage.usage.input == 4


def test_extra_fields_do_not_disturb() -> None:
    assert isinstance(decoded(line("label", "a1", None, targetId="x", label="l", colour="red")), LabelEntry)
    assert isinstance(decoded(line("session_info", "a1", None, name=None)), SessionInfoEntry)
    assert isinstance(decoded(line("custom", "a1", None, customType="x", data=None)), CustomEntry)


def test_headers_in_all_their_forms() -> None:
    plain = decode_header(
        b'{"type":"session","version":3,"id":"s1","timestamp":"t","cwd":"/p","parentSession":"/o"}'
    )
    assert plain is not None
    assert (plain.version, plain.id, plain.cwd, plain.parent_session) == (3, "s1", "/p", "/o")
    oldest = decode_header(
        b'{"type":"session","id":"s1","timestamp":"t","cwd":"/p","provider":"x","modelId":"y"}'
    )
    assert oldest is not None
    assert oldest.version == 1
    for odd in (
        b'\xef\xbb\xbf{"type":"session","id":"s1"}',
        b'{"type":"session","id":"s1","version":"three","cwd":null}\r',
        b'{"type":"session","id":"s1","cwd":"\\ud800"}',
    ):
        header = decode_header(odd)
        assert header is not None
        assert header.id == "s1"
    for wrong in (
        b"",
        b"{",
        b'{"type":"session"}',
        b'{"type":"session","id":7}',
        b'{"type":"message","id":"s1"}',
    ):
        assert decode_header(wrong) is None


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        (WHEN, WHEN_MS),
        ("2024-12-03T14:00:01Z", 1_733_234_401_000),
        ("2024-12-03T15:00:01+01:00", 1_733_234_401_000),
        ("2024-12-03T14:00:01", 1_733_234_401_000),
        ("yesterday", 0),
        ("", 0),
    ],
)
def test_iso_times_as_milliseconds(text: str, ms: int) -> None:
    assert milliseconds(text) == ms


def test_drafts_hold_no_place_until_they_are_stamped() -> None:
    draft = ContextEditEntry(target_id="a1", replacement=None)
    assert (draft.id, draft.parent_id) == ("", "")
    placed = stamp(draft, id="e1", parent_id=None, timestamp=WHEN)
    assert json.loads(encode_entry(placed)) == {
        "type": "context_edit",
        "id": "e1",
        "parentId": None,
        "timestamp": WHEN,
        "targetId": "a1",
        "replacement": None,
    }
    model = stamp(ModelChangeEntry(provider="p", model_id="m"), id="e2", parent_id="e1", timestamp=WHEN)
    assert msgspec.json.decode(encode_entry(model))["modelId"] == "m"
