"""JSON mode: the session header, then every event of the prompts, as JSONL on standard output."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable

from relay.agent.events import SessionEvent
from relay.ai.types import UserContent
from relay.modes.encode import encode_event
from relay.modes.output import RecordOutput
from relay.runtime.live import LiveSession


class EventWriter:
    """A sink that encodes each event at once and holds the run while the reader is far behind."""

    def __init__(self, output: RecordOutput) -> None:
        self._output = output

    def __call__(self, event: SessionEvent) -> Awaitable[None] | None:
        self._output.write(encode_event(event))
        return None if self._output.roomy else self._output.drain()


async def run_json(session: LiveSession, prompts: Iterable[list[UserContent]], descriptor: int) -> int:
    """Exit code 0: an error of a run is a record of the stream. A reader that goes away ends the run."""
    output = RecordOutput(descriptor, closed=session.runner.abort)
    output.write(session.record.header_line)
    session.bus.subscribe(EventWriter(output))
    for prompt in prompts:
        if output.broken:
            break
        session.prompter.start(prompt)
        await session.runner.settled()
        # A reader that has gone is only noticed by writing to it; no further prompt is for nobody.
        await output.flush()
    await output.finish()
    return 0
