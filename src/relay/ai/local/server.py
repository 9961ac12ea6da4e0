"""Owns the child process that serves a local model: started at first use, one model at a time."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec

from relay.ai.errors import ProviderError

CACHE_MIB = 256
"""Memory llama.cpp may spend on prompt caches of earlier conversations."""

START_SECONDS = 120.0
"""Large models on slow disks take long to load; a server that is silent for longer is given up."""


class Address(msgspec.Struct, frozen=True):
    """Where the server listens: a base URL for Chat Completions, and its random key."""

    base_url: str
    key: str


class LocalServer:
    """`address` starts or switches the model; `close` ends the child by closing its stdin."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: asyncio.subprocess.Process | None = None
        self._serving: tuple[Path, int] | None = None
        self._address: Address | None = None
        self._lock = asyncio.Lock()

    async def address(self, path: Path, context: int) -> Address:
        """Where `path` is served with a window of `context` tokens. Raises ProviderError of kind config."""
        async with self._lock:
            running = self._process is not None and self._process.returncode is None
            if running and self._address is not None and self._serving == (path, context):
                return self._address
            await self._end()
            self._address = await self._start(path, context)
            self._serving = (path, context)
            return self._address

    async def close(self) -> None:
        async with self._lock:
            await self._end()

    async def _start(self, path: Path, context: int) -> Address:
        if find_spec("xllamacpp") is None:
            raise ProviderError(
                "Local models need the package xllamacpp: install relay-harness with its extra, "
                "pip install 'relay-harness[local]'.",
                "config",
            )
        key = os.urandom(24).hex()
        self._process = await self._spawn()
        options = {"path": str(path), "key": key, "context": context, "cacheMib": CACHE_MIB}
        answer = await self._ask(self._process, json.dumps(options).encode() + b"\n")
        url = answer.get("url")
        if not url:
            await self._end()
            reason = answer.get("error", "its process ended without a word").rstrip(".")
            raise ProviderError(
                f"The model {path} could not be loaded: {reason}. Its log: {self._log}.", "config"
            )
        return Address(f"{url}/v1", key)

    async def _spawn(self) -> asyncio.subprocess.Process:
        try:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            self._log.write_bytes(b"")
            # Appended to, so that a second Relay that empties it leaves no hole.
            log = self._log.open("ab")
        except OSError as error:
            raise ProviderError(
                f"The log of the local model, {self._log}, cannot be written: {error.strerror}.", "config"
            ) from error
        with log:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # a project with a folder named relay must not be what is run
                "-m",
                "relay.ai.local.serve",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    async def _ask(self, process: asyncio.subprocess.Process, line: bytes) -> dict[str, str]:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the child was started without pipes")
        try:
            process.stdin.write(line)
            await process.stdin.drain()
            async with asyncio.timeout(START_SECONDS):
                reply = await process.stdout.readline()
        except (OSError, TimeoutError):
            reply = b""
        try:
            answer = json.loads(reply)
        except ValueError:
            return {}
        return answer if isinstance(answer, dict) else {}

    async def _end(self) -> None:
        process, self._process, self._address = self._process, None, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(3):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
