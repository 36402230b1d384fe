"""Strengths of a model against the field: sentences by rule, comparable languages, every form of output."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape

import numpy as np
import polars as pl
import pytest

from caretbench.errors import DataError
from caretbench.people.strengths.strength_sentences import strength_sentences
from caretbench.people.strengths.strength_tests import rates_of
from caretbench.problem import Completion, Problem, Score
from caretbench.reports.compare import compare_runs
from caretbench.reports.frame import LoadedRun, build_frame
from caretbench.reports.output.page import render_html
from caretbench.reports.output.text_output import to_json, to_markdown
from caretbench.reports.results.paired_models import ModelRates
from caretbench.reports.results.strengths import PASSES, SIMILARITY, ModelStrengths
from caretbench.reports.run_summary import summarise
from caretbench.reports.summary import Summary
from caretbench.suites.suite_types import DEFAULT_STRATIFICATION
from tests.support.command_run import in_this_process
from tests.support.report_runs import make_problem

EASY, HARD = "low_context", "pattern_matching"
PROBLEMS = [
    make_problem(language, category, number, labels={"language": language, "category": category, "kind": kind})
    for language in ("python", "java")
    for category in (EASY, HARD)
    for number, kind in ((number, "even" if number % 2 == 0 else "odd") for number in range(40))
]

Rates = Mapping[str, Mapping[str, float]]
"""Chance to pass by model and category."""


def planted_run(
    chances: Rates, cosine: Rates | None = None, problems: Sequence[Problem] = PROBLEMS, shift: float = 0.0
) -> LoadedRun:
    """A run in which models pass by planted chances; Java's problems are harder by ``shift``."""
    rng = random.Random(3)  # noqa: S311  # made-up data
    scores, completions = [], []
    for problem in problems:
        category, language = problem.label("category"), problem.label("language")
        luck = rng.random()
        for model, by_category in chances.items():
            chance = by_category[category] - (shift if language == "java" else 0)
            passed = (luck + rng.random()) / 2 < chance
            common = {"problem_id": problem.id, "model": model, "policy": "syntax", "profile": "default"}
            outcome = "passed" if passed else "failed"
            scores.append(
                Score.model_validate(
                    common | {"scorer": "execution@1", "outcome": outcome, "values": {"passed": float(passed)}}
                )
            )
            similarity = (cosine or {}).get(model, {}).get(category, 0.6) + 0.02 * rng.random()
            scores.append(Score.model_validate(common | {"scorer": "similarity@1", "values": {"cosine": similarity}}))
            completions.append(Completion(problem_id=problem.id, model=model, text="x = 1\n"))
    manifest = {
        "suite": "devbench", "policy": "syntax", "profile": "default", "seed": 0,
        "models": [{"model": "empty", "source": "baseline"}],
    }  # fmt: skip
    return LoadedRun("planted", manifest, problems, completions, build_frame(problems, scores))


CHANCES = {
    "patterns": {EASY: 0.5, HARD: 0.85},
    "plain-1": {EASY: 0.5, HARD: 0.45},
    "plain-2": {EASY: 0.5, HARD: 0.45},
    "empty": {EASY: 0.1, HARD: 0.1},
}


def strengths_of(run: LoadedRun, model: str) -> ModelStrengths:
    found = summarise(run, DEFAULT_STRATIFICATION, strengths=model).strengths
    assert found is not None
    return found


def test_a_planted_strength_is_told_with_its_numbers_and_the_rest_is_not_spoken_of() -> None:
    found = strengths_of(planted_run(CHANCES), "patterns")
    assert found.field == ("plain-1", "plain-2")
    [strong] = [test for test in found.passes if test.title == "category pattern matching"]
    assert strong.row.distinguishable
    row = strong.row
    assert row.low is not None
    assert row.high is not None
    [sentence] = [
        text for text in found.sentences if text.startswith("Category pattern matching: ") and "pass," in text
    ]
    assert f"{100 * row.first_rate:.1f}% pass, {100 * row.second_rate:.1f}% of" in sentence
    assert f"{100 * row.difference:.1f} points more [{100 * row.low:.1f} to {100 * row.high:.1f}]" in sentence
    assert "80 problems" in sentence
    assert not any(text.startswith("Category low context") and "pass," in text for text in found.sentences)
    [contrast] = [text for text in found.sentences if "higher than on all other problems" in text]
    assert contrast.startswith("Category pattern matching: the difference of patterns to the mean")
    assert strong.contrast is not None
    odds = strong.contrast
    assert f"{odds.log_odds:.2f} in log odds [{odds.log_odds_low:.2f} to {odds.log_odds_high:.2f}]" in contrast
    [lower] = [text for text in found.sentences if "lower than on all other problems" in text]
    assert lower.startswith("Category low context: ")
    assert lower.partition(" points")[0][-4:] == contrast.partition(" points")[0][-4:]
    assert f"{len(found.contrasts) - 2} of {len(found.contrasts)} parts: " in " ".join(found.sentences)
    [keep] = [text for text in found.sentences if text.startswith("To keep")]
    assert "category pattern matching" in keep
    assert "low context" not in keep
    assert keep.startswith("To keep in patterns: above all category pattern matching; in all, ")
    assert not any(text.startswith("To improve") for text in found.sentences)
    told = [test for test in found.passes if test.contrast is not None and test.contrast.distinguishable]
    silent = sum(not one.row.distinguishable for one in found.tests if one not in found.overall and one not in told)
    assert found.sentences[-1].startswith(f"{silent} of ")


def test_a_weakness_is_the_other_side() -> None:
    found = strengths_of(planted_run(CHANCES), "plain-1")
    [mend] = [text for text in found.sentences if text.startswith("To improve in plain-1: ")]
    assert "category pattern matching" in mend
    assert any("points less" in text for text in found.sentences)
    assert not any(text.startswith("No part tells") for text in found.sentences)


def test_equal_models_have_no_strengths() -> None:
    found = strengths_of(planted_run({name: {EASY: 0.5, HARD: 0.5} for name in "abc"}), "a")
    assert "not distinguishable" in found.sentences[0]
    assert "No part tells a from the mean of the 2 other models." in found.sentences
    assert not any(text.startswith(("To keep", "Category", "Language")) for text in found.sentences)


def test_a_question_has_the_p_value_of_compare() -> None:
    run = planted_run({name: CHANCES[name] for name in ("patterns", "plain-1")})
    labels = (*DEFAULT_STRATIFICATION.labels, "kind")
    plan = DEFAULT_STRATIFICATION._replace(labels=labels, crossed=())
    found, report = strengths_of(run, "patterns"), compare_runs([run], stratification=plan)
    assert [test.row.p_value for test in found.overall[:1]] == [row.p_value for row in report.overall]
    asked = {(row.scope, row.label): row for row in report.strata}
    tested = {(test.row.scope, test.row.label): test.row for test in found.passes}
    assert tested.keys() == asked.keys()
    assert {one: row.p_value for one, row in tested.items()} == {one: row.p_value for one, row in asked.items()}
    assert {row.family for row in tested.values()} == {len(asked)}


def test_a_strength_that_is_smaller_than_elsewhere_is_not_above_all() -> None:
    """Low context is better than the field too, but less so than elsewhere: it is to keep, and not above all."""
    found = strengths_of(planted_run(CHANCES), "patterns")
    passes = [
        test.model_copy(
            update={"row": test.row.model_copy(update={"difference": 0.1, "distinguishable": True, "groups": 80})}
        )
        if test.title == "category low context"
        else test
        for test in found.passes
    ]
    tested = found.model_copy(update={"passes": tuple(passes), "similarity": (), "answers": ()})
    [keep] = [text for text in strength_sentences(tested) if text.startswith("To keep")]
    assert keep.startswith("To keep in patterns: above all category pattern matching; in all, ")
    assert "category low context (by less than elsewhere)" in keep
    assert "category pattern matching (by" not in keep


def test_nearly_all_problems_are_no_advice_and_sentences_agree_with_the_rows() -> None:
    found = strengths_of(planted_run(CHANCES), "patterns")
    [whole] = [test.row.problems for test in found.overall if test.measure == PASSES]
    [part] = [test for test in found.passes if test.title == "category pattern matching"]
    for problems, advised in ((whole * 4 // 5 + 1, False), (whole * 4 // 5, True)):
        large = part.model_copy(update={"row": part.row.model_copy(update={"problems": problems})})
        tested = found.model_copy(update={"passes": (large,), "similarity": (), "answers": ()})
        told = list(strength_sentences(tested))
        assert any(text.startswith("To keep") for text in told) == advised
        # Its row tells the models apart all the same, and so does the contrast alone.
        assert not any(text.startswith("No part tells") for text in told)
    equal = part.model_copy(update={"row": part.row.model_copy(update={"distinguishable": False})})
    told = list(strength_sentences(found.model_copy(update={"passes": (equal,), "similarity": (), "answers": ()})))
    assert any("higher than on all other problems" in text for text in told)
    assert not any(text.startswith("No part tells") or "not listed above" in text for text in told)


def test_the_same_lead_in_hard_and_easy_problems_is_no_strength() -> None:
    """Java is easy and Python hard: the same gap in log odds is more points in one of them."""
    rng = np.random.default_rng(5)
    problems = [
        make_problem(language, EASY, number, labels={"language": language, "category": EASY})
        for language in ("python", "java")
        for number in range(150)
    ]
    scores, completions = [], []
    for problem in problems:
        hard = rng.normal(-3.0 if problem.label("language") == "java" else 0.0, 1.0)
        for model, skill in (("a", 0.8), ("b", -0.8)):
            for sample in range(5):
                passed = rng.random() < 1 / (1 + np.exp(hard - skill))
                common = {"problem_id": problem.id, "model": model, "sample": sample}
                values = {"scorer": "execution@1", "policy": "syntax", "profile": "default"}
                outcome = {"outcome": "passed" if passed else "failed", "values": {"passed": float(passed)}}
                scores.append(Score.model_validate(common | values | outcome))
                completions.append(Completion.model_validate(common | {"text": "x = 1\n"}))
    manifest = {"suite": "devbench", "policy": "syntax", "profile": "default", "seed": 0, "models": []}
    found = strengths_of(LoadedRun("r", manifest, problems, completions, build_frame(problems, scores)), "a")
    [java] = [test for test in found.passes if test.title == "language Java"]
    assert java.row.distinguishable
    assert java.contrast is not None
    assert java.contrast.high < 0  # in points alone, the lead is lower
    assert not java.contrast.distinguishable
    assert "2 of 2 parts: no difference from all other problems holds in points and in log odds" in " ".join(
        found.sentences
    )
    assert not any("above all" in text for text in found.sentences)


def test_more_similar_and_fewer_pass() -> None:
    chances = {"copier": {EASY: 0.5, HARD: 0.3}, "solver": {EASY: 0.5, HARD: 0.8}}
    cosine = {"copier": {EASY: 0.6, HARD: 0.95}, "solver": {EASY: 0.6, HARD: 0.25}}
    run = planted_run(chances, cosine)
    copier, solver = strengths_of(run, "copier").sentences, strengths_of(run, "solver").sentences
    [text] = [one for one in copier if one.startswith("Category pattern matching: answers of copier")]
    assert "more similar" in text
    assert "yet fewer" in text
    assert any("yet more" in one for one in solver)
    assert any("fail, although" in one for one in copier)
    assert any("pass, although" in one for one in solver)
    assert any("wrong output" in one for one in copier)


def test_subtypes_of_built_problems_are_parts() -> None:
    titles = {test.title for test in strengths_of(planted_run(CHANCES), "patterns").passes}
    assert {"kind even", "kind odd", "language Java", "language Python"} <= titles


def test_the_skill_of_a_language_is_above_its_empty_answer() -> None:
    chances = {"a": {EASY: 0.8, HARD: 0.8}, "b": {EASY: 0.75, HARD: 0.75}, "empty": {EASY: 0.05, HARD: 0.05}}
    java, python = strengths_of(planted_run(chances, shift=0.25), "a").languages
    assert (java.language, python.language) == ("java", "python")
    assert java.rate.value < python.rate.value - 0.2
    assert java.empty is not None
    assert java.skill is not None
    assert java.skill.value == pytest.approx((java.rate.value - java.empty) / (1 - java.empty))


def test_one_model_alone_has_no_field() -> None:
    found = strengths_of(planted_run({"alone": {EASY: 0.5, HARD: 0.5}}), "alone")
    assert found.sentences == ("A strength needs a second model: this run has no other one to compare alone with.",)
    assert found.notes == ()
    assert [one.skill for one in found.languages] == [None, None]


def test_a_variant_is_named_by_its_own_name_or_by_its_model_if_it_is_alone() -> None:
    warm, cold, other = (
        ModelRates(name, pl.DataFrame(), model, None)
        for name, model in (("m, warm", "m"), ("m, cold", "m"), ("n, cold", "n"))
    )
    assert rates_of([warm, cold, other], "m, cold") is cold
    assert rates_of([warm, cold, other], "n") is other
    with pytest.raises(DataError, match="'m': several variants"):
        rates_of([warm, cold, other], "m")


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(DataError, match=r"'nobody': .*no verdict.*patterns, plain-1"):
        summarise(planted_run(CHANCES), strengths="nobody")


def test_every_form_has_the_sentences() -> None:
    run = planted_run(CHANCES)
    summary = summarise(run, strengths="patterns")
    assert summary.strengths is not None
    page, markdown = render_html(summary, run, samples=0), to_markdown(summary)
    for sentence in summary.strengths.sentences:
        assert sentence in markdown
        assert escape(sentence, quote=False) in page
    assert 'id="strengths"' in page
    assert "Skill above empty" in page
    assert Summary.model_validate_json(to_json(summary)) == summary
    assert summarise(run).strengths is None
    assert 'id="strengths"' not in render_html(summarise(run), run, samples=0)


def report(*arguments: str) -> tuple[int, str, str]:
    done = in_this_process("report", *arguments)
    return done.returncode, done.stdout, done.stderr


def test_without_similarities_of_models_there_are_only_passes() -> None:
    run = planted_run(CHANCES)
    for cosine in (pl.when(pl.col("model") == "empty").then("cosine"), None):
        frame = run.frame.drop("cosine") if cosine is None else run.frame.with_columns(cosine=cosine)
        found = strengths_of(replace(run, frame=frame), "patterns")
        measures = {test.measure for test in found.tests}
        assert PASSES in measures
        assert SIMILARITY not in measures
        assert {test.title for test in found.tests} >= {"category pattern matching", "category low context"}
