"""Tests of what --fork copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from relay.config.paths import session_folder
from relay.runtime.start import SessionOptions, StartError
from relay.session.errors import SessionError
from tests.runtime.test_startup_session import opened, save
from tests.session.samples import rows


def test_a_session_is_copied_by_path_and_by_id_also_while_it_is_open(tmp_path: Path) -> None:
    original = opened(tmp_path, SessionOptions(kind="id", value="original"))
    path = save(original)
    still_open = opened(tmp_path, SessionOptions(kind="open", value=str(path)))
    before = path.read_bytes()
    for named in (str(path), "orig"):
        copy = opened(tmp_path, SessionOptions(kind="fork", value=named))
        assert copy.path is not None and copy.path.parent == path.parent
        assert copy.header.parent_session == str(path)
        assert [record.entry.id for record in copy.records] == [rows(path)[1]["id"]]
        copy.close()
    still_open.close()
    assert path.read_bytes() == before


def test_a_copy_comes_into_this_directory(tmp_path: Path) -> None:
    path = save(opened(tmp_path / "there", SessionOptions(kind="id", value="original")))
    here = tmp_path / "here"
    copy = opened(here, SessionOptions(kind="fork", value=str(path), new_id="mine"))
    assert copy.path is not None and copy.path.parent.name == session_folder(here)
    assert (copy.id, copy.header.cwd) == ("mine", str(here))
    copy.close()
    with pytest.raises(StartError, match="mine already"):
        opened(here, SessionOptions(kind="fork", value=str(path), new_id="mine"))


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"no session file .*gone\.jsonl"):
        opened(tmp_path, SessionOptions(kind="fork", value="gone.jsonl"))
    with pytest.raises(StartError, match="begins with abc"):
        opened(tmp_path, SessionOptions(kind="fork", value="abc"))
    with pytest.raises(SessionError, match="--fork needs a path"):
        opened(tmp_path, SessionOptions(kind="fork", value=""))
    with pytest.raises(SessionError, match="not allowed"):
        opened(tmp_path, SessionOptions(kind="fork", value="abc", new_id="../x"))
