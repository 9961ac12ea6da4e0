"""A session that runs: its owners side by side. It holds no state of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from relay.agent.events import EventBus
from relay.ai.model import Model
from relay.config.settings import Settings
from relay.runtime.inbox import Inbox
from relay.runtime.model_choice import ModelChoice
from relay.runtime.policies import RetryPolicy
from relay.runtime.prompter import Prompter
from relay.runtime.record import SessionRecord
from relay.runtime.run import Runner
from relay.runtime.user_shell import UserShell


class LiveSession(NamedTuple):
    """What a front end gets. `available` lists the models that have credentials; `close` ends everything, and
    is False when entries could not be saved. `kill` ends running commands at once, for an exit that waits
    for nothing."""

    settings: Settings
    bus: EventBus
    runner: Runner
    inbox: Inbox
    choice: ModelChoice
    record: SessionRecord
    prompter: Prompter
    retry: RetryPolicy
    shell: UserShell
    available: Callable[[], Awaitable[Sequence[Model]]]
    close: Callable[[], Awaitable[bool]]
    kill: Callable[[], None]
