"""The options of `relay` as one table: what is parsed, checked and shown by --help."""

from __future__ import annotations

from typing import NamedTuple


class Option(NamedTuple):
    """`names` with the long form last; `value` names the argument, "" makes a flag; `repeats` collects."""

    names: tuple[str, ...]
    value: str
    help: str
    repeats: bool = False
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.names[-1].lstrip("-").replace("-", "_")


MODES = ("text", "json", "rpc")
THINKING = ("off", "minimal", "low", "medium", "high", "xhigh", "max")

GROUPS: dict[str, tuple[Option, ...]] = {
    "Output": (
        Option(("-p", "--print"), "", "run the prompts, write the final answer to stdout, exit"),
        Option(
            ("--mode",), "MODE", "text, json (JSONL events) or rpc (JSONL commands on stdin)", choices=MODES
        ),
    ),
    "Models": (
        Option(("--provider",), "NAME", "look --model up in this provider only"),
        Option(
            ("--model",), "PATTERN", "provider/id, an id, or part of a name; ':high' sets the thinking level"
        ),
        Option(("--api-key",), "KEY", "key for this process; needs --model or --models"),
        Option(("--thinking",), "LEVEL", ", ".join(THINKING), choices=THINKING),
        Option(("--models",), "PATTERNS", "comma-separated models to choose from and cycle through"),
    ),
    "Sessions": (
        Option(("-c", "--continue"), "", "go on with this directory's newest session"),
        Option(("--session",), "PATH|ID", "open a session by file or by (part of) its id"),
        Option(("--fork",), "PATH|ID", "work on a copy of that session, in this directory"),
        Option(("--session-id",), "ID", "open this directory's session of that id, or create it"),
        Option(("--session-dir",), "DIR", "where sessions are kept and looked up"),
        Option(("--no-session",), "", "keep the session in memory only"),
        Option(("-n", "--name"), "NAME", "display name of the session"),
    ),
    "Tools": (
        Option(("-t", "--tools"), "LIST", "only these tools; names or patterns with *"),
        Option(("-xt", "--exclude-tools"), "LIST", "without these tools; names or patterns with *"),
        Option(("-nbt", "--no-builtin-tools"), "", "without Relay's own tools"),
        Option(("-nt", "--no-tools"), "", "without any tools"),
    ),
    "Prompt and project": (
        Option(("--system-prompt",), "TEXT|FILE", "instead of Relay's own system prompt"),
        Option(("--append-system-prompt",), "TEXT|FILE", "added to the system prompt", repeats=True),
        Option(("-nc", "--no-context-files"), "", "do not read AGENTS.md and CLAUDE.md"),
        Option(("-a", "--approve"), "", "trust this project's settings and resources, this time"),
        Option(("-na", "--no-approve"), "", "do not trust them, this time"),
    ),
    "Process": (
        Option(("--offline",), "", "no network use but the model's own calls"),
        Option(("-h", "--help"), "", "show this help"),
        Option(("-v", "--version"), "", "show the version"),
    ),
}

LIST_MODELS = Option(("--list-models",), "[SEARCH]", "list the models that can be used, and exit")
"""Its argument may be left out, which no other option allows; so it stands beside the table."""


def all_options() -> dict[str, Option]:
    """Every spelling → its option."""
    options = [option for group in GROUPS.values() for option in group]
    return {name: option for option in (*options, LIST_MODELS) for name in option.names}
