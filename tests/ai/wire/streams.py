"""Plays recorded server-sent events through a wire adapter's reader and checks the grammar of its events."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from relay.ai.events import (
    BlockEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from relay.ai.model import Model
from relay.ai.types import AssistantMessage
from relay.ai.wire.base import CallOptions, ServerEvent, WireAdapter

FIXTURES = Path(__file__).parents[2] / "fixtures" / "wire"
TIMESTAMP = 1_700_000_000_000


class Played(NamedTuple):
    message: AssistantMessage
    events: list[BlockEvent]


def server_events(data: bytes) -> list[ServerEvent]:
    """The events of a small stream; every event is one `data:` line, perhaps behind one `event:` line."""
    found: list[ServerEvent] = []
    name = ""
    for line in data.replace(b"\r\n", b"\n").split(b"\n"):
        if line.startswith(b"event:"):
            name = line[6:].strip().decode()
        elif line.startswith(b"data:"):
            found.append(ServerEvent(name, line[5:].strip()))
            name = ""
    return found


def recorded(api: str, name: str) -> list[ServerEvent]:
    return server_events((FIXTURES / api / f"{name}.sse").read_bytes())


def play(
    adapter: WireAdapter, model: Model, events: list[ServerEvent], options: CallOptions | None = None
) -> Played:
    """Feeds all events and finishes."""
    reader = adapter.reader(model, options or CallOptions(), TIMESTAMP)
    told = [block for event in events for block in reader.feed(event)]
    told += reader.finish()
    check_grammar(told)
    return Played(reader.message, told)


def check_grammar(events: list[BlockEvent]) -> None:
    """Each block: one start, deltas, one end whose content is the deltas joined; indexes rise by one."""
    open_blocks: dict[int, list[str]] = {}
    started = 0
    for event in events:
        index = event.content_index
        match event:
            case TextStart() | ThinkingStart() | ToolCallStart():
                assert index == started
                started += 1
                open_blocks[index] = []
            case TextDelta() | ThinkingDelta() | ToolCallDelta():
                open_blocks[index].append(event.delta)
            case TextEnd() | ThinkingEnd():
                assert event.content == "".join(open_blocks.pop(index))
            case ToolCallEnd():
                open_blocks.pop(index)
    assert not open_blocks
