"""auth.json: private, whole, shared between processes, and never written over when broken."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from relay.ai.auth.storage import AuthFile, StoredKey
from relay.base.errors import RelayError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "auth.json"


def put(path: Path, data: Any) -> AuthFile:
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return AuthFile(path)


def test_a_missing_file_holds_nothing(path: Path) -> None:
    file = AuthFile(path)
    assert (file.stored("p"), file.entry("p"), file.problem) == (None, None, None)
    assert not file.remove("p")
    assert not path.exists()


def test_a_saved_key_is_private_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "agent" / "auth.json"
    file = AuthFile(path)
    assert file.stored("p") is None
    file.save("p", "secret")
    assert file.stored("p") == StoredKey("secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text()) == {"p": {"type": "api_key", "key": "secret"}}


def test_saving_keeps_what_it_does_not_know_and_closes_the_file_to_others(path: Path) -> None:
    old = {
        "p": {"type": "api_key", "key": "old", "env": {"A": "1"}},
        "q": {"type": "oauth", "access": "t", "expires": 5},
        "odd": [1, "ü", None],
    }
    file = put(path, old)
    path.chmod(0o644)
    file.save("p", "new")
    assert json.loads(path.read_text()) == {**old, "p": {"type": "api_key", "key": "new", "env": {"A": "1"}}}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert file.remove("q")
    assert not file.remove("q")
    assert list(json.loads(path.read_text())) == ["p", "odd"]


@pytest.mark.parametrize("text", ['{"p": {"type": "api_key", "key": "k"},}', "", "[]", "\x00"])
def test_a_broken_file_is_reported_and_left_alone(path: Path, text: str) -> None:
    file = put(path, text)
    assert file.stored("p") is None
    problem = file.problem
    assert problem is not None and problem.startswith(str(path))
    for change in (lambda: file.save("p", "k"), lambda: file.remove("p")):
        with pytest.raises(RelayError, match="was left as it is"):
            change()
    assert path.read_text() == text


def test_a_syntax_error_is_located(path: Path) -> None:
    assert "line 2, column 1" in str(put(path, '{"p": 1,\n}').problem)


def test_a_byte_order_mark_is_fine(path: Path) -> None:
    assert put(path, '\ufeff{"p": {"type": "api_key", "key": "k"}}').stored("p") == StoredKey("k")


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "k",
        [],
        {"type": "oauth", "access": "x"},
        {"type": "api_key"},
        {"key": 5},
        {"key": " "},
        {"key": "k", "env": 3},
    ],
)
def test_an_entry_that_is_no_key_is_none(path: Path, entry: Any) -> None:
    file = put(path, {"p": entry})
    assert file.stored("p") is None
    assert file.entry("p") == entry
    assert file.problem is None


def test_another_process_change_is_seen(path: Path) -> None:
    file = put(path, {})
    assert file.stored("p") is None
    AuthFile(path).save("p", "k")
    assert file.stored("p") == StoredKey("k")
    path.unlink()
    assert file.stored("p") is None


def test_a_symlink_stays_a_symlink(tmp_path: Path, path: Path) -> None:
    target = tmp_path / "dotfiles" / "keys.json"
    target.parent.mkdir()
    target.write_text('{"q": 1}')
    path.symlink_to(target)
    AuthFile(path).save("p", "k")
    assert path.is_symlink()
    assert set(json.loads(target.read_text())) == {"q", "p"}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_parallel_writers_lose_nothing(path: Path) -> None:
    names = [f"p{number}" for number in range(12)]
    threads = [threading.Thread(target=AuthFile(path).save, args=(name, "k")) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(json.loads(path.read_text())) == set(names)


def test_a_lock_that_is_not_given_up_is_an_error(tmp_path: Path, path: Path) -> None:
    file = put(path, {"q": 1})
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(RelayError, match="another process"):
            AuthFile(path, lock_seconds=0).save("p", "k")
    finally:
        os.close(handle)
    assert json.loads(path.read_text()) == {"q": 1}
    file.save("p", "k")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser writes anywhere")
def test_a_read_only_folder_is_a_sentence(tmp_path: Path, path: Path) -> None:
    file = put(path, {"q": 1})
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(RelayError, match=r"auth\.json cannot be written: Permission denied"):
            file.save("p", "k")
    finally:
        tmp_path.chmod(0o700)
    assert json.loads(path.read_text()) == {"q": 1}


def test_a_place_that_cannot_be_a_folder_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("a file")
    file = AuthFile(tmp_path / "agent" / "auth.json")
    with pytest.raises(RelayError, match="cannot be written"):
        file.save("p", "k")
    assert "cannot be read" in str(file.problem)
