"""The request to stop a run: asked for once, seen by whatever is running at that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class Aborted(Exception):
    """What was awaited through `Abort.run` has been cancelled and has cleaned up."""


class Abort:
    """Belongs to one run. What runs registers how it is stopped; nothing else cancels the loop itself."""

    def __init__(self) -> None:
        self._requested = False
        self._stops: list[Callable[[], object]] = []

    @property
    def requested(self) -> bool:
        return self._requested

    def request(self) -> None:
        """Stops what runs now and whatever registers later; further calls do nothing."""
        if self._requested:
            return
        self._requested = True
        for stop in tuple(self._stops):
            stop()

    @contextmanager
    def stopping(self, stop: Callable[[], object]) -> Iterator[None]:
        """While the block runs, `request` calls `stop`; at once if the request has already come."""
        self._stops.append(stop)
        if self._requested:
            stop()
        try:
            yield
        finally:
            self._stops.remove(stop)

    async def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Awaits `work` in a task of its own, which alone is cancelled by the request: then Aborted."""
        task = asyncio.create_task(work)
        with self.stopping(task.cancel):
            try:
                return await task
            except asyncio.CancelledError:
                if not self._requested:
                    task.cancel()
                    raise
                raise Aborted from None
