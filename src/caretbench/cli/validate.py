"""``caretbench validate``: validation of problems by the gate."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli.common import (
    SELECTION,
    AsJson,
    Data,
    StepProgress,
    SuiteName,
    check_file_is_writable,
    join_counts,
    print_json,
    print_line,
    print_table,
)
from caretbench.cli.options import with_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caretbench.problem import Problem
    from caretbench.suites.validity import Validity

_VERDICTS = ("valid", "unverified", "invalid")


@with_options(*SELECTION, "workers", "engine")
def validate(
    suite_name: SuiteName,
    data: Data = "starter",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Also write the verdicts to this file, one JSON line per problem."),
    ] = None,
    ignore_stored: Annotated[
        bool, typer.Option("--again", help="Validate these problems again: ignore stored verdicts.")
    ] = False,
    show_all: Annotated[bool, typer.Option("--all", help="Print every problem that is not valid.")] = False,
    fail_under: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Exit with status 1 if the share of valid problems (0 to 1) is lower."),
    ] = None,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Validate problems: each is valid, unverified or invalid, with reasons. Run the same command again to resume.

    In a valid problem the reference passes three times and survives extraction, the empty answer and a stub fail,
    a mutant of the reference compiles and fails, and no other problem is nearly the same.

    Examples:
      caretbench validate devbench
      caretbench validate devbench --data tasks --all
    """
    from caretbench.build.suite_validation import validate as validate_problems
    from caretbench.files import write_rows
    from caretbench.runs.plans.config import SuiteConfig
    from caretbench.runs.plans.options import options_to_tables
    from caretbench.suites import load_suite

    if output is not None:
        check_file_is_writable(output)
    config = SuiteConfig(name=suite_name, data=data, **options_to_tables(options)["suite"])
    with StepProgress(quiet=as_json) as steps:
        problems, verdicts, path = validation = validate_problems(
            config,
            ignore_stored=ignore_stored,
            workers=options["workers"],
            engine=options["engine"] or "local",
            progress=steps,
        )
    if output is not None:
        write_rows(output, verdicts)
    if as_json:
        print_json([verdict.model_dump() for verdict in verdicts])
    else:
        _print(problems, verdicts, load_suite(suite_name).strata[0], show_all=show_all)
        print_line(f"\nverdicts: {output or path}")
    if fail_under is not None and validation.share < fail_under:
        raise typer.Exit(1)


def _print(problems: Sequence[Problem], verdicts: Sequence[Validity], stratum: str, *, show_all: bool) -> None:
    by_stratum: dict[str, Counter[str]] = {}
    reasons: Counter[tuple[str, str]] = Counter()
    for problem, verdict in zip(problems, verdicts, strict=True):
        by_stratum.setdefault(problem.label(stratum), Counter())[verdict.verdict] += 1
        reasons.update((verdict.verdict, reason.partition(":")[0]) for reason in verdict.reasons)
    rows = [
        [name, *(str(counts[verdict]) for verdict in _VERDICTS), str(counts.total())]
        for name, counts in by_stratum.items()
    ]
    print_table(rows, (stratum, *_VERDICTS, "problems"))
    print_line("\n" + join_counts(Counter(verdict.verdict for verdict in verdicts)))
    from caretbench.suites.validity import strength_counts

    if strengths := strength_counts(verdicts):
        print_line(f"valid by what the killed mutant changes: {join_counts(strengths)}")
    for (name, reason), count in reasons.most_common():
        print_line(f"  {name}: {reason} ({count})")
    if show_all:
        for verdict in verdicts:
            if verdict.verdict != "valid":
                print_line(f"{verdict.problem_id}: {verdict.verdict}: {'; '.join(verdict.reasons)}")
