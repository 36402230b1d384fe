"""Sentences about two models: the difference with its interval, what such a comparison finds, and how to find more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from caretbench.metrics.paired import Pair
from caretbench.metrics.power import power_of
from caretbench.reports.results.paired_models import ComparisonRow
from caretbench.suites import suite_of_run
from caretbench.text_tables import counted

TARGET: Final = 0.05
"""Difference for which the number of problems is named."""


def pair_sentences(row: ComparisonRow, *, points: bool = True) -> Iterator[str]:
    """Yield the sentences about two models, the better one first; ``points`` is False if the numbers are similarities.

    The second sentence, where no difference is found, is about the power of the comparison.
    """
    sign = -1 if row.difference < 0 else 1
    first, second = (row.first, row.second)[::sign]
    ends = sorted(sign * end for end in (row.low, row.high) if end is not None)
    size, problems = abs(row.difference), _problems(row)
    if row.distinguishable:
        interval = f" [{' to '.join(_number(end, points) for end in ends)}]"
        if points:
            yield f"{first} passes {_number(size, points)} points more than {second} on {problems}{interval}."
        else:
            yield f"{first} is {_number(size, points)} more similar to the reference than {second}{interval}."
        return
    unit = " points" if points else ""
    interval = f" [{' to '.join(_number(end, points, '+') for end in ends)}]" if ends else ""
    difference = f"{_number(size, points, '+')}{unit}{interval}"
    if not row.decidable:
        few = f"{row.verdict} ({counted(row.problems, 'problem')})"
        yield f"Whether {first} is better than {second} {few}: {difference}."
        return
    if ends and not ends[0] <= 0 <= ends[1]:
        # An interval is of one pair, the test of all that the table shows.
        difference += f", p = {row.p_value:.3f} for {counted(row.family, 'test')}"
    yield f"{first} and {second} cannot be told apart on {problems}: {difference}."
    if power := " ".join(_power(row, points=points)):
        yield power


def _power(row: ComparisonRow, *, points: bool) -> Iterator[str]:
    if row.smallest is not None:
        unit = " points" if points else ""
        yield f"Such a comparison finds {_number(row.smallest, points)}{unit} in 8 of 10 cases."
    if points and row.needed is not None and (row.smallest or 1) > TARGET:
        groups = "" if row.groups == row.problems else f" in {-(-row.needed * row.groups // row.problems):,} groups"
        rate = "At their rate of disagreement " if row.differ else "They pass the same problems; "
        yield (
            f"{rate}{100 * TARGET:.0f} points need about {row.needed:,} problems{groups}"
            f"{f': `{row.way_on}`' if row.way_on else ''}."
        )


def _number(value: float, points: bool, sign: str = "") -> str:
    return f"{100 * value:{sign}.1f}" if points else f"{value:{sign}.3f}"


def _problems(row: ComparisonRow) -> str:
    if row.groups == row.problems:
        return counted(row.problems, "problem")
    return f"{counted(row.problems, 'problem')} in {counted(row.groups, 'independent group')}"


def with_power(row: ComparisonRow, scores: Pair, manifest: Mapping[str, Any], seed: int) -> ComparisonRow:
    """Return a comparison with its power, and how to get enough problems for :data:`TARGET`, by the run's manifest."""
    if not row.decidable:
        return row
    power = power_of(scores, TARGET, seed=seed, critical=row.critical)
    way_on = _way_on(manifest, power.needed / row.problems, grouped=row.groups < row.problems)
    differ = sum(first != second for first, second in zip(scores.first, scores.second, strict=True))
    found = {"smallest": power.smallest, "needed": power.needed, "way_on": way_on, "differ": differ}
    return row.model_copy(update=found)


def _way_on(manifest: Mapping[str, Any], times: float, *, grouped: bool) -> str:
    """Return the option that gives so many times the problems of the run, counted in the comparison or not."""
    data = manifest.get("data") or {}
    *_, selection = manifest.get("selections") or [{}]
    limit = math.ceil(times * (data.get("selected") or 0))
    # The manifest does not say how many problems have the labels of --select, nor in how many groups: EFCB's 1,166 are
    # of 172 pull requests, so that twice the problems are not twice the groups.
    alone = not grouped and not selection.get("select")
    if selection.get("limit") and alone and limit <= data.get("problems", 0):
        return f"--limit {limit}"
    suite = suite_of_run(str(manifest.get("suite")))
    return suite.further_data if suite and data.get("name") == "starter" else ""
