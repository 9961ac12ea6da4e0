"""Writes the generated reference pages: `python -m tests.config.documents` from the repository's root."""

from __future__ import annotations

from pathlib import Path

from relay.config.document import render_ledger, render_schema, render_table
from tests.config.ledger import LEDGER

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def render_all() -> dict[str, str]:
    """File name below docs/reference → content."""
    return {
        "settings.md": render_table(),
        "settings.schema.json": render_schema(),
        "settings-ledger.md": render_ledger(LEDGER),
    }


def main() -> None:
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, content in render_all().items():
        (REFERENCE / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
