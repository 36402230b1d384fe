"""Changes by people: instances that a review rejected, and files that were edited by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from caretbench.errors import DataError
from caretbench.files import read_rows
from caretbench.problem import Problem
from caretbench.suites.devbench.construction.build_folder import BuildFolder
from caretbench.suites.devbench.construction.build_rows import BuiltInstance
from caretbench.suites.devbench.construction.candidates import InstanceExamination, measured_properties
from caretbench.suites.devbench.instance_rules.instance_checks import PASSED, text_checks
from caretbench.validation.reviewed import REJECTED, SETTLED_NAME, ReviewedProblem, problem_hash


def rejected_instances(
    review: Path, problems: Mapping[str, Problem], rows: Mapping[str, BuiltInstance]
) -> Iterator[tuple[BuiltInstance, str]]:
    """Yield the rejected instances of a set with the reasons; results about other texts do not count.

    Args:
        review: ``settled.jsonl`` or ``rejections.jsonl`` of a review's export, or the folder of the export.
        problems: The problems of the set.
        rows: The rows of its instances by id.

    Raises:
        DataError: the file is missing or malformed.
    """
    file = review / SETTLED_NAME if review.is_dir() else review
    if not file.exists():
        raise DataError(f"{file}: no such file; `caretbench review export` writes it")
    hashes = {problem.id: problem_hash(problem) for problem in problems.values()}
    for found in read_rows(file, ReviewedProblem):
        row = rows.get(found.problem_id)
        if row is None or found.value != REJECTED or found.problem_hash != hashes.get(row.id):
            continue
        yield row, "; ".join((*found.reasons, *found.notes)) or "no reason given"


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
    verdicts = examination.gate.run(gated, examination.verdicts) if gated else []
    for row, verdict in zip(edited, verdicts, strict=True):
        gate = PASSED if verdict.verdict == "valid" else "; ".join(verdict.reasons)
        checks = {**text_checks(problems[row.id]), "gate": gate}
        faults = [f"{check}: {fault}" for check, fault in checks.items() if fault != PASSED]
        about = "edited by hand; " + ("; ".join(faults) if faults else "it passes all checks")
        yield EditedInstance(row.id, row.model_copy(update={"checks": checks}), about)
