"""Opens or creates the session that the start asks for."""

from __future__ import annotations

from relay.config.paths import SESSION_DIR_VARIABLE, session_dir
from relay.runtime.start import SessionOptions, StartError, StartOptions
from relay.runtime.surroundings import Report, Surroundings
from relay.session.errors import SessionBusy
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
                f"The session {name} belongs to {cwd}: start Relay there, or open the file itself with "
                f"--session {path}."
            )
        case _:
            raise StartError(
                f"No session of this directory has an id that begins with {name}. "
                f"Sessions are looked up in {folder.path}; --continue opens the newest."
            )
