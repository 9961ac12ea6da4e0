"""The child process that serves one local model: llama.cpp's server on loopback, until its stdin closes.

Reads one JSON line `{"path", "key", "context", "cacheMib"}` from stdin, writes one line `{"url"}` or
`{"error"}` to stdout. llama.cpp logs to stderr, which the parent sends to a file.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any


def serve(options: dict[str, Any]) -> Any:
    """The running server; it ends when it is dropped. Raises what llama.cpp raises for a bad model file."""
    llama = import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = options["path"]
    params.api_keys = [options["key"]]
    params.n_ctx = options["context"]
    params.cache_ram_mib = options["cacheMib"]
    params.port = 0
    params.n_parallel = 1
    params.cors_origins = ""
    params.ui = params.warmup = params.endpoint_slots = False
    params.use_jinja = True
    # llama.cpp's threads wait for each other in busy loops: on a machine whose cores are all taken by them,
    # any other load makes an answer many times slower.
    threads = max(1, (os.cpu_count() or 2) - 1)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    return llama.Server(params)


def main() -> None:
    """Answers once, then waits for the end of stdin."""
    options = json.loads(sys.stdin.readline())
    try:
        server = serve(options)
    except Exception as error:  # noqa: BLE001  whatever llama.cpp raises is told to the parent
        _answer({"error": str(error) or type(error).__name__})
        sys.exit(1)
    _answer({"url": server.listening_address})
    sys.stdin.read()


def _answer(record: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
