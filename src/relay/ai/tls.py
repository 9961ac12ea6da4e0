"""The TLS context: the system's trust store, and private authorities that the environment names."""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Mapping

import truststore

from relay.ai.errors import ProviderError

_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where systems keep their authorities when OpenSSL's own paths lead nowhere."""


def make_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Trusts what the system trusts, and also what SSL_CERT_FILE, SSL_CERT_DIR and NODE_EXTRA_CA_CERTS name.

    Reads files. Raises ProviderError for a path that holds no certificates.
    """
    context = _system_context()
    for variable in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"):
        path = environ.get(variable)
        if path:
            _add(context, variable, path)
    for folder in filter(None, environ.get("SSL_CERT_DIR", "").split(os.pathsep)):
        if not os.path.isdir(folder):
            raise ProviderError(f"SSL_CERT_DIR names {folder}, which is not a folder.", "config")
        context.load_verify_locations(capath=folder)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _system_context() -> ssl.SSLContext:
    if sys.platform in ("win32", "darwin"):
        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # truststore loads the whole bundle again for each handshake here, and OpenSSL before 3.4 keeps them all.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    paths = ssl.get_default_verify_paths()
    bundle = paths.openssl_cafile if os.path.isfile(paths.openssl_cafile) else None
    folder = paths.openssl_capath if _holds_certificates(paths.openssl_capath) else None
    if bundle is None and folder is None:
        bundle = next(filter(os.path.isfile, _BUNDLES), None)
    if bundle or folder:
        context.load_verify_locations(bundle, folder)
    return context


def _holds_certificates(folder: str) -> bool:
    return os.path.isdir(folder) and any(name.endswith(".0") for name in os.listdir(folder))


def _add(context: ssl.SSLContext, variable: str, path: str) -> None:
    try:
        context.load_verify_locations(cafile=path)
    except (OSError, ssl.SSLError) as error:
        # OpenSSL says "[X509] PEM lib" and the like for a file without certificates.
        reason = (
            error.strerror if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) else None
        )
        raise ProviderError(
            f"{variable} names {path}, from which no certificates can be read "
            f"({reason or 'it is no PEM file with certificates'}).",
            "config",
        ) from error
