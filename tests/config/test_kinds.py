"""Kinds of values: borders, words for the user, and the notation of the tables."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from relay.config.kinds import (
    Boolean,
    Choice,
    Kind,
    Listing,
    Number,
    OneOf,
    Record,
    Table,
    Text,
    Timeout,
    check,
    label,
    printable,
    show,
)

INFINITE = float("inf")


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        (Number(), 2**53 - 1, 2**53 - 1),
        (Number(), 2**53, UNSET),
        (Number(), -3.0, -3),
        (Number(), 1e300, UNSET),
        (Number(), True, UNSET),
        (Number(whole=False), INFINITE, UNSET),
        (Number(whole=False), -INFINITE, UNSET),
        (Number(whole=False), float("nan"), UNSET),
        (Number(whole=False), 1e300, 1e300),
        (Number(minimum=0, maximum=1, whole=False, open=True), 0.0, UNSET),
        (Number(minimum=0, maximum=1, whole=False), 1.0, 1),
        (Timeout(), 0, 0),
        (Timeout(), "disabled", 0),
        (Timeout(), -1, UNSET),
        (Choice((0, 1)), 1.0, 1),
        (Choice((False, "a")), 0, UNSET),
        (Text(), "", ""),
        (Text(blank=False), " ", UNSET),
        (Listing(Boolean()), (True,), (True,)),
        (Listing(Boolean()), {}, UNSET),
        (Table(Boolean(), names=("a",)), {"a": True, "b": 1}, {"a": True}),
        (Record((("a", Boolean()),), required=("a",)), {"b": 1}, UNSET),
        (Record((("a", Boolean()), ("b", Boolean()))), {"a": True, "b": 1, "c": 2}, {"a": True}),
        (OneOf((Boolean(), Number())), 4, 4),
        (OneOf((Boolean(), Number())), "4", UNSET),
    ],
)
def test_the_good_part_of_a_value_is_kept(kind: Kind, value: Any, kept: Any) -> None:
    good, _ = check(kind, value)
    assert good == kept and type(good) is type(kept)


def test_faults_say_where_and_what() -> None:
    kind = Table(Record((("n", Listing(Number(minimum=1))),)))
    _, faults = check(kind, {"a.b": {"n": [1, 0]}, "c": 5})
    assert [fault.sentence("key") for fault in faults] == [
        'key["a.b"].n[1] must be a whole number that is 1 or more, not the number 0',
        'key["c"] must be an object with n, not the number 5',
    ]


def test_long_and_odd_values_are_shown_short() -> None:
    assert len(show("x" * 1000)) < 60
    assert show(10**5000) == "the number too large to show"
    assert show("a\x1b[2J") == 'the text "a\\u001b[2J"'
    assert printable("é\x9b\u202e\U000e0001") == "é\\u009b\\u202e\\udb40\\udc01"


def test_types_in_the_notation_of_the_tables() -> None:
    kinds: list[Kind] = [
        Listing(Text()),
        Listing(OneOf((Text(), Boolean()))),
        Choice(("a", False)),
        Timeout(),
        Record(()),
    ]
    labels = [label(kind) for kind in kinds]
    assert labels == [
        "string[]",
        "array",
        '"a" | false',
        'number | "disabled"',
        "object",
    ]
