"""Opens or creates the session that the start asks for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from relay.config.paths import SESSION_DIR_VARIABLE, session_dir
from relay.runtime.start import SessionOptions, StartError, StartOptions
from relay.runtime.surroundings import Report, Surroundings
from relay.session.errors import SessionBusy
from relay.session.fork import copy_branch, copy_file
from relay.session.locate import (
    Elsewhere,
    Existing,
    Folder,
    Fresh,
    check_session_id,
    default_folder,
    newest,
    resolve,
    with_id,
)
from relay.session.log import SessionLog


def open_log(options: StartOptions, around: Surroundings, report: Report) -> SessionLog:
    """Raises SessionError or StartError with what would be right."""
    wanted = options.session
    if wanted.kind == "memory":
        return SessionLog.memory(options.cwd, report=report)
    folder = session_place(options, around)
    try:
        return _open(wanted, folder, options, report)
    except SessionBusy as error:
        if wanted.kind == "continue":
            raise StartError(
                f"{error} It is this directory's newest session: end the other program, or start a new "
                "session by leaving --continue out."
            ) from error
        raise


def session_place(options: StartOptions, around: Surroundings) -> Folder:
    """Where this directory's sessions are: --session-dir, the environment, the setting, the default."""
    chosen = (options.session.folder, options.environ.get(SESSION_DIR_VARIABLE), around.settings.session_dir)
    if not any(named and named.strip() for named in chosen):
        return default_folder(around.agent / "sessions", options.cwd)
    path = session_dir(
        options.cwd,
        around.agent,
        environ=options.environ,
        option=options.session.folder,
        setting=around.settings.session_dir,
    )
    return Folder(path, options.cwd)


def _open(wanted: SessionOptions, folder: Folder, options: StartOptions, report: Report) -> SessionLog:
    cwd = options.cwd
    if wanted.kind == "continue":
        last = newest(folder)
        if last is not None:
            return SessionLog.open(last.path, cwd=cwd, report=report)
    elif wanted.kind == "id":
        check_session_id(wanted.value)
        known = with_id(folder, wanted.value)
        if known is not None:
            return SessionLog.open(known.path, cwd=cwd, report=report)
        return SessionLog.create(cwd, folder.path, report=report, id=wanted.value)
    elif wanted.kind == "fork":
        return _fork_named(wanted, folder, options, report)
    elif wanted.kind == "open":
        return _open_named(wanted.value, folder, options, report)
    return SessionLog.create(cwd, folder.path, report=report)


def _open_named(name: str, folder: Folder, options: StartOptions, report: Report) -> SessionLog:
    match resolve(name, folder):
        case Existing(path):
            return SessionLog.open(path, cwd=options.cwd, report=report)
        case Fresh(path):
            return SessionLog.create_at(options.cwd, path, report=report)
        case Elsewhere(path, cwd):
            raise StartError(
                f"The session {name} belongs to {cwd}: start Relay there, open the file itself with "
                f"--session {path}, or work on a copy here with --fork {name}."
            )
        case _:
            raise StartError(
                f"No session of this directory has an id that begins with {name}. "
                f"Sessions are looked up in {folder.path}; --continue opens the newest."
            )


def _fork_named(wanted: SessionOptions, folder: Folder, options: StartOptions, report: Report) -> SessionLog:
    if wanted.new_id is not None:
        check_session_id(wanted.new_id)
        if with_id(folder, wanted.new_id) is not None:
            raise StartError(
                f"There is a session with the id {wanted.new_id} already: give the copy another "
                "--session-id, or leave it out."
            )
    match resolve(wanted.value, folder, option="--fork"):
        case Existing(path) | Elsewhere(path):
            return copy_file(path, cwd=options.cwd, folder=folder.path, report=report, id=wanted.new_id)
        case Fresh(path):
            raise StartError(f"There is no session file {path} to copy.")
        case _:
            raise StartError(
                f"No session has an id that begins with {wanted.value}. --fork takes the path of "
                "a session file or the beginning of an id."
            )


MakeLog = Callable[[StartOptions, Surroundings, Report], SessionLog]
"""Opens, creates or copies the log of a session that is being put together."""


def fresh_log(parent: str | None) -> MakeLog:
    """A new session, saved if the start's was; `parent` is the path of the session that it comes from."""

    def make(options: StartOptions, around: Surroundings, report: Report) -> SessionLog:
        if options.session.kind == "memory":
            return SessionLog.memory(options.cwd, report=report)
        folder = session_place(options, around)
        return SessionLog.create(options.cwd, folder.path, report=report, parent=parent)

    return make


def opened_log(path: Path) -> MakeLog:
    """The session of that file; where there is none, a new one is made at that path."""

    def make(options: StartOptions, around: Surroundings, report: Report) -> SessionLog:
        if path.exists():
            return SessionLog.open(path, cwd=options.cwd, report=report)
        return SessionLog.create_at(options.cwd, path, report=report)

    return make


def copied_log(log: SessionLog, leaf_id: str | None) -> MakeLog:
    """A copy of the branch up to `leaf_id`, beside the session's own file."""

    def make(options: StartOptions, around: Surroundings, report: Report) -> SessionLog:
        folder = log.path.parent if log.path is not None else session_place(options, around).path
        return copy_branch(log, leaf_id, cwd=options.cwd, folder=folder, report=report)

    return make
