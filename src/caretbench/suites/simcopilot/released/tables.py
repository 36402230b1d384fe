"""The paper's tables about its data: constructs (Table 1), distances of references and comments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from caretbench.languages import language
from caretbench.metrics.binning import bin_index, bin_title
from caretbench.problem import Label
from caretbench.suites.simcopilot.released.spans import ReleasedProgram, ReleasedReference, ReleasedSpan
from caretbench.suites.simcopilot.rules import Mode, paper_rules
from caretbench.suites.suite_types import Table


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


_ALL = "*"


def released_labels(program: ReleasedProgram, span: ReleasedSpan) -> dict[str, Label]:
    """Return the labels of a released task.

    ``language``; ``mode``; ``constructs``, the constructs of Table 1 in the span; ``reference_distance``, lines to the
    furthest counted reference, if any; ``comment_distance``, lines to the nearest comment before the span, if any and
    if the program's text is there.
    """
    references = list(counted_references(program, span))
    reasons = {reason.category for reason in program.reasons if span.covers(reason.line)}
    scopes = {reference.scope for reference in references}
    known = paper_rules().constructs.items()
    held = [name for name, one in known if scopes & {*one.scopes} or reasons & {*one.reasons}]
    labels: dict[str, Label] = {"language": span.language, "mode": span.mode, "constructs": held}
    distance = furthest_distance(references, paper_rules().languages[program.language].ranged_scopes)
    if distance is not None:
        labels["reference_distance"] = float(distance)
    to_comment = comment_distance(program.source, span.start) if program.source is not None else None
    if to_comment is not None:
        labels["comment_distance"] = float(to_comment)
    return labels


def counted_references(program: ReleasedProgram, span: ReleasedSpan) -> Iterator[ReleasedReference]:
    """Yield the references of a span that the paper counts.

    A use on the line of its definition counts only for the scopes in ``same_line``.
    """
    same_line = paper_rules().languages[program.language].same_line_scopes
    for reference in program.references:
        counted = reference.distance or _ALL in same_line or reference.scope in same_line
        if counted and span.covers(reference.line):
            yield reference


def furthest_distance(references: Sequence[ReleasedReference], scopes: Sequence[str]) -> int | None:
    """Return the lines to the furthest definition of references with these scopes; None without references."""
    distances = [entry.distance for entry in references if _ALL in scopes or entry.scope in scopes]
    return max(distances, default=None)


_NONE = "-"

LabelledSpan = tuple[ReleasedSpan, dict[str, Label]]
TaskSet = tuple[str, Mode, list[LabelledSpan]]
"""Language, mode, and the tasks with both."""


def released_tables(programs: Sequence[ReleasedProgram]) -> tuple[Table, ...]:
    """Return all tables that the data allow.

    Constructs and distances need the labels, and distances to comments the texts of all programs too.
    """
    sets = list(_sets(programs))
    found = [_spans(sets, programs)]
    if any(program.references for program in programs):
        found += [_constructs(sets), _ranges(sets)]
    if len(found) > 1 and all(program.source is not None for program in programs):
        found.append(_comments(sets))
    return tuple(found)


def _sets(programs: Sequence[ReleasedProgram]) -> Iterator[TaskSet]:
    for name in paper_rules().languages:
        for mode in paper_rules().modes:
            tasks = [
                (span, released_labels(program, span))
                for program in programs
                if program.language == name
                for span in program.spans
                if span.mode == mode
            ]
            if tasks:
                yield name, mode, tasks


def _title(name: str, mode: Mode) -> str:
    return f"{language(name).title} {paper_rules().modes[mode].title}"


def _spans(sets: Sequence[TaskSet], programs: Sequence[ReleasedProgram]) -> Table:
    lines = {program.name: program.lines for program in programs}
    rows = [
        (
            _title(name, mode),
            str(len(held := {span.program for span, _ in tasks})),
            f"{sum(lines[program] for program in held) / len(held):.1f}",
            str(len(tasks)),
            f"{sum(span.end - span.start + 1 for span, _ in tasks) / len(tasks):.2f}",
            str(sum(span.end == span.start for span, _ in tasks)),
        )
        for name, mode, tasks in sets
    ]
    there = sum(program.source is not None for program in programs)
    without = "" if there == len(programs) else "; distances to comments need all of them"
    title = f"Tasks (the text of {there} of {len(programs)} programs is here{without})"
    return Table(
        "tasks", title, ("", "Programs", "Their lines, mean", "Tasks", "Lines, mean", "Of one line"), tuple(rows)
    )


def _constructs(sets: Sequence[TaskSet]) -> Table:
    constructs = paper_rules().constructs
    rows = []
    for name, mode, tasks in sets:
        held = [labels["constructs"] for _, labels in tasks]
        counts = [sum(isinstance(one, list) and construct in one for one in held) for construct in constructs]
        rows.append((_title(name, mode), *(str(count) if count else _NONE for count in counts)))
    heads = ("", *(construct.title for construct in constructs.values()))
    title = "Tasks by construct (the paper's Table 1; a task may count several times)"
    return Table("constructs", title, heads, tuple(rows))


def _binned(sets: Sequence[TaskSet], label: str, bounds_of: Callable[[str], Sequence[float]]) -> list[tuple[str, ...]]:
    rows = []
    for name, mode, tasks in sets:
        bounds = bounds_of(name)
        values = [value for _, labels in tasks if isinstance(value := labels.get(label), float)]
        parts = [bin_index(value, bounds) for value in values]
        counts = [str(parts.count(number)) for number in range(len(bounds) + 1)]
        cuts = ", ".join(bin_title(number, bounds) for number in range(len(bounds) + 1))
        rows.append((_title(name, mode), *counts, str(len(tasks) - len(values)), cuts))
    return rows


def _ranges(sets: Sequence[TaskSet]) -> Table:
    rows = _binned(sets, "reference_distance", lambda name: paper_rules().languages[name].range_bounds)
    heads = ("", "Short", "Medium", "Long", "Without", "Lines")
    title = "Tasks by distance to the furthest reference (the paper's bounds)"
    return Table("ranges", title, heads, tuple(rows))


def _comments(sets: Sequence[TaskSet]) -> Table:
    """Return the table of comment distances, of tasks with a counted reference, as in the paper."""
    counted = [
        (name, mode, [(span, labels) for span, labels in tasks if "reference_distance" in labels])
        for name, mode, tasks in sets
    ]
    rows = _binned(counted, "comment_distance", lambda _: (paper_rules().comments.bound,))
    heads = ("", "Short", "Long", "Without", "Lines")
    title = "Tasks by distance to the comment before (the paper's bound)"
    return Table("comments", title, heads, tuple(rows))
