"""RPC commands for the session as a whole: its tree and figures, its copies, and other sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from relay.modes.rpc.records import Command, CommandError
from relay.runtime.live import LiveSession
from relay.runtime.sessions import SessionHost
from relay.session.fork import fork_points
from relay.session.stats import session_stats
from relay.session.tree_json import encode_tree

_DONE = {"cancelled": False}


async def get_tree(session: LiveSession, command: Command) -> Any:
    log = session.record.log
    return {"tree": msgspec.Raw(encode_tree(log)), "leafId": log.leaf_id}


async def get_session_stats(session: LiveSession, command: Command) -> Any:
    return session_stats(session.record.log, session.choice.model.context_window)


async def get_fork_messages(session: LiveSession, command: Command) -> Any:
    points = fork_points(session.record.log)
    return {"messages": [{"entryId": point.entry_id, "text": point.text} for point in points]}


async def new_session(host: SessionHost, command: Command) -> Any:
    await host.new(command.optional_text("parentSession"))
    return _DONE


async def switch_session(host: SessionHost, command: Command) -> Any:
    path = command.text("sessionPath")
    if not path:
        raise CommandError("switch_session needs sessionPath, the path of a session file.")
    await host.switch(Path(path))
    return _DONE


async def fork(host: SessionHost, command: Command) -> Any:
    text = await host.fork(command.text("entryId"))
    return {"text": text, **_DONE}


async def clone(host: SessionHost, command: Command) -> Any:
    await host.clone()
    return _DONE
