"""Post-processing step by step, as SimCopilot's paper has it: best of three, and examples (Figures 6 and 7, in form).

Best of three is the step whose text passes the tests. The tests choose the text that they then judge, so the rate is
too high; it is shown to compare with the paper, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import polars as pl

from caretbench.extraction.policies import policy
from caretbench.problem import Caret, Completion, Problem
from caretbench.reports.estimates import ReportedNumber, ReportValue, mean_estimate
from caretbench.reports.frame import LoadedRun
from caretbench.reports.results.problem_lists import ExcludedProblems, excluded_ids

STEPS = ("simcopilot/clean", "simcopilot/trim", "simcopilot/repair")
"""The policies that are the released steps, the first of them the paper's "without post-processing"."""

TITLE = "Best of three by test result (too high: the tests choose the text that they judge)"


_TITLES = ("1. What is no code goes", "2. Repeated lines go", "3. Indentation or brackets")
_LOOKED_AT = 60
_PREFIX_LINES, _SUFFIX_LINES, _LENGTH = 12, 6, 1500
_MARK = "▮"
"""Placeholder of the answer in the shown texts."""


class BestOfThree(ReportValue):
    """Best of three of one model: pass@1 under each step alone, and if the tests choose among them."""

    model: str
    parameters: str
    profile: str
    by_step: Mapping[str, ReportedNumber]
    best: ReportedNumber


def best_of_three(
    frame: pl.DataFrame, excluded_problems: Sequence[ExcludedProblems], seed: int
) -> Iterator[BestOfThree]:
    """Yield the best of three of every model scored under all three steps, over samples with all verdicts."""
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
        yield BestOfThree(
            model=str(model), parameters=str(parameters), profile=str(profile), by_step=rates, best=best
        )


class ShownStep(NamedTuple):
    """Text after one step, and whether it passed; None: it was not run."""

    title: str
    text: str
    passed: bool | None = None


class StepExample(NamedTuple):
    """Example of one answer through all steps."""

    title: str
    steps: tuple[ShownStep, ...]


def step_examples(run: LoadedRun) -> tuple[StepExample, ...]:
    """Return an example of each language and mode whose answers were scored under all three steps; no baselines.

    An answer that the last step made right is preferred, then one of which the steps made the most different texts.
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
        # Those that the steps made right come first; they are few, and applying the steps to all would take long.
        several.sort(key=lambda entry: (entry[1][STEPS[0]], not entry[1][STEPS[-1]]))
        told = (_told(problems[key[0]], answers[key], passed) for key, passed in several)
        best = max(
            islice((entry for entry in told if entry is not None), _LOOKED_AT), key=_worth, default=None
        )
        if best is not None:
            examples.append(best)
    return tuple(examples)


def _told(problem: Problem, answer: Completion, passed: Mapping[str, bool]) -> StepExample | None:
    caret = problem.shown
    if not isinstance(caret, Caret) or answer.text is None:
        return None
    texts = [policy(step).apply(answer.text, caret).text for step in STEPS]
    return StepExample(
        title=f"{answer.model}, {problem.id}",
        steps=(
            ShownStep("What is shown", _around(caret)),
            ShownStep("What the model wrote", _cut(answer.text)),
            *(
                ShownStep(title, _cut(text), passed[step])
                for title, text, step in zip(_TITLES, texts, STEPS, strict=True)
            ),
            ShownStep("The reference", _cut(problem.reference)),
        ),
    )


def _worth(example: StepExample) -> tuple[bool, int]:
    """Return whether the steps repaired the answer, and the number of different texts they produced."""
    first, *_, last = (step.passed for step in example.steps if step.passed is not None)
    return bool(last) and not first, len({step.text for step in example.steps[1:-1]})


def _around(caret: Caret) -> str:
    before = "\n".join(caret.prefix.split("\n")[-_PREFIX_LINES:])[-_LENGTH:]
    after = "\n".join(caret.suffix.split("\n")[:_SUFFIX_LINES])[:_LENGTH]
    return before + _MARK + after


def _cut(text: str) -> str:
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}\n[… {len(text) - _LENGTH} more characters …]"
