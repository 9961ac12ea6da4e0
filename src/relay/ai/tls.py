"""The TLS context: the system's trust store, and private authorities that the environment names."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping

import truststore

from relay.ai.errors import ProviderError

_CA_FILES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


def make_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Trusts what the system trusts, and also the authorities in SSL_CERT_FILE, SSL_CERT_DIR,
    REQUESTS_CA_BUNDLE and NODE_EXTRA_CA_CERTS. Raises ProviderError for a file that cannot be read.
    """
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    folder = environ.get("SSL_CERT_DIR")
    if folder and os.path.isdir(folder):
        context.load_verify_locations(capath=folder)
    for variable in _CA_FILES:
        path = environ.get(variable)
        if not path:
            continue
        try:
            context.load_verify_locations(cafile=path)
        except (OSError, ssl.SSLError) as error:
            raise ProviderError(
                f"{variable} names {path}, which holds no certificates that can be read: {error}.", "config"
            ) from error
    return context
