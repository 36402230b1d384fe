"""A suite whose problems have instructions: functions over numbers, each to be written with a loop and with ``sum``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources

import polars as pl

import caretbench.judging.criteria as criteria_module
import caretbench.suites
from caretbench.execution.execution_types import ExecutionRequest
from caretbench.problem import (
    Caret,
    CriterionCheck,
    InlineSplice,
    PredicateCheck,
    Problem,
    Profile,
    ProgramCheck,
    Provenance,
)
from caretbench.suites import load_suite, register
from caretbench.suites.base import Suite
from caretbench.suites.instruction_effects import effect_table, instruction_effects
from caretbench.suites.suite_types import Measurement, ProblemSet, Table

LOOP, SUM = "Use a for loop.", "Use the built-in function sum."
FUNCTIONS = 24


def variants(number: int) -> dict[str, str]:
    """Both right answers to a function, by instruction."""
    loop = f"    total = {number}\n    for value in values:\n        total += value\n    return total\n"
    return {LOOP: loop, SUM: f"    return {number} + sum(values)\n"}


def instructed_problems(functions: int = FUNCTIONS) -> list[Problem]:
    """Two problems for each function: same caret, same tests, another instruction and reference."""
    return [problem for number in range(functions) for problem in _problems(number)]


def _problems(number: int) -> Iterator[Problem]:
    prefix = f"def total_{number}(values):\n"
    hidden = f"\nassert total_{number}([1, 2]) == {number + 3}\n"
    for instruction, text in variants(number).items():
        yield Problem(
            id=f"f{number:02}/{'loop' if instruction == LOOP else 'sum'}",
            suite="instructed",
            shown=Caret(language="python", prefix=prefix, instruction=instruction),
            splice=InlineSplice(before=prefix, after=hidden),
            reference=text,
            checks=(
                ProgramCheck(),
                PredicateCheck(name="uses", arguments={"loop": instruction == LOOP}),
                CriterionCheck(name="c3-instruction", maximum=1),
            ),
            labels={"language": "python", "category": "loop" if instruction == LOOP else "sum"},
            cluster=f"f{number:02}",
            overlap_group=f"f{number:02}",
            provenance=Provenance(source="a test"),
        )


def is_followed(instruction: str, text: str) -> bool:
    """Whether a text follows an instruction."""
    return ("for " if instruction == LOOP else "sum(") in text


class Instructed(Suite):
    """Sums with and without a loop."""

    name = "instructed"
    title = "Instructed"
    about = "whether a model follows an instruction"
    strata = ("category", "language")
    criteria_folder = resources.files("caretbench.suites.c3bench").joinpath("criteria")

    def load(self, source: str) -> ProblemSet:
        """The problems; ``source`` may be their number of functions."""
        return ProblemSet.of(source, instructed_problems(int(source) if source.isdigit() else FUNCTIONS))

    def make_request(self, problem: Problem, text: str | None, profile: Profile) -> ExecutionRequest | None:
        """The spliced program."""
        if text is None or not isinstance(problem.splice, InlineSplice):
            return None
        source = problem.splice.program(text)
        return ExecutionRequest(id=problem.id, language="python", source=source, profile=profile)

    def measure(self, problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
        """Whether the instruction is followed; not a check, since a working program may not follow it."""
        del profile
        return [Measurement("uses@1", {"followed": float(not self.failed_predicates(problem, text or ""))})]

    def failed_predicates(self, problem: Problem, text: str) -> Sequence[str]:
        """The construct that is missing."""
        return () if is_followed(problem.caret.instruction or "", text) else ("it does not use what it should",)

    def result_tables(self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
        """What the instruction changes, by predicate and by judge."""
        del problems
        measures = {"followed": "By predicate", "judged": "By judge"}
        effects = instruction_effects(results, measures, seed)
        return (effect_table(effects, "effects", "Effect of the instruction"),) if effects else ()


@contextmanager
def instructed_suite(suite: type[Suite] = Instructed) -> Iterator[Suite]:
    """Register the suite, and its criteria if no other suite did."""
    folders = [*criteria_module._added]
    register(suite)
    try:
        yield load_suite(suite.name)
    finally:
        del caretbench.suites._registered[suite.name]
        load_suite.cache_clear()
        criteria_module._added[:] = folders
        criteria_module.criteria.cache_clear()
