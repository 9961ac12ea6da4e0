"""Which proxy a request goes through: the setting, the environment, and the hosts that go direct."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit


def proxy_for(url: str, setting: str | None, environ: Mapping[str, str]) -> str | None:
    """The proxy's URL, or None for a direct connection.

    `setting` (`httpProxy`) stands for HTTP_PROXY and HTTPS_PROXY; NO_PROXY holds for it too. Variables are
    read in lower and upper case, lower first.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if goes_direct(host, port, _variable(environ, "no_proxy")):
        return None
    found = setting or _variable(environ, f"{parts.scheme}_proxy") or _variable(environ, "all_proxy")
    if not found:
        return None
    return found if "://" in found else f"http://{found}"


def goes_direct(host: str, port: int, no_proxy: str) -> bool:
    """Whether `host:port` matches an entry of NO_PROXY: `*`, a name and all below it, an address, a CIDR."""
    return any(
        _matches(entry.strip().lower(), host, port) for part in no_proxy.split(",") for entry in part.split()
    )


def _variable(environ: Mapping[str, str], name: str) -> str:
    return (environ.get(name) or environ.get(name.upper()) or "").strip()


def _matches(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    name, wanted_port = _split_port(entry)
    if wanted_port is not None and wanted_port != port:
        return False
    if "/" in name:
        return _in_network(host, name)
    name = name.strip("[]").removeprefix("*").removeprefix(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _split_port(entry: str) -> tuple[str, int | None]:
    name, colon, port = entry.rpartition(":")
    if colon and port.isdigit() and (":" not in name or name.endswith("]")):
        return name, int(port)
    return entry, None


def _in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
