"""CSV lines of pass rates and similarities."""

from __future__ import annotations

from collections.abc import Iterator

from caretbench.reports.estimates import ReportedNumber
from caretbench.reports.frame import GROUP, LABELS
from caretbench.reports.section import Line
from caretbench.reports.summary import Column, RateCell


def rate_lines(column: Column) -> Iterator[Line]:
    """Yield one line per scope and metric, and the coverage."""
    common = {name: getattr(column, name) for name in GROUP}
    for scope, cell in _scopes(column):
        for metric, estimate in _estimates(cell):
            yield {"scope": scope, "metric": metric} | common | _labels(cell) | estimate.numbers()
    if column.coverage is not None:
        row = {"metric": "coverage", "value": column.coverage, "problems": column.overall.problems}
        yield {"scope": "all"} | common | row


def _scopes(column: Column) -> Iterator[tuple[str, RateCell]]:
    yield "all", column.overall
    if column.valid is not None:
        yield "valid", column.valid
    if column.net_of_empty is not None:
        yield "net_of_empty", column.net_of_empty
    for stratum, cells in column.strata.items():
        for cell in cells:
            yield stratum, cell


def _labels(cell: RateCell) -> dict[str, str]:
    """The labels that have columns of their own, and the others as ``name=value; name=value``."""
    own = {name: value for name, value in cell.labels.items() if name in LABELS}
    further = [f"{name}={value}" for name, value in cell.labels.items() if name not in own]
    return own | ({"labels": "; ".join(further)} if further else {})


def _estimates(cell: RateCell) -> Iterator[tuple[str, ReportedNumber]]:
    for k, estimate in cell.pass_at.items():
        yield f"pass@{k}", estimate
    for method, estimate in cell.printed.items():
        yield f"pass@1 ({method})", estimate
    yield from cell.similarity.items()
