"""Where keys and headers come from, in which order, and what is said when there are none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from relay.ai.auth.credentials import Credentials
from relay.ai.auth.storage import AuthFile
from relay.ai.catalog import load_catalog
from relay.ai.errors import ProviderError
from relay.ai.model import Model
from relay.base.errors import RelayError
from tests.shared import shared

SERVER: dict[str, Any] = {
    "baseUrl": "http://127.0.0.1:9/v1",
    "api": "openai-completions",
    "models": [{"id": "m"}],
}


def credentials(
    folder: Path, providers: Any = None, auth: Any = None, extra: tuple[Model, ...] = (), **env: str
) -> Credentials:
    (folder / "models.json").write_text(json.dumps({"providers": providers or {}}))
    if auth is not None:
        (folder / "auth.json").write_text(auth if isinstance(auth, str) else json.dumps(auth))
    environ = {"PATH": os.environ["PATH"], **env}
    return Credentials(load_catalog(folder, extra=extra), AuthFile(folder / "auth.json"), environ)


def model(own: Credentials, provider: str, id: str = "m") -> Model:
    found = own.catalog.get(provider, id) or own.catalog.made_up(provider, id)
    assert found is not None
    return found


async def key(own: Credentials, provider: str) -> str | None:
    return (await own.resolve(model(own, provider))).api_key


async def failure(own: Credentials, provider: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await own.resolve(model(own, provider))
    return caught.value


def stored(key: str, **more: Any) -> dict[str, Any]:
    return {"type": "api_key", "key": key, **more}


async def test_the_first_source_wins_and_the_others_are_not_evaluated(tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    def tell(name: str) -> str:
        return f"!echo {name} >> {ran}; echo from-{name}"

    both = credentials(
        tmp_path,
        {"openai": {"apiKey": tell("models")}},
        {"openai": stored(tell("auth"))},
        OPENAI_API_KEY="from-env",
    )
    both.override("openai", " given\n")
    assert both.source("openai") == "--api-key"
    assert await key(both, "openai") == "given"
    assert not ran.exists()

    both = credentials(
        tmp_path,
        {"openai": {"apiKey": tell("models")}},
        {"openai": stored(tell("auth"))},
        OPENAI_API_KEY="from-env",
    )
    assert both.source("openai") == str(tmp_path / "auth.json")
    assert not ran.exists()
    assert [await key(both, "openai") for _ in range(3)] == ["from-auth"] * 3
    assert ran.read_text() == "auth\n"

    ran.unlink()
    lower = credentials(tmp_path, {"openai": {"apiKey": tell("models")}}, {}, OPENAI_API_KEY="from-env")
    assert lower.source("openai") == str(tmp_path / "models.json")
    assert await key(lower, "openai") == "from-models"
    assert ran.read_text() == "models\n"

    lowest = credentials(tmp_path, {}, {}, OPENAI_API_KEY="from-env\n")
    assert lowest.source("openai") == "OPENAI_API_KEY"
    assert await key(lowest, "openai") == "from-env"


@pytest.mark.parametrize("where", ["auth", "models"])
async def test_a_source_that_cannot_be_filled_is_an_error_not_a_reason_to_go_on(
    tmp_path: Path, where: str
) -> None:
    providers = {"openai": {"apiKey": "$UNSET_NAME"}} if where == "models" else {}
    auth = {"openai": stored("$UNSET_NAME")} if where == "auth" else {}
    own = credentials(tmp_path, providers, auth, OPENAI_API_KEY="other-account")
    assert not own.has("openai")
    error = await failure(own, "openai")
    assert error.kind == "config"
    assert "UNSET_NAME" in str(error)
    assert str(tmp_path / f"{where}.json") in str(error)


async def test_a_failed_command_is_an_error_that_names_it(tmp_path: Path) -> None:
    own = credentials(tmp_path, {"p": {**SERVER, "apiKey": "!exit 3"}})
    assert own.has("p")
    assert "exit 3" in str(await failure(own, "p"))
    assert "exit code 3" in str(await failure(own, "p"))


@pytest.mark.parametrize("value", ["!printf 'a\\nb'", "a\tb", "kéy"])
async def test_a_value_that_no_header_can_carry_is_refused_before_it_is_sent(
    tmp_path: Path, value: str
) -> None:
    own = credentials(tmp_path, {"p": {**SERVER, "apiKey": value}})
    error = await failure(own, "p")
    assert "providers.p.apiKey" in str(error)
    assert "one line" in str(error)


async def test_a_missing_key_names_every_way_to_give_one(tmp_path: Path) -> None:
    own = credentials(tmp_path, {"p": SERVER})
    assert not own.has("p")
    error = await failure(own, "p")
    assert error.kind == "auth"
    for part in (
        "p/m",
        "relay auth login p",
        str(tmp_path / "auth.json"),
        "--api-key",
        '"apiKey" to providers.p',
    ):
        assert part in str(error)
    known = str(await failure(own, "anthropic"))
    for part in ("Anthropic", "ANTHROPIC_API_KEY", "relay auth login anthropic", "--api-key"):
        assert part in known


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ({"type": "oauth", "access": "x"}, "sign-in"),
        ({"type": "api_key"}, "not of the form"),
        ("k", "not of the form"),
    ],
)
async def test_an_entry_that_is_no_key_is_named_when_nothing_else_helps(
    tmp_path: Path, entry: Any, word: str
) -> None:
    own = credentials(tmp_path, {}, {"openai": entry})
    assert word in str(await failure(own, "openai"))
    with_env = credentials(tmp_path, {}, {"openai": entry}, OPENAI_API_KEY="k")
    assert await key(with_env, "openai") == "k"


async def test_a_broken_auth_file_stops_nothing_else(tmp_path: Path) -> None:
    own = credentials(tmp_path, {}, '{"openai": }', OPENAI_API_KEY="k")
    assert await key(own, "openai") == "k"
    assert "line 1, column 12" in own.problems[0]
    assert own.problems[0] in str(await failure(own, "anthropic"))
    with pytest.raises(RelayError, match="left as it is"):
        await own.save("openai", "k")


async def test_an_entrys_variables_beat_the_environment_for_its_provider(tmp_path: Path) -> None:
    auth = {
        "p": stored("$K", env={"K": "mine"}),
        "q": stored("!echo $K", env={"K": "qs"}),
        "openai": {"env": {"OPENAI_API_KEY": "e"}},
    }
    own = credentials(
        tmp_path, {"p": SERVER, "q": SERVER, "r": {**SERVER, "apiKey": "$K"}}, auth, K="outside"
    )
    assert [await key(own, provider) for provider in ("p", "q", "r", "openai")] == [
        "mine",
        "qs",
        "outside",
        "e",
    ]


async def test_headers_are_filled_in_when_used(tmp_path: Path) -> None:
    headers = {"X-Literal": "v", "X-Var": "${V}-$$", "X-Cmd": "!echo out"}
    own = credentials(tmp_path, {"p": {**SERVER, "apiKey": "k", "headers": headers}}, V="var")
    resolved = await own.resolve(model(own, "p"))
    assert resolved.headers == {"X-Literal": "v", "X-Var": "var-$", "X-Cmd": "out"}
    unset = credentials(tmp_path, {"p": {**SERVER, "apiKey": "k", "headers": {"X-Var": "$V"}}})
    assert unset.has("p")
    assert "providers.p.headers.X-Var" in str(await failure(unset, "p"))


async def test_a_key_in_a_header_is_enough(tmp_path: Path) -> None:
    own = credentials(tmp_path, {"p": {**SERVER, "headers": {"Authorization": "Bearer x"}}})
    assert own.has("p")
    resolved = await own.resolve(model(own, "p"))
    assert (resolved.api_key, resolved.headers) == (None, {"Authorization": "Bearer x"})


async def test_bearer_tokens_go_into_their_own_header(tmp_path: Path) -> None:
    token = credentials(tmp_path, ANTHROPIC_AUTH_TOKEN="t", ANTHROPIC_API_KEY="k")
    resolved = await token.resolve(model(token, "anthropic", "claude-haiku-4-5"))
    assert (resolved.api_key, resolved.headers) == (None, {"authorization": "Bearer t"})
    account = credentials(tmp_path, {}, {"anthropic": stored("sk-ant-oat01-x")})
    resolved = await account.resolve(model(account, "anthropic", "claude-haiku-4-5"))
    assert resolved.api_key is None
    assert resolved.headers["authorization"] == "Bearer sk-ant-oat01-x"
    assert "oauth" in resolved.headers["anthropic-beta"]


async def test_a_gateway_address_is_filled_in(tmp_path: Path) -> None:
    env: dict[str, Any] = {"CLOUDFLARE_API_KEY": "k", "CLOUDFLARE_ACCOUNT_ID": "acc"}
    own = credentials(tmp_path, {}, {}, **env)
    assert not own.has("cloudflare-ai-gateway")
    assert own.has("cloudflare-workers-ai")
    assert "CLOUDFLARE_GATEWAY_ID" in str(await failure(own, "cloudflare-ai-gateway"))
    auth = {"cloudflare-ai-gateway": {"type": "api_key", "env": {"CLOUDFLARE_GATEWAY_ID": "gw"}}}
    own = credentials(tmp_path, {}, auth, **env)
    assert own.has("cloudflare-ai-gateway")
    sent = model(own, "cloudflare-ai-gateway")
    resolved = await own.resolve(sent)
    assert resolved.base_url == "https://gateway.ai.cloudflare.com/v1/acc/gw/compat"
    assert (resolved.api_key, resolved.headers) == (None, {"cf-aig-authorization": "Bearer k"})
    ready = resolved.apply(sent)
    assert (ready.base_url, ready.headers["cf-aig-authorization"]) == (resolved.base_url, "Bearer k")


async def test_the_hosts_models_need_no_key(tmp_path: Path) -> None:
    local = Model(id="m", name="m", api="openai-completions", provider="local", base_url="http://127.0.0.1:1")
    own = credentials(tmp_path, {}, {}, (local,))
    assert own.has("local")
    assert await key(own, "local") is None


async def test_saving_and_removing_take_effect_at_once(tmp_path: Path) -> None:
    own = credentials(tmp_path)
    assert not own.has("openai")
    await own.save("openai", " k\n")
    assert own.has("openai")
    assert await key(own, "openai") == "k"
    assert await own.remove("openai")
    assert not own.has("openai")
    assert not await own.remove("openai")


async def test_a_forgotten_command_runs_again(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    own = credentials(tmp_path, {"p": {**SERVER, "apiKey": f"!echo x >> {ran}; wc -l < {ran}"}})
    assert [await key(own, "p"), await key(own, "p")] == ["1", "1"]
    own.forget("p")
    assert await key(own, "p") == "2"


def test_unknown_providers_have_nothing(tmp_path: Path) -> None:
    own = credentials(tmp_path)
    assert not own.has("nobody")
    assert own.source("nobody") is None
    assert not own.has("openai")


async def test_reported_fault_of_key_precedence(tmp_path: Path) -> None:
    folder = shared("field/inputs/G03")
    ran = tmp_path / "KEY_COMMAND_RAN"
    auth_data = (folder / "auth.json").read_text().replace("/tmp/KEY_COMMAND_RAN", str(ran))
    models_data = json.loads((folder / "models.json").read_text().replace("@PORT@", "9"))["providers"]

    given = credentials(tmp_path, models_data, auth_data)
    given.override("mock", "cli")
    assert await key(given, "mock") == "cli"
    assert not ran.exists()
    assert await key(credentials(tmp_path, models_data, auth_data), "mock") == "from-auth"
    assert ran.exists()
    (tmp_path / "auth.json").unlink()
    assert await key(credentials(tmp_path, models_data, FIELD_KEY="value"), "mock") == "value"
    assert "FIELD_KEY" in str(await failure(credentials(tmp_path, models_data), "mock"))
