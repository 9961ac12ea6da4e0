"""`relay auth login|logout|check|print-api-key`: the keys of providers."""

from __future__ import annotations

import asyncio
import getpass
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

from relay.ai.errors import ProviderError
from relay.ai.patterns import near_matches, resolve_model
from relay.ai.providers import Provider
from relay.base.errors import RelayError
from relay.cli.errors import UsageError
from relay.cli.tell import tell
from relay.runtime.start import StartOptions
from relay.runtime.surroundings import Surroundings, look_around

USAGE = (
    "Usage: relay auth login PROVIDER            store a key, typed unseen or piped in\n"
    "       relay auth logout PROVIDER           delete the stored key\n"
    "       relay auth check PROVIDER|MODEL      say whether a key is there, and where it comes from\n"
    "       relay auth print-api-key PROVIDER|MODEL"
)


class AuthError(RelayError):
    """A key cannot be stored or found."""


def run(argv: Sequence[str], environ: Mapping[str, str], stdout: TextIO, stderr: TextIO) -> int:
    """The exit code: check gives 0 when a key is there and 1 when not. Raises RelayError."""
    options, report = StartOptions(cwd=Path.cwd(), environ=environ), partial(tell, stderr)
    match list(argv):
        case ["-h" | "--help", *_]:
            stdout.write(USAGE + "\n")
            return 0
        case ["login", name] | ["login", name, "--api-key"]:
            return asyncio.run(_login(look_around(options, report), name, stdout, stderr))
        case ["logout", name]:
            return asyncio.run(_logout(look_around(options, report), name, stdout))
        case ["check", name]:
            return _check(look_around(options, report), name, stdout)
        case ["print-api-key", name]:
            return asyncio.run(_print_key(look_around(options, report), name, stdout))
        case _:
            raise UsageError(USAGE)


async def _login(around: Surroundings, name: str, stdout: TextIO, stderr: TextIO) -> int:
    provider = _provider(around, name)
    key = await asyncio.to_thread(_read_key, provider, stderr)
    if not key:
        raise AuthError(f"No key was given for {provider.name}; nothing was stored.")
    await around.credentials.save(provider.id, key)
    stdout.write(f"The key of {provider.name} is stored in {around.agent / 'auth.json'}.\n")
    return 0


async def _logout(around: Surroundings, name: str, stdout: TextIO) -> int:
    provider = _provider(around, name)
    gone = await around.credentials.remove(provider.id)
    what = "is deleted from" if gone else "was not in"
    stdout.write(f"The key of {provider.name} {what} {around.agent / 'auth.json'}.\n")
    return 0


def _check(around: Surroundings, name: str, stdout: TextIO) -> int:
    provider = _provider(around, _provider_of(around, name))
    source = around.credentials.source(provider.id)
    ready = source is not None and around.credentials.has(provider.id)
    stdout.write(
        f"ready: {provider.name}, {source}\n" if ready else f"not ready: {provider.name} has no key\n"
    )
    return 0 if ready else 1


async def _print_key(around: Surroundings, name: str, stdout: TextIO) -> int:
    provider = _provider(around, _provider_of(around, name))
    models = around.catalog.models(provider.id)
    if not models:
        raise AuthError(f"{provider.name} has no model whose key could be printed.")
    resolved = await around.credentials.resolve(models[0])
    if resolved.api_key is None:
        raise AuthError(f"{provider.name} has no API key.")
    stdout.write(resolved.api_key + "\n")
    return 0


def _provider_of(around: Surroundings, name: str) -> str:
    """The provider that `name` is, or whose model it is."""
    if around.catalog.provider(name) is not None:
        return name
    try:
        return resolve_model(around.catalog, name, has_key=around.credentials.has).model.provider
    except ProviderError:
        return name


def _provider(around: Surroundings, name: str) -> Provider:
    provider = around.catalog.provider(name)
    if provider is None:
        near = near_matches([known.id for known in around.catalog.providers()], name)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise AuthError(f"There is no provider {name}.{hint} Providers can be added in models.json.")
    return provider


def _read_key(provider: Provider, stderr: TextIO) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(f"API key of {provider.name}: ", stderr).strip()
    return sys.stdin.readline().strip()
