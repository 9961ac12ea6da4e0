"""Turns what the HTTP library raises into ProviderErrors: which host, what happened, what to check."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator

import httpcore2

from relay.ai.errors import ErrorKind, ProviderError
from relay.ai.route import Route


@contextlib.contextmanager
def explained(route: Route) -> Iterator[None]:
    """Raises ProviderError in place of the HTTP library's errors; those of other parts pass."""
    try:
        yield
    except (
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.ProxyError,
        httpcore2.UnsupportedProtocol,
        OSError,
    ) as error:
        raise explain(error, route) from error


def explain(error: Exception, route: Route) -> ProviderError:
    match error:
        case httpcore2.ConnectTimeout():
            text = f"No connection to {route.first} within {_seconds(route.connect_ms)}"
            return _said(text, "Check the network, the base URL and the proxy settings")
        case httpcore2.ReadTimeout() | httpcore2.WriteTimeout():
            text = f"{route.place} was silent for {_seconds(route.idle_ms)}"
            return _said(text, "The setting httpIdleTimeoutMs allows a longer silence, 0 any")
        case httpcore2.TimeoutException() | TimeoutError():
            text = f"{route.place} did not begin to answer within {_seconds(route.total_ms or 0)}"
            return _said(text, "The setting retry.provider.timeoutMs allows more time")
        case httpcore2.ConnectError():
            return _not_connected(error, route)
        case httpcore2.ProxyError():
            return _proxy_refused(error, route)
        case httpcore2.UnsupportedProtocol() | httpcore2.LocalProtocolError():
            return _said(
                f"The request to {route.url} cannot be sent ({error})", "Check the base URL", "config"
            )
        case httpcore2.RemoteProtocolError():
            return _odd_answer(error, route)
        case _:
            cause = _cause(error)
            return _said(f"The connection to {route.place} broke off ({cause})", "")


def _not_connected(error: Exception, route: Route) -> ProviderError:
    root = _root(error)
    if isinstance(root, ssl.SSLCertVerificationError):
        reason = root.verify_message.rstrip(".")
        advice = (
            "If a private authority signed its certificate, name its file in SSL_CERT_FILE or "
            "NODE_EXTRA_CA_CERTS"
        )
        return _said(f"The certificate of {route.place} is not accepted ({reason})", advice)
    if isinstance(root, ssl.SSLError):
        text = f"No TLS connection to {route.place} ({root.reason or root})"
        return _said(text, "Check whether its base URL should begin with http://")
    if isinstance(root, socket.gaierror):
        text = f"The name of {route.first} cannot be resolved ({root.strerror})"
        return _said(text, _where(route, "Check the network and the base URL"))
    if isinstance(root, ConnectionRefusedError):
        text = f"{_capital(route.first)} refuses connections"
        return _said(text, _where(route, "Check that the server runs and that the base URL is right"))
    return _said(
        f"{_capital(route.first)} cannot be reached ({_cause(error)})", _where(route, "Check the network")
    )


def _where(route: Route, otherwise: str) -> str:
    return f"It comes from {route.proxy.source}" if route.proxy else otherwise


def _proxy_refused(error: Exception, route: Route) -> ProviderError:
    said = str(error).strip()
    source = route.proxy.source if route.proxy else "the environment"
    text = f"{_capital(route.first)} refused a tunnel to {route.place} ({said})"
    if said.startswith("407"):
        return _said(text, f"Put user and password into the address in {source}", "auth")
    return _said(text, f"The proxy comes from {source}; NO_PROXY names hosts that need none")


def _odd_answer(error: Exception, route: Route) -> ProviderError:
    said = str(error)
    if said.startswith("illegal"):
        text = f"{route.place} does not answer in HTTP ({said[:120]})"
        return _said(text, "Check host, port and scheme of the base URL", "protocol")
    if "without sending a response" in said:
        return _said(f"{route.place} closed the connection without an answer", "")
    return _said(f"{route.place} broke off in the middle of its answer ({said[:160]})", "")


def _said(text: str, advice: str, kind: ErrorKind = "transport") -> ProviderError:
    return ProviderError(f"{text}. {advice}." if advice else f"{text}.", kind)


def _root(error: BaseException) -> BaseException:
    """The first cause that the system or OpenSSL raised."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError):
            return seen
        # The pool raises again `from None`, which drops the cause and keeps the context.
        seen = seen.__cause__ or seen.__context__
    return error


def _cause(error: BaseException) -> str:
    root = _root(error)
    if isinstance(root, OSError) and root.strerror:
        return root.strerror
    return str(root) or type(root).__name__


def _capital(text: str) -> str:
    return text[0].upper() + text[1:] if text.startswith("the ") else text


def _seconds(ms: int) -> str:
    return f"{ms / 1000:g} s"
