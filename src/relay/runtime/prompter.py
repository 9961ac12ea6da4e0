"""Takes a user's message into the session: starts a run with it, or puts it into the inbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relay.agent.messages import AgentMessage
from relay.agent.tool import Tool
from relay.ai.types import ImageContent, TextContent, UserContent, UserMessage
from relay.base.clock import now_ms
from relay.runtime.inbox import Inbox
from relay.runtime.record import SessionRecord
from relay.runtime.run import Runner
from relay.runtime.system_prompt import PromptSources, build_sections, declare


class Prompter:
    """Holds what the system prompt is made of; declares changes of it with the next prompt."""

    def __init__(
        self,
        runner: Runner,
        inbox: Inbox,
        record: SessionRecord,
        *,
        sources: PromptSources,
        tools: Callable[[], Mapping[str, Tool]],
    ) -> None:
        self._runner = runner
        self._inbox = inbox
        self._record = record
        self._sources = sources
        self._tools = tools

    def start(self, content: list[UserContent]) -> None:
        """Begins a run. Raises BusyError while another is under way."""
        message = UserMessage(content=content, timestamp=now_ms())

        async def opening() -> Sequence[AgentMessage]:
            tools = self._tools()
            patch = declare(
                self._record.declared, build_sections(self._sources, tools), tools, message.timestamp
            )
            return [message] if patch is None else [patch, message]

        self._runner.start(opening)

    async def steer(self, content: list[UserContent]) -> None:
        await self._inbox.steer(UserMessage(content=content, timestamp=now_ms()))

    async def follow_up(self, content: list[UserContent]) -> None:
        await self._inbox.follow_up(UserMessage(content=content, timestamp=now_ms()))


def user_content(text: str, images: Sequence[ImageContent] = ()) -> list[UserContent]:
    """The blocks of a user message: its text first, then the images."""
    return [TextContent(text=text), *images]
