"""The `relay` command: the quick answers first, everything else behind imports."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from relay import __version__


def main(argv: Sequence[str]) -> int:
    """Runs the command line `argv` (without the program's name) and returns its exit code."""
    if any(argument in ("-v", "--version") for argument in argv):
        sys.stdout.write(__version__ + "\n")
        return 0
    return 2


def entry() -> None:
    """The console script."""
    sys.exit(main(sys.argv[1:]))
