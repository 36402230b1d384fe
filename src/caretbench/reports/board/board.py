"""Values of a board: a column for each suite (data, profile, policy, kind of prompt), a row for each model."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from caretbench.files import DataError, sha256_json
from caretbench.reports.board.board_runs import BoardModel, BoardRun, board_folders, board_models, board_runs
from caretbench.reports.estimates import ReportedNumber, ReportValue, mean_estimate
from caretbench.reports.head.measured_parts import MeasuredPart, judged_parts, part_tests
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.paired_models import ComparisonRow, ModelRates, floors_above, tested_rows
from caretbench.reports.results.problem_lists import LEAD_TITLES, LeadingProblems, leading_problems, needed_problems
from caretbench.reports.results.published_numbers import WHOLE, PublishedNumber, published_names, published_numbers
from caretbench.reports.results.run_settings import ModelKey, identity_of
from caretbench.reports.run_summary import suite_stratification
from caretbench.suites import suite_of_run
from caretbench.suites.baselines import TRIVIAL_BASELINES


class BoardEntry(BoardModel):
    """Row of a board: one model with its parameters.

    ``rate`` is over the problems that lead, ``raw`` over all, ``valid`` over those that need an answer, if these are
    others than the ones that lead.
    """

    rate: ReportedNumber
    raw: ReportedNumber
    valid: ReportedNumber | None = None
    first_rank: int | None = None
    """First rank of the interval: 1 + the models that are shown to be better; None for baselines."""
    last_rank: int | None = None
    """Last rank: the number of models, less those that are shown to be worse."""
    better: tuple[str, ...] = ()
    """Models that are shown to be better."""
    worse: tuple[str, ...] = ()
    """Models that are shown to be worse."""
    below: str = ""
    """Trivial baseline with a higher raw rate, if there is one."""

    @property
    def rank(self) -> str:
        """Rank as an interval, ``2–5``."""
        ends = dict.fromkeys((self.first_rank, self.last_rank))
        return "" if self.first_rank is None else "–".join(map(str, ends))


class BoardColumn(ReportValue):
    """Column of a board: one measure over one set of problems, under one profile, policy and kind of prompt."""

    key: str
    suite: str
    title: str
    measure: str
    about: str
    data: str
    data_hash: str
    profile: str
    policy: str
    prompt: str
    variants: str
    isolation: str
    version: str
    """Version of CaretBench that made the runs."""
    problems: int
    leading: int
    """Number of problems that count in the rate."""
    rule: str
    """Rule by which these were chosen; empty if all count."""
    valid_rule: str = ""
    """Rule by which the problems that need an answer are told, if they are others than those that count."""
    groups: int | None = None
    """Number of independent groups of problems, over which models are compared."""
    family: int = 0
    """Number of pairs that are tested together."""
    entries: tuple[BoardEntry, ...]
    """Models and baselines, the best first."""
    printed: tuple[PublishedNumber, ...] = ()
    """Results that a paper prints, which are shown and never ranked."""
    notes: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[BoardEntry, ...]:
        """Entries of models."""
        return tuple(entry for entry in self.entries if not entry.baseline)

    def untold(self, entry: BoardEntry) -> list[str]:
        """Return the titles of the models that are not told apart from this one."""
        decided = {*entry.better, *entry.worse, entry.title}
        return [other.title for other in self.models if other.title not in decided]


class Board(ReportValue):
    """Board: its columns, by suite and key. Numbers of different columns are not averaged."""

    columns: tuple[BoardColumn, ...]

    @property
    def models(self) -> list[str]:
        """Titles of the models, sorted by name."""
        return sorted({entry.title for column in self.columns for entry in column.models}, key=str.casefold)


class BoardPart(NamedTuple):
    """Part of a merged run with the rates of models by title, on the problems that lead and on all.

    ``valid`` has those on problems that need an answer, if these are not the ones that lead.
    """

    part: MeasuredPart
    rule: str
    leading: Mapping[str, ModelRates]
    raw: Mapping[str, ModelRates]
    valid_rule: str = ""
    valid: Mapping[str, ModelRates] = {}


def make_board(paths: Sequence[Path], seed: int = 0) -> tuple[Board, pl.DataFrame]:
    """Return the board of runs, or of folders of runs, and the rows of its data file.

    Raises:
        DataError: a path is no run, or no run has a verdict.
    """
    columns, rows = list[BoardColumn](), list[pl.DataFrame]()
    for source in board_runs(board_folders(paths)):
        facts = board_models(source)
        parts = list(_parts(source, facts))
        # All pairs of one suite are one family, as in the head of its report.
        tests = [[*part_tests(made.part, combinations(_ranked(made, source.run.baselines), 2))] for made in parts]
        results = iter(tested_rows([test for some in tests for test in some], seed))
        for part, some in zip(parts, tests, strict=True):
            columns.append(_column(source, part, [next(results) for _ in some], facts, seed))
            rows.append(_data_rows(columns[-1], part))
    if not columns:
        raise DataError("no verdict for a board: the programs were not run (--no-execute), or none could be")
    board = Board(columns=tuple(sorted(columns, key=lambda column: (column.suite, column.key))))
    return board, pl.concat(rows).sort("board", "model", "parameters", "problem_id")


def _parts(source: BoardRun, facts: Mapping[ModelKey, BoardModel]) -> Iterator[BoardPart]:
    """Yield the parts of a merged run that have verdicts."""
    suite = str(source.run.manifest.get("suite"))
    for part in judged_parts(ReportSource(source.run, suite_stratification(suite), suite_of_run(suite))):
        run = part.run
        rates = part.rates(run.frame["model"].unique().to_list(), needless=True)
        # A part may lack one of two variants of a model, whose title there would be another.
        titled = (entry._replace(name=facts[entry.model, entry.parameters].title) for entry in rates)
        raw = {entry.name: entry._replace(rates=entry.rates.sort("problem_id")) for entry in titled}
        profile = identity_of(run)["profile"]
        lead, need = (rule(run.frame, run.problems, profile) for rule in (leading_problems, needed_problems))
        made = BoardPart(part, LEAD_TITLES[lead.rule], _on(raw, lead), raw)
        if need.rule != lead.rule:  # under the paper's profile all problems lead
            made = made._replace(valid_rule=LEAD_TITLES[need.rule], valid=_on(raw, need))
        if made.leading:
            yield made


def _on(rates: Mapping[str, ModelRates], chosen: LeadingProblems) -> dict[str, ModelRates]:
    """Return the rates on these problems, of the models that have some."""
    kept = pl.col("problem_id").is_in(list(chosen.problems))
    kept_rates = {name: entry._replace(rates=entry.rates.filter(kept)) for name, entry in rates.items()}
    return {name: entry for name, entry in kept_rates.items() if not entry.rates.is_empty()}


def _ranked(part: BoardPart, baselines: Sequence[str]) -> list[ModelRates]:
    """Return the models of a part, the best first."""
    models = [entry for entry in part.leading.values() if entry.model not in baselines]
    return sorted(models, key=lambda entry: (-entry.rates["rate"].mean(), entry.name))  # type: ignore[operator]  # a number


def _column(
    source: BoardRun, part: BoardPart, pairs: Sequence[ComparisonRow], facts: Mapping[ModelKey, BoardModel], seed: int
) -> BoardColumn:
    identity, data = identity_of(source.run), source.run.manifest["data"]
    suite, installed = str(source.run.manifest.get("suite")), suite_of_run(source.run.manifest.get("suite"))
    words = [suite, part.part.label, str(data["name"]), identity["profile"], identity["policy"], source.prompt]
    return BoardColumn(
        key=slug("-".join(filter(None, words)), *identity.values()),
        suite=suite,
        title=": ".join(filter(None, (installed.title if installed else suite, part.part.label))),
        measure=part.part.measure.title,
        about=part.part.measure.about,
        data=str(data["name"]),
        data_hash=str(data["hash"]),
        profile=identity["profile"],
        policy=identity["policy"],
        prompt=source.prompt,
        variants=identity["variants"].replace("none", ""),
        isolation=identity["isolation"],
        version=str((source.run.manifest.get("versions") or {}).get("caretbench", "")),
        problems=_problems_of(part.raw),
        leading=_problems_of(part.leading),
        rule=part.rule,
        valid_rule=part.valid_rule,
        groups=min((row.groups for row in pairs), default=None),
        family=max((row.family for row in pairs), default=0),
        entries=tuple(sorted(_entries(part, pairs, facts, seed), key=_order)),
        printed=tuple(_printed(suite, part, data)),
        notes=source.notes,
    )


def _problems_of(rates: Mapping[str, ModelRates]) -> int:
    return len({identity for entry in rates.values() for identity in entry.rates["problem_id"]})


def slug(text: str, *more: str) -> str:
    """Return a text as a name of a file, with a hash if others may have the same; ``more`` is hashed alone."""
    name = "-".join(re.findall(r"[\w.]+", text)).lower()[:100]
    return name if name == text and not more else f"{name}-{sha256_json([text, *more])[:8]}"


def _order(entry: BoardEntry) -> tuple[float, bool, str]:
    return (-entry.rate.value, entry.baseline, entry.title)


def _entries(
    part: BoardPart, pairs: Sequence[ComparisonRow], facts: Mapping[ModelKey, BoardModel], seed: int
) -> Iterator[BoardEntry]:
    better, worse = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for row in pairs:
        if row.distinguishable:
            first, last = (row.first, row.second) if row.difference > 0 else (row.second, row.first)
            better[last].add(first)
            worse[first].add(last)
    leading, raw, valid = (
        {name: mean_estimate(entry.rates["rate"].to_list(), entry.rates, seed) for name, entry in rates.items()}
        for rates in (part.leading, part.raw, part.valid)
    )
    floors = [floor for floor in part.raw.values() if floor.model in TRIVIAL_BASELINES]
    models = sum(not model.baseline for model in facts.values() if model.title in leading)
    for model in facts.values():
        name = model.title
        if name not in leading:
            continue
        above = {} if model.baseline else dict(floors_above(part.raw[name], floors))
        yield BoardEntry(
            **model.__dict__,
            rate=leading[name],
            raw=raw[name],
            valid=valid.get(name),
            first_rank=None if model.baseline else 1 + len(better[name]),
            last_rank=None if model.baseline else models - len(worse[name]),
            better=tuple(sorted(better[name])),
            worse=tuple(sorted(worse[name])),
            below=max(above, key=lambda floor: above[floor], default=""),
        )


def _printed(suite: str, part: BoardPart, data: Mapping[str, Any]) -> Iterator[PublishedNumber]:
    """Yield the paper's numbers over all problems, if the run's data are the paper's."""
    size = (published_names(suite).get("problems") or {}).get(WHOLE)
    if part.part.label or (data.get("problems") != size if size else data.get("name") != "released"):
        return
    for number in published_numbers(suite):
        if number.metric == part.part.measure.title and number.label in ("", WHOLE):
            yield number


def _data_rows(column: BoardColumn, part: BoardPart) -> pl.DataFrame:
    """Return a row for each model and problem; ``leads`` is true if the problem counts in the rank."""
    return pl.concat(
        part.raw[entry.title].rates.select(
            pl.lit(column.key).alias("board"),
            pl.lit(entry.model).alias("model"),
            pl.lit(entry.parameters).alias("parameters"),
            "problem_id",
            pl.col("samples").cast(pl.Int64),
            pl.col("total").cast(pl.Float64).alias("passes"),
            pl.col("rate").cast(pl.Float64),
            pl.col("problem_id").is_in(part.leading[entry.title].rates["problem_id"].to_list()).alias("leads"),
            "cluster",
            "overlap_group",
        )
        for entry in column.entries
    )
