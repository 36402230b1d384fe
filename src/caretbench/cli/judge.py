"""``caretbench judge``: rating of completions by models, once for every distinct text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli.common import (
    SELECTION,
    AsJson,
    StepProgress,
    check_access,
    open_client,
    print_json,
    print_line,
    print_lines,
    print_note,
    print_notes,
    selection,
)
from caretbench.cli.forecast import print_judging_forecast
from caretbench.cli.options import (
    cost_option,
    group_by_role,
    judging_option,
    output_option,
    problems_option,
    sampling_option,
    with_options,
)
from caretbench.errors import UsageError

if TYPE_CHECKING:
    from caretbench.models import AccessCheck
    from caretbench.runs.judging.plan import JudgingConfig, JudgingPlan
    from caretbench.runs.judging.ratings import JudgingResult
    from caretbench.runs.run_folder import RunFolder


# Long: a command is declared by its options.
@with_options(
    "criterion", *SELECTION, "prices", "max_cost", "local_only", "connections", "timeout", "retries", "base_url"
)
def judge(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")],
    model: Annotated[
        list[str] | None,
        judging_option(
            "--model", "-m", help="A judge: PROVIDER/MODEL, or NAME=PROVIDER/MODEL; may be repeated.", metavar="SPEC"
        ),
    ] = None,
    controls: Annotated[
        bool, judging_option(help="Also judge controls, texts of known quality, to check the judge.")
    ] = True,
    control_problems: Annotated[
        int | None,
        judging_option(min=1, help="Number of problems whose controls are judged, per criterion. Default: 120."),
    ] = None,
    baselines: Annotated[bool, problems_option(help="Also judge the answers of baselines.")] = False,
    repeats: Annotated[
        int | None, judging_option(min=1, help="Number of judgements of each text. Default: as the criterion defines.")
    ] = None,
    max_tokens: Annotated[
        int | None,
        sampling_option(
            min=1,
            help="Maximum number of tokens of a judgement, including reasoning. Default: as the criterion defines.",
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        sampling_option(min=0, help="Sampling temperature of the judge. Default: not sent, the provider's own."),
    ] = None,
    seed: Annotated[int | None, sampling_option(help="Random seed sent to the judge, if it accepts one.")] = None,
    dry_run: Annotated[
        bool, cost_option("--dry-run", help="Print the number of requests and their cost; send nothing.")
    ] = False,
    study: Annotated[
        Path | None,
        judging_option(
            help="Folder of a review whose people rated answers of the run: compare the judges with them.",
            metavar="REVIEW",
        ),
    ] = None,
    html: Annotated[bool, output_option(help="Write the page report.html again, if the run is scored.")] = True,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Rate the completions of a run by judge models. Run the same command again to resume.

    Examples:
      caretbench judge runs/mine -m openai/o3-mini --prices prices.toml --max-cost 2
      caretbench judge runs/mine --study reviews/judges -m openai/o3-mini
    """
    from caretbench.judging.controls import DEFAULT_CONTROL_PROBLEMS
    from caretbench.models import ClientOptions, unchecked, without_sending
    from caretbench.runs.judging.plan import JudgingConfig, JudgingPlan
    from caretbench.runs.plans.options import options_to_tables
    from caretbench.runs.plans.prices import Prices
    from caretbench.runs.run_folder import RunFolder

    folder = RunFolder(run)
    sampling = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
    config = JudgingConfig(
        judges=_judges_by_name(model or [], required=study is None),
        criterion=options["criterion"],
        control_problems=(control_problems or DEFAULT_CONTROL_PROBLEMS) if controls else 0,
        baselines=baselines,
        repeats=repeats,
        sampling={name: value for name, value in sampling.items() if value is not None},
        selection=selection(options),
        options=ClientOptions.model_validate(options_to_tables(options)["client"]),
        prices=Prices.load(options["prices"]),
        max_cost=options["max_cost"],
        local_only=options["local_only"],
    )
    check = unchecked if dry_run else check_access
    if study is not None:
        run_study(study, folder, config, check, dry_run=dry_run, as_json=as_json)
        return
    plan = JudgingPlan(folder, config, check)
    if dry_run:
        has_statement_step = any(batch.criterion.then for batch in plan.batches)
        print_judging_forecast(
            plan.forecast(without_sending(open_client)),
            plan.config.control_problems,
            has_statement_step=has_statement_step,
            as_json=as_json,
        )
    else:
        with StepProgress(quiet=as_json) as steps:
            results = plan.judge(open_client, steps)
        _finish(plan, results, html=html, as_json=as_json)


def _judges_by_name(options: Sequence[str], *, required: bool = True) -> dict[str, str]:
    """Return specs by name of the judge; ``judge=SPEC`` and ``SPEC`` have their spec as name.

    Raises:
        UsageError: there is no judge, a name is not a model's, or a name occurs twice.
    """
    from caretbench.runs.plans.roles import JUDGE_ROLE

    judges: dict[str, str] = {}
    named = group_by_role(options, [JUDGE_ROLE])
    for name, spec, _ in (*named.get(None, ()), *named.get(JUDGE_ROLE, ())):
        if name in judges:
            raise UsageError(f"-m: the judge {name} occurs twice; use --repeats to judge a text several times")
        judges[name] = spec
    if not judges and required:
        raise UsageError("no judge; name one: -m openai/o3-mini, for example")
    return judges


def _finish(
    plan: JudgingPlan, results: Mapping[str, Mapping[str, JudgingResult]], *, html: bool, as_json: bool
) -> None:
    from caretbench.people.strengths.report_sections import whole_summary
    from caretbench.reports.judged.judged_scores import control_failures, control_warnings, judged_scores
    from caretbench.reports.judged.judged_texts import JudgedRun
    from caretbench.reports.judged.score_tables import judged_tables
    from caretbench.reports.output.text_output import print_tables
    from caretbench.reports.run_summary import load_run_folder, write_html

    keys = {batch.criterion.key for batch in plan.batches}
    scores = [
        entry for entry in judged_scores(JudgedRun.of_folder(plan.folder, plan.text_of)) if entry.criterion in keys
    ]
    if as_json:
        print_json([entry.model_dump(mode="json") | {"validity": entry.validity} for entry in scores])
    else:
        print_tables([table for section in scores for table in judged_tables(section)])
    if html and plan.folder.scores_path.exists():
        run = load_run_folder(plan.folder.path)
        path = write_html(plan.folder.path, run, whole_summary(run))
        if not as_json:
            print_line(f"\nreport: {path}")
    sufficient = _print_results(plan, results)
    print_notes(control_warnings(scores))
    if [*control_failures(scores)] or not sufficient:
        raise typer.Exit(1)


def _print_results(plan: JudgingPlan, results: Mapping[str, Mapping[str, JudgingResult]]) -> bool:
    """Print the number of judgements and the missing ones; return whether there are enough of each."""
    titled = [
        (f"{name}, {key}" if len(plan.batches) > 1 else name, result)
        for name, parts in results.items()
        for key, result in parts.items()
    ]
    for title, result in titled:
        cost = f", ${result.cost:.4f}" if result.cost else ""
        print_note(
            f"{title}: {result.texts} distinct texts of {result.completions} completions and the controls; "
            f"{result.received} answers now{cost}"
        )
    for title, result in titled:
        if not result.complete:
            print_note(f"{title}: {result.complaint(plan.folder)}")
    return all(result.sufficient for _, result in titled)


def run_study(
    review: Path, folder: RunFolder, config: JudgingConfig, check: AccessCheck, *, dry_run: bool, as_json: bool
) -> None:
    """Judge what people rated, and print how near the judges are to them. Several criteria are separated by commas."""
    from caretbench.cli.review.group import open_review
    from caretbench.models import without_sending
    from caretbench.people.review.study.judge_study import JudgeStudy, study_lines, write_study

    criteria = [name for name in (config.criterion or "").split(",") if name]
    with open_review(review) as database:
        study = JudgeStudy(database, folder, config, criteria, check)
    if dry_run:
        print_judging_forecast(
            study.forecast(without_sending(open_client)), 0, has_statement_step=False, as_json=as_json
        )
        return
    if config.judges:
        with StepProgress(quiet=as_json) as steps:
            results = study.judge(open_client, steps)
        for name, judging in results.items():
            if not judging.complete:
                print_note(f"{name}: {judging.complaint(folder)}")
    result = study.result()
    path = write_study(review, result)
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    print_lines(study_lines(result))
    print_note(f"all numbers, by part, score, style and person: {path}")
