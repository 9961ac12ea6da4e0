from __future__ import annotations

import pytest

from relay import __version__
from relay.cli.main import main


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == __version__ + "\n"
    assert main(["-p", "--version"]) == 0


def test_the_help_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("Relay") and captured.err == ""


def test_wrong_usage_is_2_and_a_sentence_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--nonsense"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and "--nonsense" in captured.err


def test_an_error_is_a_sentence_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = ["config", "set", "retry.maxRetries", "three"]
    assert main(wrong) in (1, 2)
    captured = capsys.readouterr()
    assert captured.out == "" and "retry.maxRetries" in captured.err and "Traceback" not in captured.err
