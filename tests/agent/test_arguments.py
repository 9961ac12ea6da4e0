"""Tests of what becomes of a tool call's arguments before the tool sees them."""

from __future__ import annotations

from typing import Any

import pytest

from relay.agent.arguments import ArgumentChecker
from relay.agent.tool import ToolError
from relay.ai.types import ToolSpec

SPEC = ToolSpec(
    name="change",
    description="",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "count": {"type": "integer"},
            "deep": {"type": "boolean"},
            "note": {"type": ["string", "null"]},
            "names": {"type": "array", "items": {"type": "string"}},
            "edits": {
                "type": "array",
                "items": {"type": "object", "properties": {"at": {"type": "number"}}, "required": ["at"]},
            },
        },
        "required": ["path"],
    },
)


def checked(**arguments: Any) -> dict[str, Any]:
    return ArgumentChecker().check(SPEC, arguments, None)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"count": "3"}, {"count": 3}),
        ({"count": "3.0"}, {"count": 3}),
        ({"deep": "True"}, {"deep": True}),
        ({"edits": '[{"at": "1.5"}]'}, {"edits": [{"at": 1.5}]}),
        ({"edits": {"at": 1}}, {"edits": [{"at": 1}]}),
        ({"edits": '{"at": 1}'}, {"edits": [{"at": 1}]}),
        ({"edits": [{"at": 1}]}, {"edits": [{"at": 1}]}),
        ({"count": None, "deep": None, "edits": None}, {}),
        ({"note": None}, {"note": None}),
        ({"unknown": None}, {"unknown": None}),
    ],
)
def test_the_forms_that_models_give_are_taken(given: dict[str, Any], meant: dict[str, Any]) -> None:
    assert checked(path="p", **given) == {"path": "p", **meant}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"path": None}, "path"),
        ({"path": "p", "count": "3.5"}, "count"),
        ({"path": "p", "names": {"a": 1}}, "names"),
        ({"path": "p", "edits": {"at": None}}, "at"),
        ({}, "path"),
    ],
)
def test_what_cannot_be_meant_is_refused_naming_the_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(ToolError, match=field):
        checked(**given)


def test_arguments_that_are_no_object_are_shown_again() -> None:
    with pytest.raises(ToolError, match="not json"):
        ArgumentChecker().check(SPEC, {}, "not json")
