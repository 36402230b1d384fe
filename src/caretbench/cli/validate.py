"""``caretbench validate``: validation of problems by the gate."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli.common import SELECTION, AsJson, Data, Steps, SuiteName, counted, say, say_json, say_table
from caretbench.cli.options import with_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caretbench.problem import Problem
    from caretbench.validation.validity import Validity

_VERDICTS = ("valid", "unverified", "invalid")


@with_options(*SELECTION, "workers", "engine")
def validate(
    suite_name: SuiteName,
    data: Data = "starter",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the verdicts here too, one JSON line per problem."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Forget stored verdicts on these problems first.")
    ] = False,
    show_all: Annotated[bool, typer.Option("--all", help="List every problem that is not valid.")] = False,
    fail_under: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Exit with 1 if a smaller share (0 to 1) of the problems is valid."),
    ] = None,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Put every problem through the gate: can it measure anything?

    Each is valid, unverified or invalid, with reasons. The same command goes on after a stop.

    The reference must pass three times and survive extraction; the empty answer and a stub must fail; a mutant of
    the reference must compile and then fail; no problem may repeat another.
    """
    from caretbench.files import write_rows
    from caretbench.runs.plans.config import SuiteConfig
    from caretbench.runs.plans.options import tables_of
    from caretbench.runs.validating import validate as carry_out
    from caretbench.suites import load_suite

    config = SuiteConfig(name=suite_name, data=data, **tables_of(options)["suite"])
    with Steps(quiet=as_json) as steps:
        problems, verdicts, path = found = carry_out(
            config,
            again=again,
            workers=options["workers"],
            engine=options["engine"] or "local",
            progress=steps,
        )
    if output is not None:
        write_rows(output, verdicts)
    if as_json:
        say_json([verdict.model_dump() for verdict in verdicts])
    else:
        _print(problems, verdicts, load_suite(suite_name).strata[0], show_all=show_all)
        say(f"\nverdicts: {output or path}")
    if fail_under is not None and found.share < fail_under:
        raise typer.Exit(1)


def _print(
    problems: Sequence[Problem], verdicts: Sequence[Validity], stratum: str, *, show_all: bool
) -> None:
    by_stratum: dict[str, Counter[str]] = {}
    reasons: Counter[tuple[str, str]] = Counter()
    for problem, verdict in zip(problems, verdicts, strict=True):
        by_stratum.setdefault(problem.label(stratum), Counter())[verdict.verdict] += 1
        reasons.update((verdict.verdict, reason.partition(":")[0]) for reason in verdict.reasons)
    rows = [
        [name, *(str(counts[verdict]) for verdict in _VERDICTS), str(counts.total())]
        for name, counts in by_stratum.items()
    ]
    say_table(rows, (stratum, *_VERDICTS, "problems"))
    say("\n" + counted(Counter(verdict.verdict for verdict in verdicts)))
    for (name, reason), count in reasons.most_common():
        say(f"  {name}: {reason} ({count})")
    if show_all:
        for verdict in verdicts:
            if verdict.verdict != "valid":
                say(f"{verdict.problem_id}: {verdict.verdict}: {'; '.join(verdict.reasons)}")
