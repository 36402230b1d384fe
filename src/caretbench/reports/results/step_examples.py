"""Post-processing step by step, on answers of this run: the paper's Figures 6 and 7, in form.

One example for each mode. An answer that the last step made right is preferred, then one of which the steps made
the most different texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

import polars as pl

from caretbench.extraction.policies import policy
from caretbench.problem import Caret, Completion, Problem
from caretbench.reports.frame import Run
from caretbench.reports.results.best_of import STEPS

_TITLES = ("1. What is no code goes", "2. Repeated lines go", "3. Indentation or brackets")
_LOOKED_AT = 60
_PREFIX_LINES, _SUFFIX_LINES, _LENGTH = 12, 6, 1500
_MARK = "▮"
"""Where the answer goes, in the texts that are shown."""


class ShownStep(NamedTuple):
    """A text on the way, and whether it passed; None: it was not run."""

    title: str
    text: str
    passed: bool | None = None


class StepExample(NamedTuple):
    """One answer on its way to what is run."""

    title: str
    steps: tuple[ShownStep, ...]


def step_examples(run: Run) -> tuple[StepExample, ...]:
    """An example of each language and mode whose answers were scored under all three steps; no baselines."""
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
    """Whether the steps made it right, and how many different texts they made of it."""
    first, *_, last = (step.passed for step in example.steps if step.passed is not None)
    return bool(last) and not first, len({step.text for step in example.steps[1:-1]})


def _around(caret: Caret) -> str:
    before = "\n".join(caret.prefix.split("\n")[-_PREFIX_LINES:])[-_LENGTH:]
    after = "\n".join(caret.suffix.split("\n")[:_SUFFIX_LINES])[:_LENGTH]
    return before + _MARK + after


def _cut(text: str) -> str:
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}\n[… {len(text) - _LENGTH} more characters …]"
