"""Result tables in the form of the paper's Table 2, and instruction following by category, type and language."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from caretbench.problem import Problem
from caretbench.suites.c3bench.tables.judged_table import JOINT_JUDGED, judged_tables, with_joint_judged
from caretbench.suites.c3bench.tables.result_rows import (
    NO_VALUE,
    ModelResults,
    Row,
    followed,
    followed_if_passed,
    followed_lenient,
    joint,
    model_results,
    passed,
    percentage,
    similarity,
)
from caretbench.suites.instruction_effects import effect_table, instruction_effects
from caretbench.suites.suite_types import Headline, Table

if TYPE_CHECKING:
    import polars as pl

_HEADS: Final = (
    "Model", "FIM", "ICC ES", "ICC Pass@1", "ICC IF", "ICC IF of passed", "SCC ES", "SCC IF", "SCC IF lenient",
    "Average IF",
)  # fmt: skip
_NOTES: Final = (
    "Percentages with 95% intervals, resampled by source. ES is the normalised Indel similarity; the paper does not "
    "name its variant. ICC IF: passes the tests and satisfies the predicate of its instruction, as printed; IF of "
    "passed: the share among the answers that pass. SCC has no tests: strict, and lenient (one fence, line ends and "
    "indentation forgiven). Average IF: the mean of ICC IF and SCC IF.",
)
_HEADLINES: Final[Mapping[str, Headline]] = {
    "joint": Headline(
        "ICC IF", "Implementation-Control Completion: the answer passes the tests and follows its instruction"
    ),
    "scale": Headline("SCC IF", "Scale-Control Completion: the answer has the extent that its instruction asks for"),
}
_LABELS: Final = (
    ("icc", "category", "by category (Implementation-Control Completion)"),
    ("scc", "category", "by type (Scale-Control Completion)"),
    ("icc", "language", "by language (Implementation-Control Completion)"),
    ("scc", "language", "by language (Scale-Control Completion)"),
)


def result_tables(results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
    """Return the tables of a run; see :class:`caretbench.suites.base.Suite.result_tables`."""
    found: list[Table] = []
    models = sorted(model_results(results, problems, seed), key=lambda one: (one.profile, one.policy))
    for (profile, policy), group in groupby(models, key=lambda one: (one.profile, one.policy)):
        chosen = list(group)
        found += [_main_table(chosen, profile, policy), *judged_tables(chosen, profile, policy)]
        found += _label_tables(chosen, profile, policy)
    effects = instruction_effects(with_joint(results), EFFECT_MEASURES, seed)
    if effects:
        found.append(effect_table(effects, "c3bench-instruction", "Effect of the instruction (Figure 6, in form)"))
    return tuple(found)


EFFECT_MEASURES: Final = {
    "passed": "Pass@1", "joint": "ICC IF", JOINT_JUDGED: "ICC IF, judge", "scale": "SCC IF",
}  # fmt: skip
"""Titles of what the instruction changes, by column of :func:`with_joint`."""


def with_joint(results: pl.DataFrame) -> pl.DataFrame:
    """Return the results with columns for instruction following of both tasks: ``joint`` (ICC), ``scale`` (SCC).

    With a judge also ``joint_judged`` (ICC).
    """
    import polars as pl

    if "followed" not in results.columns:
        return results
    met, ran = pl.col("followed"), pl.col("passed").is_not_null()
    return with_joint_judged(results).with_columns(
        joint=pl.when(ran).then(met * pl.col("passed").cast(pl.Float64)),
        scale=pl.when(pl.col("problem_id").str.starts_with("scc/")).then(met),
    )


def headline_results(results: pl.DataFrame) -> tuple[pl.DataFrame, Mapping[str, Headline]]:
    """Return the results with instruction following of both tasks, and its titles; nothing where it is not measured."""
    found = with_joint(results)
    return found, {name: headline for name, headline in _HEADLINES.items() if name in found.columns}


def _main_table(models: Sequence[ModelResults], profile: str, policy: str) -> Table:
    rows = []
    for model in models:
        icc, scc = model.task("icc"), model.task("scc")
        both = [icc.mean(joint), scc.mean(followed)]
        known = [mean.value for mean in both if mean is not None]
        average = f"{100 * sum(known) / 2:.1f}" if len(known) == 2 else NO_VALUE
        rows.append(
            (
                model.title, model.fim, percentage(icc.mean(similarity)), percentage(icc.mean(passed)),
                percentage(both[0]), percentage(icc.mean(followed_if_passed)), percentage(scc.mean(similarity)),
                percentage(both[1]), percentage(scc.mean(followed_lenient)), average,
            )
        )  # fmt: skip
    return Table(
        f"c3bench-results-{profile}-{policy}",
        f"C3-Bench, {profile} profile, policy {policy} (the paper's Table 2, in form)",
        _HEADS,
        tuple(rows),
        _NOTES,
    )


def _label_tables(models: Sequence[ModelResults], profile: str, policy: str) -> Iterator[Table]:
    for task, label, title in _LABELS:
        values = sorted(
            {
                problem.label(label)
                for problem in models[0].problems.values()
                if problem.label("task") == task and label in problem.labels
            }
        )
        if len(values) < 2:
            continue
        measure: Callable[[Row], float | None] = joint if task == "icc" else followed
        rows = [
            (model.title, *(percentage(model.task(task, label, value).mean(measure)) for value in values))
            for model in models
        ]
        yield Table(
            f"c3bench-{task}-{label}-{profile}-{policy}",
            f"Instruction following {title}, {profile} profile, policy {policy}",
            ("Model", *values),
            tuple(rows),
        )
