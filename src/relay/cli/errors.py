"""Errors of the command line itself."""

from __future__ import annotations

from relay.base.errors import RelayError


class UsageError(RelayError):
    """The command line is wrong; the process ends with exit code 2."""
