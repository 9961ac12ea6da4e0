"""`relay --list-models [search]`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TextIO

from relay.ai.model_table import render_models
from relay.ai.patterns import available_models
from relay.cli.tell import tell
from relay.runtime.start import StartOptions
from relay.runtime.surroundings import look_around


def list_models(search: str, environ: Mapping[str, str], stdout: TextIO, stderr: TextIO) -> int:
    """Writes the models that have credentials, those that match `search` first narrowed; exit code 0."""
    around = look_around(StartOptions(cwd=Path.cwd(), environ=environ), partial(tell, stderr))
    models = available_models(around.catalog, around.credentials.has)
    stdout.write(render_models(models, search))
    return 0
