"""Which proxy a request goes through: the setting, the environment, and the hosts that go direct."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from relay.ai.errors import ProviderError


class Proxy(NamedTuple):
    """`url` has a scheme, a host and a port, and no credentials; `source` says who asked for this proxy."""

    url: str
    auth: tuple[bytes, bytes] | None
    source: str

    @property
    def place(self) -> str:
        return urlsplit(self.url).netloc


def proxy_for(url: str, setting: str | None, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy for `url`, or None for a direct connection.

    `setting` (`httpProxy`) stands for HTTP_PROXY and HTTPS_PROXY; NO_PROXY holds for it too. Variables are
    read in lower and upper case, lower first. Raises ProviderError for an address that cannot be used.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if goes_direct(host, port, _variable(environ, "no_proxy")[0]):
        return None
    if setting and setting.strip():
        return _proxy(setting.strip(), "the setting httpProxy")
    for name in (f"{parts.scheme}_proxy", "all_proxy"):
        value, source = _variable(environ, name)
        if value:
            return _proxy(value, source)
    return None


def goes_direct(host: str, port: int, no_proxy: str) -> bool:
    """Whether `host:port` matches an entry of NO_PROXY: `*`, a name and all below it, an address, a CIDR."""
    host = host.strip("[]").rstrip(".").lower()
    return any(_matches(entry, host, port) for entry in re.split(r"[,\s]+", no_proxy.lower()) if entry)


def _proxy(address: str, source: str) -> Proxy:
    parts = _parts(address if "://" in address else f"http://{address}", source)
    if parts.scheme not in ("http", "https"):
        raise ProviderError(
            f"The proxy of {source} has the scheme {parts.scheme}://, which Relay does not speak; "
            "it speaks to http:// and https:// proxies. NO_PROXY names hosts that need none.",
            "config",
        )
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = parts.port or (443 if parts.scheme == "https" else 80)
    auth = None
    if parts.username is not None:
        auth = (unquote(parts.username).encode(), unquote(parts.password or "").encode())
    return Proxy(f"{parts.scheme}://{host}:{port}", auth, source)


def _parts(address: str, source: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        if parts.hostname and parts.port != 0:
            return parts
    except ValueError:
        pass
    # The address itself may hold a password and is not repeated.
    raise ProviderError(
        f"The proxy address of {source} has no host and port that can be read; it should look like "
        "http://proxy.example:3128.",
        "config",
    )


def _variable(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """Value and the name under which it was found."""
    for spelling in (name, name.upper()):
        value = environ.get(spelling, "").strip()
        if value:
            return value, spelling
    return "", name


def _matches(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    name, wanted_port = _split_port(entry)
    if wanted_port is not None and wanted_port != port:
        return False
    name = name.strip("[]")
    address = _address(host)
    if address is not None:
        return _covers(name, address)
    name = name.removeprefix("*").removeprefix(".").rstrip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _split_port(entry: str) -> tuple[str, int | None]:
    name, colon, port = entry.rpartition(":")
    if colon and port.isdecimal() and (":" not in name or name.endswith("]")):
        return name, int(port)
    return entry, None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _covers(network: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
