"""Rules of the profiles, and scores of answers that need no execution: edit similarity, lines, emptiness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from caretbench.metrics.similarity import indel_similarity, similarities
from caretbench.problem import Problem, Profile, TestsCheck
from caretbench.profiles import ProfileRule, ProfileRules, default_only, paper_only
from caretbench.suites.suite_types import Measurement

if TYPE_CHECKING:
    from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest

PAPER_POLICY: Final = "codevbench/answer"
"""Policy of the profile ``paper``, for runs with models of both kinds."""


class CodevBenchProfile(ProfileRules):
    """Scoring rules of Codev-Bench's profiles ``paper`` and ``default``."""

    policy = ProfileRule("Default truncation policy", paper=PAPER_POLICY, default="block")
    strips_similarity = default_only(
        "Texts that edit similarity (ES) compares",
        paper="answer and reference as they are",
        default="answer and reference without blanks around them",
    )
    counts_line_breaks = paper_only(
        "Lines of an answer",
        paper="its line feeds, and one more: the empty answer has one",
        default="its lines: the empty answer has none",
    )
    every_test_passes = paper_only(
        "Condition on the tests",
        paper="the command exits with 0, and as many tests pass as are named: a skipped test fails",
        default="the command exits with 0, and at least the number of tests passes that the problem asks for",
    )


def request_under(request: WorkspaceRequest, check: TestsCheck, profile: Profile) -> WorkspaceRequest:
    """Return the request that decides about an answer under a profile: see ``every_test_passes``."""
    least = max(request.minimum_tests, len(check.tests))
    if not CodevBenchProfile(profile).every_test_passes or least == request.minimum_tests or not request.junit:
        return request
    return request.model_copy(update={"minimum_tests": least})


SIMILARITY: Final = "indel_similarity"
"""Edit similarity (ES) from 0 to 1; ``fuzz.ratio`` of the paper's code is the same formula."""
ANSWER_LINES: Final = "answer_lines"
"""Lines of the inserted text."""
EMPTY_ANSWER: Final = "empty_answer"
"""1 if the inserted text is blank, else 0."""


def measured(problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
    """Return the scores of an inserted text; none of them counts as a check."""
    rules = CodevBenchProfile(profile)
    answer = text or ""
    extent = {ANSWER_LINES: float(answer_lines(answer, profile)), EMPTY_ANSWER: float(not answer.strip())}
    return [_similarity(problem, text, rules), Measurement("extent@1", extent)]


def answer_lines(text: str, profile: Profile) -> int:
    """Return the number of lines of a text, as the profile counts them."""
    breaks = text.count("\n")
    # Without the paper's rule a final line break ends a line and begins none.
    one_more = CodevBenchProfile(profile).counts_line_breaks or (text != "" and not text.endswith("\n"))
    return breaks + one_more


def _similarity(problem: Problem, text: str | None, rules: CodevBenchProfile) -> Measurement:
    if rules.strips_similarity:
        [likeness] = similarities([(text, problem.reference)])
        return Measurement("similarity@1", likeness._asdict())
    return Measurement("edit-similarity@1", {SIMILARITY: indel_similarity(text or "", problem.reference)})
