"""Typing sessions in a report: a part of its own, floors, one session in colours, changes of the order of models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import caretbench
from caretbench.models import FillPrompt
from caretbench.problem import Problem
from caretbench.reports.output.page import render_html
from caretbench.reports.output.text_output import to_csv, to_markdown
from caretbench.reports.run_summary import load_run_folder
from tests.support.report_runs import to_svg
from tests.support.scripted_models import ScriptedModel, answer_at, human_problems, right_in_four_of_ten, unknown_tokens


def model(answer: ScriptedModel, name: str) -> object:
    def function(prompt: FillPrompt) -> str:
        return answer_at(human_problems(60), prompt, answer)

    function.version = name  # type: ignore[attr-defined]
    return function


def typed_run(output: Path, problems: Sequence[Problem], trigger: str, **models: object) -> Path:
    ids = "|".join(problem.id for problem in problems)
    config = {"suites": [{"name": problems[0].suite, "select": f"id={ids}"}], "typing": trigger, "execute": False,
              "baselines": ["empty"], "output": output}  # fmt: skip
    result = caretbench.run(caretbench.RunConfig.model_validate(config), models=models)  # type: ignore[arg-type]
    return result.folders[0].path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = {"words": model(unknown_tokens(0.2), "a"), "luck": model(right_in_four_of_ten, "b")}
    problems = [problem for problem in human_problems(60) if problem.suite == "codevbench"]
    return typed_run(tmp_path_factory.mktemp("typing") / "run", problems, "token", **models)


def test_a_run_at_starts_of_lines_is_not_reported_by_the_few_sessions_of_one_line(tmp_path: Path) -> None:
    problems = [problem for problem in human_problems(60) if problem.suite == "simcopilot"]
    right = model(lambda text, at: text.reference[at:] if "\n" not in text.reference.strip() else "zqz", "a")
    one_line = [problem for problem in problems if "\n" not in problem.reference.strip()]
    several = [problem for problem in problems if problem not in one_line]
    found = caretbench.report(typed_run(tmp_path / "run", [*one_line[:1], *several[:2]], "line", right=right)).typing
    assert found is not None
    assert found.policy == "line"
    assert [(one.sessions, one.incomplete) for one in found.under("line")] == [(3, 0)]


def test_a_report_has_a_part_of_simulated_sessions_behind_its_head(folder: Path) -> None:
    summary = caretbench.report(folder)
    found = summary.typing
    assert found is not None
    assert (found.policy, [one.title for one in found.floors]) == ("token", ["copy-context", "empty", "words"])
    copied, empty, words = found.floors
    assert (empty.saved.value, words.beyond_words.value) == (0, 0)
    assert copied.beyond_words.value < words.saved.value
    latency = [one.beyond_words.value for one in found.under("latency_ms") if one.title == "luck"]
    assert latency == sorted(latency, reverse=True)
    shown = [one.counts["shown"] for one in found.under("least_shown") if one.title == "luck"]
    assert shown == sorted(shown, reverse=True)
    assert summary.head is None
    # No row behind typed text is scored, and no completion of it is counted.
    assert {entry.completions for entry in summary.recordings} == {found.problems}
    assert "keys_saved_beyond_words" in to_csv(summary)
    assert "Simulated typing sessions (typing@1, policy token)" in to_markdown(summary)


def test_models_that_change_places_under_another_policy_are_warned_of(folder: Path) -> None:
    warnings = [line for line in caretbench.report(folder).warnings if line.startswith("typing:")]
    assert warnings
    assert all("words and luck" in line or "luck and words" in line for line in warnings)


def test_the_page_draws_curves_and_one_session_in_colours(folder: Path) -> None:
    page = render_html(caretbench.report(folder), load_run_folder(folder))
    assert '<pre class="session">' in page
    assert '<span class="accepted">' in page
    specs = json.loads(page.partition('id="chart-data">')[2].partition("</script>")[0])
    drawn = [spec for name, spec in specs.items() if "typing" in name]
    assert len(drawn) == 2  # without a verdict nothing is beside pass@1
    assert all("<svg" in to_svg(spec) for spec in drawn)
