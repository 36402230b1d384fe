"""Table of instruction following by judges next to that by predicates (Implementation-Control Completion)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from caretbench.suites.c3bench.tables.result_rows import (
    NO_VALUE,
    ModelResults,
    Row,
    followed_if_passed,
    joint,
    passed,
    percentage,
)
from caretbench.suites.suite_types import FAILED_CONTROLS_MARK, Table

if TYPE_CHECKING:
    import polars as pl

JOINT_JUDGED: Final = "joint_judged"
"""Column with the judge's share of yes about an answer that passes, and 0 for one that does not."""

_NOTE: Final = (
    "Judges are asked about answers that pass. IF: the answer passes and follows its instruction; of passed: the share "
    "among those that pass. A judge's number is there only if all answers that pass were judged."
)


def judged(row: Row) -> float | None:
    """Return the share of yes about an answer that passes; None if it does not pass, or was not judged."""
    return float(row["judged"]) if passed(row) == 1.0 and row.get("judged") is not None else None


def joint_judged(row: Row) -> float | None:
    """Return 0 for an answer that does not pass, and the share of yes for one that does."""
    return 0.0 if passed(row) == 0.0 else judged(row)


def judged_tables(models: Sequence[ModelResults], profile: str, policy: str) -> Iterator[Table]:
    """Yield the table of models whose passing answers were all judged; none without such models."""
    rows, refused = [], dict[str, None]()
    for model in models:
        icc = model.task("icc")
        if not _is_judged(icc.rows):
            continue
        reasons = dict.fromkeys(str(row["withheld"]) for row in icc.rows if row.get("withheld"))
        mark = f" {FAILED_CONTROLS_MARK}" if reasons else ""
        refused |= reasons
        rows.append(
            (
                model.title, percentage(icc.mean(passed)), percentage(icc.mean(joint)),
                _marked(percentage(icc.mean(joint_judged)), mark), percentage(icc.mean(followed_if_passed)),
                _marked(percentage(icc.mean(judged)), mark), str(sum(judged(row) is not None for row in icc.rows)),
            )
        )  # fmt: skip
    if rows:
        yield Table(
            f"c3bench-judged-{profile}-{policy}",
            f"Instruction following by judge (Implementation-Control Completion), {profile} profile, policy {policy}",
            (
                "Model", "Pass@1", "IF, predicate", "IF, judge", "IF of passed, predicate", "IF of passed, judge",
                "Judged answers",
            ),
            tuple(rows),
            (_NOTE, *(f"{FAILED_CONTROLS_MARK}: {reason}." for reason in refused)),
        )  # fmt: skip


def _is_judged(rows: Sequence[Row]) -> bool:
    passing = [row for row in rows if passed(row) == 1.0]
    return bool(passing) and all(judged(row) is not None for row in passing)


def _marked(text: str, mark: str) -> str:
    number, line, note = text.partition("\n")
    return text if number == NO_VALUE else f"{number}{mark}{line}{note}"


def with_joint_judged(results: pl.DataFrame) -> pl.DataFrame:
    """Return the results with a column :data:`JOINT_JUDGED`, null for models with an answer that was not judged."""
    import polars as pl

    if "judged" not in results.columns or results["judged"].is_null().all():
        return results
    icc = pl.col("problem_id").str.starts_with("icc/")
    lacking = icc & pl.col("passed") & pl.col("judged").is_null()
    whole = ~lacking.any().over("model", "parameters", "policy", "profile")
    value = pl.when(pl.col("passed")).then(pl.col("judged")).otherwise(0.0)
    return results.with_columns(pl.when(icc & whole & pl.col("passed").is_not_null()).then(value).alias(JOINT_JUDGED))
