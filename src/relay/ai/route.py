"""Where a request goes and how long it may take."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from relay.ai.proxy import Proxy


class Route(NamedTuple):
    """Where a request goes; the times are its limits in milliseconds, 0 or None for none."""

    url: str
    proxy: Proxy | None
    idle_ms: int
    connect_ms: int
    total_ms: int | None

    @property
    def host(self) -> str:
        """What the Host header says: the port only where it is not the scheme's own."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def place(self) -> str:
        """`host:port`."""
        parts = urlsplit(self.url)
        return self.host if parts.port else f"{self.host}:{443 if parts.scheme == 'https' else 80}"

    @property
    def first(self) -> str:
        """What is connected to: the proxy, if there is one, else the host."""
        return f"the proxy {self.proxy.place}" if self.proxy else self.place
