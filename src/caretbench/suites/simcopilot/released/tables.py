"""The paper's tables about its data, from spans and labels: constructs (Table 1), reference and comment distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from caretbench.languages import language
from caretbench.metrics.binning import bin_of, bin_title
from caretbench.problem import Label
from caretbench.suites.simcopilot.released.labels import labels_of
from caretbench.suites.simcopilot.released.paper import Mode, paper
from caretbench.suites.simcopilot.released.spans import ReleasedProgram, ReleasedSpan
from caretbench.suites.values import Table

_NONE = "-"

Labelled = tuple[ReleasedSpan, dict[str, Label]]
Set = tuple[str, Mode, list[Labelled]]
"""The tasks of one language and mode."""


def tables(programs: Sequence[ReleasedProgram]) -> tuple[Table, ...]:
    """All tables that the data at hand allow; that of comments needs the programs themselves."""
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
    return Table(
        "constructs",
        "Tasks by construct (the paper's Table 1; a task may count several times)",
        heads,
        tuple(rows),
    )


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
    return Table(
        "ranges", "Tasks by distance to the furthest reference (the paper's bounds)", heads, tuple(rows)
    )


def _comments(sets: Sequence[Set]) -> Table:
    """Only tasks with a reference that counts: those without are missing from the paper's table."""
    counted = [
        (name, mode, [(span, labels) for span, labels in tasks if "reference_distance" in labels])
        for name, mode, tasks in sets
    ]
    rows = _binned(counted, "comment_distance", lambda _: (paper().comments.bound,))
    heads = ("", "Short", "Long", "Without", "Lines")
    return Table(
        "comments", "Tasks by distance to the comment before (the paper's bound)", heads, tuple(rows)
    )
