"""Page of a datasheet: tables as Markdown, contamination, hosting, limits, and what is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from pydantic import Field

from caretbench.files import read_packaged_toml
from caretbench.languages import languages
from caretbench.people.releases.datasheet import ALL, FAULT, Datasheet, PartFigures, ReviewFigures, SizeFigures
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


def _number(value: float | None, form: str = ".1f", missing: str = UNKNOWN) -> str:
    return missing if value is None else format(value, form)


def _title(language: str) -> str:
    # A set can have languages that no toolchain here runs.
    entry = languages().get(language)
    return entry.title if entry else language


def _cells(sheet: Datasheet) -> Table:
    # A set without categories has cells of one word.
    cells = {tuple((*cell.split("/", 1), "")[:2]): count for cell, count in sheet.figures.cells.items()}
    categories, known = {category for _, category in cells}, list(cell_categories())
    columns = sorted(categories, key=lambda name: (known.index(name) if name in known else len(known), name))
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
    # The tables of the cells are DevBench's; others have no scenarios by category.
    if sheet.suite != "devbench":
        return
    from caretbench.suites.devbench.build.cell_languages import cell_languages

    cells = cell_languages()
    used = {cell.partition("/")[0] for cell in sheet.figures.cells}
    names = sorted((name for name in used if name in cells), key=_order)
    rows = [
        (category.title, *(", ".join(cells[language].constructs[name]) for language in names))
        for name, category in cell_categories().items()
        if any(cell.endswith(f"/{name}") for cell in sheet.figures.cells)
    ]
    note = "The tables of the cells that the builder used; of programs that are written by hand they describe the aim."
    yield Table(
        "adaptations", "Adaptations to the languages (form of Table 2)", ("Category", *map(_title, names)),
        tuple(rows), (note,),
    )  # fmt: skip


def _complexity(sheet: Datasheet) -> Iterator[Table]:
    sizes = sheet.figures.sizes_paper.get(ALL)
    if sizes is None:
        return
    printed = printed_figures()
    rows = [
        (f"{sheet.name} {sheet.version}", _number(sizes.total_lines), _number(sizes.cyclomatic)),
        *((other.name, other.lines or _DASH, other.cyclomatic or _DASH) for other in printed.complexity),
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
            (_title(language) if language != ALL else "All", str(size.problems),
             *(_number(getattr(size, field)) for field in [*SizeFigures.model_fields][1:]))
            for language, size in sorted(sizes.items(), key=lambda entry: (entry[0] == ALL, _order(entry[0])))
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
    costs = sheet.generation
    rows = (
        ("scenarios with attempts", _number(costs.scenarios, "d")),
        ("attempts", _number(costs.attempts, "d")),
        ("instances that were built", _number(costs.instances, "d")),
        ("mean attempts of an instance", _number(costs.attempts_per_instance, ".2f")),
        ("hours on the clock", _number(costs.wall_hours, ".2f")),
        ("hours of requests", _number(costs.request_hours, ".2f")),
        ("cost in US dollars", _number(costs.cost, ".4f")),
        ("answers without a known price", _number(costs.unpriced, "d")),
        ("prompt versions", ", ".join(f"{name} ({count})" for name, count in costs.prompt_versions.items()) or UNKNOWN),
    )
    filled = tuple(row for row in rows if row[1] != UNKNOWN)
    return Table(
        "generation", "Generation, of the whole set", ("Figure", "Value"), filled, (printed_figures().generation,)
    )


def _generators(sheet: Datasheet) -> Table:
    rows = [
        (name, figures.family or UNKNOWN, str(figures.attempts), str(figures.instances), _number(figures.cost, ".4f"),
         _number(figures.request_hours, ".2f"))
        for name, figures in sheet.generation.generators.items()
    ]  # fmt: skip
    columns = ("Generator", "Family", "Attempts", "Instances", "Cost in US dollars", "Hours of requests")
    return Table("generators", "Generators", columns, tuple(rows))


def _yields(sheet: Datasheet) -> Table:
    rows = [
        (cell, str(figures.attempts), str(figures.instances), f"{figures.instances / figures.attempts:.1%}",
         joined_counts(figures.reasons) or _DASH)
        for cell, figures in sheet.generation.cells.items()
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
        (name, str(sum(counts.values())), str(counts.get("ok", 0))) for name, counts in sheet.figures.checks.items()
    ]
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
        (name, str(figures.items), _number(figures.mean, ".2f", _DASH), _number(figures.equal, ".1%", _DASH),
         _number(figures.alpha, ".2f", _DASH))
        for name, figures in review.questions.items()
    )  # fmt: skip
    columns = ("Question", "Items with two answers", "Mean", "Equal answers", "Krippendorff's alpha")
    yield Table("agreement", "Agreement of people", columns, questions)
    printed = printed_figures().rejections
    total = sum(review.rejections.values())
    # The paper's reasons stay in the table with 0, so that both columns can be compared row by row.
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


# A rate over 20 problems has an interval of ± 20 points.
_FEW: Final = 20
"""Number of problems below which the rate of a cell says little."""


def limits(sheet: Datasheet) -> Iterator[str]:
    """Yield the limits of a set, one sentence each."""
    yield from _of_problems(sheet.figures)
    yield from _of_making(sheet)
    if sheet.figures.marked is None:
        yield "The canary is in the datasheet and in the metadata alone."
    elif sheet.figures.marked < sheet.figures.problems:
        yield f"{sheet.figures.problems - sheet.figures.marked} source files have no canary."
    if sheet.figures.sizes:
        yield "Lines and tokens of the two countings differ; only one of them is comparable with the paper's."


def _of_problems(figures: PartFigures) -> Iterator[str]:
    small = sum(count < _FEW for count in figures.cells.values())
    if small:
        yield f"{small} of {len(figures.cells)} cells have fewer than {_FEW} problems: their rates say little."
    if figures.without_row:
        yield f"Of {figures.without_row} problems nothing but their texts is known: no generator, check or date."
    if figures.checks:
        yield "The checks are those of the build; a release does not repeat them."
    if unrun := figures.checks.get("gate", {}).get(FAULT):
        yield f"{unrun} programs never ran: the machine of the build could not run them."
    if figures.private_texts:
        yield f"{figures.private_texts} problems contain a text in the shape of a person's name or an address."


def _of_making(sheet: Datasheet) -> Iterator[str]:
    generators, review = sheet.generation.generators, sheet.review
    if generators:
        yield "The programs are written by models. They follow scenarios of developers' work and are not taken from it."
        yield "The terms of providers about texts that their models write were not examined."
        # A family's gain is seen against other families only.
        if len({figures.family or name for name, figures in generators.items()}) == 1:
            yield "One family of models wrote all of them: a gain of this family on its own texts cannot be seen."
    if sheet.generation.unpriced:
        yield f"{sheet.generation.unpriced} answers have no known price, so the cost of the whole is not known."
    if review is None:
        yield "No results of a review by people are part of this datasheet."
    elif review.settled < review.items:
        yield f"People have not settled {review.items - review.settled} items of the review."


def render_datasheet(sheet: Datasheet) -> str:
    """Return the page of a datasheet."""
    what = "the public part" if sheet.part == "public" else "the hold-out, which is not for publication"
    lines = [
        f"# {sheet.name} {sheet.version}",
        "",
        f"Problems of the suite {sheet.suite}: {what}, {sheet.figures.problems} problems. Every figure follows from "
        "the rows of the built folder and is in `datasheet.json` too.",
        "",
    ]
    for table in datasheet_tables(sheet):
        lines += [f"## {table.title}", "", *_markdown(table), ""]
        lines += [line for note in table.notes for line in (note, "")]
    lines += ["## Contamination", "", _contamination(sheet), "", "## Hosting and maintenance", "", _hosting(sheet), ""]
    lines += ["## Limits", "", *(f"* {line}" for line in limits(sheet)), ""]
    if sheet.unknown:
        lines += ["## Unknown", "", *(f"* {line}" for line in sheet.unknown), ""]
    return "\n".join(lines)


def _markdown(table: Table) -> Iterator[str]:
    for cells in (table.columns, ("---",) * len(table.columns), *table.rows):
        yield f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    """Return a text of a row without meaning in Markdown and HTML, in one line."""
    # A name or reason may hold line breaks and escapes, which would end the row of the table.
    plain = "".join(character if character.isprintable() else " " for character in text)
    # As numbers of characters: a backslash is shown as it is by some renderers of Markdown.
    return re.sub(r"[\\|`<>\[\]&]", lambda character_match: f"&#{ord(character_match[0])};", plain)


def _contamination(sheet: Datasheet) -> str:
    marked = sheet.figures.marked
    files = f"every row of `texts.jsonl` and {marked} source files, behind the hidden tests"
    if marked is None:
        files = "the datasheet"
    return (
        f"Canary, in {files}: `{_escaped(sheet.canary)}`. Do not train on texts that contain it. "
        f"{sheet.holdout_problems} problems ({sheet.holdout_share:.1%} of the set) are held out; `caretbench dataset "
        "holdout` compares their score with that of the public part."
    )


def _hosting(sheet: Datasheet) -> str:
    changes = "" if sheet.changes is None else f" Since the earlier version: {joined_counts(sheet.changes)}."
    return (
        f"Address: {sheet.url or UNKNOWN}. Metadata: `croissant.json`. Hashes of all files: `checksums`, which "
        "`sha256sum -c checksums` reads. Corrections are new versions; `caretbench dataset diff` lists the changes."
        f"{changes}"
    )
