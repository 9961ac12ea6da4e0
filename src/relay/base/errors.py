"""The root of every error that Relay explains to a user.

RelayError
├── base.files.JsonFileError    a file is not JSON
├── base.locks.HeldError        another process keeps a file
├── ai.errors.ProviderError     a call to a model failed
├── config.errors.ConfigError   a file of the user's is wrong
├── agent.tool.ToolError        a tool call failed; told to the model, not the user
├── session.errors.SessionError a session cannot be opened or written
├── runtime.start.StartError    a session cannot be started as asked
├── runtime.run.BusyError       a prompt came while a run was under way
├── modes.rpc CommandError      an RPC command cannot be carried out
└── cli.errors.UsageError       the command line is wrong
"""

from __future__ import annotations


class RelayError(Exception):
    """An error whose text is a finished sentence for the user: what is wrong and what would be right."""
