"""The reference pages are current, and the ledger names modules and tests that exist."""

from __future__ import annotations

import re

import fastjsonschema
import pytest

from relay.config.document import LATER
from relay.config.loading import combine_layers
from relay.config.schema import SETTINGS
from tests.config.documents import REFERENCE, render_all
from tests.config.ledger import LEDGER

ROOT = REFERENCE.parents[1]


@pytest.mark.parametrize("name", sorted(render_all()))
def test_the_generated_pages_are_current(name: str) -> None:
    stored = (REFERENCE / name).read_text(encoding="utf-8")
    assert stored == render_all()[name], "run: python -m tests.config.documents"


def test_every_setting_stands_in_the_table_and_in_the_ledger() -> None:
    pages = render_all()
    for setting in SETTINGS:
        assert pages["settings.md"].count(f"| `{setting.key}` |") == 1
        assert pages["settings-ledger.md"].count(f"| `{setting.key}` |") == 1


def test_the_ledger_names_only_settings() -> None:
    assert set(LEDGER) <= {setting.key for setting in SETTINGS}


def attribute(key: str) -> str:
    """The name by which code reads a setting."""
    return re.sub(r"[A-Z]", lambda match: f"_{match.group().lower()}", key.rsplit(".", 1)[-1])


@pytest.mark.parametrize("key", sorted(LEDGER))
def test_the_reader_of_a_setting_exists_and_reads_it(key: str) -> None:
    reader = LEDGER[key].reader
    if reader == LATER:
        return
    path = ROOT / "src" / (reader.replace(".", "/") + ".py")
    assert path.is_file(), reader
    text = path.read_text(encoding="utf-8")
    assert re.search(rf"\b{attribute(key)}\b", text) or key in text, f"{reader} does not read {key}"


@pytest.mark.parametrize("key", sorted(LEDGER))
def test_the_test_of_a_setting_exists(key: str) -> None:
    row = LEDGER[key]
    assert (row.test == LATER) == (row.reader == LATER), "a reader needs a test"
    if row.test == LATER:
        return
    file, _, name = row.test.partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"def {re.escape(name.split('[')[0])}\(", text), row.test


def test_the_schema_accepts_the_defaults_and_refuses_what_loading_refuses() -> None:
    import json

    accepts = fastjsonschema.compile(json.loads(render_all()["settings.schema.json"]))
    tree: dict[str, object] = {}
    for key, value in combine_layers(()).values.items():
        if value is not None:
            *sections, name = key.split(".")
            branch: dict[str, object] = tree
            for section in sections:
                inner = branch.setdefault(section, {})
                assert isinstance(inner, dict)
                branch = inner
            branch[name] = list(value) if isinstance(value, tuple) else value
    accepts(tree)
    accepts({"unknownFutureKey": 1})
    for wrong in (
        {"theme": 42},
        {"retry": "yes"},
        {"compaction": {"reserveTokens": -5}},
        {"outputPad": True},
    ):
        with pytest.raises(fastjsonschema.JsonSchemaException):
            accepts(wrong)
