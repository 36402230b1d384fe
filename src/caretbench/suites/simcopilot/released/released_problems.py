"""Problems of the release: workspaces of its programs, spans of their texts, tests and labels."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from importlib import resources
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

from caretbench.execution.workspaces.project_tools import CLASSPATH_FIRST, FOLDER
from caretbench.execution.workspaces.snapshot_store import Snapshot, SnapshotStore
from caretbench.files import DataError
from caretbench.problem import FileSplice, Label, Problem, TestsCheck
from caretbench.projects.file_spans import file_caret, overlap_groups, visible_text
from caretbench.suites.simcopilot.released.spans import (
    LanguageTests,
    ProgramTests,
    ReleasedProgram,
    ReleasedReference,
    ReleasedSpan,
    load,
    released_tests,
)
from caretbench.suites.simcopilot.rules import paper_rules

Variant = Literal["released", "repaired"]
VARIANTS: Final[tuple[Variant, ...]] = ("released", "repaired")
_CODE: Final = frozenset({".py", ".java"})
"""Suffixes of the siblings that the released code does not lay beside a program."""


class ReleasedProject(NamedTuple):
    """Workspace of a released program: its snapshot, the path of the program in it, and the check of all answers."""

    snapshot: Snapshot
    path: str
    check: TestsCheck


def split_variant(source: str) -> tuple[str, Variant]:
    """Return the place and the variant in ``PLACE@VARIANT``; without a variant it is ``released``."""
    place, _, name = source.rpartition("@")
    variant = next((variant for variant in VARIANTS if variant == name and place), None)
    return (place, variant) if variant else (source, VARIANTS[0])


def program_text(source: str) -> str:
    """Return the text of a program as the released code shows and tests it: without tabs."""
    return source.replace("\t", " " * released_tests().release.tab_size)


def released_project(root: Path, program: ReleasedProgram, variant: Variant, store: SnapshotStore) -> ReleasedProject:
    """Add the workspace of a program to the store and return it.

    Raises:
        DataError: the program is unknown, or its folder or its text is missing in ``root``.
    """
    tests = released_tests().programs.get(program.name)
    if tests is None:
        raise DataError(
            f"{root}: {program.name} is no program of the release; known: {', '.join(released_tests().programs)}"
        )
    folder = root / tests.folder
    if program.source is None or not folder.is_dir():
        raise DataError(
            f"{folder}: the program {program.name} is missing; expected a clone of {released_tests().release.source}, "
            "or what `caretbench pull simcopilot` fetches"
        )
    settings = released_tests().languages[program.language]
    path = program.name + paper_rules().languages[program.language].suffix
    with TemporaryDirectory() as name:
        made = Path(name)
        (made / path).write_bytes(program_text(program.source).encode("utf-8"))
        for item in sorted(folder.iterdir()):
            if item.is_dir() and not item.is_symlink():
                shutil.copytree(item, made / item.name, symlinks=True)
            elif item.suffix not in _CODE:
                shutil.copyfile(item, made / item.name, follow_symlinks=False)
        jars = tuple(item.name for item in sorted(made.glob("*.jar")))
        if settings.junit:
            jars = (_copied(root / settings.junit, made), *jars)
        if settings.test_runner:
            runner = resources.files(__package__).joinpath("inside", settings.test_runner)
            (made / settings.test_runner).write_bytes(runner.read_bytes())
        snapshot = store.add(made)
    cases = (f"{program.name}.json",) if settings.test_runner else ()
    missing = (
        f"the file {tests.folder}/{name}, not in the data"
        for name in (*cases, *tests.inputs)
        if not (folder / name).is_file()
    )
    if settings.junit:
        check = _java_check(program, tests, jars, variant)
    else:
        check = _python_check(program, path, tests, settings, variant)
    return ReleasedProject(snapshot, path, check.model_copy(update={"needs": (*tests.needs, *missing)}))


def _copied(origin: Path, folder: Path) -> str:
    if not origin.is_file():
        raise DataError(f"{origin}: missing; the released tests need this jar")
    shutil.copyfile(origin, folder / origin.name)
    return origin.name


def _python_check(
    program: ReleasedProgram, path: str, tests: ProgramTests, settings: LanguageTests, variant: Variant
) -> TestsCheck:
    output = "all_output" if variant == "repaired" else program.output
    return TestsCheck(
        command=("python3", settings.test_runner, path, output),
        environment=settings.environment,
        bundle=None if tests.stdlib_only else settings.bundle,
        minimum_tests=tests.tests,
        reference_s=tests.cpu_s,
    )


def _java_check(program: ReleasedProgram, tests: ProgramTests, jars: tuple[str, ...], variant: Variant) -> TestsCheck:
    first = {CLASSPATH_FIRST: "yes"} if variant == "released" else {}
    return TestsCheck(
        command=(f"{FOLDER}/test", "--junit", program.name),
        prepare=(f"{FOLDER}/test", "--prepare"),
        environment={"CLASSPATH": ":".join(jars), **first},
        minimum_tests=tests.tests if variant == "repaired" else 1,
        reference_s=tests.cpu_s,
    )


def released_problems(root: Path, variant: Variant, store: SnapshotStore | None = None) -> list[Problem]:
    """Return the released tasks in a folder of the release; the programs are added to the store.

    Raises:
        DataError: a file is missing or malformed, or there are no tasks; the message names it.
    """
    store = store or SnapshotStore()
    problems = [problem for program in load(root) for problem in _problems(root, program, variant, store)]
    if not problems:
        raise DataError(f"{root}: the lists of spans contain no tasks; copy the release again, or see `list --tables`")
    return problems


def _problems(root: Path, program: ReleasedProgram, variant: Variant, store: SnapshotStore) -> Iterator[Problem]:
    project = released_project(root, program, variant, store)
    data = project.snapshot.read(project.path)
    starts = [0, *accumulate(len(line) for line in data.splitlines(keepends=True))]
    places = [(project.path, starts[span.start - 1], _end(data, starts, span)) for span in program.spans]
    groups = overlap_groups(places)
    firsts = {group: span.start for group, span in sorted(zip(groups, program.spans, strict=True), reverse=True)}
    for span, (_, start, end), group in zip(program.spans, places, groups, strict=True):
        yield _problem(program, span, project, (start, end), f"{program.name}:{firsts[group]}")


def _end(data: bytes, starts: list[int], span: ReleasedSpan) -> int:
    """Return the end of a span: before the line end of its last line."""
    end = starts[min(span.end, len(starts) - 1)]
    return end - 1 if data[end - 1 : end] == b"\n" else end


def _problem(
    program: ReleasedProgram, span: ReleasedSpan, project: ReleasedProject, bounds: tuple[int, int], group: str
) -> Problem:
    start, end = bounds
    data = project.snapshot.read(project.path)
    return Problem(
        id=span.id,
        suite="simcopilot",
        shown=file_caret(span.language, project.path, data, start, None if span.mode == "suffix_hidden" else end),
        splice=FileSplice(snapshot=project.snapshot.id, path=project.path, start=start, end=end),
        reference=visible_text(data[start:end]),
        checks=(project.check,),
        labels=_labels(program, span),
        cluster=program.name,
        overlap_group=group,
        provenance=released_tests().release.provenance(),
    )


def _labels(program: ReleasedProgram, span: ReleasedSpan) -> dict[str, Label]:
    """Return the released labels, as the paper counts them.

    Its table of distances to comments is about the tasks with a distance to a reference alone.
    """
    labels = released_labels(program, span)
    if "reference_distance" not in labels:
        labels.pop("comment_distance", None)
    return labels | {"project": program.name, "block_lines": float(span.end - span.start + 1)}


def comment_distance(source: str, start: int) -> int | None:
    """Return the lines from the nearest comment that ends before line ``start`` to that line; None without one."""
    lines = [line.strip() for line in source.split("\n")]
    ends = (*_line_comment_ends(lines), *_block_comment_ends(lines))
    return min((start - end for end in ends if end < start), default=None)


def _line_comment_ends(lines: Sequence[str]) -> Iterator[int]:
    """Yield the last line, from 1, of each run of line comments."""
    marks = paper_rules().comments.line
    for number, (line, following) in enumerate(zip(lines, (*lines[1:], ""), strict=True), start=1):
        if line.startswith(marks) and not following.startswith(marks):
            yield number


def _block_comment_ends(lines: Sequence[str]) -> Iterator[int]:
    """Yield the last line, from 1, of each block comment; one that is open at the end of the file ends there."""
    rules = paper_rules().comments
    is_open = False
    for number, line in enumerate(lines, start=1):
        if line.startswith(rules.opening):
            if is_open:
                yield number
            is_open = not is_open
        elif is_open and line.endswith(rules.closing):
            yield number
            is_open = False
    if is_open:
        yield len(lines)


def released_labels(program: ReleasedProgram, span: ReleasedSpan) -> dict[str, Label]:
    """Return the labels of a released task.

    ``language``; ``mode``; ``constructs``, the constructs of Table 1 in the span; ``reference_distance``, lines to the
    furthest counted reference, if any; ``comment_distance``, lines to the nearest comment before the span, if any and
    if the program's text is there.
    """
    references = list(counted_references(program, span))
    reasons = {reason.category for reason in program.reasons if span.covers(reason.line)}
    scopes = {reference.scope for reference in references}
    constructs = paper_rules().constructs.items()
    held = [name for name, rules in constructs if scopes & {*rules.scopes} or reasons & {*rules.reasons}]
    ranged = paper_rules().languages[program.language].ranged_scopes
    distances = {
        "reference_distance": max((use.distance for use in references if _counts(use, ranged)), default=None),
        "comment_distance": None if program.source is None else comment_distance(program.source, span.start),
    }
    return {
        "language": span.language,
        "mode": span.mode,
        "constructs": held,
        **{name: float(lines) for name, lines in distances.items() if lines is not None},
    }


def counted_references(program: ReleasedProgram, span: ReleasedSpan) -> Iterator[ReleasedReference]:
    """Yield the references of a span that the paper counts.

    A use on the line of its definition counts only for the scopes in ``same_line``.
    """
    same_line = paper_rules().languages[program.language].same_line_scopes
    for reference in program.references:
        if span.covers(reference.line) and (reference.distance or _counts(reference, same_line)):
            yield reference


def _counts(reference: ReleasedReference, scopes: Sequence[str]) -> bool:
    return "*" in scopes or reference.scope in scopes
