"""Static site of a board: index, a page for each model and suite, data files, badges, a page to embed, and history.

Also models over several suites: better and worse in how many, the user's weights, and shifts of ranks.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from caretbench.errors import UsageError
from caretbench.files import write_atomically
from caretbench.metrics.correlation import spearman
from caretbench.metrics.intervals import resampled_means, units_of
from caretbench.reports.board.board import Board, BoardColumn, BoardEntry, slug
from caretbench.reports.board.board_records import Record, board_records, changes, read_records, records_text
from caretbench.reports.output.page import render_page
from caretbench.reports.results.published_numbers import published_names, published_rows
from caretbench.reports.section import PageBlock, PagePart
from caretbench.reports.tables import (
    FieldValues,
    ReportTable,
    TableField,
    digits_field,
    number_field,
    range_text,
    rate_field,
    share_field,
    table_of,
    text_field,
    title_field,
)

WEIGHTINGS: Final = 10_000
"""Number of random weightings of the suites, each equally likely."""
_RESAMPLES: Final = 2_000

NO_TEST: Final = (
    "Nothing is averaged over suites: no difference over so few suites can be told from chance (five give at least "
    "p = 0.0625), and other weights give another order. --suite-weights takes yours."
)


def over_suites(columns: Sequence[BoardColumn], title: str, other: str) -> str:
    """Return in how many suites a model is better and worse than another: ``better in 2, worse in 0 of 5``."""
    by_title = ({entry.title: entry for entry in column.models} for column in columns)
    both = [named for named in by_title if named.keys() >= {title, other}]
    better, worse = (sum(other in getattr(named[title], name) for named in both) for name in ("worse", "better"))
    return f"better in {better}, worse in {worse} of {len(both)}"


def column_named(columns: Sequence[BoardColumn], name: str) -> BoardColumn:
    """Return the column with this key, suite or title.

    Raises:
        UsageError: none has it, or several.
    """
    named = [column for column in columns if name in (column.key, column.suite, column.title)]
    if len(named) != 1:
        keys = ", ".join(column.key for column in (named or columns)) or "none"
        raise UsageError(f"{name!r} names {len(named)} columns of the board; name one of: {keys}")
    return named[0]


def parse_weights(text: str) -> dict[str, float]:
    """Return the weights in ``devbench=2,c3bench=1``.

    Raises:
        UsageError: a part is no name with a positive number.
    """
    weights = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        try:
            weights[name] = float(value)
        except ValueError:
            weights[name] = float("nan")
        if not 0 < weights[name] < float("inf"):
            raise UsageError(f"--suite-weights {part!r}: expected SUITE=WEIGHT with a positive weight: devbench=2")
    return weights


class WeightedModel(NamedTuple):
    """Weighted mean rate of a model with its interval, and the share of random weightings that put it first."""

    title: str
    value: float
    low: float
    high: float
    first: float


def weighted_models(
    columns: Sequence[BoardColumn], rows: pl.DataFrame, weights: Mapping[str, float], seed: int = 0
) -> list[WeightedModel]:
    """Return the models with a rate in every weighted column, the best first; resampled within suites.

    Raises:
        UsageError: a weight names no column, or no model is in all of them.
    """
    chosen = [column_named(columns, name) for name in weights]
    share = np.array([*weights.values()]) / sum(weights.values())
    titles = sorted(set.intersection(*({entry.title for entry in column.models} for column in chosen)))
    if not titles:
        raise UsageError(f"--suite-weights: no model has a rate in all of {', '.join(weights)}")
    rates, drawn = np.zeros((len(titles), len(chosen))), np.zeros((len(titles), _RESAMPLES))
    for index, column in enumerate(chosen):
        entries = {entry.title: entry for entry in column.models}
        leads = rows.filter(pl.col("board") == column.key, pl.col("leads"))
        by_model = leads.partition_by("model", "parameters", as_dict=True)
        for row, title in enumerate(titles):
            lead_rows = by_model[entries[title].model, entries[title].parameters]
            values, clusters, groups = (lead_rows[name].to_list() for name in ("rate", "cluster", "overlap_group"))
            units = units_of(values, clusters, groups)
            rates[row, index] = entries[title].rate.value
            drawn[row] += share[index] * resampled_means(units, _RESAMPLES, seed + index)
    weightings = np.random.default_rng(seed).dirichlet(np.ones(len(chosen)), WEIGHTINGS)
    firsts = np.bincount((rates @ weightings.T).argmax(axis=0), minlength=len(titles)) / WEIGHTINGS
    low, high = np.quantile(drawn, (0.025, 0.975), axis=1)
    models = [
        WeightedModel(*fields)
        for fields in zip(titles, *(map(float, some) for some in (rates @ share, low, high, firsts)), strict=True)
    ]
    return sorted(models, key=lambda model: (-model.value, model.title))


def weights_table(models: Sequence[WeightedModel], weights: Mapping[str, float]) -> ReportTable:
    """Return the table of weighted means."""
    stated = ", ".join(f"{name} {value:g}" for name, value in weights.items())
    return table_of(
        "Weighted by the user",
        ["Model", "Weighted mean", "First in"],
        [
            [model.title, share_field(model.value, note), share_field(model.first)]
            for model in models
            for note in (range_text(model.low, model.high) if model.low < model.high else "",)
        ],
        f"Weights of the user: {stated}. Intervals are resampled within suites. The last column is the share of "
        f"{WEIGHTINGS:,} random weightings that put the model first: nobody measures which weights are right.",
    )


class Shifts(NamedTuple):
    """Ranks on a suite as shifts against those on the base, of the models of both; positive: ranked higher."""

    title: str
    shifts: Mapping[str, float]
    coefficient: TableField
    """Spearman's correlation, with its interval and the number of models in the note."""


def rank_shifts(title: str, base: Mapping[str, float], other: Mapping[str, float]) -> Shifts:
    """Return the shifts of the models that two suites have in common, from their numbers: more is better."""
    common = [name for name in base if name in other]
    ours, theirs = ([side[name] for name in common] for side in (base, other))
    shifts = {
        name: sum(value > base[name] for value in ours) - sum(value > other[name] for value in theirs)
        for name in common
    }
    correlation = spearman(ours, theirs)
    ends = correlation and spearman_interval(correlation.coefficient, correlation.n)
    note = [f"{ends[0]:.2f} to {ends[1]:.2f}"] if ends else []
    field = digits_field(correlation and correlation.coefficient)
    return Shifts(title, shifts, field.model_copy(update={"note": ", ".join([*note, f"n = {len(common)}"])}))


def measured_shifts(columns: Sequence[BoardColumn], name: str) -> ReportTable:
    """Return the table of shifts of the other columns against a named one: models by their rank on it.

    Raises:
        UsageError: none has the name, or several.
    """
    base = column_named(columns, name)
    rates = {column.key: {entry.title: entry.rate.value for entry in column.models} for column in columns}
    shifts = [rank_shifts(column.title, rates[base.key], rates[column.key]) for column in columns if column is not base]
    rows: list[FieldValues] = [
        [entry.title, number_field(rank), *(digits_field(shift.shifts.get(entry.title), "+g") for shift in shifts)]
        for rank, entry in enumerate(base.models, 1)
    ]
    about = (
        "Positive: ranked higher than on the base, among the models of both. Intervals by Bonett and Wright: with so "
        "few models a coefficient says little."
    )
    rows.append(["Spearman's r", number_field(None), *(shift.coefficient for shift in shifts)])
    heads = ["Model", base.title, *(shift.title for shift in shifts)]
    return table_of(f"Ranks against {base.title}", heads, rows, about)


def printed_shifts(suite: str) -> ReportTable | None:
    """Return the coefficients of ranks that a paper prints, those of its printed ranks, and those of its tables.

    None if the paper prints no ranks against its suite.
    """
    names = published_names(suite).get("shifts")
    if not names:
        return None
    cells = published_rows(suite)
    figure = [row for row in cells if row["table"] == names["table"]]
    base = {row["model"]: -float(row["value"]) for row in figure if row["metric"] == "rank"}

    def numbers(other: str, metric: str, among: Sequence[Mapping[str, str]]) -> dict[str, float]:
        there = [row for row in among if (row["suite"], row["metric"]) == (other, metric)]
        return {row["model"]: float(row["value"]) for row in there}

    rows: list[FieldValues] = []
    for row in figure:
        if row["metric"] != "spearman_correlation":
            continue
        other = row["suite"]
        moved = {name: base[name] + value for name, value in numbers(other, "rank_change", figure).items()}
        fields = [number_field(float(row["value"]), row["value"]), rank_shifts(other, base, moved).coefficient]
        whole = [cell for cell in cells if cell["subset"].endswith("=all")]
        for metric in ("exact_match", "edit_similarity", "pass_rate"):
            values = numbers(other, metric, whole)
            named = {model: values[name] for model in base if (name := names["models"].get(model, model)) in values}
            fields.append(rank_shifts(other, base, named).coefficient if named else number_field(None))
        rows.append([other.replace("_", " "), *fields])
    heads = ["Suite", "Printed", "From the printed ranks", "From tables: exact match", "edit similarity", "pass rate"]
    about = (
        f"Spearman's r of the ranks against {names['title']}, as the paper prints it and as its own numbers give it."
    )
    return table_of("Printed ranks of other suites", heads, rows, about)


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
    heads = ["Model", *(f"{column_title(column)}: {column.measure}, rank" for column in board.columns)]
    by_title = [{entry.title: entry for entry in column.models} for column in board.columns]
    rows: list[FieldValues] = []
    for title in board.models:
        cells = [_cell(entries.get(title), column) for entries, column in zip(by_title, board.columns, strict=True)]
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
            _link(text_field(column.title), f"suite-{column.key}.html"), column.data, column.data_hash[:16],
            column.profile, column.policy, column.prompt, column.isolation, len(column.models), column.problems,
            column.leading,
        ]
        for column in board.columns
    ]  # fmt: skip
    files = table_of(
        "Files",
        ("File", "Content"),
        [
            [_link(text_field("data.parquet"), "data.parquet"), "a row for each model and problem"],
            [_link(text_field("data.csv"), "data.csv"), "the same as CSV"],
            [_link(text_field(BOARD_FILE), BOARD_FILE), "a record for each model, in the EvalEval schema 0.2.1"],
            [_link(text_field("embed.html"), "embed.html"), '<iframe src="embed.html" title="CaretBench board">'],
        ],
    )
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
    for index, (after, before) in enumerate(pairwise(versions)):
        moved = list(changes(before, after))
        more = [f"and {len(moved) - _MAX_CHANGES} more"] if len(moved) > _MAX_CHANGES else []
        number = len(versions) - index
        yield PageBlock(title=f"Version {number} against {number - 1}", notes=[*moved[:_MAX_CHANGES], *more])


def _suite_page(column: BoardColumn) -> str:
    tables = [board_table(column)]
    if column.printed:
        rows: list[FieldValues] = [
            [entry.model, share_field(entry.value, range_text(entry.low, entry.high)), entry.table]
            for entry in column.printed
        ]
        tables.append(
            table_of(
                "Printed in the paper, not ranked here",
                ("Model", f"{column.measure}, printed", "Table"),
                rows,
                "Without rows no rank interval can be given.",
            )
        )
    block = PageBlock(notes=[RANKS, *column.notes, f"Data hash: {column.data_hash[:16]}"], tables=tables, filtered=True)
    commands = table_of("Commands", ("Model", "Command"), [(entry.title, entry.command) for entry in column.entries])
    blocks = [block, PageBlock(title="Commands that make the rows", tables=[commands], folded=True)]
    blocks.append(PageBlock(tables=[_INDEX]))
    return render_page(column_title(column), [PagePart("suite", "Suite", "Models", blocks=blocks)])


def _model_page(board: Board, title: str) -> str:
    rows: list[FieldValues] = []
    rivals: dict[str, None] = {}
    for column in board.columns:
        for entry in (candidate for candidate in column.models if candidate.title == title):
            rivals |= dict.fromkeys(candidate.title for candidate in column.models if candidate.title != title)
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
            for other in sorted(rivals, key=str.casefold)
        ]
        tables.append(table_of(f"{title} against each model", ("Model", "Suites"), others, NO_TEST))
    block = PageBlock(notes=[RANKS], tables=[*tables, _INDEX])
    return render_page(title, [PagePart("model", "Model", title, blocks=[block])])


def _badge(left: str, right: str) -> str:
    """Return an SVG with two texts; 7 units a character are wide enough for a 11 px font."""
    first, second = (7 * len(text) + 10 for text in (left, right))
    whole = first + second
    shown = [(left, first / 2), (right, first + second / 2)]
    texts = "".join(f'<text x="{centre:g}" y="14" text-anchor="middle">{escape(text)}</text>' for text, centre in shown)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" '
        f'aria-label="{escape(f"{left}: {right}", quote=True)}"><rect width="{first}" height="20" fill="#444"/>'
        f'<rect x="{first}" width="{second}" height="20" fill="#0a58a6"/><g fill="#fff" '
        f'font-family="Verdana,sans-serif" font-size="11">{texts}</g></svg>\n'
    )


def spearman_interval(coefficient: float, n: int) -> tuple[float, float] | None:
    """Return the 95 % interval of Spearman's correlation of ``n`` pairs; None with fewer than five, or at its ends.

    Source: Bonett and Wright, "Sample size requirements for estimating Pearson, Kendall and Spearman correlations"
    (2000).
    """
    if n < 5 or abs(coefficient) >= 1.0:
        return None
    half = 1.959964 * math.sqrt((1 + coefficient**2 / 2) / (n - 3))
    return math.tanh(math.atanh(coefficient) - half), math.tanh(math.atanh(coefficient) + half)
