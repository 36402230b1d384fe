"""The tables of a report as plain values: the terminal, Markdown and the page print the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from caretbench.languages import language
from caretbench.reports.estimates import Estimate, Reported
from caretbench.reports.frame import BASELINES
from caretbench.reports.own_tables import OwnTable
from caretbench.reports.published import Beside
from caretbench.reports.sections.best_of import STEPS, TITLE
from caretbench.reports.sections.discordant import KIND_TITLES
from caretbench.reports.summary import Cell, Column, Summary

NONE = "-"


class Field(Reported):
    """One field of a table: its text, what to sort by, and what a page may draw behind it."""

    text: str
    sort: float | str = ""
    note: str = ""
    estimate: Estimate | None = None
    tone: str = ""


class Table(Reported):
    """A table with one text column first; the others hold numbers where ``numeric`` says so."""

    title: str
    heads: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[Field, ...], ...]
    caption: str = ""


def own_table(entry: OwnTable) -> Table:
    """A suite's own table."""
    parts = [[text.partition("\n")[::2] for text in row] for row in entry.rows]
    numeric = [all(_numeric(row[place][0]) for row in parts) for place in range(len(entry.columns))]
    rows = tuple(
        tuple(
            number_field(_number(text), text, note)
            if number
            else Field(text=text, sort=text.lower(), note=note, tone="baseline" if text in BASELINES else "")
            for (text, note), number in zip(row, numeric, strict=True)
        )
        for row in parts
    )
    caption = " ".join(entry.notes)
    return Table(title=entry.title, heads=entry.columns, numeric=(*numeric,), rows=rows, caption=caption)


def _number(text: str) -> float | None:
    try:
        return float(text.strip("%±<> ").partition(" ")[0].replace(",", ""))
    except ValueError:
        return None


def _numeric(text: str) -> bool:
    return text in ("", NONE, "n/a") or _number(text) is not None


def percent(value: float | None, digits: int = 1) -> str:
    """A rate from 0 to 1 as a percentage."""
    return NONE if value is None else f"{100 * value:.{digits}f}%"


def text_field(text: object, tone: str = "") -> Field:
    """A field that is words."""
    words = NONE if text is None else str(text)
    return Field(text=words, sort=words.lower(), tone=tone)


def number_field(value: float | None, text: str | None = None, note: str = "") -> Field:
    """A field that is a plain number."""
    shown = text if text is not None else NONE if value is None else f"{value:g}"
    return Field(text=shown, sort=-1.0 if value is None else value, note=note)


def rate_field(estimate: Estimate | None) -> Field:
    """A rate with its interval, in percent."""
    if estimate is None:
        return number_field(None)
    note = (
        ""
        if estimate.low is None or estimate.high is None
        else f"{100 * estimate.low:.1f} to {100 * estimate.high:.1f}"
    )
    return Field(text=percent(estimate.value), sort=estimate.value, note=note, estimate=estimate)


def similarity_field(estimate: Estimate | None) -> Field:
    """A mean similarity, from 0 to 1, with its interval."""
    if estimate is None:
        return number_field(None)
    note = (
        "" if estimate.low is None or estimate.high is None else f"{estimate.low:.2f} to {estimate.high:.2f}"
    )
    return Field(text=f"{estimate.value:.3f}", sort=estimate.value, note=note)


def shown_label(stratum: str, value: str) -> str:
    """A label as people read it: ``c_sharp`` is C#, and underscores are blanks."""
    if stratum == "language":
        try:
            return language(value).title
        except KeyError:
            pass
    return value.replace("_", " ")


def shown_name(cell: Cell) -> str:
    """The labels of a cell as people read them."""
    return " / ".join(shown_label(stratum, value) for stratum, value in cell.labels.items()) or "all"


def shown_stratum(name: str) -> str:
    """A stratum's name as people read it: ``language and category``."""
    *others, last = name.replace("_", " ").split(" / ")
    return f"{', '.join(others)} and {last}" if others else last


def groups(summary: Summary) -> tuple[tuple[str, str, tuple[Column, ...]], ...]:
    """The columns by (profile, policy): what may stand in one table."""
    keys = dict.fromkeys((column.profile, column.policy) for column in summary.columns)
    return tuple(
        (profile, policy, tuple(c for c in summary.columns if (c.profile, c.policy) == (profile, policy)))
        for profile, policy in keys
    )


def pass_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """The columns that hold verdicts."""
    return tuple(column for column in columns if column.overall.pass_at)


def headline(columns: Sequence[Column]) -> Table:
    """Models, then baselines: pass rates on all problems, on the valid ones, net of the empty answer; coverage."""
    most = max((max(column.overall.pass_at, default=1) for column in columns), default=1)
    heads = ["Model", "Samples", "pass@1"] + ([f"pass@{most}"] if most > 1 else [])
    valid = any(column.valid is not None for column in columns)
    net = any(column.net_of_empty is not None for column in columns)
    heads += (["pass@1, valid problems"] if valid else []) + (["pass@1, net of empty"] if net else [])
    heads += ["Problems", "Left out", "Coverage"]
    rows = []
    for column in columns:
        row = [
            text_field(column.title, "baseline" if column.baseline else ""),
            number_field(column.samples),
            rate_field(column.overall.pass_at.get(1)),
        ]
        row += [rate_field(column.overall.pass_at.get(most))] if most > 1 else []
        row += [_part_rate(column.valid)] if valid else []
        row += [_part_rate(column.net_of_empty)] if net else []
        row += [
            number_field(column.overall.problems),
            number_field(column.overall.left_out),
            number_field(column.coverage, percent(column.coverage)),
        ]
        rows.append(tuple(row))
    return Table(
        title="Pass rates",
        heads=tuple(heads),
        numeric=(False, *[True] * (len(heads) - 1)),
        rows=tuple(rows),
        caption="95% intervals stand below the rates. Baselines are answers that no model gave.",
    )


def _part_rate(cell: Cell | None) -> Field:
    if cell is None or 1 not in cell.pass_at:
        return number_field(None)
    field = rate_field(cell.pass_at[1])
    return field.model_copy(update={"note": f"{field.note}, {cell.pass_at[1].problems} problems"})


def similarity_table(columns: Sequence[Column]) -> Table | None:
    """The similarity means of one profile; None where the scores hold none."""
    titles: dict[str, str] = {}
    for column in columns:
        titles |= column.similarity_titles
    if not titles:
        return None
    rows = tuple(
        (
            text_field(column.title, "baseline" if column.baseline else ""),
            *(similarity_field(column.overall.similarity.get(name)) for name in titles),
            number_field(
                column.correlation.pearson if column.correlation else None,
                f"{column.correlation.pearson:.2f}" if column.correlation else None,
                f"p = {column.correlation.p_value:.2g}" if column.correlation else "",
            ),
        )
        for column in columns
    )
    heads = ("Model", *titles.values(), "r with pass rate")
    return Table(
        title="Similarity to the reference",
        heads=heads,
        numeric=(False, *[True] * (len(heads) - 1)),
        rows=rows,
        caption="Over all problems, runnable here or not. r: Pearson, per problem, cosine against share of passes.",
    )


def stratum_table(columns: Sequence[Column], stratum: str) -> Table | None:
    """pass@1 by one label or two, a column for each model (baselines only where they are alone).

    None where the problems lack the label.
    """
    judged = pass_columns(columns)
    judged = tuple(column for column in judged if not column.baseline) or judged
    names = ordered_names(judged, stratum)
    if not names:
        return None
    by_name = [{shown_name(cell): cell for cell in column.strata.get(stratum, ())} for column in judged]
    rows = tuple(
        (
            text_field(name),
            number_field(max(cells[name].problems if name in cells else 0 for cells in by_name)),
            *(
                rate_field(cells[name].pass_at.get(1)) if name in cells else number_field(None)
                for cells in by_name
            ),
        )
        for name in names
    )
    heads = (stratum.replace("_", " ").capitalize(), "Problems", *(column.title for column in judged))
    title = f"pass@1 by {stratum.replace('_', ' ')}"
    caption = next((note for column in judged if (note := column.strata_notes.get(stratum))), "")
    numeric = (False, *[True] * (len(heads) - 1))
    return Table(title=title, heads=heads, numeric=numeric, rows=rows, caption=caption)


def is_further(summary: Summary, policy: str) -> bool:
    """Whether a policy is one of those that are shown beside the run's own."""
    further = summary.manifest.get("further_policies")
    return isinstance(further, list) and policy in further


def strata_names(columns: Iterable[Column], *, crossed: bool = False) -> tuple[str, ...]:
    """The strata by one label, or (``crossed``) those by several, in their order."""
    names = dict.fromkeys(name for column in columns for name in column.strata)
    return tuple(name for name in names if (" / " in name) is crossed)


def ordered_names(columns: Iterable[Column], stratum: str) -> list[str]:
    """The names of a stratum's cells, as they are read: short before long, words by the alphabet."""
    places = {shown_name(cell): _place(cell) for column in columns for cell in column.strata.get(stratum, ())}
    return sorted(places, key=lambda name: places[name])


def _place(cell: Cell) -> tuple[tuple[int, str], ...]:
    """By its first label, then by the second: parts of numbers by their size, words by the alphabet."""
    order = cell.order or (0,) * len(cell.labels)
    names = (shown_label(name, value).lower() for name, value in cell.labels.items())
    return tuple(zip(order, names, strict=True))


def status_table(columns: Sequence[Column]) -> Table | None:
    """How many completions ended in which status."""
    judged = [column for column in columns if column.statuses]
    statuses = sorted({status for column in judged for status in column.statuses})
    if not statuses:
        return None
    rows = tuple(
        (
            text_field(column.title, "baseline" if column.baseline else ""),
            *(number_field(column.statuses.get(status, 0)) for status in statuses),
        )
        for column in judged
    )
    heads = ("Model", *(status.replace("_", " ") for status in statuses))
    return Table(
        title="Completions by status", heads=heads, numeric=(False, *[True] * len(statuses)), rows=rows
    )


def policies_table(summary: Summary, profile: str) -> Table | None:
    """pass@1 under every policy side by side, for all problems and by the main labels; None where there is one."""
    columns = [column for column in pass_columns(summary.columns) if column.profile == profile]
    columns = [column for column in columns if not column.baseline] or columns
    policies = [policy for of, policy, _ in groups(summary) if of == profile]
    if len(policies) < 2 or not columns:
        return None
    cells: dict[tuple[str, str], dict[str, Cell]] = {}
    for column in columns:
        for cell in (column.overall, *column.strata.get(summary.main, ())):
            cells.setdefault((column.title, shown_name(cell)), {})[column.policy] = cell
    rows = tuple(
        (
            text_field(title),
            text_field(part),
            number_field(max(cell.problems for cell in found.values())),
            *(
                rate_field(found[policy].pass_at.get(1)) if policy in found else number_field(None)
                for policy in policies
            ),
        )
        for (title, part), found in cells.items()
    )
    return Table(
        title=f"pass@1 of the same answers under {len(policies)} policies ({profile} profile)",
        heads=("Model", "Part", "Problems", *policies),
        numeric=(False, False, *[True] * (len(policies) + 1)),
        rows=rows,
        caption=f"{policies[0]} is the run's own policy, by which compare compares.",
    )


def best_of_table(summary: Summary) -> Table | None:
    """The paper's post-processing step by step, and its best of three; None where no model has all three."""
    if not summary.best_of:
        return None
    rows = tuple(
        (
            text_field(entry.model, "baseline" if entry.model in BASELINES else ""),
            *(rate_field(entry.by_step.get(step)) for step in STEPS),
            rate_field(entry.best),
            number_field(entry.best.problems),
        )
        for entry in sorted(summary.best_of, key=lambda entry: entry.model in BASELINES)
    )
    heads = ("Model", *STEPS, "Best of three", "Problems")
    return Table(title=TITLE, heads=heads, numeric=(False, *[True] * (len(heads) - 1)), rows=rows)


def left_out_table(summary: Summary) -> Table | None:
    """Problems without a part in the rates, by cause; None where there are none."""
    if not summary.left_out:
        return None
    rows = tuple(
        (
            text_field(entry.cause),
            text_field(entry.profile),
            number_field(len(entry.problems)),
            text_field(_ids(entry.problems)),
        )
        for entry in summary.left_out
    )
    return Table(
        title="Problems left out, by cause",
        heads=("Cause", "Profile", "Problems", "Which"),
        numeric=(False, False, True, False),
        rows=rows,
    )


def _ids(problems: Sequence[str], shown: int = 6) -> str:
    more = f" and {len(problems) - shown} more" if len(problems) > shown else ""
    return ", ".join(problems[:shown]) + more


def discordant_tables(summary: Summary) -> tuple[Table, ...]:
    """The discordant cases, a table for each kind."""
    tables = []
    for kind, title in KIND_TITLES.items():
        cases = [case for case in summary.discordant if case.kind == kind]
        if not cases:
            continue
        rows = tuple(
            (
                text_field(case.problem_id),
                text_field(case.model),
                text_field(case.language and shown_label("language", case.language)),
                text_field(case.category and shown_label("category", case.category)),
                number_field(case.similarity, f"{case.similarity:.2f}"),
                text_field(case.status),
            )
            for case in cases
        )
        total = summary.discordant_totals.get(kind, len(cases))
        tables.append(
            Table(
                title=title,
                heads=("Problem", "Model", "Language", "Category", "Cosine", "Status"),
                numeric=(False, False, False, False, True, False),
                rows=rows,
                caption=f"{total} completions in all; {len(cases)} problems are listed, the most extreme first.",
            )
        )
    return tuple(tables)


def published_table(rows: Sequence[Beside]) -> Table | None:
    """Printed numbers beside ours; None where nothing is published for what was run."""
    if not rows:
        return None
    fields = tuple(
        (
            text_field(row.table),
            text_field(row.model),
            text_field(row.label if row.label == "all" else f"{row.stratum} {row.label}"),
            text_field(row.metric),
            _published_number(row.metric, row.printed),
            _published_number(row.metric, row.ours),
            text_field(_published_range(row)),
            text_field("yes" if row.agrees else "no", "" if row.agrees else "warning"),
        )
        for row in rows
    )
    agreeing = sum(row.agrees for row in rows)
    return Table(
        title="Published numbers beside ours",
        heads=("Table", "Model", "Part", "Metric", "Printed", "Ours", "Ours can be", "Printed lies inside"),
        numeric=(False, False, False, False, True, True, False, False),
        rows=fields,
        caption=(
            f"{rows[0].profile} profile; {agreeing} of {len(rows)} printed values lie where ours can. Pass "
            "rates can be what they would be if all problems left out here failed, or all passed."
        ),
    )


def _published_number(metric: str, value: float) -> Field:
    return number_field(value, f"{value:.4f}" if metric.startswith("cosine") else percent(value, 2))


def _published_range(row: Beside) -> str:
    if row.metric != "pass@1":
        return "as printed" if row.agrees else "differs"
    return f"{percent(row.low)} to {percent(row.high)}"
