"""Last line of a report: date, versions, data, rules and seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from caretbench.execution.execution_types import RunCosts
from caretbench.reports.summary import Summary

_TITLES = {"caretbench": "CaretBench", "python": "Python"}


def footer_line(summary: Summary) -> str:
    """Return the date of the report, what its numbers are made with, and where the run's time went."""
    costs = summary.manifest.get("costs")
    took = f" {RunCosts.model_validate(costs).sentence()}" if costs else ""
    return f"{datetime.now(UTC).date().isoformat()}: {'; '.join(_facts(summary))}.{took}"


def _facts(summary: Summary) -> Iterator[str]:
    manifest = summary.manifest
    versions = manifest.get("versions")
    if isinstance(versions, Mapping):
        yield ", ".join(f"{_TITLES.get(name, name)} {version}" for name, version in versions.items())
    data = manifest.get("data")
    if isinstance(data, Mapping):
        yield f"data {data.get('name')} {str(data.get('hash'))[:8]}"
    for name in ("profile", "policy"):
        if manifest.get(name):
            yield f"{name} {manifest[name]}"
    yield f"seed of the bootstrap {summary.seed}"
