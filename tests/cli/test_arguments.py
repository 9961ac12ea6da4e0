from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.cli.arguments import parse
from relay.cli.errors import UsageError
from relay.cli.options import all_options


def test_messages_files_and_options_in_any_order() -> None:
    arguments = parse(["one", "-p", "@a.txt", "--model", "x/y:high", "two", "@b.png"])
    assert arguments.messages == ("one", "two")
    assert arguments.files == ("a.txt", "b.png")
    assert arguments.flag("print") and arguments.get("model") == "x/y:high"


def test_everything_after_two_dashes_is_a_message_or_a_file() -> None:
    arguments = parse(["-p", "--", "--model", "-x", "@a"])
    assert (arguments.messages, arguments.files) == (("--model", "-x"), ("a",))


def test_a_value_may_follow_an_equals_sign_and_hold_more_of_them() -> None:
    assert parse(["--model=a=b"]).get("model") == "a=b"


def test_a_value_may_look_like_an_option() -> None:
    assert parse(["--system-prompt", "--be brief"]).get("system_prompt") == "--be brief"


def test_an_at_sign_alone_and_a_dash_are_words() -> None:
    assert parse(["@", "-"]).messages == ("@", "-")


def test_repeated_options_add_up_and_others_take_the_last() -> None:
    arguments = parse(["--append-system-prompt", "a", "--append-system-prompt", "b", "-n", "x", "-n", "y"])
    assert arguments.repeated["append_system_prompt"] == ("a", "b")
    assert arguments.get("name") == "y"


@pytest.mark.parametrize(
    ("argv", "search"),
    [(["--list-models"], ""), (["--list-models", "son"], "son"), (["--list-models=x"], "x")],
)
def test_the_search_text_of_the_model_list_is_optional(argv: list[str], search: str) -> None:
    assert parse(argv).list_models == search


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["--contnue"], "--continue"),
        (["-z"], "-z"),
        (["--model"], "--model"),
        (["--print=1"], "--print"),
        (["--mode", "yaml"], "rpc"),
        (["--thinking", "9000"], "medium"),
        (["--approve", "--no-approve"], "--approve"),
        (["--session-id", "a", "--continue"], "--session-id"),
        (["--provider", "x"], "--model"),
        (["--tools", "read,-bash"], "-bash"),
        (["--mode", "rpc", "@f"], "@files"),
    ],
)
def test_wrong_usage_names_the_argument(argv: list[str], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        parse(argv)


@given(st.lists(st.one_of(st.sampled_from([*all_options(), "--", "@x", "a", "", "=", "--=x"]), st.text())))
def test_any_command_line_is_parsed_or_refused_in_a_sentence(argv: list[str]) -> None:
    try:
        parse(argv)
    except UsageError as error:
        assert str(error).endswith(".")
