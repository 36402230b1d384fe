"""SimCopilot's post-processing step by step: best of three, and examples (like Figures 6 and 7 of the paper).

Best of three counts an answer as passed if it passes after any step. The tests choose the text that they then check, so
the rate is too high; it is shown only for comparison with the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import polars as pl

from caretbench.extraction.policies import policy
from caretbench.problem import AnyCompletion, Caret, Problem
from caretbench.reports.estimates import ReportedNumber, ReportValue, mean_estimate
from caretbench.reports.frame import LoadedRun
from caretbench.reports.results.problem_lists import ExcludedProblems, excluded_ids

STEPS = ("simcopilot/clean", "simcopilot/trim", "simcopilot/repair")
"""Policies of the released steps; the first is the paper's "without post-processing"."""

TITLE = "Best of three by test result (too high: the tests choose the text that they check)"


_TITLES = ("1. Only code is kept", "2. Repeated lines removed", "3. Indentation or brackets repaired")
_MAX_EXAMINED = 60
_PREFIX_LINES, _SUFFIX_LINES, _LENGTH = 12, 6, 1500
_MARK = "▮"
"""Placeholder of the answer in the shown texts."""


class BestOfThree(ReportValue):
    """Best of three of one model: pass@1 after each step, and if the tests choose the best step."""

    model: str
    parameters: str
    profile: str
    by_step: Mapping[str, ReportedNumber]
    best: ReportedNumber


def best_of_three(
    frame: pl.DataFrame, excluded_problems: Sequence[ExcludedProblems], seed: int
) -> Iterator[BestOfThree]:
    """Yield the best of three of every model that was scored under all three steps, over samples with all verdicts."""
    steps = frame.with_columns(step=pl.col("policy").str.split("@").list.first()).filter(
        pl.col("step").is_in(list(STEPS)) & pl.col("passed").is_not_null()
    )
    for (model, parameters, profile), part in sorted(
        steps.partition_by("model", "parameters", "profile", as_dict=True).items()
    ):
        excluded = excluded_ids(excluded_problems, str(profile))
        complete = (
            part.filter(~pl.col("problem_id").is_in(list(excluded)))
            .group_by("problem_id", "sample")
            .agg(
                pl.col("step").n_unique().alias("steps"),
                *(pl.col("passed").filter(pl.col("step") == step).first().alias(step) for step in STEPS),
                pl.col("passed").any().alias("best"),
                pl.col("cluster").first(),
                pl.col("overlap_group").first(),
            )
            .filter(pl.col("steps") == len(STEPS))
        )
        if complete.is_empty():
            continue
        problems = (
            complete.group_by("problem_id")
            .agg(
                *(pl.col(name).mean() for name in (*STEPS, "best")),
                pl.col("cluster").first(),
                pl.col("overlap_group").first(),
            )
            .sort("problem_id")
        )
        rates = {name: mean_estimate(problems[name].to_list(), problems, seed) for name in (*STEPS, "best")}
        best = rates.pop("best")
        yield BestOfThree(model=str(model), parameters=str(parameters), profile=str(profile), by_step=rates, best=best)


class ShownStep(NamedTuple):
    """Text after one step. ``passed`` is None if it was not run."""

    title: str
    text: str
    passed: bool | None = None


class StepExample(NamedTuple):
    """Example: the texts of one answer after each step."""

    title: str
    steps: tuple[ShownStep, ...]


def step_examples(run: LoadedRun) -> tuple[StepExample, ...]:
    """Return an example answer of a model for each language and mode that was scored under all three steps.

    Answers that pass only after the last step are preferred, then those with the most different texts.
    """
    problems = {problem.id: problem for problem in run.problems}
    answers = {completion.key: completion for completion in run.completions}
    scored = (
        run.frame.filter(~pl.col("model").is_in(run.baselines) & pl.col("passed").is_not_null())
        .with_columns(step=pl.col("policy").str.split("@").list.first())
        .filter(pl.col("step").is_in(list(STEPS)))
    )
    found: dict[tuple[str, str], list[tuple[tuple[str, str, str, int], Mapping[str, bool]]]] = {}
    for key, rows in scored.group_by(
        "problem_id", "model", "parameters", "sample", "language", "mode", maintain_order=True
    ):
        passed = dict(zip(rows["step"], rows["passed"], strict=True))
        if set(STEPS) <= passed.keys() and key[:4] in answers:
            part = (str(key[4] or ""), str(key[5] or ""))
            found.setdefault(part, []).append(((str(key[0]), str(key[1]), str(key[2]), int(key[3])), passed))
    examples = []
    for _, several in sorted(found.items()):
        # Repaired answers come first: they are few, and applying the steps to all would take long.
        several.sort(key=lambda entry: (entry[1][STEPS[0]], not entry[1][STEPS[-1]]))
        tried = (_example(problems[key[0]], answers[key], passed) for key, passed in several)
        best = max(islice((entry for entry in tried if entry is not None), _MAX_EXAMINED), key=_rank, default=None)
        if best is not None:
            examples.append(best)
    return tuple(examples)


def _example(problem: Problem, answer: AnyCompletion, passed: Mapping[str, bool]) -> StepExample | None:
    caret = problem.shown
    if not isinstance(caret, Caret) or answer.text is None:
        return None
    texts = [policy(step).apply(answer.text, caret).text for step in STEPS]
    return StepExample(
        title=f"{answer.model}, {problem.id}",
        steps=(
            ShownStep("Prompt", _around(caret)),
            ShownStep("Completion", _cut(answer.text)),
            *(
                ShownStep(title, _cut(text), passed[step])
                for title, text, step in zip(_TITLES, texts, STEPS, strict=True)
            ),
            ShownStep("Reference", _cut(problem.reference)),
        ),
    )


def _rank(example: StepExample) -> tuple[bool, int]:
    """Return whether the steps repaired the answer, and the number of different texts they produced."""
    first, *_, last = (step.passed for step in example.steps if step.passed is not None)
    return bool(last) and not first, len({step.text for step in example.steps[1:-1]})


def _around(caret: Caret) -> str:
    before = "\n".join(caret.prefix.split("\n")[-_PREFIX_LINES:])[-_LENGTH:]
    after = "\n".join(caret.suffix.split("\n")[:_SUFFIX_LINES])[:_LENGTH]
    return before + _MARK + after


def _cut(text: str) -> str:
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}\n[… {len(text) - _LENGTH} more characters …]"
