"""Flagged passes, worked out by hand."""

import io
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from caretbench.problem import Completion, Score
from caretbench.reports.frame import LoadedRun, build_frame
from caretbench.reports.output.page import pack_samples, render_html
from caretbench.reports.output.text_output import print_summary, to_csv, to_json, to_markdown
from caretbench.reports.results.problem_lists import FlaggedAnswers
from caretbench.reports.run_summary import summarise
from caretbench.reports.summary import Summary
from tests.support.report_runs import make_problem

PROBLEMS = [make_problem("python", "api_usage", number) for number in range(1, 5)]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; apt install chromium")
EXIT, HOOK = "tamper:early_exit", "tamper:exit_hook"
Sample = tuple[str, Sequence[str]]

CHEAT: Sequence[Sequence[Sample]] = (
    [("passed", [EXIT]), ("passed", [EXIT, HOOK])],
    [("passed", []), ("passed", [HOOK])],
    [("failed", [EXIT]), ("passed", [])],
    [("passed", [EXIT]), ("skipped", [])],
)
HONEST: Sequence[Sequence[Sample]] = ([("passed", [])], [("failed", [])], [("passed", [])], [("passed", [])])


def rows(model: str, outcomes: Sequence[Sequence[Sample]], profile: str = "default") -> list[Score]:
    return [
        Score.model_validate(
            {
                "problem_id": problem.id, "model": model, "sample": sample, "scorer": "execution@1", "policy": "raw",
                "profile": profile, "counted": outcome != "skipped", "outcome": outcome,
                "values": {} if outcome == "skipped" else {"passed": float(outcome == "passed")},
                "details": {"flags": list(flags)} if flags else {},
            }
        )
        for problem, samples in zip(PROBLEMS, outcomes, strict=True)
        for sample, (outcome, flags) in enumerate(samples)
    ]  # fmt: skip


def run_of(*scores: Sequence[Score]) -> LoadedRun:
    completions = [
        Completion(problem_id=score.problem_id, model=score.model, sample=score.sample, text=f"t{score.sample}")
        for group in scores
        for score in group
        if score.profile == "default"
    ]
    frame = build_frame(PROBLEMS, [score for group in scores for score in group])
    return LoadedRun("small", {"suite": "devbench"}, PROBLEMS, completions, frame)


def summary_of(run: LoadedRun, manifest: Mapping[str, object] | None = None) -> Summary:
    return summarise(replace(run, manifest=dict(run.manifest) | dict(manifest or {})))


def flagged(summary: Summary, model: str) -> FlaggedAnswers:
    return next(entry for entry in summary.flagged if entry.model == model)


def test_the_rate_without_them_counts_flagged_passes_as_failures() -> None:
    summary = summary_of(run_of(rows("cheat", CHEAT), rows("honest", HONEST)))
    cheat = flagged(summary, "cheat")
    # Problems pass with 2/2, 2/2, 1/2 and 1/1; without flagged passes 0/2, 1/2, 1/2 and 0/1.
    assert cheat.pass_at_1.value == pytest.approx((1 + 1 + 0.5 + 1) / 4)
    assert cheat.pass_at_1_without.value == pytest.approx((0 + 0.5 + 0.5 + 0) / 4)
    assert (cheat.passes, cheat.flagged_passes, cheat.answers) == (6, 4, 5)
    assert {kind: (count.answers, count.passes) for kind, count in cheat.kinds.items()} == {EXIT: (4, 3), HOOK: (2, 2)}
    overall = next(column for column in summary.columns if column.model == "cheat").overall
    assert cheat.pass_at_1 == overall.pass_at[1]


def test_a_model_without_flags_stands_beside_with_equal_rates() -> None:
    honest = flagged(summary_of(run_of(rows("cheat", CHEAT), rows("honest", HONEST))), "honest")
    assert (honest.passes, honest.flagged_passes, dict(honest.kinds)) == (3, 0, {})
    assert honest.pass_at_1 == honest.pass_at_1_without
    assert honest.pass_at_1.value == 0.75


def test_problems_left_out_count_in_neither_rate() -> None:
    left_out = {"excluded": {"no toolchain": [PROBLEMS[0].id]}}
    cheat = flagged(summary_of(run_of(rows("cheat", CHEAT)), left_out), "cheat")
    assert cheat.pass_at_1.value == pytest.approx((1 + 0.5 + 1) / 3)
    assert cheat.pass_at_1_without.value == pytest.approx((0.5 + 0.5 + 0) / 3)
    assert cheat.flagged_passes == 2


def test_a_profile_that_nothing_was_looked_for_under_has_no_line() -> None:
    paper = [[(outcome, []) for outcome, _ in samples] for samples in CHEAT]
    summary = summary_of(run_of(rows("cheat", CHEAT), rows("cheat", paper, "paper")))
    assert [entry.profile for entry in summary.flagged] == ["default"]


def test_it_shows_in_every_form() -> None:
    run = run_of(rows("cheat", CHEAT), rows("honest", HONEST))
    summary = summary_of(run)
    stream = io.StringIO()
    print_summary(summary, stream)
    for text in (stream.getvalue(), to_markdown(summary), render_html(summary, run)):
        assert "Flagged passes" in text
        assert "Flags by kind" in text
        assert "25.0%" in text
        assert "ends the" in text
    [read] = [entry for entry in json.loads(to_json(summary))["flagged"] if entry["model"] == "cheat"]
    assert (read["flagged_passes"], read["pass_at_1_without"]["value"]) == (4, 0.25)
    lines = to_csv(summary).splitlines()
    assert "devbench,small,cheat,none,raw,default,flagged,,,,flagged_passes,4,,,,,,," in lines
    assert "devbench,small,cheat,none,raw,default,flagged,,,,tamper:early_exit passes,3,,,,,,," in lines
    assert any(",cheat,none,raw,default,flagged,,,,pass@1 without flagged,0.25," in line for line in lines)
    assert Summary.model_validate_json(to_json(summary)) == summary


def test_a_run_without_flags_has_no_such_part() -> None:
    run = run_of(rows("honest", HONEST))
    summary = summary_of(run)
    assert summary.flagged == ()
    stream = io.StringIO()
    print_summary(summary, stream)
    for text in (stream.getvalue(), to_markdown(summary), render_html(summary, run)):
        assert "Flagged passes" not in text
        assert 'id="flagged"' not in text
    assert ",flagged," not in to_csv(summary)


def test_the_browser_holds_the_flags_of_a_sample() -> None:
    run = run_of(rows("cheat", CHEAT))
    packed = pack_samples(run.frame, run.problems, run.completions)
    shown = {
        (packed["problems"][entry[0]]["id"], *entry[2]): [packed["strings"][place] for place in entry[10]]
        for entry in packed["entries"]
    }
    assert shown[PROBLEMS[0].id, 1] == [EXIT, HOOK]
    assert shown[PROBLEMS[1].id, 0] == []


@needs_browser
def test_the_browser_shows_flags_and_narrows_by_them(tmp_path: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    run = run_of(rows("cheat", CHEAT))
    path = tmp_path / "report.html"
    path.write_text(render_html(summary_of(run), run), "utf-8")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(offline=True).new_page()
        page.goto(path.as_uri())
        page.locator("#filters [name=flag]").select_option(HOOK)
        assert page.locator("#sample-list button").count() == 2
        assert f"{EXIT}, {HOOK}" in page.locator("#sample dl").inner_text()
        browser.close()
