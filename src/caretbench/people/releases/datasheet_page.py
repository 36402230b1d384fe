"""Page of a datasheet: tables as Markdown, contamination, hosting, limits, and what is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from caretbench.people.releases.datasheet import Datasheet
from caretbench.people.releases.datasheet_limits import limits
from caretbench.people.releases.datasheet_tables import UNKNOWN, datasheet_tables, joined_counts
from caretbench.suites.suite_types import Table


def render_datasheet(sheet: Datasheet) -> str:
    """Return the page of a datasheet."""
    what = "the public part" if sheet.part == "public" else "the hold-out, which is not for publication"
    lines = [
        f"# {sheet.name} {sheet.version}", "",
        f"Problems of the suite {sheet.suite}: {what}, {sheet.figures.problems} problems. Every figure follows from "
        "the rows of the built folder and is in `datasheet.json` too.", "",
    ]  # fmt: skip
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
    plain = "".join(character if character.isprintable() else " " for character in text)
    return re.sub(r"[\\|`<>\[\]&]", lambda found: f"&#{ord(found[0])};", plain)


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
