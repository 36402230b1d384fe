"""DevBench: six developer-derived categories in six languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from caretbench.execution.execution_types import ExecutionRequest, Limits
from caretbench.files import DataError
from caretbench.languages import get_language
from caretbench.metrics.paired import Comparison, Pair, compare_family
from caretbench.metrics.similarity import paper_similarity, similarities
from caretbench.problem import Completion, InlineSplice, PredicateCheck, Problem, Profile
from caretbench.profiles import ProfileRule, ProfileRules, paper_only
from caretbench.suites import register
from caretbench.suites.base import Suite
from caretbench.suites.devbench import released_problems as released
from caretbench.suites.devbench import starter
from caretbench.suites.devbench.built_instances import built_problems
from caretbench.suites.devbench.cells.cell_tables import canonical_category
from caretbench.suites.devbench.starter import DocumentationCheck, documentation_faults
from caretbench.suites.problem_means import difference_points
from caretbench.suites.suite_types import Measurement, ProblemSet, Table
from caretbench.syntax.parser import encode
from caretbench.text_tables import p_text

if TYPE_CHECKING:
    import polars as pl


class DevBenchProfile(ProfileRules):
    """Scoring rules of DevBench's profiles ``paper`` and ``default``."""

    # The released runner stops a step after 30 s of wall time. Firebase's type declarations take longer on one core, so
    # the same seconds count as CPU time here, with twice the wall time.
    limits = ProfileRule(
        "Limits of a program",
        paper=Limits(wall_s=60.0, cpu_s=30.0),
        default=Limits(),
        descriptions=("30 s of CPU, 60 s of wall time", "15 s of CPU, 60 s of wall time"),
    )
    # 2: as the released runner in Java packages, headers of C++ and builds of C#.
    programs = ProfileRule("Version of the rules that make programs of answers", paper=2, default=1)
    first_lines = paper_only(
        "Texts compared by similarity",
        paper="first lines; a line matches if any sample's does",
        default="full texts; means over samples",
    )
    released_texts = paper_only(
        "Texts of the program and the statistics of a released problem",
        paper="released texts, joined and counted as by the released scripts",
        default="the problem's own texts",
    )


@register
class DevBench(Suite):
    """DevBench: programs with a caret, run with hidden tests; see :class:`caretbench.suites.base.Suite`."""

    name = "devbench"
    title = "DevBench"
    about = "six developer-derived categories in six languages, checked by execution and similarity"
    needs = "compilers of six languages"
    cpu_minutes = 0.7
    further_data = "--data released"
    profile_rules = DevBenchProfile
    strata = ("language", "category", "mode", "boundary", "direction", "kind", "band", "generator", "generator_family",
              "origin", "scenario")  # fmt: skip

    def load(self, source: str) -> ProblemSet:
        """Return the problems of ``starter``, ``released`` (fetched by ``pull``), or a folder of either layout."""
        if source == "starter":
            return ProblemSet.of("starter", starter.load(starter.starter_root()))
        if source == "released":
            return ProblemSet.of("released", released.load(released.released_folder()))
        root = Path(source)
        if not root.is_dir():
            raise DataError(f"{source}: no such folder; expected starter, released, or a folder with problems")
        # Both layouts have folders of languages; `c_sharp` and files of rows occur only in the released one.
        if any((root / name).is_dir() for name in ("benchmark", "c_sharp")) or any(root.glob("*/*/*.jsonl")):
            return ProblemSet.of("released", released.load(root), released.passed_over(root))
        if problems := built_problems(root):
            return ProblemSet.of(root.resolve().name, problems, starter.passed_over(root))
        return ProblemSet.of(root.name, starter.load(root, source=root.name))

    def recorded_completions(
        self,
        path: Path,
        problems: Mapping[str, Problem],
        models: Sequence[str],
        on_skipped: Callable[[str], None] = lambda _problem_id: None,
    ) -> Iterator[Completion]:
        """Yield the completions in a plain JSONL file or a folder of the released layout."""
        return released.recorded_completions(path, problems, models, on_skipped)

    def make_request(self, problem: Problem, text: str | None, profile: Profile) -> ExecutionRequest | None:
        """Return the program with an answer; None if it fails without execution (null, in a compiled language)."""
        request = super().make_request(problem, text or "", profile)
        if not isinstance(request, ExecutionRequest):
            raise TypeError(f"{problem.id} has no program check, or is not spliced inline")
        language, rules = request.language, DevBenchProfile(profile)
        # Without a line feed that the model did not see: the program is prefix, answer and suffix as they are.
        source, variant = None if text is None else request.source, request.variant
        if rules.released_texts and problem.released:
            source = released.paper_program(language, problem.released, text)
            if source is not None and language == "csharp":
                variant = released.csharp_variant(source)
        if source is None:
            return None
        bundle = _bundle(language) if problem.released else None
        return request.model_copy(
            update={"source": source, "variant": variant, "bundle": bundle, "limits": rules.limits}
        )

    def measure(self, problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
        """Return the similarity to the reference (``paper``: of first lines), and the result of predicates."""
        if DevBenchProfile(profile).first_lines:
            likeness = paper_similarity(text, problem.reference)._asdict()
        else:
            likeness = similarities([(text, problem.reference)])[0]._asdict()
        measurements = [Measurement("similarity@1", likeness)]
        if any(isinstance(check, PredicateCheck) for check in problem.checks):
            faults = self.failed_predicates(problem, text or "")
            passed = {"passed": float(not faults)}
            measurements.append(Measurement("documentation@1", passed, {"missing": "; ".join(faults)}))
        return measurements

    def failed_predicates(self, problem: Problem, text: str) -> list[str]:
        """Return a line for each requirement that a documentation comment does not meet."""
        checks = [check for check in problem.checks if isinstance(check, PredicateCheck)]
        if not checks or not isinstance(problem.splice, InlineSplice):
            return []
        # With released tests every comment passes, since it is never executed.
        program, name = problem.splice.program(text), problem.caret.language
        start = len(encode(problem.splice.before))
        end = start + len(encode(text))
        requirements = [DocumentationCheck.model_validate(dict(check.arguments)) for check in checks]
        return [fault for check in requirements for fault in documentation_faults(program, name, check, start, end)]

    def result_tables(self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
        """Return the comparison of instances with their siblings, for sets that have some."""
        return memory_tables(results, problems, seed)

    def canonical_label(self, name: str, value: str) -> str:
        """Return ``csharp`` for ``c_sharp`` or ``C#``, and CaretBench's name of a category for the released one."""
        if name == "language":
            return get_language(value).name
        return canonical_category(value) if name == "category" else value


@cache
def _bundle(name: str) -> str | None:
    """Return the name of the bundle for released programs; None if the language has none (C#, by default)."""
    from caretbench.execution.bundles.bundle_model import (
        bundle_specs,  # loads pip and the sandbox, which only a request needs
    )

    name = f"devbench/{name}"
    return name if name in bundle_specs() else None


_GROUP: Final = ("model_title", "policy", "profile")
_HEADS: Final = ("Model", "Pairs", "Originals", "Siblings", "Difference (points)", "p (tests)", "Verdict")
_NOTE: Final = (
    "A sibling has the shape of its original in another domain, with other names and numbers. A model that remembers "
    "the originals passes more of them. Differences by pair, originals minus siblings, with 95% intervals, resampled "
    "by scenario; p values are adjusted for the tests of this table (max-T)."
)


def memory_tables(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
    """Return the comparison of originals with siblings by model; nothing in a run without pairs.

    Arguments as in :meth:`caretbench.suites.base.Suite.result_tables`.
    """
    pairs = _pairs(problems)
    if not pairs or "passed" not in results.columns:
        return ()
    compared: dict[str, Pair] = {}
    for names, rows in sorted(results.partition_by(*_GROUP, as_dict=True).items()):
        means = _means(rows)
        # A pair counts where both were answered; one of them alone says nothing about the difference.
        answered = [pair for pair in pairs.items() if means.keys() >= {*pair}]
        if answered:
            siblings, originals = ([means[name] for name in side] for side in zip(*answered, strict=True))
            # Generators that were given one scenario wrote alike programs: pairs are resampled by scenario.
            clusters = [problems[original].cluster for _, original in answered]
            compared[" · ".join(map(str, names))] = Pair(siblings, originals, clusters)
    comparisons = compare_family([*compared.values()], seed=seed)
    lines = tuple(
        _memory_row(model, pair, comparison)
        for (model, pair), comparison in zip(compared.items(), comparisons, strict=True)
    )
    return (Table("memory", "Originals and siblings", _HEADS, lines, (_NOTE,)),) if lines else ()


def _pairs(problems: Mapping[str, Problem]) -> dict[str, str]:
    """Return the original of each sibling: of the same scenario and the same generator."""
    built = {
        name: (problem.label("origin"), (problem.label("scenario"), problem.label("generator")))
        for name, problem in problems.items()
        if "origin" in problem.labels
    }
    originals = {key: name for name, (origin, key) in built.items() if origin == "original"}
    return {name: originals[key] for name, (origin, key) in built.items() if origin == "sibling" and key in originals}


def _means(rows: pl.DataFrame) -> dict[str, float]:
    """Return the pass rate of each problem, over its samples."""
    import polars as pl

    decided = rows.filter(pl.col("passed").is_not_null())
    return dict(decided.group_by("problem_id").agg(pl.col("passed").cast(pl.Float64).mean()).iter_rows())


def _memory_row(model: str, pair: Pair, comparison: Comparison) -> tuple[str, ...]:
    originals, siblings = (f"{100 * (sum(side) / len(side)):.1f}%" for side in (pair.second, pair.first))
    return (
        model, str(comparison.n), originals, siblings, difference_points(comparison),
        p_text(comparison.p_value, comparison.family),
        comparison.verdict("better on the originals", "better on the siblings"),
    )  # fmt: skip
