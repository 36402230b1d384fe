"""Tables of a datasheet, in the form of the DevBench paper's Tables 2 to 4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from pydantic import Field

from caretbench.files import read_packaged_toml
from caretbench.languages import languages
from caretbench.people.releases.datasheet import Datasheet
from caretbench.people.releases.part_figures import ALL, SizeFigures
from caretbench.people.releases.review_figures import ReviewFigures
from caretbench.problem import Row
from caretbench.suites.devbench.cells.cell_tables import cell_categories
from caretbench.suites.suite_types import Table

_DASH: Final = "–"
UNKNOWN: Final = "unknown"


class PrintedSize(Row):
    """Size of another benchmark, as a paper printed it; empty: not printed."""

    name: str
    lines: str
    cyclomatic: str


class PrintedFigures(Row):
    """Figures that a paper printed: sizes of other benchmarks, a sentence about generation, shares of rejections."""

    source: str
    generation: str
    rejections: Mapping[str, float] = Field(default_factory=dict)
    complexity: tuple[PrintedSize, ...]


@cache
def printed_figures() -> PrintedFigures:
    """Return the printed figures."""
    return PrintedFigures.model_validate(read_packaged_toml("caretbench.people.releases", "printed_figures.toml"))


def datasheet_tables(sheet: Datasheet) -> Iterator[Table]:
    """Yield the tables of a datasheet that have rows."""
    made = (
        _cells(sheet), *_adaptations(sheet), *_complexity(sheet), *_sizes(sheet), *_labels(sheet), _generation(sheet),
        _generators(sheet), _yields(sheet), _reasons(sheet), _checks(sheet), *_review(sheet.review), _licences(sheet),
    )  # fmt: skip
    yield from (table for table in made if table.rows)


def joined_counts(counts: Mapping[str, int]) -> str:
    """Return counts as text: ``3 twin, 1 gate``."""
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _number(value: float | None, form: str = ".1f") -> str:
    return UNKNOWN if value is None else format(value, form)


def _title(language: str) -> str:
    found = languages().get(language)
    return found.title if found else language


def _cells(sheet: Datasheet) -> Table:
    cells = {tuple((*cell.split("/", 1), "")[:2]): count for cell, count in sheet.figures.cells.items()}
    known = list(cell_categories())
    columns = sorted(
        {category for _, category in cells}, key=lambda one: (known.index(one) if one in known else len(known), one)
    )
    names = sorted({name for name, _ in cells}, key=_order)
    rows = [
        (_title(name), *(str(cells.get((name, category), 0)) for category in columns),
         str(sum(count for (row, _), count in cells.items() if row == name)))
        for name in names
    ]  # fmt: skip
    return Table("cells", "Problems by cell", ("Language", *columns, "All"), tuple(rows))


def _order(language: str) -> tuple[int, str]:
    names = list(languages())
    return (names.index(language) if language in names else len(names), language)


def _adaptations(sheet: Datasheet) -> Iterator[Table]:
    """Yield the adaptations of the categories to the languages (Table 2 of the paper), of sets in DevBench's cells."""
    if sheet.suite != "devbench":
        return
    from caretbench.suites.devbench.cells.cell_tables import cell_categories, cell_languages

    known = cell_languages()
    found = {cell.partition("/")[0] for cell in sheet.figures.cells}
    names = sorted((name for name in found if name in known), key=_order)
    rows = [
        (category.title, *(", ".join(known[one].constructs[name]) for one in names))
        for name, category in cell_categories().items()
        if any(cell.endswith(f"/{name}") for cell in sheet.figures.cells)
    ]
    note = "The tables of the cells that the builder used; of programs that are written by hand they describe the aim."
    yield Table(
        "adaptations", "Adaptations to the languages (form of Table 2)", ("Category", *map(_title, names)),
        tuple(rows), (note,),
    )  # fmt: skip


def _complexity(sheet: Datasheet) -> Iterator[Table]:
    own = sheet.figures.sizes_paper.get(ALL)
    if own is None:
        return
    printed = printed_figures()
    rows = [
        (f"{sheet.name} {sheet.version}", _number(own.total_lines), _number(own.cyclomatic)),
        *((one.name, one.lines or _DASH, one.cyclomatic or _DASH) for one in printed.complexity),
    ]
    notes = (
        f"All rows but the first as printed in {printed.source}. The first is counted as that paper's script does.",
    )
    columns = ("Benchmark", "Lines of code", "Cyclomatic complexity")
    yield Table("complexity", "Complexity next to other benchmarks (form of Table 3)", columns, tuple(rows), notes)


def _sizes(sheet: Datasheet) -> Iterator[Table]:
    counted: Sequence[tuple[str, str, Mapping[str, SizeFigures]]] = (
        ("sizes_paper", "as the paper's script counts", sheet.figures.sizes_paper),
        ("sizes", "by the syntax of the language", sheet.figures.sizes),
    )
    columns = ("Language", "Problems", "Prefix lines", "Completion lines", "Total lines", "Prefix tokens",
               "Completion tokens", "Cyclomatic")  # fmt: skip
    for name, how, sizes in counted:
        rows = [
            (_title(language) if language != ALL else "All", str(one.problems),
             *(_number(getattr(one, field)) for field in [*SizeFigures.model_fields][1:]))
            for language, one in sorted(sizes.items(), key=lambda entry: (entry[0] == ALL, _order(entry[0])))
        ]  # fmt: skip
        yield Table(name, f"Means by language, {how} (form of Table 4)", columns, tuple(rows))


def _labels(sheet: Datasheet) -> Iterator[Table]:
    requested = "Requested by the scenarios"
    note = "Kind, band and mode are checked, and their labels are measured. The rest was asked for and not checked."
    for name, title, tables, notes in (
        ("labels", "Labels, measured", sheet.figures.composition, ()),
        ("requested", requested, sheet.figures.requested, (note,)),
    ):
        rows = [
            (label, value, str(count), f"{count / sheet.figures.problems:.1%}")
            for label, counts in tables.items()
            for value, count in counts.items()
        ]
        yield Table(name, title, ("Label", "Value", "Problems", "Share"), tuple(rows), notes)


def _generation(sheet: Datasheet) -> Table:
    found = sheet.generation
    rows = (
        ("scenarios with attempts", _number(found.scenarios, "d")),
        ("attempts", _number(found.attempts, "d")),
        ("instances that were built", _number(found.instances, "d")),
        ("mean attempts of an instance", _number(found.attempts_per_instance, ".2f")),
        ("hours on the clock", _number(found.wall_hours, ".2f")),
        ("hours of requests", _number(found.request_hours, ".2f")),
        ("cost in US dollars", _number(found.cost, ".4f")),
        ("answers without a known price", _number(found.unpriced, "d")),
        ("prompt versions", ", ".join(f"{name} ({count})" for name, count in found.prompt_versions.items()) or UNKNOWN),
    )
    known = tuple(row for row in rows if row[1] != UNKNOWN)
    return Table(
        "generation", "Generation, of the whole set", ("Figure", "Value"), known, (printed_figures().generation,)
    )


def _generators(sheet: Datasheet) -> Table:
    rows = [
        (name, one.family or UNKNOWN, str(one.attempts), str(one.instances), _number(one.cost, ".4f"),
         _number(one.request_hours, ".2f"))
        for name, one in sheet.generation.generators.items()
    ]  # fmt: skip
    columns = ("Generator", "Family", "Attempts", "Instances", "Cost in US dollars", "Hours of requests")
    return Table("generators", "Generators", columns, tuple(rows))


def _yields(sheet: Datasheet) -> Table:
    rows = [
        (cell, str(one.attempts), str(one.instances), f"{one.instances / one.attempts:.1%}",
         joined_counts(one.reasons) or _DASH)
        for cell, one in sheet.generation.cells.items()
    ]  # fmt: skip
    columns = ("Cell", "Attempts", "Instances", "Yield", "Other attempts")
    return Table("yields", "Yield by cell, of the whole set", columns, tuple(rows))


def _reasons(sheet: Datasheet) -> Table:
    counts = sorted(sheet.generation.reasons.items(), key=lambda entry: (-entry[1], entry[0]))
    total = sum(count for _, count in counts)
    rows = [(name, str(count), f"{count / total:.1%}") for name, count in counts]
    columns = ("Reason", "Attempts", "Share")
    return Table("attempt_reasons", "Attempts without an instance, by reason", columns, tuple(rows))


def _checks(sheet: Datasheet) -> Table:
    rows = [
        (name, str(sum(counts.values())), str(counts.get("ok", 0)))
        for name, counts in sheet.figures.checks.items()
    ]  # fmt: skip
    return Table(
        "checks", "Checks of the problems when they were built", ("Check", "Problems", "Without fault"), tuple(rows)
    )


def _review(review: ReviewFigures | None) -> Iterator[Table]:
    if review is None:
        return
    counts = (
        ("items", str(review.items)), ("settled", str(review.settled)), ("accepted", str(review.accepted)),
        ("rejected", str(review.rejected)), ("people", _number(review.people, "d")),
        ("decisions", _number(review.decisions, "d")), ("hours of deciding", _number(review.hours, ".2f")),
        *((f"state {name.replace('_', ' ')}", str(count)) for name, count in review.states.items()),
    )  # fmt: skip
    yield Table("review", "Review by people", ("Figure", "Value"), counts)
    questions = tuple(
        (name, str(one.items), _number(one.mean, ".2f") if one.mean is not None else _DASH,
         f"{one.equal:.1%}" if one.equal is not None else _DASH,
         f"{one.alpha:.2f}" if one.alpha is not None else _DASH)
        for name, one in review.questions.items()
    )  # fmt: skip
    columns = ("Question", "Items with two answers", "Mean", "Equal answers", "Krippendorff's alpha")
    yield Table("agreement", "Agreement of people", columns, questions)
    printed = printed_figures().rejections
    total = sum(review.rejections.values())
    names = [*review.rejections, *(name for name in printed if name not in review.rejections)] if total else []
    reasons = tuple(
        (name, str(review.rejections.get(name, 0)), f"{review.rejections.get(name, 0) / total:.1%}",
         f"{printed[name]:.0%}" if name in printed else _DASH)
        for name in names
    )  # fmt: skip
    columns_ = ("Reason", "Rejections", "Share", "Share in the paper")
    yield Table("rejections", "Rejections by people, by reason", columns_, reasons)


def _licences(sheet: Datasheet) -> Table:
    rows = tuple((name, str(count), sheet.terms[name]) for name, count in sheet.licences.items())
    notes = (f"Licence of the set: {sheet.licence}.",)
    return Table("licences", "Licence", ("Licence", "Problems", "Terms"), rows, notes)
