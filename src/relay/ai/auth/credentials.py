"""Which key and which headers a request to a model carries, and where they come from."""

from __future__ import annotations

import asyncio
import re
from collections import ChainMap
from collections.abc import Mapping

import msgspec

from relay.ai.auth.storage import AuthFile, StoredKey, not_usable
from relay.ai.catalog import Catalog, ConfiguredValue
from relay.ai.errors import ProviderError
from relay.ai.model import Model
from relay.ai.providers import Provider
from relay.ai.values import Commands, fill, is_command, variables

_PLACEHOLDER = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")
_KEY_HEADERS = frozenset({"authorization", "x-api-key", "api-key", "x-goog-api-key"})
_ACCOUNT_TOKEN = "sk-ant-oat"
_ACCOUNT_BETA = {"anthropic-beta": "oauth-2025-04-20"}


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """What a request needs besides its model: the key, or none, and headers that go over the model's own."""

    api_key: str | None
    headers: dict[str, str]
    base_url: str
    """The model's address with its placeholders filled in."""

    def apply(self, model: Model) -> Model:
        """`model` ready to be sent to."""
        headers = {**model.headers, **self.headers}
        return msgspec.structs.replace(model, headers=headers, base_url=self.base_url)


class _Key(msgspec.Struct, frozen=True):
    value: str
    bearer: bool = False
    """A token that goes into `Authorization` although the provider has another place for its key."""


class Credentials:
    """Resolves keys in this order, where nothing below the first source that exists is looked at:

    the key given for this run, auth.json, `apiKey` of models.json, the provider's environment variables.
    """

    def __init__(
        self,
        catalog: Catalog,
        auth_file: AuthFile,
        environ: Mapping[str, str],
        *,
        commands: Commands | None = None,
    ) -> None:
        self.catalog = catalog
        """Replaced by its owner when models.json was read again."""
        self._file = auth_file
        self._environ = environ
        self._commands = commands or Commands()
        self._given: dict[str, str] = {}

    @property
    def problems(self) -> list[str]:
        """What is wrong with auth.json, as finished sentences."""
        return [self._file.problem] if self._file.problem else []

    def override(self, provider: str, key: str) -> None:
        """Use `key` for this run (`--api-key`); it is never written anywhere."""
        self._given[provider] = key

    def has(self, provider: str) -> bool:
        """Whether a request could carry credentials. Runs no command: a command counts as a key."""
        known = self.catalog.provider(provider)
        if known is None or self.source(provider) is None:
            return False
        env = self._environment(self._file.stored(known.id))
        return all(env.get(name) for name in known.needs)

    def source(self, provider: str) -> str | None:
        """Where the provider's credentials come from, in words, or None: there are none that could work."""
        known = self.catalog.provider(provider)
        if known is None:
            return None
        if self._given.get(known.id):
            return "--api-key"
        stored = self._file.stored(known.id)
        if stored is not None and stored.key:
            return str(self._file.path) if self._can_fill(stored.key, stored) else None
        configured = self.catalog.key_value(known.id)
        if configured is not None:
            return str(self.catalog.path) if self._can_fill(configured.value, None) else None
        env = self._environment(stored)
        variable = next((name for name in (*known.bearer_env, *known.env) if env.get(name)), None)
        if variable is not None:
            return variable
        if not known.needs_key:
            return "no key needed"
        return str(self.catalog.path) if self._configured_header(known.id) else None

    async def resolve(self, model: Model) -> Resolved:
        """The key and headers of a request to `model`; runs commands that were not run before.

        Raises ProviderError: auth when there is no key, config when a value cannot be made.
        """
        provider = self.catalog.provider(model.provider) or Provider(id=model.provider, name=model.provider)
        given = self._given.get(provider.id)
        stored = self._file.stored(provider.id) if not given or provider.needs else None
        env = self._environment(stored)
        headers = await self._headers(model, env)
        if given:
            key: _Key | None = _Key(_clean(given, "The key given with --api-key"))
        else:
            key = await self._key(provider, stored, env)
        if key is None and provider.needs_key and not _KEY_HEADERS & {name.lower() for name in headers}:
            raise self._missing(model, provider)
        return Resolved(
            api_key=None if key is None or key.bearer or provider.key_header else key.value,
            headers={**_key_headers(model, provider, key), **headers},
            base_url=_fill_address(model, env),
        )

    def forget(self, provider: str) -> None:
        """Let the provider's commands run again, after the server refused what they printed."""
        stored = self._file.stored(provider)
        configured = self.catalog.key_value(provider)
        for value in (stored.key if stored else "", configured.value if configured else ""):
            self._commands.forget(value)

    async def save(self, provider: str, key: str) -> None:
        """Store an API key in auth.json. Raises RelayError, and then the file is as it was."""
        await asyncio.to_thread(self._file.save, provider, key.strip())

    async def remove(self, provider: str) -> bool:
        """Delete what auth.json holds for the provider; whether that was anything."""
        return await asyncio.to_thread(self._file.remove, provider)

    async def _key(self, provider: Provider, stored: StoredKey | None, env: Mapping[str, str]) -> _Key | None:
        if stored is not None and stored.key:
            where = f"{self._file.path}: {provider.id}.key"
            return _marked(await self._value(ConfiguredValue(stored.key, where), env))
        configured = self.catalog.key_value(provider.id)
        if configured is not None:
            return _marked(await self._value(configured, env))
        for name in (*provider.bearer_env, *provider.env):
            value = env.get(name, "").strip()
            if value:
                return _Key(_clean(value, f"The environment variable {name}"), name in provider.bearer_env)
        return None

    async def _headers(self, model: Model, env: Mapping[str, str]) -> dict[str, str]:
        values = self.catalog.header_values(model)
        return {name: await self._value(value, env) for name, value in values.items()}

    async def _value(self, value: ConfiguredValue, env: Mapping[str, str]) -> str:
        if is_command(value.value):
            result = await self._commands.output(value.value, env, value.where)
        else:
            result = fill(value.value, env, value.where)
        return _clean(result, value.where)

    def _environment(self, stored: StoredKey | None) -> Mapping[str, str]:
        return ChainMap(stored.env, dict(self._environ)) if stored and stored.env else self._environ

    def _can_fill(self, value: str, stored: StoredKey | None) -> bool:
        env = self._environment(stored)
        return all(env.get(name) for name in variables(value))

    def _configured_header(self, provider: str) -> bool:
        model = Model(id="", name="", api="openai-completions", provider=provider, base_url="")
        return bool(_KEY_HEADERS & {name.lower() for name in self.catalog.header_values(model)})

    def _missing(self, model: Model, provider: Provider) -> ProviderError:
        entry = self._file.entry(provider.id)
        if entry is not None:
            return not_usable(self._file.path, provider.id, entry)
        ways = [f"run `relay auth login {provider.id}` to store one in {self._file.path}"]
        if provider.env:
            ways.append(f"set the environment variable {provider.env[0]}")
        ways.append("pass --api-key")
        if not provider.env:
            ways.append(
                f'add "apiKey" to providers.{provider.id} in {self.catalog.path} '
                "(a server that needs no key takes any text)"
            )
        trouble = f" {self._file.problem}" if self._file.problem else ""
        return ProviderError(
            f"There is no API key for {provider.name}, which model {model.key} needs: "
            f"{', '.join(ways[:-1])}, or {ways[-1]}.{trouble}",
            "auth",
        )


def _clean(value: str, where: str) -> str:
    """`value` without white space around it. Raises ProviderError when a header could not carry it."""
    value = value.strip()
    if not (value.isascii() and value.isprintable()):
        raise ProviderError(
            f"{where}: the value holds a line break or another character that an HTTP header cannot "
            "carry; it must be one line of plain ASCII text.",
            "config",
        )
    return value


def _marked(value: str) -> _Key:
    return _Key(value, value.startswith(_ACCOUNT_TOKEN))


def _key_headers(model: Model, provider: Provider, key: _Key | None) -> dict[str, str]:
    """The headers that hold the key where the wire protocol's own place is not the right one."""
    if key is None:
        return {}
    if provider.key_header:
        return {provider.key_header: f"Bearer {key.value}"}
    if key.bearer:
        beta = _ACCOUNT_BETA if key.value.startswith(_ACCOUNT_TOKEN) else {}
        return {"authorization": f"Bearer {key.value}", **beta}
    return {}


def _fill_address(model: Model, env: Mapping[str, str]) -> str:
    """The model's base URL with `{NAME}` replaced; only built-in addresses hold such places."""

    def replace(found: re.Match[str]) -> str:
        value = env.get(found[1], "").strip()
        if not value:
            raise ProviderError(
                f"Model {model.key} needs the environment variable {found[1]}, which is part of the "
                f"address {model.base_url}. Set it, or put it under `env` in the provider's auth.json entry.",
                "config",
            )
        return value

    return _PLACEHOLDER.sub(replace, model.base_url)
