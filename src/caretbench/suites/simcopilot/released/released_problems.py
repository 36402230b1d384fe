"""Problems made of the released spans: the workspace of a program, a span of its text, its tests, and labels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import DataError
from caretbench.problem import Caret, FileSplice, Label, Problem
from caretbench.projects.file_spans import overlap_groups, visible_text
from caretbench.suites.simcopilot.released.programs import released_tests
from caretbench.suites.simcopilot.released.released_projects import ReleasedProject, Variant, released_project
from caretbench.suites.simcopilot.released.spans import ReleasedProgram, ReleasedSpan, load
from caretbench.suites.simcopilot.released.tables import released_labels


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
    program: ReleasedProgram, span: ReleasedSpan, project: ReleasedProject, place: tuple[int, int], group: str
) -> Problem:
    start, end = place
    data = project.snapshot.read(project.path)
    hidden = span.mode == "suffix_hidden"
    return Problem(
        id=span.id,
        suite="simcopilot",
        shown=Caret(
            language=span.language,
            prefix=visible_text(data[:start]),
            suffix="" if hidden else visible_text(data[end:]),
            path=project.path,
        ),
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
