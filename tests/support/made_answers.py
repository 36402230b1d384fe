"""Reports of every suite over made-up models: they answer with the reference, or with a wrong answer.

They stand in for models, which need a network or minutes of CPU. Which problems a made-up model knows is drawn from
the ids of the problem and the model, so a report has the same numbers every time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import caretbench
from caretbench.files import write_rows
from caretbench.problem import Caret, Completion, Problem
from caretbench.reports.run_summary import load_run_folder, summarise_run, write_html

SUITES: Mapping[str, int | None] = {
    "devbench": None, "simcopilot": 120, "efcb": None, "c3bench": None, "codevbench": None,
}  # fmt: skip
"""Suites, each with the number of starter problems that a picture is over; None is all of them."""

SKILLS: Mapping[str, float] = {"model-large": 0.8, "model-middle": 0.74, "model-small": 0.45}
"""Shares of the problems that the made-up models know."""


def made_answers(problems: Sequence[Problem]) -> Iterator[Completion]:
    """Yield an answer of each made-up model to each problem."""
    for place, problem in enumerate(problems):
        other = problems[(place + 1) % len(problems)].reference
        for model, skill in SKILLS.items():
            # Half of the draw is the problem's, so that hard problems are hard for all models.
            knows = (_draw(problem.id) + _draw(f"{model} {problem.id}")) / 2 < _quantile(skill)
            text = problem.reference if knows else _wrong(problem, other, _draw(f"{problem.id} {model} wrong"))
            yield Completion(problem_id=problem.id, model=model, parameters="recorded", text=text)


def suite_report(suite: str, folder: Path, limit: int | None = None) -> Path:
    """Return the report of a suite over its starter problems, the made-up models and all baselines."""
    folder.mkdir(parents=True, exist_ok=True)
    recorded = folder / "answers.jsonl"
    found = made_answers(caretbench.load_suite(suite).load("starter").problems)
    write_rows(recorded, found)
    config = caretbench.RunConfig(suites=[{"name": suite, "limit": limit}], output=str(folder / "example"))
    run = caretbench.score(config, [recorded])
    loaded = load_run_folder(run.path)
    return write_html(run.path, loaded, summarise_run(loaded))


def _wrong(problem: Problem, other: str, draw: float) -> str:
    """Return a wrong answer: the beginning of the right one, another problem's, or a wrong letter."""
    if not isinstance(problem.shown, Caret) and len(problem.reference) == 1:
        return "ABCD"[("ABCD".index(problem.reference) + 1 + int(3 * draw)) % 4]
    lines = problem.reference.splitlines(keepends=True)
    return "".join(lines[: len(lines) // 2]) if draw < 0.5 else other


def _draw(text: str) -> float:
    """Return a number from 0 to 1 that depends on the text only."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32


def _quantile(share: float) -> float:
    """Return the value below which the mean of two even draws is with this probability."""
    return (share / 2) ** 0.5 if share < 0.5 else 1 - ((1 - share) / 2) ** 0.5
