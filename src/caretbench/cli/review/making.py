"""``caretbench review new``, ``add`` and ``protocols``: items of a review, and what people are asked about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli.command_help import HelpCommand
from caretbench.cli.common import (
    DATA_HELP,
    SELECTION,
    AsJson,
    Data,
    print_json,
    print_line,
    print_note,
    print_table,
    selection,
)
from caretbench.cli.options import panel_option, problems_option, with_options
from caretbench.cli.review.group import Folder, app, open_review
from caretbench.errors import UsageError
from caretbench.text_tables import counted

if TYPE_CHECKING:
    from caretbench.people.review.protocol import ReviewProtocol
    from caretbench.people.review.records import ReviewItem


_review_option, _answers_option = panel_option("Review"), panel_option("Answers")


# Long: a command is declared by its options.
@app.command("new", cls=HelpCommand)
@with_options(*SELECTION)
def new_review(
    folder: Folder,
    protocol: Annotated[
        str, _review_option(help="Name of a protocol (`caretbench review protocols`), or a file that ends in .toml.")
    ] = "devbench-instance",
    suite: Annotated[
        str | None, problems_option(help="Suite of the problems. Default: the protocol's, else devbench.")
    ] = None,
    data: Annotated[str, problems_option(help=DATA_HELP)] = "starter",
    run: Annotated[Path | None, _answers_option(help="Folder of a run: people review its answers.")] = None,
    events: Annotated[
        Path | None,
        _answers_option(help="File of an editor's events with texts: people review completions that were not kept."),
    ] = None,
    own: Annotated[
        Path | None, problems_option("--items", help="JSONL file of items of your own: id, text, before, after.")
    ] = None,
    criterion: Annotated[
        str | None, _answers_option(help="Criterion of judges that people's ratings validate (with --run).")
    ] = None,
    texts: Annotated[int, _answers_option(min=1, help="Largest number of texts of the run or of the events.")] = 150,
    disputed: Annotated[
        bool, _answers_option("--disputed", help="Take the texts about which the run's judges differ most.")
    ] = False,
    seed: Annotated[int, _review_option(help="Random seed of the sample, and of the orders of people.")] = 0,
    **options: Any,
) -> None:
    """Make a review of the problems of a suite, of the answers of a run, or of completions of an editor.

    Examples:
      caretbench review new reviews/mine --protocol devbench-instance --data mine
      caretbench review new reviews/own --protocol mine.toml --items items.jsonl
    """
    from caretbench.people.review.database import ReviewDatabase
    from caretbench.people.review.protocol import load_protocol
    from caretbench.people.review.review_items import own_items, problem_items, run_items
    from caretbench.runs.run_folder import RunFolder
    from caretbench.suites import load_problems, load_suite

    chosen = load_protocol(protocol)
    sources = {"--run": run, "--events": events, "--items": own}
    given = [name for name, path in sources.items() if path is not None]
    if given and (suite is not None or data != "starter"):
        raise UsageError(f"{given[0]} brings its own items; --suite and --data are for reviews of problems")
    is_of_run = len(given) > 1 or criterion is not None or disputed or selection(options) != selection({})
    if is_of_run and given[-1:] not in ([], ["--run"]):
        about = "completions of an editor" if given[-1] == "--events" else "items of your own"
        raise UsageError(f"{given[-1]} is about {about}; the options of runs and problems are not for it")
    if own is not None:
        items = own_items(own, chosen)
    elif events is not None:
        items = _event_items(events, chosen, texts, seed)
    elif run is not None:
        answers = run_items(
            RunFolder(run), chosen, criterion=criterion, selection=selection(options), texts=texts, seed=seed,
            disputed=disputed,
        )  # fmt: skip
        chosen, items = answers.protocol, answers.items
        print_note(f"{sum(item.kind == 'item' for item in items)} of {answers.texts} distinct texts of {run}")
    else:
        if criterion is not None or disputed:
            raise UsageError("--criterion and --disputed are about the answers of a run; give one: --run RUN")
        of = load_suite(suite or next(iter(chosen.suites), "devbench"))
        items = problem_items(selection(options).apply(of, load_problems(of, data).problems), chosen)
    with ReviewDatabase.create(folder, chosen, items, seed, run=run) as database:
        count = counted(sum(1 for _ in database.item_kinds()), "item")
    print_line(f"{folder}: {count} by the protocol {chosen.key}. Next: caretbench review invite {folder} NAME …")


def _event_items(events: Path, protocol: ReviewProtocol, texts: int, seed: int) -> list[ReviewItem]:
    from caretbench.people.review.event_items import event_items

    drawn = event_items(events, protocol, texts=texts, seed=seed)
    excluded = f"; {drawn.with_secrets} more have something in the shape of a secret" if drawn.with_secrets else ""
    print_note(f"{len(drawn.items)} of {drawn.failed} completions that were not kept{excluded}")
    return drawn.items


@app.command("add", cls=HelpCommand)
@with_options(*SELECTION)
def add_items(
    folder: Folder,
    suite: Annotated[
        str | None, typer.Option(help="Suite of the problems. Default: that of the review's items.")
    ] = None,
    data: Data = "starter",
    replace_rejected: Annotated[
        bool,
        typer.Option("--replace-rejected", help="New problems take the places of rejected ones with the same labels."),
    ] = False,
    **options: Any,
) -> None:
    """Add problems to a review. A changed problem takes the place of the item that it had.

    Examples:
      caretbench review add reviews/mine --data mine --replace-rejected
    """
    from caretbench.people.review.exchange import add_with_successors
    from caretbench.people.review.review_items import problem_items
    from caretbench.people.review.state import ReviewState
    from caretbench.suites import load_problems, load_suite

    with open_review(folder) as database:
        state = ReviewState(database)
        if state.protocol.subject == "answer":
            raise UsageError(f"{folder} is about answers of a run; make a review of its own for another run")
        of = load_suite(suite or next(item.suite for _, _, item in database.items()))
        problems = selection(options).apply(of, load_problems(of, data).problems)
        items = [item for item in problem_items(problems, state.protocol) if item.kind == "item"]
        added = add_with_successors(state, items, replace_rejected=replace_rejected)
    print_line(
        f"{folder}: {added.new} new items, {added.successors} of them in place of others; {added.known} are known"
    )


@app.command("protocols", cls=HelpCommand)
def protocols(
    name: Annotated[str | None, typer.Argument(help="Protocol whose guidelines are printed.", metavar="[NAME]")] = None,
    as_json: AsJson = False,
) -> None:
    """List the protocols, or print what one of them asks people, with the guidelines.

    Examples:
      caretbench review protocols
      caretbench review protocols completion-quality
    """
    from caretbench.people.review.protocol import load_protocol, protocol_names

    if name is not None:
        protocol = load_protocol(name)
        if as_json:
            print_json(protocol.model_dump(mode="json"))
            return
        print_line(protocol.guidelines.rstrip())
        for question in protocol.questions:
            print_line(f"\n{question.name}: {question.text}")
            for value, text in question.anchors.items():
                print_line(f"  {value}  {text}")
            for option in question.options:
                print_line(f"  {option.key}  {option.text}")
        return
    every = [load_protocol(protocol_name) for protocol_name in protocol_names()]
    if as_json:
        print_json([listed.model_dump(mode="json", exclude={"guidelines"}) for listed in every])
        return
    rows = [(listed.name, listed.subject, str(listed.people), listed.settlement.rule, listed.title) for listed in every]
    print_table(rows, ("Protocol", "About", "People", "Settled by", "Title"))
