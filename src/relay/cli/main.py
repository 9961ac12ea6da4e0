"""The `relay` command: the quick answers first, everything else behind imports."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from relay import __version__

SUBCOMMANDS = ("auth", "config", "local")


def main(argv: Sequence[str]) -> int:
    """Runs the command line `argv` (without the program's name) and returns its exit code.

    0: done. 1: it failed, and stderr says why. 2: the command line is wrong. 128 + n: ended by signal n.
    """
    if argv and argv[0] in ("-v", "--version"):
        sys.stdout.write(__version__ + "\n")
        return 0
    from relay.base.errors import RelayError
    from relay.cli.errors import UsageError
    from relay.cli.tell import tell

    try:
        return _dispatch(argv)
    except UsageError as error:
        tell(sys.stderr, error)
        return 2
    except RelayError as error:
        if os.environ.get("RELAY_DEBUG") == "1":
            raise
        tell(sys.stderr, error)
        return 1
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if os.environ.get("RELAY_DEBUG") == "1":
            raise
        # The outermost border: a fault of ours is told in a sentence too.
        kind = type(error).__name__
        tell(sys.stderr, f"Relay failed unexpectedly ({kind}: {error}). RELAY_DEBUG=1 shows where.")
        return 1


def _dispatch(argv: Sequence[str]) -> int:
    if argv and argv[0] in SUBCOMMANDS:
        return _subcommand(argv[0], argv[1:])
    from relay.cli.arguments import parse

    arguments = parse(argv)
    if arguments.flag("version"):
        sys.stdout.write(__version__ + "\n")
        return 0
    if arguments.flag("help"):
        from relay.cli.help import help_text

        sys.stdout.write(help_text())
        return 0
    if arguments.list_models is not None:
        from relay.cli.list_models import list_models

        return list_models(arguments.list_models, os.environ, sys.stdout, sys.stderr)
    from relay.cli.run import run

    return run(arguments, os.environ)


def _subcommand(name: str, argv: Sequence[str]) -> int:
    if name == "config":
        from relay.cli.config_command import run as run_config

        return run_config(argv, os.environ, sys.stdout, sys.stderr)
    if name == "auth":
        from relay.cli.auth_command import run as run_auth

        return run_auth(argv, os.environ, sys.stdout, sys.stderr)
    from relay.cli.local_command import run as run_local

    return run_local(argv, os.environ, sys.stdout, sys.stderr)


def entry() -> None:
    """The console script."""
    # What a start makes stays: looking through it for garbage again and again is a tenth of the start.
    gc.disable()
    code = main(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone; nothing is left to tell it, and the interpreter must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stderr.flush()
    # Everything is closed and written; taking the interpreter apart would be a fifth of a short run.
    os._exit(code)
