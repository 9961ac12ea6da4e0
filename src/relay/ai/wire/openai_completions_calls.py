"""The tool calls of one Chat Completions stream: which piece of arguments belongs to which call."""

from __future__ import annotations

import json
from typing import Any

from relay.ai.events import BlockEvent
from relay.ai.growing import GrowingMessage
from relay.ai.wire.openai_completions_chunks import Call


class _Call:
    """A call under way. `block` is its content index, None until its name has come."""

    __slots__ = ("block", "held", "id")

    def __init__(self, id: str | None) -> None:
        self.id = id
        self.block: int | None = None
        self.held: list[str] = []


class OpenCalls:
    """Routes pieces by the protocol's `index`; where a server sends none, by id, else to the newest call."""

    def __init__(self, growing: GrowingMessage, timestamp: int) -> None:
        self._growing = growing
        self._timestamp = timestamp
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._details: list[dict[str, Any]] = []

    def take(self, piece: Call) -> list[BlockEvent]:
        """The events of one piece of a call."""
        function = piece.function
        name = function.name if function is not None else None
        text = (function.arguments if function is not None else None) or ""
        call = self._find(piece, name)
        if call is None:
            call = self._open(piece)
        if call.block is not None:
            return [self._growing.append(call.block, text)]
        if not name:
            call.held.append(text)
            return []
        call.id = call.id or piece.id
        call.held.append(text)
        return self._start(call, name)

    def name_all(self) -> list[BlockEvent]:
        """Starts the calls whose name never came, and hands out the encrypted reasoning."""
        events: list[BlockEvent] = []
        for call in self._calls:
            if call.block is None:
                events += self._start(call, "")
        self._sign()
        return events

    def collected(self) -> list[str]:
        """The arguments of each started call so far."""
        return [self._growing.collected(call.block) for call in self._calls if call.block is not None]

    def keep_details(self, details: list[dict[str, Any]]) -> None:
        """Encrypted reasoning comes before or after the call it belongs to, so it waits for the end."""
        self._details += [d for d in details if d.get("type") == "reasoning.encrypted" and d.get("data")]

    def _find(self, piece: Call, name: str | None) -> _Call | None:
        if piece.index is None:
            if piece.id:
                return next((call for call in reversed(self._calls) if call.id == piece.id), None)
            return None if name or not self._calls else self._calls[-1]
        call = self._by_index.get(piece.index)
        # Servers that number every call 0 tell them apart by id: a new id with a name is a new call.
        if call is not None and name and piece.id and call.id and piece.id != call.id:
            return None
        return call

    def _open(self, piece: Call) -> _Call:
        call = _Call(piece.id or None)
        self._calls.append(call)
        if piece.index is not None:
            self._by_index[piece.index] = call
        return call

    def _start(self, call: _Call, name: str) -> list[BlockEvent]:
        id = call.id or f"call_{self._timestamp}_{self._calls.index(call) + 1}"
        call.block, start = self._growing.start_tool_call(id, name)
        first = self._growing.append(call.block, "".join(call.held))
        call.held.clear()
        return [start, first]

    def _sign(self) -> None:
        """A detail goes to the call of its id, else to the first call that has none."""
        free = [call for call in self._calls if call.block is not None]
        for detail in self._details:
            named = [call for call in free if call.id and call.id == detail.get("id")]
            for call in (named or free)[:1]:
                free.remove(call)
                if call.block is not None:
                    self._growing.sign(call.block, json.dumps(detail, separators=(",", ":")))
