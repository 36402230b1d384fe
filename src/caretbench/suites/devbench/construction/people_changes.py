"""Changes by people: instances that a review rejected, and files that were edited by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from caretbench.errors import DataError
from caretbench.files import read_rows
from caretbench.problem import Problem
from caretbench.suites.devbench.construction.build_folder import BuildFolder
from caretbench.suites.devbench.construction.build_rows import BuiltInstance
from caretbench.suites.devbench.instance_rules.instance_checks import PASSED, text_checks
from caretbench.validation.reviewed import REJECTED, SETTLED_NAME, ReviewedProblem, problem_hash


def rejected_instances(
    review: Path, problems: Sequence[Problem], rows: Mapping[str, BuiltInstance]
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
    hashes = {problem.id: problem_hash(problem) for problem in problems}
    for found in read_rows(file, ReviewedProblem):
        row = rows.get(found.problem_id)
        if row is None or found.value != REJECTED or found.problem_hash != hashes.get(row.id):
            continue
        yield row, "; ".join((*found.reasons, *found.notes)) or "no reason given"


def check_edited_files(
    folder: BuildFolder, rows: dict[str, BuiltInstance], problems: Mapping[str, Problem]
) -> Iterator[str]:
    """Check the texts of edited instances again, and yield a line for each edited, faulty or missing one.

    ``rows`` gets the new results. The sandbox is not used: `caretbench validate devbench --data` runs the gate.
    """
    for name, row in list(rows.items()):
        problem = problems.get(name)
        if problem is None:
            del rows[name]
            yield f"{name}: its file is gone; its row goes too"
            continue
        text_hash = folder.text_hash(name)
        if text_hash == row.text_hash:
            continue
        checks = {
            **text_checks(problem),
            "gate": "edited after the gate; run: caretbench validate devbench --data FOLDER",
        }
        update = {"checks": checks, "text_hash": text_hash, "problem_hash": problem_hash(problem)}
        rows[name] = row.model_copy(update=update)
        faults = [f"{check}: {fault}" for check, fault in checks.items() if fault != PASSED and check != "gate"]
        yield f"{name}: edited by hand; " + ("; ".join(faults) if faults else "its text is within the rules")
