"""Static site of a board: index, a page for each model and suite, data files, badges, a page to embed, and history."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final

import polars as pl

from caretbench.files import write_atomically
from caretbench.reports.board.across_suites import NO_TEST, over_suites
from caretbench.reports.board.board import Board, BoardColumn, BoardEntry, slug
from caretbench.reports.board.board_records import Record, board_records, changes, read_records, records_text
from caretbench.reports.output.page import render_page
from caretbench.reports.section import PageBlock, PagePart
from caretbench.reports.tables import (
    FieldValues,
    ReportTable,
    TableField,
    digits_field,
    number_field,
    rate_field,
    share_field,
    table_of,
    text_field,
    title_field,
)

BOARD_FILE: Final = "board.json"
DATA_FILE: Final = "data.parquet"
_MAX_CHANGES: Final = 50
"""Maximum number of changes of a version that the page lists."""

RANKS: Final = (
    "A rank is an interval: from 1 + the models that are shown to be better, to the number of models less those that "
    "are shown to be worse (paired tests on common problems, max-T over all pairs of the suite, 95%). It belongs to "
    "this set of models: a near copy of a model widens its neighbours' ranks."
)

_INDEX: Final = table_of("Whole board", ("Page",), [[TableField(text="index.html", link="index.html")]])


def write_site(board: Board, rows: pl.DataFrame, folder: Path, extra: Sequence[ReportTable], organisation: str) -> Path:
    """Write the site into a folder and return its index; the same input gives the same bytes.

    An earlier ``board.json`` with other results is kept in ``history/``. ``extra`` are tables over several suites.
    """
    records = board_records(board, organisation)
    versions = _with_history(folder, records)
    pages = {
        "index.html": _index(board, extra, versions),
        "embed.html": render_page(
            "CaretBench board", [PagePart("board", "Board", "Board", blocks=[_wide_block(board)])]
        ),
        **{f"suite-{column.key}.html": _suite_page(column) for column in board.columns},
        **{f"model-{slug(title)}.html": _model_page(board, title) for title in board.models},
    }
    for name, text in pages.items():
        write_atomically(folder / name, text)
    write_atomically(folder / BOARD_FILE, records_text(records))
    write_atomically(folder / "data.csv", rows.write_csv())
    packed = io.BytesIO()
    rows.write_parquet(packed, statistics=False)
    write_atomically(folder / DATA_FILE, packed.getvalue())
    for column in board.columns:
        for entry in column.models:
            name = f"{slug(entry.title)}--{column.key}.svg"
            text = f"rank {entry.rank} of {len(column.models)}, {100 * entry.rate.value:.1f}%"
            write_atomically(folder / "badges" / name, _badge(f"CaretBench {column.title}", text))
    return folder / "index.html"


def _with_history(folder: Path, records: Sequence[Record]) -> list[Sequence[Record]]:
    """Return all versions of the board, the last one first; the one that is there is kept if it differs."""
    history, current = folder / "history", folder / BOARD_FILE
    kept = sorted(history.glob("*.json")) if history.is_dir() else []
    if current.exists() and current.read_text("utf-8") != records_text(records):
        kept.append(history / f"{len(kept) + 1:04}.json")
        write_atomically(kept[-1], current.read_bytes())
    return [records, *(read_records(path) for path in reversed(kept))]


def _link(field: TableField, address: str) -> TableField:
    return field.model_copy(update={"link": address})


def _model_field(entry: BoardEntry) -> TableField:
    field = title_field(entry.title, baseline=entry.baseline)
    if entry.below:
        field = field.model_copy(update={"note": f"below the baseline {entry.below}"})
    return field if entry.baseline else _link(field, f"model-{slug(entry.title)}.html")


def _rank_field(entry: BoardEntry) -> TableField:
    if entry.first_rank is None or entry.last_rank is None:
        return number_field(None)
    # Sorted by the middle of the interval, the narrower one first.
    return TableField(text=entry.rank, sort=entry.first_rank + entry.last_rank + 0.001 * entry.last_rank)


def column_title(column: BoardColumn) -> str:
    """Return the title of a column with what its numbers depend on."""
    settings = (column.data, column.profile, column.policy, column.prompt, column.variants)
    return f"{column.title} ({', '.join(filter(None, settings))})"


def board_table(column: BoardColumn) -> ReportTable:
    """Return the table of one column: models and baselines, the best first."""
    rule = f", {column.rule}" if column.rule else ""
    heads = ["Model", "Rank", f"{column.measure}{rule}", "Problems", f"{column.measure}, all problems"]
    heads += [f"{column.measure}, {column.valid_rule or 'valid problems'}", "Better than", "Not told apart from"]
    heads += ["Worse than", "Empty answers", "Coverage", "Cost ($)", "Answer (s)", "Date"]
    rows: list[FieldValues] = [
        [
            _model_field(entry),
            _rank_field(entry),
            rate_field(entry.rate),
            entry.rate.problems,
            rate_field(entry.raw if column.rule else None),
            rate_field(entry.valid),
            *map(len, () if entry.baseline else (entry.worse, column.untold(entry), entry.better)),
            *([None] * 3 if entry.baseline else []),
            share_field(entry.empty),
            share_field(entry.coverage),
            digits_field(entry.cost, ".4f"),
            digits_field(entry.seconds),
            text_field(entry.date or None),
        ]
        for entry in column.entries
    ]
    tests = f"{column.family} pairs are tested together, over {column.groups} independent groups of problems or more."
    about = f"{column.about}. {'There are no two models to compare.' if column.groups is None else tests}"
    return table_of(f"{column_title(column)}: models by {column.measure}", heads, rows, about)


def _wide_block(board: Board) -> PageBlock:
    """Return the table of models and suites."""
    heads = ["Model", *(f"{column_title(one)}: {one.measure}, rank" for one in board.columns)]
    by_title = [{entry.title: entry for entry in one.models} for one in board.columns]
    rows: list[FieldValues] = []
    for title in board.models:
        cells = [_cell(found.get(title), column) for found, column in zip(by_title, board.columns, strict=True)]
        rows.append([_link(text_field(title), f"model-{slug(title)}.html"), *cells])
    about = f"{RANKS} {NO_TEST if len(board.columns) > 1 else ''}"
    return PageBlock(tables=[table_of("Models by suite", heads, rows, about.strip())], filtered=True)


def _cell(entry: BoardEntry | None, column: BoardColumn) -> TableField:
    if entry is None:
        return number_field(None)
    field = rate_field(entry.rate)
    note = f"rank {entry.rank} of {len(column.models)}; {field.note}"
    return field.model_copy(update={"note": note, "link": f"suite-{column.key}.html", "problems": None})


def _index(board: Board, extra: Sequence[ReportTable], versions: Sequence[Sequence[Record]]) -> str:
    heads = ("Board", "Data", "Hash", "Profile", "Policy", "Prompt", "Isolation", "Models", "Problems", "in the rate")
    suites: list[FieldValues] = [
        [
            _link(text_field(one.title), f"suite-{one.key}.html"), one.data, one.data_hash[:16], one.profile,
            one.policy, one.prompt, one.isolation, len(one.models), one.problems, one.leading,
        ]
        for one in board.columns
    ]  # fmt: skip
    files = table_of(
        "Files", ("File", "Content"),
        [
            [_link(text_field("data.parquet"), "data.parquet"), "a row for each model and problem"],
            [_link(text_field("data.csv"), "data.csv"), "the same as CSV"],
            [_link(text_field(BOARD_FILE), BOARD_FILE), "a record for each model, in the EvalEval schema 0.2.1"],
            [_link(text_field("embed.html"), "embed.html"), '<iframe src="embed.html" title="CaretBench board">'],
        ],
    )  # fmt: skip
    about = "What stands on boards apart differs in data, profile, policy, prompt, variants or isolation."
    blocks = [
        _wide_block(board),
        *([PageBlock(tables=extra)] if extra else []),
        PageBlock(tables=[table_of("Boards", heads, suites, about), files]),
    ]
    parts = [PagePart("board", "Board", "Board", blocks=blocks)]
    if len(versions) > 1:
        parts.append(PagePart("history", "History", "What changed", blocks=list(_history(versions))))
    return render_page("CaretBench board", parts)


def _history(versions: Sequence[Sequence[Record]]) -> Iterator[PageBlock]:
    for place, (after, before) in enumerate(pairwise(versions)):
        found = list(changes(before, after))
        more = [f"and {len(found) - _MAX_CHANGES} more"] if len(found) > _MAX_CHANGES else []
        number = len(versions) - place
        yield PageBlock(title=f"Version {number} against {number - 1}", notes=[*found[:_MAX_CHANGES], *more])


def _suite_page(column: BoardColumn) -> str:
    tables = [board_table(column)]
    if column.printed:
        rows: list[FieldValues] = [
            [one.model, share_field(one.value, _ends(one.low, one.high)), one.table] for one in column.printed
        ]
        tables.append(
            table_of(
                "Printed in the paper, not ranked here", ("Model", f"{column.measure}, printed", "Table"), rows,
                "Without rows no rank interval can be given.",
            )
        )  # fmt: skip
    block = PageBlock(notes=[RANKS, *column.notes, f"Data hash: {column.data_hash[:16]}"], tables=tables, filtered=True)
    commands = table_of("Commands", ("Model", "Command"), [(entry.title, entry.command) for entry in column.entries])
    blocks = [block, PageBlock(title="Commands that make the rows", tables=[commands], folded=True)]
    blocks.append(PageBlock(tables=[_INDEX]))
    return render_page(column_title(column), [PagePart("suite", "Suite", "Models", blocks=blocks)])


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"


def _model_page(board: Board, title: str) -> str:
    rows: list[FieldValues] = []
    known: dict[str, None] = {}
    for column in board.columns:
        for entry in (one for one in column.models if one.title == title):
            known |= dict.fromkeys(one.title for one in column.models if one.title != title)
            told = (", ".join(names) or "–" for names in (entry.worse, column.untold(entry), entry.better))
            field = _link(text_field(column_title(column)), f"suite-{column.key}.html")
            rows.append(
                [field, _rank_field(entry), rate_field(entry.rate), *told, ", ".join(entry.runs), entry.command]
            )
    heads = ("Board", "Rank", "Rate", "Better than", "Not told apart from", "Worse than", "Runs", "Command")
    tables = [table_of(f"{title} by suite", heads, rows)]
    if len(board.columns) > 1:
        others: list[FieldValues] = [
            [_link(text_field(other), f"model-{slug(other)}.html"), over_suites(board.columns, title, other)]
            for other in sorted(known, key=str.casefold)
        ]
        tables.append(table_of(f"{title} against each model", ("Model", "Suites"), others, NO_TEST))
    block = PageBlock(notes=[RANKS], tables=[*tables, _INDEX])
    return render_page(title, [PagePart("model", "Model", title, blocks=[block])])


def _badge(left: str, right: str) -> str:
    """Return an SVG with two texts; 7 units a character are wide enough for a 11 px font."""
    first, second = (7 * len(text) + 10 for text in (left, right))
    whole = first + second
    shown = [(left, first / 2), (right, first + second / 2)]
    texts = "".join(f'<text x="{place:g}" y="14" text-anchor="middle">{escape(text)}</text>' for text, place in shown)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" '
        f'aria-label="{escape(f"{left}: {right}", quote=True)}"><rect width="{first}" height="20" fill="#444"/>'
        f'<rect x="{first}" width="{second}" height="20" fill="#0a58a6"/><g fill="#fff" '
        f'font-family="Verdana,sans-serif" font-size="11">{texts}</g></svg>\n'
    )
