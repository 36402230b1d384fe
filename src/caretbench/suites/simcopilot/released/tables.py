"""The paper's tables about its data, from spans and labels: constructs (Table 1), reference and comment distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from caretbench.languages import language
from caretbench.metrics.binning import bin_of, bin_title
from caretbench.problem import Label
from caretbench.suites.simcopilot.released.paper import Mode, paper
from caretbench.suites.simcopilot.released.spans import ReleasedProgram, ReleasedReference, ReleasedSpan
from caretbench.suites.values import Table
from caretbench.syntax.docs.comments import comments

_ALL = "*"


def labels_of(program: ReleasedProgram, span: ReleasedSpan) -> dict[str, Label]:
    """Return the labels of a released task.

    ``language`` and ``mode``; ``constructs``, the constructs of Table 1 that the span holds (several at once);
    ``reference_distance``, lines to the furthest reference that the paper counts, where there is one;
    ``comment_distance``, lines to the nearest comment before the span, where the program's text is there and has one.
    """
    references = list(references_in(program, span))
    reasons = {reason.category for reason in program.reasons if span.covers(reason.line)}
    scopes = {reference.scope for reference in references}
    known = paper().constructs.items()
    held = [name for name, one in known if scopes & {*one.scopes} or reasons & {*one.reasons}]
    labels: dict[str, Label] = {"language": span.language, "mode": span.mode, "constructs": held}
    distance = furthest(references, paper().languages[program.language].ranged)
    if distance is not None:
        labels["reference_distance"] = float(distance)
    to_comment = comment_distance(program.source, span) if program.source is not None else None
    if to_comment is not None:
        labels["comment_distance"] = float(to_comment)
    return labels


def references_in(program: ReleasedProgram, span: ReleasedSpan) -> Iterator[ReleasedReference]:
    """The references of a span that the paper counts: those on the line of their definition only where it says so."""
    same_line = paper().languages[program.language].same_line
    for reference in program.references:
        counted = reference.distance or _ALL in same_line or reference.scope in same_line
        if counted and span.covers(reference.line):
            yield reference


def furthest(references: Sequence[ReleasedReference], scopes: Sequence[str]) -> int | None:
    """Lines to the furthest definition among references of the given scopes; None without any."""
    distances = [entry.distance for entry in references if _ALL in scopes or entry.scope in scopes]
    return max(distances, default=None)


def comment_distance(source: str, span: ReleasedSpan) -> int | None:
    """Lines from the end of the nearest comment or docstring before the span to its start; None without one."""
    text = source.replace("\r\n", "\n")
    data = text.encode("utf-8", "surrogatepass")
    ends = [data.count(b"\n", 0, comment.end) + 1 for comment in comments(text, span.language)]
    return min((span.start - end for end in ends if end < span.start), default=None)


_NONE = "-"

Labelled = tuple[ReleasedSpan, dict[str, Label]]
Set = tuple[str, Mode, list[Labelled]]
"""The tasks of one language and mode."""


def tables(programs: Sequence[ReleasedProgram]) -> tuple[Table, ...]:
    """Return all tables that the data at hand allow; that of comments needs the programs themselves."""
    sets = list(_sets(programs))
    found = [_spans(sets, programs), _constructs(sets), _ranges(sets)]
    if all(program.source is not None for program in programs):
        found.append(_comments(sets))
    return tuple(found)


def _sets(programs: Sequence[ReleasedProgram]) -> Iterator[Set]:
    for name in paper().languages:
        for mode in paper().modes:
            tasks = [
                (span, labels_of(program, span))
                for program in programs
                if program.language == name
                for span in program.spans
                if span.mode == mode
            ]
            if tasks:
                yield name, mode, tasks


def _title(name: str, mode: Mode) -> str:
    return f"{language(name).title} {paper().modes[mode].title}"


def _spans(sets: Sequence[Set], programs: Sequence[ReleasedProgram]) -> Table:
    rows = [
        (
            _title(name, mode),
            str(len({span.program for span, _ in tasks})),
            str(len(tasks)),
            f"{sum(span.end - span.start + 1 for span, _ in tasks) / len(tasks):.2f}",
            str(sum(span.end == span.start for span, _ in tasks)),
        )
        for name, mode, tasks in sets
    ]
    there = sum(program.source is not None for program in programs)
    without = "" if there == len(programs) else "; distances to comments need all of them"
    title = f"Tasks (the text of {there} of {len(programs)} programs is here{without})"
    return Table("tasks", title, ("", "Programs", "Tasks", "Lines, mean", "Of one line"), tuple(rows))


def _constructs(sets: Sequence[Set]) -> Table:
    constructs = paper().constructs
    rows = []
    for name, mode, tasks in sets:
        held = [labels["constructs"] for _, labels in tasks]
        counts = [sum(isinstance(one, list) and construct in one for one in held) for construct in constructs]
        rows.append((_title(name, mode), *(str(count) if count else _NONE for count in counts)))
    heads = ("", *(construct.title for construct in constructs.values()))
    title = "Tasks by construct (the paper's Table 1; a task may count several times)"
    return Table("constructs", title, heads, tuple(rows))


def _binned(
    sets: Sequence[Set], label: str, bounds_of: Callable[[str], Sequence[float]]
) -> list[tuple[str, ...]]:
    rows = []
    for name, mode, tasks in sets:
        bounds = bounds_of(name)
        values = [value for _, labels in tasks if isinstance(value := labels.get(label), float)]
        parts = [bin_of(value, bounds) for value in values]
        counts = [str(parts.count(number)) for number in range(len(bounds) + 1)]
        cuts = ", ".join(bin_title(number, bounds) for number in range(len(bounds) + 1))
        rows.append((_title(name, mode), *counts, str(len(tasks) - len(values)), cuts))
    return rows


def _ranges(sets: Sequence[Set]) -> Table:
    rows = _binned(sets, "reference_distance", lambda name: paper().languages[name].range_bounds)
    heads = ("", "Short", "Medium", "Long", "Without", "Lines")
    title = "Tasks by distance to the furthest reference (the paper's bounds)"
    return Table("ranges", title, heads, tuple(rows))


def _comments(sets: Sequence[Set]) -> Table:
    """Only tasks with a reference that counts: those without are missing from the paper's table."""
    counted = [
        (name, mode, [(span, labels) for span, labels in tasks if "reference_distance" in labels])
        for name, mode, tasks in sets
    ]
    rows = _binned(counted, "comment_distance", lambda _: (paper().comments.bound,))
    heads = ("", "Short", "Long", "Without", "Lines")
    title = "Tasks by distance to the comment before (the paper's bound)"
    return Table("comments", title, heads, tuple(rows))
