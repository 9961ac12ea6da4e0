"""Which local models there are, and how each is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from relay.ai.errors import ProviderError
from relay.ai.local.library import Library, describe

GGUF = b"GGUF\x03\x00\x00\x00rest"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(GGUF)
    return Library(folder)


def test_pulled_models_are_listed_and_described(library: Library) -> None:
    (library.folder / "half.gguf.part").write_bytes(b"")
    (library.folder / "gone.gguf").symlink_to("nowhere")
    assert [(file.id, file.size) for file in library.files()] == [("tiny", len(GGUF))]
    [model] = library.models()
    assert (model.key, model.api) == ("local/tiny", "openai-completions")
    assert model.compat["emulatedTools"]


def test_without_a_folder_there_are_none(tmp_path: Path) -> None:
    assert Library(tmp_path / "absent").files() == []


def test_a_model_is_found_by_name_and_by_path(library: Library, tmp_path: Path) -> None:
    other = tmp_path / "mine.gguf"
    other.write_bytes(GGUF)
    assert library.find("tiny") == library.folder / "tiny.gguf"
    assert library.find(str(other)) == other


def test_a_path_may_begin_at_home(library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.gguf").write_bytes(GGUF)
    assert library.find("~/mine.gguf") == tmp_path / "mine.gguf"


def test_an_absent_model_says_how_to_get_it(library: Library) -> None:
    with pytest.raises(ProviderError, match="`relay local pull smollm2` fetches it"):
        library.find("smollm2")
    with pytest.raises(
        ProviderError, match=r"Give the path of a GGUF file.*Here: tiny; can be pulled: smollm2"
    ):
        library.find("other")


@pytest.mark.parametrize("content", [b"", b"GGU", b"PK\x03\x04zip file", b"GGUF\x00\x00\x00\x03big endian"])
def test_a_file_of_another_kind_is_refused(library: Library, content: bytes) -> None:
    (library.folder / "bad.gguf").write_bytes(content)
    with pytest.raises(ProviderError, match=r"bad\.gguf is not a GGUF model file"):
        library.find("bad")


def test_removing_deletes_the_file_and_names_what_is_left_when_there_is_none(library: Library) -> None:
    assert library.remove("tiny").size == len(GGUF)
    assert library.files() == []
    with pytest.raises(ProviderError, match=r"No local model is named tiny. Here: none"):
        library.remove("tiny")


def test_the_temperature_may_be_changed_but_is_low_by_default() -> None:
    assert describe("tiny").sampling_params["temperature"] < 0.5
