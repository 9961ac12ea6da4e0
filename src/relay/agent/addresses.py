"""Addresses that are no files and that `read` opens all the same, such as `history://`."""

from __future__ import annotations

from typing import Protocol

from relay.agent.tool import ToolResult


class AddressReader(Protocol):
    """Opens the addresses of one scheme."""

    async def read(self, address: str, offset: int, limit: int | None) -> ToolResult:
        """What a call of `read` gives for the whole `address`, scheme included.

        `offset` (a line number from 1) and `limit` are those of the call. Raises ToolError.
        """
        ...
