"""MPR-Gen without a judge: how right the lines are, and what copying reaches."""

from __future__ import annotations

import pytest

from caretbench.problem import ContextFile, CriterionCheck, NoSplice, Problem, Provenance, Question
from caretbench.suites import load_suite
from caretbench.suites.efcb.masked_answers import (
    COPY_BASELINES,
    MEASURE_NAMES,
    copy_previous_lines,
    copy_removed_lines,
    masked_scores,
    read_masked_patch,
)

PATCH = """\
a.go
@@ -1,5 +1,6 @@ func A() {
 \tone(first)
 \ttwo(second)
-\tthree(third, other)
[[MASK]]
[[MASK]]
 \tfour()
 }
---
"""
ANSWER = "\tthree(third, another)\n\tthree(fourth, another)"


def problem_of(reference: str = ANSWER, patch: str = PATCH, path: str = "a.go", tier: str = "changed") -> Problem:
    return Problem(
        id="name/mpr-gen/1",
        suite="efcb",
        shown=Question(text="Write them.", context=(ContextFile(path="patch.diff", text=patch),)),
        splice=NoSplice(),
        reference=reference,
        checks=(CriterionCheck(name="efcb-masked", maximum=10.0),),
        labels={"task": "mpr-gen", "tier": tier, "mask_path": path},
        cluster="owner/name@1",
        provenance=Provenance(source="a test"),
    )


def test_the_right_lines_get_all() -> None:
    values = masked_scores(problem_of(), f"```go\n{ANSWER}\n```")
    assert {name: values[name] for name in (*MEASURE_NAMES, "syntax_valid", "answered")} == dict.fromkeys(
        (*MEASURE_NAMES, "syntax_valid", "answered"), 1.0
    )
    assert values["net"] == 1 - values["floor"]


@pytest.mark.parametrize("text", [None, "", "[[MASK]]\n[[MASK]]", PATCH, "<think>"])
def test_nothing_gets_nothing(text: str | None) -> None:
    values = masked_scores(problem_of(), text)
    assert {values[name] for name in (*MEASURE_NAMES, "syntax_valid", "answered")} == {0.0}
    assert values["net"] == -values["floor"] < 0


def test_measures_of_a_half_right_answer() -> None:
    values = masked_scores(problem_of(), "\tthree(third, another)\n\tthree(fifth, (another)")
    assert values["exact_match"] == 0.0
    assert values["identifier_f1"] == pytest.approx(5 / 6)
    assert values["edit_similarity"] == pytest.approx(1 - 4 / 45)  # our becomes if, and a bracket more
    assert values["syntax_valid"] == 0.0
    assert 0.7 < values["chrf"] < 1


def test_indentation_at_the_ends_and_blanks_behind_lines_are_forgiven() -> None:
    values = masked_scores(problem_of(), "three(third, another)  \n\tthree(fourth, another)")
    assert values["exact_match"] == values["edit_similarity"] == 1.0


def test_error_kinds_are_those_of_the_lines_in_their_hunk() -> None:
    def kinds(text: str | None, problem: Problem) -> set[str]:
        [measured] = load_suite("efcb").measure_error_kinds(problem, text)
        return {name for name, value in measured.values.items() if value}

    problem = problem_of()
    assert kinds(ANSWER, problem) == kinds(f"```go\n{ANSWER}\n```", problem) == set()
    assert kinds(None, problem) == {"empty_when_due"}
    assert "wrong_call" in kinds(ANSWER.replace("three", "other"), problem)
    assert "over_generation" in kinds(f"{ANSWER}\n\tfive()", problem)
    assert "incomplete" in kinds("\tthree(third, another)", problem_of(path="a.unknown"))


def test_an_unknown_language_is_not_checked() -> None:
    values = masked_scores(problem_of(path="a.unknown"), "three(third, (((")
    assert "syntax_valid" not in values
    assert values["identifier_f1"] == pytest.approx(2 * 2 / (2 + 6))


def test_floors_copy_what_is_shown() -> None:
    shown = read_masked_patch(problem_of())
    assert copy_previous_lines(shown) == "\tone(first)\n\ttwo(second)"
    assert copy_removed_lines(shown) == "\tthree(third, other)"
    values = masked_scores(problem_of(), None)
    assert values["floor_empty"] == 0.0
    assert values["floor"] == max(values[f"floor_{name}"] for name in COPY_BASELINES) == values["floor_deleted_lines"]
    assert masked_scores(problem_of(), "\tthree(third, other)")["net"] == 0.0


def test_without_removed_lines_before_the_masks_all_of_the_hunk_are_taken() -> None:
    patch = PATCH.replace("-\tthree(third, other)\n", "").replace("\tfour()\n", "\tfour()\n-\tfive()\n")
    assert copy_removed_lines(read_masked_patch(problem_of(patch=patch))) == "\tfive()"


def test_the_paper_compares_whole_patches_and_copying_reaches_much() -> None:
    whole = PATCH.replace("[[MASK]]\n[[MASK]]\n", "".join(f"+{line}\n" for line in ANSWER.split("\n")))
    problem = problem_of(whole, tier="paper")
    assert masked_scores(problem, f"```diff\n{whole}```")["exact_match"] == 1.0
    values = masked_scores(problem, PATCH.replace("[[MASK]]\n", ""))
    assert values["net"] == 0.0
    assert values["floor"] == values["edit_similarity"] > 0.5
    assert "syntax_valid" not in values


def test_another_problem_is_refused() -> None:
    with pytest.raises(ValueError, match="no patch"):
        masked_scores(problem_of(patch="a.go\n"), "x")
