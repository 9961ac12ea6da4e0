"""The system prompt's texts: options before files, the trusted project's file before the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from relay.config.system_prompt_files import PromptFolders, SystemPromptTexts, find_system_prompt


class Place:
    """A working directory, an agent directory and a project folder, all with their files."""

    def __init__(self, root: Path) -> None:
        self.agent, self.project = root / "agent", root / ".relay"
        for folder, name in ((self.agent, "user"), (self.project, "project")):
            folder.mkdir()
            (folder / "SYSTEM.md").write_text(f"{name} system")
            (folder / "APPEND_SYSTEM.md").write_text(f"{name} addition")
        (root / "notes.md").write_text("from notes")
        self.root = root

    def find(
        self, *, trusted: bool = False, system: str | None = None, append: tuple[str, ...] = ()
    ) -> SystemPromptTexts:
        folders = PromptFolders(
            cwd=self.root, agent=self.agent, project=self.project if trusted else None, home=self.root
        )
        return find_system_prompt(folders, system=system, append=append)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_files_of_a_trusted_project_go_first_and_are_not_joined(place: Place) -> None:
    assert place.find() == SystemPromptTexts(preamble="user system", addenda=("user addition",))
    assert place.find(trusted=True) == SystemPromptTexts(
        preamble="project system", addenda=("project addition",)
    )
    (place.project / "SYSTEM.md").unlink()
    assert place.find(trusted=True).preamble == "user system"


def test_options_stand_in_place_of_the_files(place: Place) -> None:
    found = place.find(trusted=True, system="be brief", append=("one", "", "notes.md", "~/notes.md"))
    assert found == SystemPromptTexts(preamble="be brief", addenda=("one", "from notes", "from notes"))
    assert place.find(system="notes.md").preamble == "from notes"
    assert place.find(system="").preamble is None
    assert place.find(append=("",)).addenda == ()


def test_an_empty_file_means_relays_own_prompt(place: Place) -> None:
    (place.agent / "SYSTEM.md").write_text(" \n")
    (place.agent / "APPEND_SYSTEM.md").write_text("")
    assert place.find() == SystemPromptTexts()


@pytest.mark.parametrize("text", ["x" * 100_000, "a\0b", "Answer in German.", "line\nnext.md", "."])
def test_text_that_is_no_file_is_taken_as_it_stands(place: Place, text: str) -> None:
    assert place.find(system=text) == SystemPromptTexts(preamble=text, addenda=("user addition",))


def test_a_name_that_looks_like_a_file_is_pointed_out(place: Place) -> None:
    found = place.find(append=("nots.md",))
    assert found.addenda == ("nots.md",)
    assert "There is no file" in found.problems[0]


def test_odd_content_is_named(place: Place) -> None:
    (place.agent / "SYSTEM.md").write_bytes(b"caf\xe9")
    found = place.find()
    assert found.preamble == "caf�" and "UTF-8" in found.problems[0]
