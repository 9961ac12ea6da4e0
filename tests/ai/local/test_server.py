"""The child process of a local model: its life, secrets and failures, with a stand-in for llama.cpp."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from relay.ai.errors import ProviderError
from relay.ai.local.server import LocalServer

STAND_IN = """
import json, os, sys
from types import SimpleNamespace as Bag

def CommonParams():
    return Bag(model=Bag(path=""), cpuparams=Bag(), cpuparams_batch=Bag())

class Server:
    listening_address = "http://127.0.0.1:9"

    def __init__(self, params):
        print("loading", params.model.path, file=sys.stderr, flush=True)
        if "broken" in params.model.path:
            raise RuntimeError("tensor data is missing")
        if "crash" in params.model.path:
            os._exit(3)
        told = {**vars(params), "pid": os.getpid(), "model": params.model.path}
        told.pop("cpuparams"), told.pop("cpuparams_batch")
        with open(params.model.path + ".served", "a") as file:
            file.write(json.dumps(told) + "\\n")
"""

OWNER = """
import asyncio, sys
from pathlib import Path
from relay.ai.local.server import LocalServer

async def main():
    server = LocalServer(Path(sys.argv[1]) / "log")
    await server.address(Path(sys.argv[1]) / "tiny.gguf", 512)
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


class Place:
    """`starts` tells what each child was started with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = folder / "tiny.gguf"
        self.log = folder / "logs" / "local.log"

    def starts(self) -> list[dict[str, object]]:
        lines = Path(f"{self.model}.served").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def pids(self) -> list[int]:
        return [pid for start in self.starts() if isinstance(pid := start["pid"], int)]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: the extra `local` brings it")
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "xllamacpp.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    return Place(tmp_path)


@pytest.fixture
async def server(place: Place) -> AsyncIterator[LocalServer]:
    running = LocalServer(place.log)
    yield running
    await running.close()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def ended(pid: int) -> None:
    """Returns when the process, which need not be a child of ours, has ended."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(watched, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(watched)
        os.close(watched)


async def test_the_server_is_closed_to_others(place: Place, server: LocalServer) -> None:
    address = await server.address(place.model, 512)
    assert address.base_url == "http://127.0.0.1:9/v1"
    [start] = place.starts()
    assert start["api_keys"] == [address.key]
    assert len(address.key) >= 32
    assert (start["cors_origins"], start["ui"], start["endpoint_slots"]) == ("", False, False)
    assert start["port"] == 0
    assert isinstance(start["cache_ram_mib"], int) and 0 < start["cache_ram_mib"] <= 1024
    assert "loading" in place.log.read_text()


async def test_a_second_call_uses_the_same_server(place: Place, server: LocalServer) -> None:
    both = await asyncio.gather(server.address(place.model, 512), server.address(place.model, 512))
    assert both[0] == both[1]
    assert len(place.starts()) == 1


async def test_another_window_restarts_it(place: Place, server: LocalServer) -> None:
    first = await server.address(place.model, 512)
    second = await server.address(place.model, 1024)
    assert first.key != second.key
    old, new = place.pids()
    assert not is_running(old)
    assert is_running(new)
    assert [start["n_ctx"] for start in place.starts()] == [512, 1024]


async def test_closing_ends_it_and_may_be_done_twice(place: Place, server: LocalServer) -> None:
    await server.address(place.model, 512)
    await server.close()
    await server.close()
    assert not is_running(place.pids()[0])


async def test_a_server_that_died_is_started_again(place: Place, server: LocalServer) -> None:
    await server.address(place.model, 512)
    os.kill(place.pids()[0], signal.SIGKILL)
    # asyncio learns of the death a moment after the system; a call in between fails and is retried.
    while len(place.pids()) < 2:
        await server.address(place.model, 512)
        await asyncio.sleep(0)
    assert is_running(place.pids()[1])


async def test_a_model_that_cannot_be_loaded_is_named_with_the_reason(
    place: Place, server: LocalServer
) -> None:
    with pytest.raises(
        ProviderError, match=r"broken\.gguf could not be loaded: tensor data is missing\."
    ) as caught:
        await server.address(place.folder / "broken.gguf", 512)
    assert str(place.log) in str(caught.value)
    assert caught.value.kind == "config"
    assert (await server.address(place.model, 512)).key, "the next model is served"


async def test_a_crash_while_loading_is_told(place: Place, server: LocalServer) -> None:
    with pytest.raises(ProviderError, match="its process ended without a word"):
        await server.address(place.folder / "crash.gguf", 512)


async def test_without_the_extra_it_says_what_to_install(
    place: Place, server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ProviderError, match=r"pip install 'relay-harness\[local\]'"):
        await server.address(place.model, 512)


async def test_a_log_that_cannot_be_written_is_told(place: Place) -> None:
    (place.folder / "logs").write_text("a file")
    with pytest.raises(ProviderError, match=r"The log of the local model, .*, cannot be written"):
        await LocalServer(place.log).address(place.model, 512)


async def test_a_project_with_a_folder_named_relay_is_not_run(
    place: Place, server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place.folder / "relay").mkdir()
    (place.folder / "relay" / "__init__.py").write_text("raise SystemExit('the wrong relay')")
    monkeypatch.chdir(place.folder)
    await server.address(place.model, 512)


async def test_the_server_ends_when_its_owner_is_killed(place: Place) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, str(place.folder), stdout=asyncio.subprocess.PIPE
    )
    assert owner.stdout is not None
    assert await owner.stdout.readline() == b"ready\n"
    [pid] = place.pids()
    assert is_running(pid)
    owner.kill()
    await owner.wait()
    await ended(pid)


async def test_llama_itself_refuses_a_broken_file(tmp_path: Path) -> None:
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: the extra `local` brings it")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF\x03\x00\x00\x00" + bytes(100))
    server = LocalServer(tmp_path / "log")
    with pytest.raises(ProviderError, match=r"broken\.gguf could not be loaded"):
        await server.address(broken, 512)
    await server.close()
    assert (tmp_path / "log").stat().st_size > 0
