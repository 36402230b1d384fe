import numpy as np
import pytest

from caretbench.files import DataError
from caretbench.people.releases.holdout import HoldoutReport, holdout_report
from caretbench.problem import Score
from caretbench.reports.frame import LoadedRun, build_frame
from caretbench.reports.results.run_settings import IncomparableError
from tests.support.report_runs import make_problem

PROBLEMS = [make_problem(language, "api_usage", number) for language in ("python", "java") for number in range(100)]
HELD = {one.id for one in PROBLEMS if int(one.id.rsplit("/", 1)[1].split("-")[-1]) % 4 == 0}
PUBLIC = {one.id for one in PROBLEMS} - HELD


def run_of(name: str, rates: dict[str, tuple[float, float]], problems=PROBLEMS, **manifest: object) -> LoadedRun:
    """A run of models with a public and a held-out pass rate."""
    generator = np.random.default_rng(5)
    scores = [
        Score(
            problem_id=problem.id, model=model, scorer="execution@1", policy="raw", profile="default",
            outcome="passed" if passed else "failed", values={"passed": float(passed)},
        )
        for model, (public, held) in rates.items()
        for problem in problems
        for passed in [generator.random() < (held if problem.id in HELD else public)]
    ]  # fmt: skip
    fields = {"data": {"hash": name}, "policy": "raw", "profile": "default", "isolation": {"level": "namespaces"}}
    return LoadedRun(name, fields | manifest, problems, [], build_frame(problems, scores))


def verdicts(report: HoldoutReport, *, against_others: bool) -> dict[str, str]:
    return {row.model: row.verdict for row in report.rows if row.against_others is against_others}


def test_a_model_that_remembers_the_public_part_is_found() -> None:
    run = run_of("whole", {"honest": (0.5, 0.5), "other": (0.6, 0.6), "remembers": (0.9, 0.45)})
    report = holdout_report([run], PUBLIC, HELD)
    assert verdicts(report, against_others=False) == {
        "honest": "not distinguishable", "other": "not distinguishable", "remembers": "higher on the public part",
    }  # fmt: skip
    row = next(row for row in report.rows if row.model == "remembers" and not row.against_others)
    assert (row.public_problems, row.holdout_problems) == (150, 50)
    assert row.low is not None
    assert 0 < row.low < row.difference < 0.7


def test_a_harder_hold_out_is_no_memory() -> None:
    run = run_of("whole", {"a": (0.8, 0.4), "b": (0.8, 0.4), "c": (0.8, 0.4)})
    report = holdout_report([run], PUBLIC, HELD)
    assert {*verdicts(report, against_others=False).values()} == {"higher on the public part"}
    assert {*verdicts(report, against_others=True).values()} == {"not distinguishable"}


def test_each_part_may_have_its_run() -> None:
    rates = {"honest": (0.5, 0.5), "remembers": (0.9, 0.4)}
    whole = holdout_report([run_of("whole", rates)], PUBLIC, HELD)
    parts = [
        run_of(name, rates, [one for one in PROBLEMS if one.id in ids]) for name, ids in (("p", PUBLIC), ("h", HELD))
    ]
    both = holdout_report(parts, PUBLIC, HELD)
    assert [(row.model, row.public_problems, row.holdout_problems) for row in both.rows] == [
        (row.model, row.public_problems, row.holdout_problems) for row in whole.rows
    ]


def test_a_single_model_has_no_row_against_others() -> None:
    report = holdout_report([run_of("whole", {"a": (0.5, 0.5)})], PUBLIC, HELD)
    assert [row.against_others for row in report.rows] == [False]


def test_runs_with_other_settings_and_runs_of_one_part_are_refused() -> None:
    public = run_of("p", {"a": (0.5, 0.5)}, [one for one in PROBLEMS if one.id in PUBLIC])
    with pytest.raises(DataError, match="models: a"):
        holdout_report([public], PUBLIC, HELD)
    with pytest.raises(IncomparableError, match="isolation"):
        holdout_report([public, run_of("h", {"a": (0.5, 0.5)}, isolation={"level": "landlock"})], PUBLIC, HELD)


def test_too_few_problems_cannot_decide() -> None:
    few = [one for one in PROBLEMS if one.id in {*sorted(PUBLIC)[:2], *sorted(HELD)[:1]}]
    report = holdout_report([run_of("whole", {"a": (1.0, 0.0)}, few)], PUBLIC, HELD)
    assert report.rows[0].verdict.startswith("cannot be decided")


def test_one_common_problem_of_a_part_is_compared_and_none_is_not() -> None:
    one_held = [one for one in PROBLEMS if one.id in PUBLIC] + [one for one in PROBLEMS if one.id in HELD][:1]
    runs = [run_of("whole", {"a": (0.5, 0.5)}), run_of("less", {"b": (0.5, 0.5)}, one_held)]
    rows = [row for row in holdout_report(runs, PUBLIC, HELD).rows if row.against_others]
    assert [(row.model, row.public_problems, row.holdout_problems) for row in rows] == [("a", 150, 1), ("b", 150, 1)]
    runs = [run_of("whole", {"a": (0.5, 0.5)}), run_of("less", {"b": (0.5, 0.5), "c": (0.5, 0.5)}, one_held[:-1])]
    assert not [row for row in holdout_report(runs, PUBLIC, HELD).rows if row.against_others]
