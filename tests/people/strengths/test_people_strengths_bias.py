"""The table of generator bias: appears by itself, and says what it found."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from benchmarks.generator_bias import Setting, simulated
from caretbench.problem import Problem, Score
from caretbench.reports.frame import LoadedRun, build_frame
from caretbench.reports.output.page import render_html
from caretbench.reports.output.text_output import to_csv, to_markdown
from caretbench.reports.results.strengths import GeneratorBias
from caretbench.reports.run_summary import summarise
from tests.support.report_runs import make_problem

MODELS = ("claude-a", "claude-b", "claude-c", "gpt-4a", "gpt-4b", "gpt-4c")
FAVOUR = Setting("favoured", favour=0.3)


def problem_of(number: int, family: str, scenario: str) -> Problem:
    labels = {"language": "python", "category": "api_usage", "generator_family": family, "scenario": scenario}
    return make_problem("python", "api_usage", number, labels=labels)


def run_of(setting: Setting, scenarios: int = 60, models: tuple[str, ...] = MODELS, one: bool = False) -> LoadedRun:
    data = simulated(setting, np.random.default_rng(5), scenarios)
    problems = [
        problem_of(number, "openai" if one else family, scenario)
        for number, (family, scenario) in enumerate(zip(data.problem_families, data.scenarios, strict=True))
    ]
    scores = [
        Score(
            problem_id=problem.id, model=model, scorer="execution@1", policy="syntax", profile="default",
            outcome="passed" if rate else "failed", values={"passed": float(rate)},
        )
        for model, row in zip(models, data.rates, strict=False)
        for problem, rate in zip(problems, row, strict=True)
    ]  # fmt: skip
    manifest = {"suite": "devbench", "policy": "syntax", "profile": "default", "seed": 0}
    return LoadedRun("bias", manifest, problems, [], build_frame(problems, scores))


def bias_of(run: LoadedRun) -> GeneratorBias:
    found = summarise(run).generator_bias
    assert found is not None
    return found


def test_a_planted_bias_is_claimed_in_every_form() -> None:
    run = run_of(FAVOUR)
    summary = summarise(run)
    bias = summary.generator_bias
    assert bias is not None
    row = bias.overall
    assert row.claimed
    assert (row.scenarios, row.verdict) == (60, "favours its own")
    assert row.bias > 0.3
    assert row.smallest is not None
    assert bias.models == {"anthropic": MODELS[:3], "openai": MODELS[3:]}
    assert bias.problems == {"anthropic": 60, "openai": 60}
    assert [one.name for one in bias.by_model] == [*MODELS]
    assert bias.families == ()  # with two families their biases are the same number
    page, markdown, exported = render_html(summary, run, samples=0), to_markdown(summary), to_csv(summary)
    sentence = f"Models gain {100 * row.bias:.1f} points more on problems that their own family wrote"
    for text in (page, markdown):
        assert sentence in text
        assert f"60 scenarios find a bias of {100 * row.smallest:.1f} points in 80% of cases." in text
    lines = [line for line in csv.DictReader(io.StringIO(exported)) if line["scope"] == "generator bias"]
    assert len(lines) == 7
    assert float(lines[0]["value"]) == row.bias


def test_without_favour_nothing_is_claimed_and_the_smallest_bias_is_told() -> None:
    summary = summarise(run_of(Setting("none")))
    assert summary.generator_bias is not None
    assert not summary.generator_bias.overall.claimed
    [note] = [text for text in summary.notes if text.startswith("Bias of generators")]
    assert "not distinguishable" in note
    assert "60 scenarios" in note


def test_few_scenarios_cannot_decide() -> None:
    bias = bias_of(run_of(FAVOUR, scenarios=4))
    assert "with 4 independent" in bias.overall.verdict


@pytest.mark.parametrize(
    "run",
    [
        run_of(FAVOUR, scenarios=6, one=True),
        run_of(FAVOUR, scenarios=6, models=("tiny-model", "other-model")),
        run_of(FAVOUR, scenarios=6, models=("claude-a",)),
    ],
    ids=["one family of generators", "no known family", "one model"],
)
def test_without_two_families_there_is_no_table(run: LoadedRun) -> None:
    summary = summarise(run)
    assert summary.generator_bias is None
    assert "generator-bias" not in render_html(summary, run, samples=0)


def test_models_without_a_known_family_do_not_count() -> None:
    bias = bias_of(run_of(FAVOUR, models=(*MODELS[:5], "tiny-model")))
    assert bias.unknown_models == ("tiny-model",)
    assert bias.models["openai"] == MODELS[3:5]
