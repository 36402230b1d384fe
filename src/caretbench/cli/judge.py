"""``caretbench judge``: judging of completions by models, once for every distinct text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli.common import SELECTION, AsJson, Steps, note, open_client, say, say_json, selection
from caretbench.cli.forecast import print_judging
from caretbench.cli.options import with_options

if TYPE_CHECKING:
    from caretbench.runs.judging.plan import JudgingPlan
    from caretbench.runs.judging.result import GradingResult


# Long: a command is declared by its options.
@with_options(
    "criterion",
    *SELECTION,
    "prices",
    "max_cost",
    "local_only",
    "connections",
    "timeout",
    "retries",
    "base_url",
)
def judge(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="A grader: SPEC, grader=SPEC, or NAME=SPEC; may be repeated.",
            metavar="SPEC",
        ),
    ] = None,
    controls: Annotated[
        bool,
        typer.Option(help="Judge controls too, whose order is known, so that the grader can be believed."),
    ] = True,
    control_problems: Annotated[
        int | None, typer.Option(min=1, help="Problems whose controls are judged, for each criterion (120).")
    ] = None,
    baselines: Annotated[bool, typer.Option(help="Judge the baselines' answers too.")] = False,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="How often each text is judged; by default as often as the criterion says."),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=1, help="Tokens of an answer at most, reasoning included; by default the criterion's."
        ),
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="By default not sent: the provider's own value holds.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Sent to the grader, where it takes one.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and what it would cost; send nothing.")
    ] = False,
    rating_sheet: Annotated[
        Path | None,
        typer.Option(help="Write texts for people to rate (blind, JSON lines) to this file; asks no grader."),
    ] = None,
    sheet_size: Annotated[int, typer.Option(min=1, help="Texts of each language on the sheet.")] = 25,
    html: Annotated[bool, typer.Option(help="Write report.html anew, where the run is scored.")] = True,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Judge a run's completions. The same command goes on after a stop; equal texts are judged once.

    Example: caretbench judge runs/mine -m openai/o3-mini --max-cost 2
    """
    from caretbench.judging.caret_controls import DEFAULT_CONTROL_PROBLEMS
    from caretbench.models import ClientOptions
    from caretbench.runs.folder import RunFolder
    from caretbench.runs.judging.plan import JudgingConfig, JudgingPlan
    from caretbench.runs.judging.ratings import RATINGS_NAME
    from caretbench.runs.plans.options import tables_of
    from caretbench.runs.plans.prices import Prices

    folder = RunFolder(run)
    wished = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
    plan = JudgingPlan(
        folder,
        JudgingConfig(
            judges={} if rating_sheet is not None else _named(model or []),
            criterion=options["criterion"],
            control_problems=(control_problems or DEFAULT_CONTROL_PROBLEMS) if controls else 0,
            baselines=baselines,
            repeats=repeats,
            sampling={name: value for name, value in wished.items() if value is not None},
            selection=selection(options),
            options=ClientOptions.model_validate(tables_of(options)["client"]),
            prices=Prices.load(options["prices"]) if options["prices"] else Prices(),
            max_cost=options["max_cost"],
            local_only=options["local_only"],
        ),
    )
    if rating_sheet is not None:
        count = plan.write_sheet(rating_sheet, sheet_size)
        say(
            f"{rating_sheet}: {count} texts. Fill in rater and values, and lay the lines of all raters into "
            f"{folder.path / RATINGS_NAME}; the report then shows how far the graders agree with people"
        )
    elif dry_run:
        in_steps = any(part.criterion.then for part in plan.parts)
        print_judging(
            plan.forecast(open_client), plan.config.control_problems, in_steps=in_steps, as_json=as_json
        )
    else:
        with Steps(quiet=as_json) as steps:
            results = plan.judge(open_client, steps)
        _finish(plan, results, html=html, as_json=as_json)


def _named(options: Sequence[str]) -> dict[str, str]:
    """Graders by name: ``grader=SPEC`` and ``SPEC`` are named by their spec.

    Raises:
        ValueError: none is given, one is no model's name, or a name is given twice.
    """
    from caretbench.runs.plans.roles import GRADER, by_role

    graders: dict[str, str] = {}
    named = by_role(options, [GRADER])
    for name, spec, _ in (*named.get(None, ()), *named.get(GRADER, ())):
        if name in graders:
            raise ValueError(f"-m: the grader {name} is named twice; --repeats judges more than once")
        graders[name] = spec
    if not graders:
        raise ValueError("say who judges: -m openai/o3-mini, for example")
    return graders


def _finish(
    plan: JudgingPlan, results: Mapping[str, Mapping[str, GradingResult]], *, html: bool, as_json: bool
) -> None:
    from caretbench.reports.judged.answer_tables import answer_score_tables
    from caretbench.reports.judged.answers import control_failures, control_warnings, folder_answer_scores
    from caretbench.reports.judged.caret_tables import caret_score_tables
    from caretbench.reports.judged.carets import folder_caret_scores
    from caretbench.reports.output import terminal
    from caretbench.reports.run_summary import load_run_folder, summarise_run, write_html

    keys = {part.criterion.key for part in plan.parts}
    sections = [entry for entry in folder_caret_scores(plan.folder) if entry.criterion in keys]
    answers = [entry for entry in folder_answer_scores(plan.folder, plan.text_of) if entry.criterion in keys]
    if as_json:
        found = [*sections, *answers]
        say_json([entry.model_dump(mode="json") | {"validity": entry.validity} for entry in found])
    else:
        terminal.print_tables([table for section in sections for table in caret_score_tables(section)])
        terminal.print_tables([table for section in answers for table in answer_score_tables(section)])
    if html and plan.folder.scores_path.exists():
        run = load_run_folder(plan.folder.path)
        path = write_html(plan.folder.path, run, summarise_run(run))
        if not as_json:
            say(f"\nreport: {path}")
    sufficient = _tell(plan, results)
    for line in control_warnings(answers):
        note(line)
    if not sufficient or any(control_failures(answers)):
        raise typer.Exit(1)


def _tell(plan: JudgingPlan, results: Mapping[str, Mapping[str, GradingResult]]) -> bool:
    """Say how many answers came, and what is missing; return whether there are enough of all."""
    told = [
        (f"{name}, {key}" if len(plan.parts) > 1 else name, result)
        for name, parts in results.items()
        for key, result in parts.items()
    ]
    for title, result in told:
        cost = f", ${result.cost:.4f}" if result.cost else ""
        note(
            f"{title}: {result.subjects} distinct texts of {result.completions} completions and the controls; "
            f"{result.asked} answers now{cost}"
        )
    for title, result in told:
        if not result.complete:
            note(f"{title}: {result.complaint(plan.folder)}")
    return all(result.sufficient for _, result in told)
