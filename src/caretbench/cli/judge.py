"""``caretbench judge``: models rate what completions inserted, once for every distinct text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from caretbench.cli.common import AsJson, Limit, Select, Steps, aligned, note, say, say_json, select

if TYPE_CHECKING:
    from caretbench.extraction.policies import Policy
    from caretbench.grading import GradingResult
    from caretbench.inspect.options import ClientOptions
    from caretbench.judging.criteria import Criterion
    from caretbench.judging.subjects import Subject
    from caretbench.models import ModelClient, Sampling
    from caretbench.prices import Price
    from caretbench.problem import Problem
    from caretbench.runs import Manifest, RunFolder


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
        typer.Option(help="What is asked: a criterion's name or a TOML file. By default the profile's."),
    ] = None,
    controls: Annotated[
        bool,
        typer.Option(help="Judge controls too, whose order is known, so that the grader can be believed."),
    ] = True,
    control_problems: Annotated[
        int | None, typer.Option(min=1, help="Problems whose four controls are judged (120).")
    ] = None,
    baselines: Annotated[bool, typer.Option(help="Judge the baselines' answers too.")] = False,
    repeats: Annotated[int, typer.Option(min=1, help="How often each text is judged.")] = 1,
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
    from caretbench.inspect.options import ClientOptions
    from caretbench.judging.controls import DEFAULT_CONTROL_PROBLEMS
    from caretbench.judging.criteria import BY_PROFILE
    from caretbench.judging.criteria import criterion as find_criterion
    from caretbench.models import Sampling
    from caretbench.prices import Prices
    from caretbench.runs import RunFolder
    from caretbench.suites import suite

    folder = RunFolder(run)
    manifest = folder.manifest()
    asked = find_criterion(criterion or BY_PROFILE[manifest.profile])
    problems = select(suite(manifest.suite), folder.problems(), chosen, limit)
    controlled = (control_problems or DEFAULT_CONTROL_PROBLEMS) if controls else 0
    work = _Work(folder, manifest, problems, find_policy(manifest.policy), asked, controlled, baselines)
    if rating_sheet is not None:
        _write_sheet(work, rating_sheet, sheet_size)
        return
    graders = _named(model or [])
    known = Prices.load(prices) if prices else Prices()
    costs = {name: known.find(spec) for name, spec in graders.items()}
    changed = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
    sampling = Sampling.model_validate(
        asked.sampling.model_dump() | {name: value for name, value in changed.items() if value is not None}
    )
    options = ClientOptions(
        connections=connections, timeout_s=timeout, max_retries=max_retries, base_url=base_url
    )  # fmt: skip
    _check_money(graders, costs, max_cost)
    if dry_run:
        _forecast(work, graders, options, sampling, repeats, costs, as_json=as_json)
        return
    results = _grade(work, graders, options, sampling, repeats, costs, max_cost, quiet=as_json)
    _finish(work, results, html=html, as_json=as_json)


class _Work(NamedTuple):
    """What is to be judged, by what."""

    folder: RunFolder
    manifest: Manifest
    problems: Sequence[Problem]
    policy: Policy
    criterion: Criterion
    control_problems: int
    baselines: bool

    def subjects(self) -> tuple[list[Subject], int]:
        """The distinct texts, and how many completions inserted them."""
        from caretbench.judging.subjects import subjects

        return subjects(
            self.folder, self.problems, self.policy, self.manifest.profile,
            control_problems=self.control_problems, baselines=self.baselines,
        )  # fmt: skip


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
    work: _Work,
    graders: Mapping[str, str],
    options: ClientOptions,
    sampling: Sampling,
    repeats: int,
    costs: Mapping[str, Price | None],
    max_cost: float | None,
    *,
    quiet: bool,
) -> dict[str, GradingResult]:
    from caretbench.generating import spent
    from caretbench.grading import grade
    from caretbench.prices import Purse

    results = {}
    with work.folder.locked(), Steps(quiet=quiet) as steps:
        purse = Purse(max_cost, spent(work.folder))
        for name, spec in graders.items():
            # One at a time: two local graders may not fit into memory together.
            with open_client(spec, options) as client:
                results[name] = grade(
                    work.folder, work.problems, work.policy, [(name, client)],
                    criterion=work.criterion, profile=work.manifest.profile,
                    control_problems=work.control_problems, baselines=work.baselines, repeats=repeats,
                    sampling=sampling, prices=costs, purse=purse, report=steps,
                )  # fmt: skip
    return results


def _finish(work: _Work, results: Mapping[str, GradingResult], *, html: bool, as_json: bool) -> None:
    from caretbench.cli.report import load, summarised, write_html
    from caretbench.report import terminal
    from caretbench.report.judgement_tables import judged_tables
    from caretbench.report.judgements import folder_sections

    sections = [entry for entry in folder_sections(work.folder) if entry.criterion == work.criterion.key]
    if as_json:
        say_json([section.model_dump(mode="json") | {"validity": section.validity} for section in sections])
    else:
        terminal.print_tables([table for section in sections for table in judged_tables(section)])
    if html and work.folder.scores_path.exists():
        run = load(work.folder.path)
        path = write_html(work.folder.path, run, summarised(run))
        if not as_json:
            say(f"\nreport: {path}")
    for name, result in results.items():
        cost = f", ${result.cost:.4f}" if result.cost else ""
        note(
            f"{name}: {result.subjects} distinct texts of {result.completions} completions and the controls; "
            f"{result.asked} answers now{cost}"
        )
    missing = {name: result for name, result in results.items() if not result.complete}
    for name, result in missing.items():
        note(f"{name}: {result.complaint(work.folder)}")
    if missing:
        raise typer.Exit(1)


# --- without asking ---------------------------------------------------------------------------------------------


def _forecast(
    work: _Work,
    graders: Mapping[str, str],
    options: ClientOptions,
    sampling: Sampling,
    repeats: int,
    costs: Mapping[str, Price | None],
    *,
    as_json: bool,
) -> None:
    """What would be asked and what it would cost; nothing is sent, nothing is written."""
    from caretbench.judging.forecast import EXPECTED_TOKENS, forecast

    rows: list[dict[str, Any]] = []
    with ExitStack() as stack:
        texts, count = work.subjects()
        for name, spec in graders.items():
            client = stack.enter_context(open_client(spec, options))
            found = forecast(work.folder, texts, client, name, work.criterion, sampling, repeats, costs[name])
            rows.append(
                {"grader": name, "completions": count, "distinct_texts": len(texts)} | found._asdict()
            )
    if as_json:
        say_json(rows)
        return
    header = (
        "grader", "texts", "judgements", "stored", "to ask", "tokens in, about", "tokens out, at most",
        "cost, expected", "at most",
    )  # fmt: skip
    lines = [
        (
            row["grader"], str(row["distinct_texts"]), str(row["judgements"]), str(row["stored"]),
            str(row["to_ask"]), f"{row['input_tokens']:,}", f"{row['worst_output_tokens']:,}",
            *("no price" if row[key] is None else f"${row[key]:.4f}" for key in ("expected_cost", "worst_cost")),
        )
        for row in rows
    ]  # fmt: skip
    for line in aligned(lines, header):
        say(line)
    say(
        f"\n{count} completions; controls of {work.control_problems} problems; criterion {work.criterion.key}"
    )
    say(f"expected: {EXPECTED_TOKENS} tokens for each answer (a grader that reasons may need many more)")


def _write_sheet(work: _Work, path: Path, size: int) -> None:
    from caretbench.files import DataError, write_rows
    from caretbench.judging.ratings import RATINGS_NAME, sheet

    if path.exists():
        raise DataError(f"{path}: is there already; it may hold ratings")
    texts, _ = work.subjects()
    count = write_rows(path, sheet(texts, [scale.name for scale in work.criterion.scores], size))
    say(
        f"{path}: {count} texts. Fill in rater and values, and lay the lines of all raters into "
        f"{work.folder.path / RATINGS_NAME}; the report then shows how far the graders agree with people"
    )
