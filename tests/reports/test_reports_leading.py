"""Problems over which rates lead: those that need an answer."""

from caretbench.problem import Problem
from caretbench.reports.frame import build_frame
from caretbench.reports.results.problem_lists import leading_problems
from tests.reports.test_reports_summary import ids, verdicts
from tests.support.report_runs import make_problem

PROBLEMS = [make_problem("python", "api_usage", number) for number in range(1, 5)]


def led(
    gate: dict[str, str] | None = None, profile: str = "default", problems: list[Problem] = PROBLEMS, **baselines: str
):
    """Numbers of the problems that lead; a baseline passes those whose letter is p."""
    scores = [
        score
        for model, letters in {"m": "pppp", **baselines}.items()
        for score in verdicts(
            model.replace("_", "-"),
            ids(problems, *[["passed" if letter == "p" else "failed"] for letter in letters]),
            profile,
        )
    ]
    found = leading_problems(build_frame(problems, scores, gate), problems, profile)
    return found.rule, sorted(name.rpartition("/")[2] for name in found.problems)


def test_without_the_gate_problems_that_no_trivial_baseline_passes_lead() -> None:
    assert led(empty="pfff", stub="pffp") == ("net_of_baselines", ["2", "3"])
    assert led(copy_context="fpff") == ("net_of_baselines", ["1", "3", "4"])
    assert led(empty="ffff") == led() == ("all", ["1", "2", "3", "4"])


def test_neither_the_reference_nor_guesses_take_a_problem_away() -> None:
    assert led(reference="pppp", random="ppff", other_variant="pfff") == ("all", ["1", "2", "3", "4"])


def test_where_the_gate_has_a_verdict_it_decides() -> None:
    names = [problem.id for problem in PROBLEMS]
    gate = dict(zip(names, ("valid", "invalid", "unverified", "valid"), strict=True))
    assert led(gate, empty="ffff") == ("valid", ["1", "4"])
    # It decided two: the others are in by the baselines.
    part = {names[0]: "valid", names[1]: "invalid"}
    assert led(part, empty="ffpf") == ("valid", ["1", "4"])


def test_an_empty_reference_is_an_answer() -> None:
    silent = [PROBLEMS[0].model_copy(update={"reference": "\n"}), *PROBLEMS[1:]]
    assert led(problems=silent, empty="ppff") == ("net_of_baselines", ["1", "3", "4"])


def test_the_paper_ranks_by_all() -> None:
    assert led(profile="paper", empty="pfff") == ("all", ["1", "2", "3", "4"])


def test_if_nothing_needs_an_answer_all_lead() -> None:
    assert led(empty="pppp") == ("all", ["1", "2", "3", "4"])
    only = PROBLEMS[:2]
    gate = {only[0].id: "valid", only[1].id: "invalid"}
    frame = build_frame(only, list(verdicts("m", ids(only, *[["passed"]] * 2))), gate)
    found = leading_problems(frame, only, "default", {only[0].id})
    assert found == (frozenset({only[1].id}), "all")
