"""Changes by people: instances that a review rejected, and files that were edited by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from caretbench.build.validation.reviewed import problem_hash, reviewed_problems
from caretbench.problem import Problem
from caretbench.suites.devbench.build.construction.build_folder import BuildFolder
from caretbench.suites.devbench.build.construction.examination.candidates import (
    InstanceExamination,
    measured_properties,
)
from caretbench.suites.devbench.build.instance_rules.instance_checks import PASSED
from caretbench.suites.devbench.built_instances import BuiltInstance


def rejected_instances(
    review: Path, problems: Mapping[str, Problem], rows: Mapping[str, BuiltInstance]
) -> tuple[list[tuple[BuiltInstance, str]], Sequence[str]]:
    """Return the instances of a set that a review drops, with the reasons, and lines about the review.

    Args:
        review: ``settled.jsonl`` or ``rejections.jsonl`` of a review's export, or the folder of the export.
        problems: The problems of the set.
        rows: The rows of its instances by id.

    Raises:
        DataError: the file is missing or malformed.
    """
    found = reviewed_problems(review, [*problems.values()])
    return [(rows[name], reason) for name, reason in found.dropped.items() if name in rows], found.lines


class EditedInstance(NamedTuple):
    """An instance whose file was edited or deleted: its new row (None: deleted), and the result in words."""

    id: str
    row: BuiltInstance | None
    about: str


def edited_instances(
    folder: BuildFolder,
    rows: Mapping[str, BuiltInstance],
    problems: Mapping[str, Problem],
    examination: InstanceExamination,
) -> Iterator[EditedInstance]:
    """Yield the instances whose files people edited or deleted since they were checked, with new results of checks."""
    edited: list[BuiltInstance] = []
    for name, row in rows.items():
        if name not in problems:
            yield EditedInstance(name, None, "its file was deleted; another instance is asked for")
            continue
        text_hash = folder.text_hash(name)
        if text_hash != row.text_hash:
            update = measured_properties(problems[name], row.scenario)
            update |= {"text_hash": text_hash, "problem_hash": problem_hash(problems[name])}
            edited.append(row.model_copy(update=update))
    gated = [problems[row.id].model_copy(update={"id": f"{row.id}#{row.text_hash[:12]}"}) for row in edited]
    results = examination.runs.results(gated)
    for row, problem in zip(edited, gated, strict=True):
        gate = results[problem.id].fault or PASSED
        checks = {**examination.edited_checks(problems[row.id], row.scenario, row.library), "gate": gate}
        faults = [f"{check}: {fault}" for check, fault in checks.items() if fault != PASSED]
        about = "edited by hand; " + ("; ".join(faults) if faults else "it passes all checks")
        yield EditedInstance(row.id, row.model_copy(update={"checks": checks}), about)
