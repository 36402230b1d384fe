"""Instances of a folder while it is built: rows, problems and the index of twins, kept in step with the files.

The end of an attempt is stored first, then the file, then the row. What a kill leaves undone is done by the next build
from the stored answer. People change a folder, too: a review rejects instances, and files are edited by hand. Twins are
also searched in public sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from caretbench.build.validation.duplicates import TwinIndex
from caretbench.build.validation.reviewed import problem_hash, reviewed_problems
from caretbench.conventional.descriptions import HUMANEVAL_INFILLING, source_file
from caretbench.errors import DataError
from caretbench.files import read_lines, sha256_text
from caretbench.judging.model_families import model_family
from caretbench.problem import Problem
from caretbench.suites.devbench import released_problems, starter
from caretbench.suites.devbench.build.construction.build_folder import (
    ATTEMPTS_FILE,
    AttemptOutcome,
    BuildFolder,
    InstanceAttempt,
    InstanceRequest,
    StoredAnswer,
    bounded_diagnosis,
    sum_of_costs,
    summary_line,
)
from caretbench.suites.devbench.build.construction.candidates import (
    GeneratedInstance,
    InstanceCandidate,
    InstanceExamination,
    examined_candidate,
    measured_properties,
    read_answer,
    twin_entry,
)
from caretbench.suites.devbench.build.construction.tracks import Answers, Track, TrackList
from caretbench.suites.devbench.build.instance_rules.instance_checks import PASSED
from caretbench.suites.devbench.built_instances import INSTANCES_FILE, BuiltInstance, Scenario
from caretbench.suites.devbench.released_problems import released_folder


class InstanceStore:
    """Rows and problems of a folder by id, and the index in which twins are searched.

    New rows have ``prompt_version``, that of the template, and ``licence``.
    """

    def __init__(self, folder: BuildFolder, tracks: TrackList, prompt_version: str, licence: str | None) -> None:
        self._folder = folder
        self._tracks = tracks
        self._prompt_version = prompt_version
        self._licence = licence
        self.twins = TwinIndex()
        self.answers: Answers = {}
        self.rows: dict[str, BuiltInstance] = {}
        self.problems: dict[str, Problem] = {}

    def read(self) -> None:
        """Read the folder; take rejected instances out, and write accepted ones that are not there yet.

        Raises:
            DataError: a file or a row is malformed.
        """
        self.rows = self._folder.instances()
        self.answers = self._folder.answers()
        for name, row in list(self.rows.items()):
            # A kill may fall between the row of a rejection and the move of its files: both are repeated here.
            if self._tracks.is_rejected(row):
                self._folder.reject_instance(name, row.attempts)
                del self.rows[name]
        for track in self._tracks.tracks.values():
            if track.instance is not None and track.instance not in self.rows:
                self._restore(track, track.instance)
        if self.rows or (self._folder.path / INSTANCES_FILE).exists():
            self._folder.write_instances(self.rows)
        self.problems = {problem.id: problem for problem in self._folder.problems()}
        self.twins.clear()
        for problem in (*self.problems.values(), *self._folder.rejected_problems()):
            self.twins.add(problem.id, *twin_entry(problem))

    def _restore(self, track: Track, name: str) -> None:
        """Write an instance that was accepted just before a kill."""
        request = track.requests[-1]
        answer = self.answers.get((request.generator, request.key))
        instance = read_answer(answer.text or "", answer.finish_reason) if answer is not None else None
        # From the stored answer, which gives the same file; the file first would look like one that people wrote by
        # hand.
        if isinstance(instance, GeneratedInstance):
            self._write(name, examined_candidate(request, instance)[0], track.ends[request.key])

    def end(self, row: InstanceAttempt) -> None:
        """Store the end of an attempt."""
        self._folder.append(ATTEMPTS_FILE, row)
        self._tracks.end(row)

    def reject(self, row: BuiltInstance, detail: str) -> bool:
        """Store that people rejected an instance, or took its file out; False if no attempt made it."""
        track = self._tracks.tracks.get(row.track)
        if track is None or not track.requests:
            return False
        self.end(attempt_end(track.requests[-1], "rejected", detail, instance=row.id))
        return True

    def accept(self, candidate: InstanceCandidate, checks: Mapping[str, str], killed_by: str) -> BuiltInstance:
        """Store the end of an attempt that became an instance, its file and its row; return the row."""
        request = candidate.request
        name = self._free_name(candidate)
        answer = self.answers.get((request.generator, request.key))
        end = attempt_end(request, "instance", "", checks, name, answer, killed_by)
        self.end(end)
        # The candidate's own entry, under the key of its request, would be the first twin of the instance.
        self.twins.remove(candidate.problem.id)
        row = self._write(name, candidate, end)
        problem = candidate.problem.model_copy(update={"id": name})
        self.problems[name] = problem
        self.twins.add(name, *twin_entry(problem))
        return row

    def _write(self, name: str, candidate: InstanceCandidate, end: InstanceAttempt) -> BuiltInstance:
        request, problem, instance = candidate.request, candidate.problem, candidate.instance
        self._folder.write_instance(name, instance.file_text, candidate.predicate)
        row = BuiltInstance(
            id=name,
            track=request.track,
            scenario=request.scenario,
            generator=request.generator,
            generator_family=model_family(request.generator) or request.generator,
            prompt_version=self._prompt_version,
            attempts=request.attempt,
            cost=self._cost(request.track),
            justification=instance.justification,
            library=instance.library,
            **measured_properties(problem, request.scenario),
            checks=end.checks,
            killed_by=end.killed_by,
            licence=self._licence,
            created=datetime.now(UTC).date().isoformat(),
            sibling=request.scenario.sibling_of,
            text_hash=sha256_text(instance.file_text),
            problem_hash=problem_hash(problem),
        )
        self._folder.append(INSTANCES_FILE, row)
        self.rows[name] = row
        return row

    def _free_name(self, candidate: InstanceCandidate) -> str:
        base = f"{candidate.request.scenario.cell}/{candidate.instance.stem}"
        names = chain([base], (f"{base}-{number}" for number in count(2)))
        # Generators like the same names; files by hand and deleted rows count, too.
        return next(name for name in names if name not in self.rows and name not in self.problems)

    def _cost(self, name: str) -> float | None:
        track = self._tracks.tracks.get(name)
        keys = [(request.generator, request.key) for request in track.requests] if track is not None else []
        return sum_of_costs([self.answers[key].cost for key in keys if key in self.answers])

    def related(self, scenario: Scenario) -> list[str]:
        """Return the ids of the instances of the same scenario, siblings and rejected ones included."""
        original = scenario.original_id
        ids = [row.id for row in self.rows.values() if row.scenario.original_id == original]
        return ids + self._tracks.rejected_names(original)

    def summaries(self, cell: str) -> Iterator[str]:
        """Yield one line for each instance of a cell."""
        return (summary_line(row) for row in self.rows.values() if row.scenario.cell == cell)


def attempt_end(
    request: InstanceRequest,
    outcome: AttemptOutcome,
    detail: str,
    checks: Mapping[str, str] | None = None,
    instance: str | None = None,
    answer: StoredAnswer | None = None,
    killed_by: str = "",
) -> InstanceAttempt:
    """Return the end of the attempt of a request."""
    return InstanceAttempt(
        request=request.key,
        track=request.track,
        scenario=request.scenario.id,
        cell=request.scenario.cell,
        generator=request.generator,
        attempt=request.attempt,
        outcome=outcome,
        detail=bounded_diagnosis(detail),
        checks={name: bounded_diagnosis(result) for name, result in (checks or {}).items()},
        instance=instance,
        killed_by=killed_by,
        cost=answer.cost if answer is not None else None,
        seconds=answer.latency.last_s if answer is not None and answer.latency is not None else None,
    )


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
    reviewed = reviewed_problems(review, [*problems.values()])
    return [(rows[name], reason) for name, reason in reviewed.dropped.items() if name in rows], reviewed.lines


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
        # By the text, not the time of the file: a copied or checked-out folder has new times.
        if text_hash != row.text_hash:
            update = measured_properties(problems[name], row.scenario)
            update |= {"text_hash": text_hash, "problem_hash": problem_hash(problems[name])}
            edited.append(row.model_copy(update=update))
    # Verdicts are stored by id. Under its own id the verdict on the text before the edit would be found.
    gated = [problems[row.id].model_copy(update={"id": f"{row.id}#{row.text_hash[:12]}"}) for row in edited]
    results = examination.runs.results(gated)
    for row, problem in zip(edited, gated, strict=True):
        gate = results[problem.id].fault or PASSED
        checks = {**examination.edited_checks(problems[row.id], row.scenario, row.library), "gate": gate}
        faults = [f"{check}: {fault}" for check, fault in checks.items() if fault != PASSED]
        about = "edited by hand; " + ("; ".join(faults) if faults else "it passes all checks")
        yield EditedInstance(row.id, row.model_copy(update={"checks": checks}), about)


NO_SET = "none"


def add_public_sets(index: TwinIndex, names: Sequence[str]) -> list[str]:
    """Add the programs of public sets to an index; return a line for each set.

    Args:
        index: The index.
        names: ``starter``, ``released``, ``humaneval-infilling``, ``none``, or folders of problems; empty: the starter
            set, and of the others those that are in the cache.

    Raises:
        DataError: a set is not there, or malformed.
    """
    lines = []
    for name in names or _sets_at_hand():
        if name == NO_SET:
            continue
        programs = list(_set_programs(name))
        for identity, *program in programs:
            index.add(f"{name}:{identity}", *program)
        lines.append(f"twins are searched in {len(programs)} programs of {name}")
    return lines


def _sets_at_hand() -> Iterator[str]:
    yield "starter"
    for name in ("released", HUMANEVAL_INFILLING):
        try:
            next(_set_programs(name))
        # Sets that were never fetched are no fault: a build works without them, with fewer twins to find.
        except (DataError, StopIteration):
            continue
        yield name


def _set_programs(name: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield id, language, group and text of the programs of a set."""
    if name == HUMANEVAL_INFILLING:
        yield from _humaneval_functions()
        return
    for problem in _set_problems(name):
        caret = problem.caret
        group = f"{caret.language}/{problem.labels.get('category', '')}"
        yield problem.id, caret.language, group, caret.prefix + problem.reference + caret.suffix


def _set_problems(name: str) -> list[Problem]:
    if name == "starter":
        return starter.load(starter.starter_root())
    if name == "released":
        return released_problems.load(released_folder())
    folder = Path(name)
    if not folder.is_dir():
        raise DataError(f"--compare {name}: expected starter, released, humaneval-infilling, none, or a folder")
    return starter.load(folder, source=folder.name)


def _humaneval_functions() -> Iterator[tuple[str, str, str, str]]:
    """Yield the functions of HumanEval-Infilling, each once."""
    seen = set()
    for _, row in read_lines(source_file(HUMANEVAL_INFILLING)):
        identity = "/".join(str(row["task_id"]).split("/")[1:3])
        if identity not in seen:
            seen.add(identity)
            yield identity, "python", "", f"{row['prompt']}{row['canonical_solution']}{row['suffix']}"
