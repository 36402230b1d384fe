"""C3-Bench: completion under an instruction, how to implement and how much to write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from caretbench.extraction.policies import get_policy
from caretbench.files import DataError, read_rows
from caretbench.languages import get_language
from caretbench.metrics.similarity import similarities
from caretbench.problem import Problem, Profile
from caretbench.suites import register
from caretbench.suites.base import Suite
from caretbench.suites.baselines import BASELINES, BaselineFunction
from caretbench.suites.c3bench.measures import (
    BLIND_SCALE,
    C3_GATE_VERSION,
    CODE_TOKENS,
    COMMENTARY_TOKENS,
    FOLLOWED_REDUCED,
    NOT_REDUCED,
    OTHER_VARIANT,
    REDUCTION_SCORER,
    SUITE,
    C3BenchProfile,
    blind_answer,
    failed_predicates,
    followed,
    reduction,
    token_count,
)
from caretbench.suites.c3bench.tables.result_tables import headline_results, printed_table, result_tables
from caretbench.suites.suite_types import Headline, Measurement, ProblemSet, Reduction, Stratification, Table

if TYPE_CHECKING:
    import polars as pl


@register
class C3BenchSuite(Suite):
    """C3-Bench: problems with an instruction; see :class:`caretbench.suites.base.Suite`.

    ICC (Implementation-Control Completion) has tests and a predicate, SCC (Scale-Control Completion) a specification,
    and tests where its source has some.
    """

    name = SUITE
    title = "C3-Bench"
    about = "completion under an instruction: how to implement, checked by tests and predicates; how much to write"
    needs = "Python, Java, JavaScript, TypeScript, Go"
    cpu_minutes = 0.7
    further_data = "caretbench build c3bench SOURCE"
    strata = ("task", "category", "language", "extraction", "rewrite", "instruction_by", "author")
    stratification = Stratification(
        labels=("task", "category", "language", "extraction", "rewrite"),
        crossed=(("task", "category"), ("task", "language")),
        main_labels=("task", "category"),
        heat_maps=(("task", "category"),),
    )
    profile_rules = C3BenchProfile
    baselines: ClassVar[Mapping[str, BaselineFunction]] = {
        **BASELINES,
        # The right answer to another instruction of the same context; None if the context has no other.
        "other-variant": lambda problem: problem.released.get(OTHER_VARIANT),
        BLIND_SCALE: blind_answer,
    }
    gate_version = C3_GATE_VERSION
    reduction_scorer = REDUCTION_SCORER
    reduction_values = (FOLLOWED_REDUCED, NOT_REDUCED)
    criteria_folder = resources.files("caretbench.suites.c3bench").joinpath("criteria")

    def load(self, source: str) -> ProblemSet:
        """Load ``starter``, or a folder that ``caretbench build c3bench`` wrote."""
        if source == "starter":
            return ProblemSet.of("starter", list(read_rows(starter_folder() / "problems.jsonl", Problem)))
        root = Path(source)
        if not root.is_dir():
            # The paper's 2,195 problems were never published, and other suites have a source of this name.
            hint = "; nothing of this suite was ever released" if source == "released" else ""
            raise DataError(f"{source}: no such folder; use starter, or a folder of `caretbench build c3bench`{hint}")
        path = root / "problems.jsonl"
        if not path.exists():
            again = "run the same `caretbench build c3bench` command again to continue"
            raise DataError(f"{root}: no problems.jsonl: {again}")
        return ProblemSet.of(root.resolve().name, list(read_rows(path, Problem)))

    def measure(self, problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
        """Return similarity, and whether the answer follows its instruction; that is no part of passing the tests."""
        [likeness] = similarities([(text, problem.reference)])
        return [Measurement("similarity@1", likeness._asdict()), *followed(problem, text or "", profile)]

    def reduction(self, problem: Problem, text: str | None, profile: Profile) -> Reduction | None:
        """Return the reduction of an answer whose predicate holds: it may hold for lines without an effect."""
        return reduction(problem, text or "", profile)

    def measure_raw(self, problem: Problem, raw: str) -> list[Measurement]:
        """Return the tokens of a raw answer: of its code, by the policy ``clean``, and of everything else."""
        code = token_count(get_policy("clean").apply(raw, problem.caret).text)
        rest = max(token_count(raw) - code, 0)
        return [Measurement("raw-tokens@1", {CODE_TOKENS: float(code), COMMENTARY_TOKENS: float(rest)})]

    def failed_predicates(self, problem: Problem, text: str) -> Sequence[str]:
        """Return a line for each predicate that an answer does not satisfy."""
        return failed_predicates(problem, text)

    def canonical_label(self, name: str, value: str) -> str:
        """Return the name of a language for its other names, and lower case for tasks."""
        if name == "language":
            return get_language(value).name
        return value.lower() if name == "task" else value

    def result_tables(self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
        """Return Table 2; reports break instruction following down by the strata."""
        return result_tables(results, problems, seed)

    def headline_results(self, results: pl.DataFrame) -> tuple[pl.DataFrame, Mapping[str, Headline]]:
        """Return instruction following of both tasks: tests alone do not tell whether an instruction is followed."""
        return headline_results(results)

    def published_tables(self, results: Sequence[Table]) -> tuple[Table, ...]:
        """Return Table 2 as printed, below the rows of the run."""
        return (printed_table(results),)


def starter_folder() -> Path:
    """Return the folder of the starter set in the package: ``functions/`` and ``problems.jsonl``."""
    return Path(str(resources.files("caretbench.suites.c3bench"))) / "starter_set"
