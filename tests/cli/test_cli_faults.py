"""Errors of a command: one line and status 2 for a mistake of the user, status 70 for an exception nobody foresaw."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench import RunConfig, UsageError, generate
from caretbench.cli import main
from caretbench.runs.plans import plan
from caretbench.suites import selection


@pytest.fixture
def levels() -> Iterator[None]:
    """Restore the logging of the process."""
    root, ours = logging.getLogger(), logging.getLogger("caretbench")
    handlers, level = [*root.handlers], ours.level
    yield
    root.handlers[:] = handlers
    ours.setLevel(level)


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> object:
    monkeypatch.setattr(sys, "argv", ["caretbench", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


COMMAND = ("score", "devbench", "--limit", "1", "--no-execute")


@pytest.mark.parametrize(
    "error", [KeyError("labels"), ValueError("not enough values to unpack"), AttributeError("text"), TypeError()]
)
def test_an_exception_that_nobody_foresaw_is_reported_as_a_fault_of_ours(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], levels: None
) -> None:
    """A KeyError and a ValueError were printed as one line, as if the user had named something wrong."""

    def fail(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(selection.Selection, "apply", fail)
    words = (*COMMAND, "-o", str(tmp_path / "run"))
    assert run(monkeypatch, *words) == 70
    message = capsys.readouterr().err
    assert message.startswith(f"caretbench: {type(error).__name__}")
    assert "suite_settings.py:" in message
    assert "fault of CaretBench" in message
    assert f"caretbench {' '.join(words)} --debug" in message
    assert "Traceback" not in message
    for debugged in (("--debug", *words), (*words, "--debug")):
        assert run(monkeypatch, *debugged) == 70
        message = capsys.readouterr().err
        assert message.startswith("Traceback")
        assert 'test_cli_faults.py", line' in message


def test_a_foreseen_error_has_one_line_and_a_traceback_only_where_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], levels: None
) -> None:
    assert run(monkeypatch, "list", "nope") == 2
    message = capsys.readouterr().err
    assert message.startswith("caretbench: unknown suite 'nope'; known: devbench")
    assert message.count("\n") == 1
    assert run(monkeypatch, "list", "nope", "--debug") == 2
    debugged = capsys.readouterr().err
    assert debugged.startswith("Traceback")
    assert debugged.endswith(message)


def test_an_error_of_the_system_is_still_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object) -> None:
        raise PermissionError(13, "Permission denied", "/somewhere")

    monkeypatch.setattr(selection.Selection, "apply", fail)
    assert run(monkeypatch, *COMMAND) == 2
    assert capsys.readouterr().err == "caretbench: /somewhere: permission denied; choose another path\n"


def test_a_key_in_the_command_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyz"
    monkeypatch.setenv("OPENAI_API_KEY", key)

    def fail(*_arguments: object) -> None:
        raise KeyError(key)

    monkeypatch.setattr(selection.Selection, "apply", fail)
    assert run(monkeypatch, *COMMAND, "-o", f"runs/{key}") == 70
    assert key not in capsys.readouterr().err
    # A mistake of the user's is answered with what was typed.
    address = "https://me:parole-of-mine@host.example/a b"
    assert run(monkeypatch, "build", "efcb", address, "-o", str(tmp_path / "built")) == 2
    message = capsys.readouterr().err
    assert "host.example" in message
    assert "parole-of-mine" not in message


def test_a_fault_of_ours_is_not_reported_as_a_key_of_the_run_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_name: str) -> None:
        raise KeyError("presets")

    file = tmp_path / "run.toml"
    file.write_text('[[suites]]\nname = "devbench"\n[[models]]\nspec = "fake/a"\npreset = "greedy"\n')
    config = RunConfig.load(file)
    with pytest.raises(UsageError, match="unknown preset"):
        generate(config.model_copy(update={"models": (config.models[0].model_copy(update={"preset": "no"}),)}))
    monkeypatch.setattr(plan, "sampling_preset", fail)
    with pytest.raises(KeyError):
        plan.ResolvedRun.from_config(config, file)


@pytest.mark.parametrize(
    "words",
    [
        ("report", "run", "--samples", "-1"),
        ("compare", "run", "--seed", "-1"),
        ("dataset", "holdout", "release", "run", "--seed", "-1"),
    ],
)
def test_a_number_below_its_bound_is_the_users_mistake(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """NumPy and polars refuse them by exceptions of their own, which ended as faults of ours."""
    assert run(monkeypatch, *words) == 2
    assert words[-2] in capsys.readouterr().err
