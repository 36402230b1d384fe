"""``caretbench telemetry``: completion events of editors, from their examination to weights of a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caretbench.cli.command_help import HelpCommand, HelpGroup
from caretbench.cli.common import (
    AsJson,
    StepProgress,
    join_counts,
    print_json,
    print_line,
    print_note,
    print_notes,
    print_table,
)

if TYPE_CHECKING:
    from caretbench.people.telemetry.events import EventReader
    from caretbench.people.telemetry.people_codes import EventCodes
    from caretbench.text_tables import TextTable

app = typer.Typer(
    cls=HelpGroup,
    no_args_is_help=True,
    help="""Analyse completion events of editors: acceptance, failures, and weights of a benchmark.

Examples:
  caretbench telemetry check events.jsonl
  caretbench telemetry analyze events.jsonl -o usage""",
)

Events = Annotated[Path, typer.Argument(help="File of events: JSONL, or JSONL that is compressed (.gz).")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder of the results.")]
Seed = Annotated[int, typer.Option(help="Random seed of the intervals.")]


@app.command("check", cls=HelpCommand)
def check(events: Events, as_json: AsJson = False) -> None:
    """Count the events that can be used, and the refused lines by reason; exit with status 1 if lines are refused.

    Examples:
      caretbench telemetry check events.jsonl
    """
    from caretbench.people.telemetry.event_files import check_events

    with StepProgress(quiet=as_json) as steps:
        tally = check_events(events, progress=steps)
    reader = tally.reader
    if as_json:
        first = {reason: entry._asdict() for reason, entry in reader.first.items()}
        numbers = {"lines": reader.read, "events": reader.used, "users": tally.users, "with_texts": tally.with_texts}
        numbers |= {"with_secrets": tally.with_secrets}
        counts = {"replaced_words": tally.replaced, "outcomes": tally.outcomes, "refused": reader.refused}
        print_json(numbers | counts | {"first": first})
    else:
        print_line(f"{events}: {reader.used} events of {tally.users} users ({join_counts(tally.outcomes)})")
        print_line(f"with texts: {tally.with_texts}; with something in the shape of a secret: {tally.with_secrets}")
        if tally.replaced:
            print_line(f"words that extract replaces by other: {join_counts(tally.replaced)}")
        _print_refused(reader)
    if reader.refused:
        raise typer.Exit(1)


@app.command("extract", cls=HelpCommand)
def extract(
    events: Events,
    output: Output,
    salt: Annotated[
        Path, typer.Option(help="File of the salt of identities; it is made if it is missing. Keep it to yourself.")
    ],
) -> None:
    """Replace the texts of events by features without code, and identities by salted hashes, in events.jsonl.

    Examples:
      caretbench telemetry extract events.jsonl --salt salt.key -o extracted
    """
    from caretbench.people.telemetry.event_files import extract_events

    with StepProgress() as steps:
        written = extract_events(events, output, salt, progress=steps)
    print_line(f"{written.path}: {written.reader.used} events without texts")
    if written.replaced:
        print_note(f"words that could be code or name a person were replaced by other: {join_counts(written.replaced)}")
    if written.hashed_again:
        print_note(
            f"{written.hashed_again} events had no texts before: their users and ids are hashes of hashes now, which "
            "no other file has"
        )
    if written.new_salt:
        print_note(f"{salt}: a new salt; keep it, so that later files have the same hashes, and show it to nobody")
    _print_refused(written.reader)


@app.command("analyze", cls=HelpCommand)
def analyze(
    events: Events,
    output: Output,
    codes: Annotated[
        Path | None, typer.Option(help="Folder of a review in which people coded some of the events (event-codes).")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Compute acceptance, survival and failures with intervals over users; write weights.toml for builds and reports.

    Examples:
      caretbench telemetry analyze events.jsonl -o usage
      caretbench telemetry analyze events.jsonl --codes reviews/codes -o usage
    """
    from caretbench.people.telemetry.event_files import analyse_events
    from caretbench.people.telemetry.usage_tables import code_tables, failure_table, few_users_note, scenario_table

    coded = _codes(codes) if codes is not None else []
    with StepProgress(quiet=as_json) as steps:
        analysis = analyse_events(events, output, seed=seed, progress=steps, coded=coded)
    usage = analysis.usage
    if as_json:
        rows = {"scenarios": usage.scenarios, "failures": usage.failures}
        lists = {name: [row.model_dump(mode="json") for row in some] for name, some in rows.items()}
        by_people = {"codes": analysis.codes.model_dump(mode="json")} if analysis.codes is not None else {}
        print_json(usage.summary.model_dump(mode="json") | lists | by_people)
        return
    summary = usage.summary
    print_line(f"{summary.events} events of {summary.users} users: {join_counts(summary.outcomes)}")
    _print_refused(analysis.reader)
    people = code_tables(analysis.codes) if analysis.codes is not None else ()
    for table in (scenario_table(usage.scenarios), failure_table(usage.failures), *people):
        _print(table)
    print_notes(filter(None, (few_users_note(usage.scenarios), summary.simulated.note)))
    for path in analysis.written:
        print_line(f"{path}")


def _codes(folder: Path) -> list[EventCodes]:
    from caretbench.cli.review.group import open_review
    from caretbench.people.review.event_items import event_codes

    with open_review(folder) as database:
        return event_codes(database)


def _print_refused(reader: EventReader) -> None:
    from caretbench.people.telemetry.usage_tables import refusal_table

    if reader.refused:
        _print(refusal_table(reader))


def _print(table: TextTable) -> None:
    print_line("")
    print_line(table.title)
    print_table(table.rows, table.columns)
