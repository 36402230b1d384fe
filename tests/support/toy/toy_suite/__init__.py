"""A toy suite: can a model add?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import polars as pl

from caretbench import (
    Caret,
    DataError,
    ExecutionRequest,
    InlineSplice,
    Measurement,
    Problem,
    ProblemSet,
    ProgramCheck,
    Provenance,
    Suite,
)
from caretbench.files import read_rows
from caretbench.metrics.similarity import similarities
from caretbench.problem import Profile
from caretbench.suites.baselines import BASELINES, BaselineFunction
from caretbench.suites.suite_types import SuiteChart


class Toy(Suite):
    """Additions of two numbers, run as Python programs."""

    name = "toy"
    title = "Toy"
    about = "whether a model can add"
    strata = ("language", "category")
    criteria_folder = Path(__file__).parent / "criteria"
    baselines: ClassVar[Mapping[str, BaselineFunction]] = {**BASELINES, "one": lambda _problem: "1"}

    def load(self, source: str) -> ProblemSet:
        """``starter``, or a folder that ``caretbench build toy`` wrote."""
        if source == "starter":
            return ProblemSet.of("starter", [toy_problem(first, 2, "python") for first in (1, 3, 5)])
        path = Path(source) / "problems.jsonl"
        if not path.is_file():
            raise DataError(f"{source}: no such folder; say starter, or give a folder of `caretbench build toy`")
        return ProblemSet.of(Path(source).name, list(read_rows(path, Problem)))

    def make_request(self, problem: Problem, text: str | None, profile: Profile) -> ExecutionRequest | None:
        """The spliced program."""
        if text is None or not isinstance(problem.splice, InlineSplice):
            return None
        source = problem.splice.program(text)
        return ExecutionRequest(id=problem.id, language="python", source=source, profile=profile)

    def measure(self, problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
        """Similarity to the reference."""
        del profile
        [likeness] = similarities([(text, problem.reference)])
        return [Measurement("similarity@1", likeness._asdict())]

    def result_charts(
        self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int
    ) -> tuple[SuiteChart, ...]:
        """A point for each answer: how large the sum is, and whether it was found."""
        del seed
        points = [
            {"sum": int(problems[identity].reference), "model": model, "passed": passed}
            for identity, model, passed in results.select("problem_id", "model", "passed").iter_rows()
        ]
        places = {"x": {"field": "sum", "type": "quantitative"}, "y": {"field": "model", "type": "nominal"}}
        colour = {"field": "passed", "type": "nominal"}
        spec = {"data": {"values": points}, "mark": "point", "encoding": places | {"color": colour}}
        return (SuiteChart("Sums that were found", spec),)


def toy_problem(first: int, second: int, language: str, text: str = "") -> Problem:
    """Return the problem of a sum; ``text`` is its docstring."""
    docstring = " ".join(text.replace("\\", "/").replace('"', "'").split()) or f"The sum of {first} and {second}."
    prefix = f'"""{docstring}"""\ntotal = ('
    identity = f"{language}/{first}-{second}"
    return Problem(
        id=identity,
        suite="toy",
        shown=Caret(language="python", prefix=prefix),
        splice=InlineSplice(before=prefix, after=f")\nassert total == {first + second}\n"),
        reference=str(first + second),
        checks=(ProgramCheck(),),
        labels={"language": "python", "category": "addition"},
        cluster=identity,
        provenance=Provenance(source="written for this page"),
    )
