from __future__ import annotations

from relay.cli.help import help_text
from relay.cli.options import all_options


def test_every_option_is_in_the_help() -> None:
    words = help_text().replace(",", " ").split()
    missing = [name for name in all_options() if name not in words]
    assert missing == []


def test_lines_fit_a_terminal() -> None:
    assert max(map(len, help_text().splitlines())) <= 110
