"""Rows of a built set's instances, and its problems with their labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator

from caretbench.errors import DataError, UsageError
from caretbench.files import read_appended
from caretbench.problem import Problem, Row, StoredRow
from caretbench.suites.devbench import starter
from caretbench.suites.validity import UNSEEN
from caretbench.syntax.analysis_types import CaretBoundary

Mode = Literal["suffix", "no_suffix"]


class Scenario(Row):
    """Properties that one instance shall have: the cell, and one value of each axis.

    ``names`` are invented words and ``numbers`` values for the program, so that every build is new. ``sibling_of`` is
    the id of the instance whose shape this one repeats in another domain.
    """

    id: str
    language: str
    category: str
    number: int
    kind: str
    domain: str
    language_construct: str
    band: str
    documentation: str
    mode: Mode
    boundary: CaretBoundary
    names: tuple[str, ...]
    numbers: tuple[int, ...]
    seed: int
    sibling_of: str | None = None

    @property
    def cell(self) -> str:
        """The cell: language and category."""
        return f"{self.language}/{self.category}"

    @property
    def original_id(self) -> str:
        """Id of the scenario without regard to siblings: that of the original and its sibling are the same."""
        return f"{self.cell}/{self.number}"


def _instance_id(name: str) -> str:
    parts = name.split("/")
    # The id becomes a path below the folder, and rows may come from somebody else: `..`, hidden files and NUL must not
    # get there.
    if len(parts) != 3 or any(not part or part.startswith(".") or "\\" in part or "\x00" in part for part in parts):
        raise UsageError(f"{name!r} is no id of an instance: expected LANGUAGE/CATEGORY/NAME")
    return name


InstanceId = Annotated[str, AfterValidator(_instance_id)]
"""Language, category and name; a path of a file below the folder."""


class BuiltInstance(StoredRow):
    """One instance of a built set: a line of ``instances.jsonl``; its program is the file of the same id.

    ``attempts`` and ``cost`` (US dollars, None where no price is known) cover its scenario up to this instance.
    ``kind``, ``band``, ``boundary`` and ``mode`` are measured; the requested ones are in the scenario. ``text_hash`` is
    that of the file when it was checked. ``sibling`` is the id of the instance with the same shape.
    """

    id: InstanceId
    track: str
    scenario: Scenario
    generator: str
    generator_family: str
    prompt_version: str
    attempts: int
    cost: float | None
    justification: str
    library: str
    kind: str
    band: str
    boundary: str
    mode: str
    checks: Mapping[str, str]
    killed_by: str = ""
    """The wrong answer that the assertions found."""
    licence: str | None = None
    created: str
    sibling: str | None = None
    text_hash: str
    problem_hash: str
    """Hash of the texts that people review."""


INSTANCES_FILE: Final = "instances.jsonl"


def _labelled(problem: Problem, row: BuiltInstance) -> Problem:
    """Return a problem with the labels, the cluster (the scenario) and the provenance of its row."""
    # An instance and its sibling share their shape, and two generators their scenario: intervals must not take them for
    # independent.
    cluster = row.scenario.original_id
    labels = {
        "generator": row.generator,
        "generator_family": row.generator_family,
        "scenario": cluster,
        "kind": row.kind,
        "band": row.band,
        "origin": "sibling" if row.scenario.sibling_of else "original",
        **({"accesses": UNSEEN} if row.checks.get("accesses") == UNSEEN else {}),
    }
    provenance = problem.provenance.model_copy(update={"licence": row.licence, "date": row.created})
    update = {"labels": {**problem.labels, **labels}, "cluster": cluster, "provenance": provenance}
    return problem.model_copy(update=update)


def built_instances(folder: Path) -> dict[str, BuiltInstance]:
    """Return the instances of a built set by id; of two rows of one id the later one.

    Raises:
        DataError: a row is malformed.
    """
    # A build that is killed while it appends leaves half a row; its instance is written again from the stored answer.
    return {row.id: row for row in read_appended(folder / INSTANCES_FILE, BuiltInstance)}


def built_problems(folder: Path) -> list[Problem]:
    """Return the problems of all files, with labels and provenance of the rows; empty in a new folder.

    A file without a row, written by hand, stays as it is.

    Raises:
        DataError: a file or a row is malformed.
    """
    try:
        problems = starter.load(folder, source=folder.resolve().name)
    except DataError:
        # A folder without files is a new one. With files, a missing mark in one of them is a fault to report.
        if any(folder.glob("*/*/*.*")):
            raise
        return []
    rows = built_instances(folder)
    return [_labelled(problem, rows[problem.id]) if problem.id in rows else problem for problem in problems]
