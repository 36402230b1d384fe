"""The tables of how answers went wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from caretbench.reports.sections.error_classes import EXCEPTION, OURS, class_title
from caretbench.reports.sections.errors import ErrorColumn, ErrorPart, classes_present
from caretbench.reports.summary import Column
from caretbench.reports.tables import Field, Table, number_field, percent, shown_label, text_field

MOST_TYPES = 8
"""So many types of exceptions have a column of their own; the rest are others."""


def error_titles(columns: Sequence[Column]) -> Mapping[tuple[str, ...], str]:
    """The titles of the models among the columns of a report; of baselines where there is nothing else."""
    shown = [column for column in columns if not column.baseline] or columns
    return {(c.model, c.parameters, c.policy, c.profile): c.title for c in shown}


def error_tables(columns: Sequence[ErrorColumn], titles: Mapping[tuple[str, ...], str]) -> tuple[Table, ...]:
    """Shares of the classes by model, language and mode; then the types of exceptions.

    Args:
        columns: Those of one profile and policy.
        titles: The models' titles, by what makes a column; others are not shown.
    """
    shown = [column for column in columns if column.key in titles]
    classes = classes_present(shown)
    if not classes:
        return ()
    heads = ("Model", "Part", "Answers", *(class_title(name) for name in classes), class_title(OURS))
    rows = tuple(
        (
            text_field(titles[column.key]),
            text_field(part_name(part)),
            number_field(part.total),
            *(_share(part.by_class().get(name, 0), part.total) for name in classes),
            number_field(part.ours),
        )
        for column in shown
        for part in column.parts
    )
    found = [
        Table(
            title="How answers ended",
            heads=heads,
            numeric=(False, False, *[True] * (len(heads) - 2)),
            rows=rows,
            caption="Shares of the answers with a verdict; what the infrastructure failed at is no part of them.",
        )
    ]
    exceptions = _exceptions(shown, titles)
    return tuple(found) if exceptions is None else (*found, exceptions)


def _exceptions(columns: Sequence[ErrorColumn], titles: Mapping[tuple[str, ...], str]) -> Table | None:
    by_model: dict[str, Counter[str]] = defaultdict(Counter)
    for column in columns:
        for part in column.parts:
            for name, count in part.counts.items():
                kind, _, detail = name.partition(":")
                if kind == EXCEPTION:
                    by_model[titles[column.key]][detail] += count
    total: Counter[str] = Counter()
    for counter in by_model.values():
        total.update(counter)
    if not total:
        return None
    types = sorted(total, key=lambda name: (-total[name], name))[:MOST_TYPES]
    rows = tuple(
        (
            text_field(title),
            *(number_field(counter[name]) for name in types),
            number_field(sum(count for name, count in counter.items() if name not in types)),
        )
        for title, counter in by_model.items()
    )
    heads = ("Model", *(name.replace("_", " ") for name in types), "Others")
    return Table(
        title="Run-time exceptions by type",
        heads=heads,
        numeric=(False, *[True] * (len(heads) - 1)),
        rows=rows,
    )


def part_name(part: ErrorPart) -> str:
    """The labels of a part as people read them."""
    return " / ".join(shown_label(name, value) for name, value in part.labels.items()) or "all"


def _share(count: int, total: int) -> Field:
    share = count / total if total else None
    return number_field(share, percent(share), str(count) if count else "")
