"""Progress of commands."""

import re
import time

import pytest

from caretbench.cli.common import StepProgress


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
