"""The paper's tables about its data: constructs (Table 1), distances of references and comments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from caretbench.languages import language
from caretbench.metrics.binning import bin_index, bin_title
from caretbench.problem import Label
from caretbench.suites.simcopilot.released.released_problems import released_labels
from caretbench.suites.simcopilot.released.spans import ReleasedProgram, ReleasedSpan
from caretbench.suites.simcopilot.rules import Mode, paper_rules
from caretbench.suites.suite_types import Table

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
