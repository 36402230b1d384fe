from __future__ import annotations

from caretbench.build.validation.reviewed import problem_hash
from caretbench.suites.devbench.starter import problem_of_text


def test_a_review_is_of_the_hidden_tests_too() -> None:
    shown = "def double(x):\n    ⟦return 2 * x⟧\n"
    problems = [problem_of_text(shown + tests, "python/low_context/x", "made")
                for tests in ("", "⟦tests⟧\nassert double(2) == 4\n", "⟦tests⟧\npass\n")]  # fmt: skip
    assert len({problem_hash(problem) for problem in problems}) == 3
    assert [problem.hidden_tests for problem in problems] == ["", "assert double(2) == 4\n", "pass\n"]
