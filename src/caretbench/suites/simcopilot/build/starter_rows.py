"""Row of the starter set for a mined task."""

from __future__ import annotations

from collections.abc import Sequence

from caretbench.build.projects.setup.command_detection import NamedCheck
from caretbench.errors import DataError
from caretbench.problem import Problem
from caretbench.projects.answer_requests import file_splice, tests_check
from caretbench.suites.simcopilot.starter import StarterTask, text_digest


def starter_task(problem: Problem, content: bytes, checks: Sequence[NamedCheck]) -> StarterTask:
    """Return a mined task without its texts; its check is the first of ``checks`` for its file.

    Raises:
        DataError: the problem is no mined task, or no check is for its file.
    """
    splice, decides = file_splice(problem), tests_check(problem)
    check = next((entry for entry in checks if entry.applies_to(splice.path)), None)
    if check is None:
        raise DataError(f"{problem.id}: no check of the project is for {splice.path}")
    return StarterTask.model_validate(
        {
            "path": splice.path, "sha256": text_digest(content), "start": splice.start, "end": splice.end,
            "newline": splice.newline, "language": problem.caret.language, "mode": problem.label("mode"),
            "check": check.name, "minimum_tests": decides.minimum_tests, "reference_s": decides.reference_s,
            "overlap_group": problem.overlap_group, "labels": problem.labels,
        }
    )  # fmt: skip
