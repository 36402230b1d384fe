"""Numbers of a small run, worked out by hand."""

import math

import polars as pl
import pytest

from caretbench.problem import Score
from caretbench.reports.frame import LoadedRun, build_frame
from caretbench.reports.output.text_output import print_summary, summary_tables, to_csv, to_json, to_markdown
from caretbench.reports.run_summary import summarise
from caretbench.reports.summary import Summary
from tests.support.report_runs import make_problem, make_run

PYTHON = [make_problem("python", "api_usage", number) for number in range(1, 5)]
JAVA = [make_problem("java", "low_context", number) for number in range(1, 3)]
PROBLEMS = PYTHON + JAVA


def verdicts(model: str, outcomes: dict[str, list[str | None]], profile: str = "default", **values: float):
    for problem, samples in outcomes.items():
        for sample, outcome in enumerate(samples):
            counted = outcome not in {"sandbox_error", "skipped"}
            yield Score.model_validate(
                {
                    "problem_id": problem, "model": model, "sample": sample, "scorer": "execution@1",
                    "policy": "raw", "profile": profile, "counted": counted, "outcome": outcome,
                    "values": ({"passed": float(outcome == "passed")} if counted else {}) | values,
                }
            )  # fmt: skip


def summary_of(*scores, manifest: dict | None = None, gate: dict[str, str] | None = None, problems=PROBLEMS) -> Summary:
    frame = build_frame(problems, [score for group in scores for score in group], gate)
    return summarise(LoadedRun("small", {"suite": "devbench"} | (manifest or {}), problems, [], frame))


def column(summary: Summary, model: str, profile: str = "default"):
    return next(c for c in summary.columns if (c.model, c.profile) == (model, profile))


def ids(problems, *outcomes):
    return {problem.id: list(outcome) for problem, outcome in zip(problems, outcomes, strict=True)}


def test_a_model_that_was_asked_in_two_ways_says_in_which() -> None:
    settings = ({"sampling": {"temperature": heat}, "client": {"address": "a"}} for heat in (0.2, 0.8))
    models = [
        {"model": "m", "source": "model", "parameters": f"p{number}", "settings": entry}
        for number, entry in enumerate(settings)
    ]
    scores = [
        score.model_copy(update={"parameters": parameters})
        for parameters in ("p0", "p1")
        for score in verdicts("m", ids(PROBLEMS, *[["passed"]] * 6))
    ]
    summary = summary_of(scores, manifest={"models": models})
    assert "m (p0) and m (p1) had different settings: sampling.temperature 0.2 and 0.8." in summary.notes
    assert not any("different settings" in note for note in summary_of(scores).notes)


def test_a_note_counts_valid_problems_by_the_strength_of_the_killed_mutant() -> None:
    frame = build_frame(PROBLEMS, verdicts("m", ids(PROBLEMS, *[["passed"]] * 6)))
    strengths = {"default": 1, "value": 4}
    run = LoadedRun("small", {"suite": "devbench"}, PROBLEMS, [], frame, mutant_strengths=strengths)
    assert summarise(run).mutant_strengths == strengths
    [note] = [note for note in summarise(run).notes if "killed mutant" in note]
    assert note.endswith("changes: 4 value, 1 default.")


def test_one_sample_gives_the_wilson_interval() -> None:
    outcomes = ids(PROBLEMS, *[["passed"]] * 3, *[["failed"]] * 3)
    estimate = column(summary_of(verdicts("m", outcomes)), "m").overall.pass_at[1]
    z = 1.959963984540054
    half = z * math.sqrt(0.25 / 6 + z * z / 144) / (1 + z * z / 6)
    assert estimate.value == 0.5
    assert estimate.low == pytest.approx(0.5 - half)
    assert estimate.high == pytest.approx(0.5 + half)
    assert estimate.method == "wilson"


def test_several_samples_give_pass_at_every_k() -> None:
    p, f = "passed", "failed"
    outcomes = ids(PROBLEMS, [p, p, f], [p, f, f], [f, f, f], [p, p, p], [f, f, f], [f, f, p])
    cell = column(summary_of(verdicts("m", outcomes)), "m").overall
    assert cell.pass_at[1].value == pytest.approx((2 / 3 + 1 / 3 + 0 + 1 + 0 + 1 / 3) / 6)
    assert cell.pass_at[2].value == pytest.approx((1 + 2 / 3 + 0 + 1 + 0 + 2 / 3) / 6)
    assert cell.pass_at[3].value == pytest.approx(4 / 6)
    assert cell.pass_at[1].low < cell.pass_at[1].value < cell.pass_at[1].high


def test_strata_hold_their_own_problems() -> None:
    outcomes = ids(PROBLEMS, *[["passed"]] * 3, *[["failed"]] * 3)
    strata = column(summary_of(verdicts("m", outcomes)), "m").strata
    assert {cell.name: (cell.problems, cell.pass_at[1].value) for cell in strata["language"]} == {
        "java": (2, 0.0),
        "python": (4, 0.75),
    }
    assert [cell.name for cell in strata["language / category"]] == ["java / low_context", "python / api_usage"]


def test_coverage_counts_missing_verdicts_and_missing_rows_but_not_what_is_left_out() -> None:
    outcomes = ids(PROBLEMS[:5], ["passed"], ["failed"], ["sandbox_error"], ["passed"], ["failed"])
    summary = summary_of(verdicts("m", outcomes), manifest={"excluded": {"no java here": [JAVA[0].id]}})
    found = column(summary, "m")
    assert found.expected == 5
    assert found.verdicts == 3
    assert found.coverage == pytest.approx(3 / 5)
    assert "below 98%" in summary.warnings[0]


def test_problems_left_out_are_named_by_cause_and_bound_the_rate() -> None:
    reference = ids(PROBLEMS, *[["passed"]] * 4, ["failed"], ["skipped"])
    model = ids(PROBLEMS, *[["passed"]] * 2, *[["failed"]] * 2, ["failed"], ["skipped"])
    summary = summary_of(verdicts("reference", reference), verdicts("m", model))
    assert {entry.cause: entry.problems for entry in summary.excluded} == {
        "reference does not pass here": (JAVA[0].id,),
        "skipped: toolchain or declared need is missing here": (JAVA[1].id,),
    }
    found = column(summary, "m")
    assert (found.overall.problems, found.overall.excluded, found.coverage) == (4, 2, 1.0)
    assert found.overall.pass_at[1].value == 0.5
    assert found.overall.if_excluded_failed == pytest.approx(2 / 6)
    assert found.overall.if_excluded_passed == pytest.approx(4 / 6)


def test_what_has_no_verdict_may_have_passed_or_failed() -> None:
    reference = ids(PROBLEMS, *[["passed"]] * 6)
    model = ids(PROBLEMS, *[["passed"]] * 2, *[["failed"]] * 2, *[["sandbox_error"]] * 2)
    overall = column(summary_of(verdicts("reference", reference), verdicts("m", model)), "m").overall
    assert overall.pass_at[1].value == 0.5
    assert (overall.if_excluded_failed, overall.if_excluded_passed) == pytest.approx((2 / 6, 4 / 6))


def test_the_score_on_valid_problems_stands_beside_all() -> None:
    model = ids(PROBLEMS, *[["passed"]] * 3, *[["failed"]] * 3)
    gate = dict.fromkeys((p.id for p in PROBLEMS[:2]), "valid") | {PROBLEMS[2].id: "invalid"}
    summary = summary_of(verdicts("m", model), gate=gate)
    assert column(summary, "m").overall.needed[1].problems == 5
    assert column(summary, "m").overall.needed[1].value == pytest.approx(2 / 5)
    assert summary.verdicts == {"invalid": 1, "valid": 2}


def test_profiles_never_share_a_column() -> None:
    outcomes = ids(PROBLEMS[:1], ["passed", "failed"])
    paper = list(verdicts("m", outcomes, "paper", line0_cosine=0.4))
    paper = [s.model_copy(update={"values": {**s.values, "line0_match": float(s.sample == 0)}}) for s in paper]
    default = [
        s.model_copy(update={"values": {**s.values, "cosine": 0.8, "line0_exact_match": float(s.sample == 0)}})
        for s in verdicts("m", outcomes)
    ]
    summary = summary_of(paper, default)
    printed = {name: e.value for name, e in column(summary, "m", "paper").overall.similarity.items()}
    ours = {name: e.value for name, e in column(summary, "m").overall.similarity.items()}
    assert printed == {"cosine_first_line": pytest.approx(0.4), "line0_any": 1.0}
    assert ours == {"cosine_full_text": pytest.approx(0.8), "line0_mean": 0.5}


def test_only_a_suite_that_compares_first_lines_names_its_columns_so() -> None:
    rows = list(verdicts("m", ids(PROBLEMS[:1], ["passed", "failed"]), "paper", cosine=0.4, edit=0.3))
    summary = summary_of(rows, manifest={"suite": "simcopilot"})
    printed = {name: e.value for name, e in column(summary, "m", "paper").overall.similarity.items()}
    assert printed == {"cosine_full_text": pytest.approx(0.4), "edit_mean": pytest.approx(0.3)}


def test_discordant_cases_are_the_two_kinds() -> None:
    similar = verdicts("m", ids(PYTHON[:1], ["failed"]), cosine=0.95)
    different = verdicts("m", ids(PYTHON[1:2], ["passed"]), cosine=0.1)
    plain = verdicts("m", ids(PYTHON[2:3], ["passed"]), cosine=0.95)
    summary = summary_of(similar, different, plain)
    assert [(case.kind, case.problem_id) for case in summary.discordant] == [
        ("fails_but_similar", PYTHON[0].id),
        ("passes_but_dissimilar", PYTHON[1].id),
    ]
    assert summary.discordant_totals == {"fails_but_similar": 1, "passes_but_dissimilar": 1}


def test_a_run_without_verdicts_still_has_similarities() -> None:
    rows = [
        Score(
            problem_id=PYTHON[0].id,
            model="m",
            scorer="similarity@1",
            policy="raw",
            profile="default",
            values={"cosine": 0.5},
        )
    ]
    found = column(summary_of(rows), "m")
    assert found.coverage is None
    assert found.overall.pass_at == {}
    assert found.overall.similarity["cosine_full_text"].value == 0.5


@pytest.fixture(scope="module")
def made_up() -> Summary:
    run = make_run(per_cell=2, samples=2, profiles=("paper", "default"))
    return summarise(run)


def test_models_stand_before_baselines(made_up: Summary) -> None:
    names = [c.model for c in made_up.columns if c.profile == "default"]
    assert names == ["gpt-4o", "Ministral-3B", "reference", "empty", "stub", "copy-context"]


def test_the_summary_survives_json(made_up: Summary) -> None:
    assert Summary.model_validate_json(to_json(made_up)) == made_up


def test_the_same_seed_gives_the_same_numbers(made_up: Summary) -> None:
    run = make_run(per_cell=2, samples=2, profiles=("paper", "default"))
    assert summarise(run) == made_up


def test_csv_holds_one_number_a_line(made_up: Summary) -> None:
    frame = pl.read_csv(to_csv(made_up).encode())
    wanted = (pl.col("model") == "gpt-4o") & (pl.col("scope") == "language") & (pl.col("language") == "java")
    rate = frame.filter(wanted & (pl.col("profile") == "default") & (pl.col("metric") == "pass@1"))
    cell = next(c for c in column(made_up, "gpt-4o").strata["language"] if c.name == "java")
    assert rate["value"].to_list() == [cell.pass_at[1].value]
    assert set(frame["scope"]) == {"all", "recording", "language", "category", "mode", "language / category"}


def test_markdown_has_every_table(made_up: Summary) -> None:
    text = to_markdown(made_up, published=True)
    assert text.count("\n## ") == len(summary_tables(made_up, published=True)) + 1  # the ranked models
    assert "| gpt-4o |" in text


def test_plain_lines_where_nobody_looks(made_up: Summary, tmp_path) -> None:
    path = tmp_path / "out.txt"
    with path.open("w") as stream:
        print_summary(made_up, stream)
    text = path.read_text()
    assert "\x1b" not in text
    assert any(line.startswith("gpt-4o ") and "[" in line for line in text.splitlines())
