"""The conversation as the agent keeps it: the model's messages and the agent's own four kinds.

`Unknown` carries a message of a role this version does not know, so that it survives a read-write cycle.
"""

from __future__ import annotations

from typing import Any

from relay.ai.types import (
    AssistantMessage,
    Data,
    JsonObject,
    Message,
    SystemMessage,
    ToolResultMessage,
    UserContent,
    UserMessage,
)


class BashExecutionMessage(Data, frozen=True, tag="bashExecution", tag_field="role"):
    """A shell command of the user's, not of the model's."""

    command: str
    output: str
    cancelled: bool
    truncated: bool
    timestamp: int
    exit_code: int | None = None
    full_output_path: str | None = None
    exclude_from_context: bool | None = None


class CustomMessage(Data, frozen=True, tag="custom", tag_field="role"):
    """A context message of an extension; `details` stay here, for people and programs."""

    custom_type: str
    content: str | list[UserContent]
    display: bool
    timestamp: int
    details: Any = None


class BranchSummaryMessage(Data, frozen=True, tag="branchSummary", tag_field="role"):
    summary: str
    from_id: str | None
    timestamp: int


class CompactionSummaryMessage(Data, frozen=True, tag="compactionSummary", tag_field="role"):
    summary: str
    tokens_before: int
    timestamp: int


class Unknown:
    """A message kept as it came: `raw` is its decoded JSON object, and it encodes as that object.

    No Struct, so that an encoder's hook is asked for it.
    """

    __slots__ = ("raw",)

    def __init__(self, raw: JsonObject) -> None:
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and other.raw == self.raw

    __hash__ = None  # type: ignore[assignment]  # equality of dicts has no hash


KnownMessage = (
    SystemMessage
    | UserMessage
    | AssistantMessage
    | ToolResultMessage
    | BashExecutionMessage
    | CustomMessage
    | BranchSummaryMessage
    | CompactionSummaryMessage
)
AgentMessage = KnownMessage | Unknown


def to_model(messages: list[AgentMessage]) -> list[Message]:
    """The messages as a model gets them: own kinds become user messages, unknown ones are left out."""
    out: list[Message] = []
    for message in messages:
        match message:
            case SystemMessage() | UserMessage() | AssistantMessage() | ToolResultMessage():
                out.append(message)
            case BashExecutionMessage():
                if not message.exclude_from_context:
                    out.append(UserMessage(content=_shell_text(message), timestamp=message.timestamp))
            case CustomMessage():
                out.append(UserMessage(content=message.content, timestamp=message.timestamp))
            case BranchSummaryMessage():
                out.append(UserMessage(content=_branch_text(message), timestamp=message.timestamp))
            case CompactionSummaryMessage():
                out.append(UserMessage(content=_compaction_text(message), timestamp=message.timestamp))
            case Unknown():
                pass
    return out


def _shell_text(message: BashExecutionMessage) -> str:
    lines = [f"I ran `{message.command}`", "```", message.output.rstrip("\n") or "(no output)", "```"]
    if message.cancelled:
        lines.append("(the command was cancelled)")
    elif message.exit_code:
        lines.append(f"The command exited with code {message.exit_code}.")
    if message.truncated and message.full_output_path:
        lines.append(f"[Output shortened; all of it: {message.full_output_path}]")
    return "\n".join(lines)


def _branch_text(message: BranchSummaryMessage) -> str:
    return (
        "This conversation came back here from another branch. What happened there:\n\n"
        f"<summary>\n{message.summary}</summary>"
    )


def _compaction_text(message: CompactionSummaryMessage) -> str:
    return (
        "What was said before this point is left out here; this takes its place:\n\n"
        f"<summary>\n{message.summary}\n</summary>"
    )
