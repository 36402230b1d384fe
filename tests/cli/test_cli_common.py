"""Progress of commands, and their tables."""

import re
import time

import pytest

from caretbench.cli.common import StepProgress, print_table


def test_a_step_that_reports_nothing_is_shown_with_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    said = ""
    with StepProgress(every_s=0.05) as steps:
        steps("tests as they are", 0, 3)
        end = time.monotonic() + 30
        while " now" not in said and time.monotonic() < end:
            time.sleep(0.02)
            said += capsys.readouterr().err
    assert re.search(r"^tests as they are: 0 of 3, for \d+ s now$", said, re.MULTILINE)


def test_a_quiet_command_shows_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with StepProgress(quiet=True, every_s=0.01) as steps:
        steps("tests as they are", 1, 3)
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("terminal", "width", "stacked"), [(True, "20", True), (True, "90", False), (False, "20", False)]
)
def test_a_table_that_is_wider_than_the_terminal_is_stacked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool, width: str, stacked: bool
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    print_table([("python", "some words of a note")], ("Language", "Note"))
    assert (capsys.readouterr().out == "python\n  Note: some words\n    of a note\n") is stacked


def test_a_step_with_a_total_shows_its_rate_and_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    """What an earlier call has stored is no part of the rate."""
    with StepProgress(every_s=0.0) as steps:
        steps("files", 900, 1000)
        time.sleep(0.2)
        steps("files", 50, 1000)
        steps("files", 50, 1000)
    lines = capsys.readouterr().err.splitlines()
    rates = [re.fullmatch(r"files: 950 of 1000, ([\d.]+) a second, \d+ s left", line) for line in lines]
    [rate] = {float(found[1]) for found in rates if found}
    assert 10 < rate <= 250
    assert lines[-1] == "files: 1000 of 1000"
