"""Ends the one wait of a call from outside, without ending the task that waits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class Interrupted(Exception):
    """`request` was called; what was awaited has been cancelled and has cleaned up."""


class Interrupt:
    """All that a call waits for goes through `run`; `request` ends the wait under way and all later ones."""

    def __init__(self) -> None:
        self.requested = False
        self._wait: asyncio.Timeout | None = None

    def request(self) -> None:
        """Safe at any time and any number of times; to be called in the loop's thread."""
        self.requested = True
        if self._wait is not None:
            # A deadline that has passed: asyncio then cancels only what stands inside the wait.
            self._wait.reschedule(asyncio.get_running_loop().time())

    def check(self) -> None:
        """Raises Interrupted once it is requested."""
        if self.requested:
            raise Interrupted

    async def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """The result of `work`. Raises Interrupted when `request` came before it was there."""
        if self.requested:
            work.close()
            raise Interrupted
        wait = asyncio.timeout(None)
        try:
            async with wait:
                self._wait = wait
                try:
                    return await work
                finally:
                    self._wait = None
        except TimeoutError:
            if wait.expired():
                raise Interrupted from None
            raise
