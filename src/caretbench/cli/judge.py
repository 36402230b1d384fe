"""``caretbench judge``: models rate what completions inserted, once for every distinct text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caretbench.cli.common import AsJson, Limit, Select, Steps, note, say, say_json, select
from caretbench.cli.judge_plan import Work, show_forecast, write_sheet

if TYPE_CHECKING:
    from caretbench.inspect.client.options import ClientOptions
    from caretbench.models import ModelClient
    from caretbench.runs.judge import GradingResult
    from caretbench.runs.prices import Price


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
    criterion: Annotated[
        str | None,
        typer.Option(
            help="What is asked: a criterion's name or a TOML file. By default what the problems' checks name, or "
            "the profile's."
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
    chosen: Select = None,
    limit: Limit = None,
    prices: Annotated[Path | None, typer.Option(help="What tokens cost: a TOML file.")] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, help="Stop before this many US dollars are spent on this run, answers included."),
    ] = None,
    connections: Annotated[int, typer.Option(min=1, max=1000, help="Requests under way at once.")] = 8,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one try.")] = 120,
    max_retries: Annotated[
        int, typer.Option("--retries", "--max-retries", min=0, help="Tries after the first.")
    ] = 5,
    base_url: Annotated[str | None, typer.Option(help="The graders' address.")] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be asked and what it would cost; send nothing."),
    ] = False,
    rating_sheet: Annotated[
        Path | None,
        typer.Option(help="Write texts for people to rate (blind, JSON lines) to this file; asks no grader."),
    ] = None,
    sheet_size: Annotated[int, typer.Option(min=1, help="Texts of each language on the sheet.")] = 25,
    html: Annotated[bool, typer.Option(help="Write report.html anew, where the run is scored.")] = True,
    as_json: AsJson = False,
) -> None:
    """Judge a run's completions. The same command goes on after a stop; equal texts are judged once."""
    from caretbench.extraction.policies import policy as find_policy
    from caretbench.inspect.client.options import ClientOptions
    from caretbench.judging.choosing import parts
    from caretbench.judging.controls import DEFAULT_CONTROL_PROBLEMS
    from caretbench.judging.criteria import criterion as find_criterion
    from caretbench.runs.folder import RunFolder
    from caretbench.runs.prices import Prices
    from caretbench.suites import suite
    from caretbench.suites.base import judged_text_of

    folder = RunFolder(run)
    manifest = folder.manifest()
    asked = find_criterion(criterion) if criterion else None
    house = suite(manifest.suite)
    problems = select(house, folder.problems(), chosen, limit)
    found = parts(problems, manifest.profile, asked)
    if not found:
        raise ValueError(
            f"{asked.key} is not about the problems of this run"
            if asked
            else "a judge is asked nothing about them"
        )
    controlled = (control_problems or DEFAULT_CONTROL_PROBLEMS) if controls else 0
    work = Work(
        folder, manifest, found, find_policy(manifest.policy), controlled, baselines,
        judged_text_of(house, manifest.profile), repeats,
    )  # fmt: skip
    if rating_sheet is not None:
        write_sheet(work, rating_sheet, sheet_size)
        return
    graders = _named(model or [])
    known = Prices.load(prices) if prices else Prices()
    costs = {name: known.find(spec) for name, spec in graders.items()}
    wished = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
    changed = {name: value for name, value in wished.items() if value is not None}
    options = ClientOptions(
        connections=connections, timeout_s=timeout, max_retries=max_retries, base_url=base_url
    )  # fmt: skip
    _check_money(graders, costs, max_cost)
    if dry_run:
        show_forecast(work, graders, lambda spec: open_client(spec, options), changed, costs, as_json=as_json)
        return
    results = _grade(work, graders, options, changed, costs, max_cost, quiet=as_json)
    _finish(work, results, html=html, as_json=as_json)


def _named(options: Sequence[str]) -> dict[str, str]:
    """Graders by name: ``grader=SPEC`` and ``SPEC`` are named by their spec.

    Raises:
        ValueError: none is given, one is no model's name, or a name is given twice.
    """
    from caretbench.cli.run_plan import named_spec
    from caretbench.secrets import redact

    graders: dict[str, str] = {}
    for option in options:
        name, spec = named_spec(option)
        if name == "grader":  # as `run` has it, where models stand beside graders
            name = redact(spec)
        if name in graders:
            raise ValueError(
                f"-m {option!r}: the grader {name} is named twice; --repeats judges more than once"
            )
        graders[name] = spec
    if not graders:
        raise ValueError("say who judges: -m openai/o3-mini, for example")
    return graders


def _check_money(graders: Mapping[str, str], costs: Mapping[str, Price | None], limit: float | None) -> None:
    unpriced = [graders[name] for name, price in costs.items() if price is None]
    if limit is not None and unpriced:
        raise ValueError(
            f"no price is known for {', '.join(unpriced)}, so --max-cost cannot be kept; give one in a file: "
            "--prices FILE"
        )


def open_client(spec: str, options: ClientOptions) -> ModelClient:
    """The client of a grader (imports Inspect)."""
    from caretbench.inspect import open_client as opened

    return opened(spec, options=options)


# --- judging ----------------------------------------------------------------------------------------------------


def _grade(
    work: Work,
    graders: Mapping[str, str],
    options: ClientOptions,
    changed: Mapping[str, float],
    costs: Mapping[str, Price | None],
    max_cost: float | None,
    *,
    quiet: bool,
) -> dict[str, dict[str, GradingResult]]:
    """The results by grader and criterion."""
    from caretbench.runs.generate import spent
    from caretbench.runs.judge import grade_parts
    from caretbench.runs.prices import CostBudget

    results = {}
    with work.folder.locked(), Steps(quiet=quiet) as steps:
        budget = CostBudget(max_cost, spent(work.folder))
        for name, spec in graders.items():
            # One at a time: two local graders may not fit into memory together.
            with open_client(spec, options) as client:
                results[name] = grade_parts(
                    work.folder, work.parts, work.policy, [(name, client)], changed=changed,
                    profile=work.manifest.profile, control_problems=work.control_problems,
                    baselines=work.baselines, repeats=work.repeats, prices=costs, budget=budget,
                    text_of=work.text_of, report=steps,
                )  # fmt: skip
    return results


def _finish(
    work: Work, results: Mapping[str, Mapping[str, GradingResult]], *, html: bool, as_json: bool
) -> None:
    from caretbench.cli.report import load, summarised, write_html
    from caretbench.reports import terminal
    from caretbench.reports.judged.answer_tables import answers_tables
    from caretbench.reports.judged.answers import control_failures, control_warnings, folder_answers
    from caretbench.reports.judged.caret_tables import judged_tables
    from caretbench.reports.judged.carets import folder_sections

    keys = {part.criterion.key for part in work.parts}
    sections = [entry for entry in folder_sections(work.folder) if entry.criterion in keys]
    answers = [entry for entry in folder_answers(work.folder, work.text_of) if entry.criterion in keys]
    if as_json:
        say_json(
            [section.model_dump(mode="json") | {"validity": section.validity} for section in sections]
            + [section.model_dump(mode="json") | {"validity": section.validity} for section in answers]
        )
    else:
        terminal.print_tables([table for section in sections for table in judged_tables(section)])
        terminal.print_tables([table for section in answers for table in answers_tables(section)])
    if html and work.folder.scores_path.exists():
        run = load(work.folder.path)
        path = write_html(work.folder.path, run, summarised(run))
        if not as_json:
            say(f"\nreport: {path}")
    told = [
        (f"{name}, {key}" if len(work.parts) > 1 else name, result)
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
            note(f"{title}: {result.complaint(work.folder)}")
    for line in control_warnings(answers):
        note(line)
    if not all(result.sufficient for _, result in told) or any(control_failures(answers)):
        raise typer.Exit(1)
