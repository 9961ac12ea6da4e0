from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.ai.convert import plain_ids, prepare
from relay.ai.convert_images import names_bad_image
from relay.ai.convert_pairs import INTERRUPTED
from relay.ai.convert_text import clean, clean_text
from relay.ai.model import Model
from relay.ai.types import (
    AssistantMessage,
    ImageContent,
    Message,
    StopReason,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_of,
)
from tests.ai.wire.cases import (
    CASE_NAMES,
    answer,
    call,
    conversation,
    foreign,
    image,
    result,
    sibling,
    system,
    user,
)

MODEL = Model(
    id="m",
    name="M",
    api="openai-completions",
    provider="mock",
    base_url="http://x.test/v1",
    input=("text", "image"),
)


def calls_of(message: Message) -> list[str]:
    if not isinstance(message, AssistantMessage):
        return []
    return [block.id for block in message.content if isinstance(block, ToolCall)]


def assert_paired(messages: list[Message]) -> None:
    """Each call is answered once, in order, right after its message, and nothing else is a result."""
    open_calls: list[str] = []
    for message in messages:
        if isinstance(message, ToolResultMessage):
            assert open_calls, "a result without a call"
            assert open_calls.pop(0) == message.tool_call_id
        else:
            assert not open_calls, "a call without its result"
            open_calls = calls_of(message)
    assert not open_calls


@pytest.mark.parametrize("name", CASE_NAMES)
def test_every_conversation_comes_out_paired_and_clean(name: str) -> None:
    prepared = prepare(conversation(name, MODEL), MODEL)
    assert_paired(prepared)
    ids = [id for message in prepared for id in calls_of(message)]
    assert len(ids) == len(set(ids))
    msgspec.json.encode(prepared)  # raises on a lone surrogate
    assert not any(isinstance(message, SystemMessage) for message in prepared[1:])


@pytest.mark.parametrize("name", CASE_NAMES)
def test_the_conversation_itself_is_left_alone(name: str) -> None:
    messages = conversation(name, MODEL)
    prepare(messages, MODEL)
    assert messages == conversation(name, MODEL)


def test_open_calls_get_a_failed_result_and_stray_results_go() -> None:
    prepared = prepare(conversation("orphan_call", MODEL), MODEL)
    results = [m for m in prepared if isinstance(m, ToolResultMessage)]
    assert [(r.tool_call_id, r.is_error, text_of(r.content)) for r in results] == [
        ("call_1", False, "alpha"),
        ("call_2", True, INTERRUPTED),
    ]
    assert not any(
        isinstance(m, ToolResultMessage) for m in prepare(conversation("orphan_result", MODEL), MODEL)
    )


def test_late_results_move_to_their_call_in_call_order() -> None:
    prepared = prepare(conversation("late_result", MODEL), MODEL)
    texts = [text_of(m.content) for m in prepared[1:]]
    assert texts == ["a", "", "alpha", "beta", "are you there?", "yes", "good"]


def test_failed_answers_and_their_results_are_not_sent() -> None:
    prepared = prepare(conversation("failed_answers", MODEL), MODEL)
    assert [text_of(m.content) for m in prepared] == ["one", "two", "three"]


def test_a_result_belongs_to_the_newest_call_with_its_id() -> None:
    messages: list[Message] = [
        answer(MODEL, call("call_0", path="a")),
        result("call_0", "first"),
        answer(MODEL, call("call_0", path="b"), stop="error"),
        result("call_0", "of the failed answer"),
        answer(MODEL, call("call_0", path="c")),
        result("call_0", "second"),
    ]
    prepared = prepare(messages, MODEL)
    assert_paired(prepared)
    assert [text_of(m.content) for m in prepared if isinstance(m, ToolResultMessage)] == ["first", "second"]


def test_colliding_ids_stay_apart_and_valid() -> None:
    prepared = prepare(conversation("colliding_ids", MODEL), MODEL, call_ids=plain_ids(length=8))
    assert_paired(prepared)
    ids = [id for message in prepared for id in calls_of(message)]
    assert ids == ["c_1", "c_1_1", "c_1_2"] or len(set(ids)) == 3
    assert all(len(id) <= 8 and "+" not in id and "/" not in id for id in ids)
    assert [text_of(m.content) for m in prepared if isinstance(m, ToolResultMessage)] == [
        "for a",
        "for b",
        "for c",
    ]


def test_own_ids_are_repeated_as_they_are_and_foreign_ones_made_valid() -> None:
    odd = "functions.read:0"
    own = prepare([answer(MODEL, call(odd)), result(odd)], MODEL)
    other = prepare([answer(foreign(MODEL), call(odd)), result(odd)], MODEL)
    assert calls_of(own[0]) == [odd]
    assert calls_of(other[0]) == ["functions_read_0"]


def test_foreign_thinking_and_every_foreign_signature_goes() -> None:
    prepared = prepare(conversation("foreign_history", MODEL), MODEL)
    sent = msgspec.json.encode(prepared)
    assert b"FOREIGN" not in sent
    assert b"foreign step" not in sent
    spoken = next(m for m in prepared if isinstance(m, AssistantMessage))
    assert [b.text for b in spoken.content if isinstance(b, TextContent)] == ["done"]


def test_only_the_same_model_gets_its_thinking_back() -> None:
    own = prepare(conversation("thinking_signed", MODEL), MODEL)
    assert ThinkingContent(thinking="step one", thinking_signature="SIGNATURE") in own[2].content
    redacted = prepare(conversation("thinking_redacted", MODEL), MODEL)
    assert any(isinstance(b, ThinkingContent) and b.redacted for b in redacted[1].content)
    assert b"SIGNATURE" not in msgspec.json.encode(prepare(conversation("sibling_history", MODEL), MODEL))
    as_sibling = prepare(conversation("thinking_redacted", MODEL), sibling(MODEL))
    assert b"SIGNATURE" not in msgspec.json.encode(as_sibling)


def test_empty_answers_are_left_out() -> None:
    assert [text_of(m.content) for m in prepare(conversation("empty_answer", MODEL), MODEL)] == [
        "one",
        "two",
        "three",
    ]


def test_later_system_messages_are_folded_into_the_first() -> None:
    prepared = prepare(conversation("later_system_message", MODEL), MODEL)
    leading = prepared[0]
    assert isinstance(leading, SystemMessage)
    assert leading.content == "You are a tester.\n\nPlan only.\n\nMind the gap."
    assert [tool.name for tool in leading.tools_added or []] == ["read", "grep"]
    assert [type(m) for m in prepared[1:]] == [UserMessage, AssistantMessage, UserMessage]


def test_later_system_messages_stay_in_place_where_the_model_takes_them() -> None:
    prepared = prepare(conversation("later_system_message", MODEL), MODEL, later_system=True)
    leading, later = prepared[0], prepared[3]
    assert isinstance(leading, SystemMessage) and isinstance(later, SystemMessage)
    assert leading.content == "You are a tester.\n\nBe brief."
    assert [tool.name for tool in leading.tools_added or []] == ["read", "grep"]
    text = text_of(later.content)
    assert "Mind the gap." in text and "Plan only." in text and '"rules"' in text
    assert later.tools_added is None


def images_in(messages: list[Message]) -> int:
    return sum(isinstance(block, ImageContent) for m in messages for block in m.content)


def test_images_become_text_where_they_cannot_be_sent() -> None:
    messages = conversation("parallel_calls", MODEL) + conversation("user_images", MODEL)
    assert images_in(prepare(messages, MODEL)) == 4
    blind = msgspec.structs.replace(MODEL, input=("text",))
    assert images_in(prepare(messages, blind)) == 0
    assert "does not take images" in text_of(prepare([user(image())], blind)[0].content)
    assert images_in(prepare(messages, MODEL, block_images=True)) == 0
    assert "settings" in text_of(prepare([user(image())], MODEL, block_images=True)[0].content)


def failed(model: Model, text: str, stop: StopReason = "error") -> AssistantMessage:
    message = answer(model, stop=stop)
    message.error_message = text
    return message


def test_an_image_that_the_server_refused_is_not_sent_again() -> None:
    messages: list[Message] = [
        user("old", image()),
        answer(MODEL, "seen"),
        user("new", image()),
        failed(MODEL, "400 Could not process image"),
        user("and now?"),
    ]
    prepared = prepare(messages, MODEL)
    assert images_in(prepared[:1]) == 1
    assert images_in(prepared[1:]) == 0
    assert "refused" in text_of(prepared[2].content)


@pytest.mark.parametrize("other", [foreign(MODEL), sibling(MODEL)])
def test_another_models_refusal_does_not_count(other: Model) -> None:
    messages: list[Message] = [
        user("new", image()),
        failed(other, "400 Could not process image"),
        user("and now?"),
    ]
    assert images_in(prepare(messages, MODEL)) == 1


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("Could not process image", True),
        ("Invalid image data: failed to decode base64", True),
        ("messages.1.content.0.image.source.base64.data: image exceeds 5 MB maximum", True),
        ("unsupported image format image/svg+xml", True),
        ("Provided image is not valid.", True),
        ("429 rate limit: image tokens exceeded, try again later", False),
        ("503 the image service is overloaded and could not answer", False),
        ("Invalid value for max_tokens", False),
        ("", False),
    ],
)
def test_refusals_of_images_are_told_by_their_words(text: str, refused: bool) -> None:
    assert names_bad_image(text) is refused


def test_lone_surrogates_are_replaced_everywhere() -> None:
    prepared = prepare([*conversation("lone_surrogates", MODEL), system(note="late \udc00")], MODEL)
    sent = msgspec.json.encode(prepared).decode()
    assert sent.count("\ufffd") == 6
    assert "\U0001f600" in sent


@given(st.text(st.characters(exclude_categories=())))
def test_cleaned_text_can_be_sent_and_whole_text_is_untouched(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode("utf-8")
    assert clean_text(cleaned) is cleaned
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return
    assert cleaned is text


def test_surrogates_that_form_a_pair_are_joined() -> None:
    assert clean_text("\ud83d\ude00 \ud83d") == "\U0001f600 \ufffd"
    value = {"a": ["x", {"b": 1}]}
    assert clean(value) is value
    assert clean({"k\ud800": ["\udfff"]}) == {"k\ufffd": ["\ufffd"]}


PIECES = st.sampled_from(["user", "call", "calls", "result", "other result", "failed", "answer", "system"])


@given(st.lists(PIECES, max_size=14), st.sampled_from(["c1", "c2", "c|2"]))
def test_any_history_comes_out_paired(pieces: list[str], id: str) -> None:
    made: dict[str, Message] = {
        "user": user("u"),
        "call": answer(MODEL, call(id)),
        "calls": answer(foreign(MODEL), call(id), call("c3"), call(id)),
        "result": result(id, "r"),
        "other result": result("c3", "s"),
        "failed": answer(MODEL, call(id), stop="aborted"),
        "answer": answer(MODEL, "a"),
        "system": system(x="y"),
    }
    assert_paired(prepare([made[piece] for piece in pieces], MODEL))
