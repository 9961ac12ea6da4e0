"""The root of every error that Relay explains to a user.

RelayError
├── ai.errors.ProviderError     a call to a model failed
├── config.errors.ConfigError   a file of the user's is wrong
├── session.errors.SessionError a session cannot be opened or written
├── tools / agent ToolError     a tool call failed; told to the model, not the user
└── cli.errors.UsageError       the command line is wrong
"""

from __future__ import annotations


class RelayError(Exception):
    """An error whose text is a finished sentence for the user: what is wrong and what would be right."""
