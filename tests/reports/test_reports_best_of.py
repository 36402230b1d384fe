"""The paper's best of three: computed in the summary, and labelled."""

from caretbench.problem import Score
from caretbench.reports.frame import LoadedRun, build_frame
from caretbench.reports.output.text_output import to_markdown
from caretbench.reports.run_summary import summarise
from tests.support.report_runs import make_problem

PROBLEMS = [make_problem("java", "c", number) for number in range(4)]
PASSES = {"simcopilot/clean@2": "ynnn", "simcopilot/trim@2": "nynn", "simcopilot/repair@2": "yynn"}


def rows(passes: dict[str, str]) -> list[Score]:
    return [
        Score.model_validate(
            {
                "problem_id": problem.id, "model": "m", "scorer": "execution@1", "policy": policy, "profile": "paper",
                "outcome": "passed" if mark == "y" else "failed", "values": {"passed": float(mark == "y")},
            }
        )
        for policy, marks in passes.items()
        for problem, mark in zip(PROBLEMS, marks, strict=False)
    ]  # fmt: skip


def test_the_tests_choose_among_the_steps() -> None:
    summary = summarise(LoadedRun("r", {}, PROBLEMS, [], build_frame(PROBLEMS, rows(PASSES))))
    [entry] = summary.best_of
    assert [estimate.value for estimate in entry.by_step.values()] == [0.25, 0.25, 0.5]
    assert entry.best.value == 0.5
    text = to_markdown(summary)
    assert "Best of three by test result (too high" in text
    assert len(summary.columns) == 3  # the steps stand side by side, and the best of three is no column


def test_a_sample_needs_all_three_verdicts() -> None:
    partly = PASSES | {"simcopilot/repair@2": "yy"}
    [entry] = summarise(LoadedRun("r", {}, PROBLEMS, [], build_frame(PROBLEMS, rows(partly)))).best_of
    assert entry.best.problems == 2
    two = {name: marks for name, marks in PASSES.items() if "repair" not in name}
    assert summarise(LoadedRun("r", {}, PROBLEMS, [], build_frame(PROBLEMS, rows(two)))).best_of == ()
