"""``caretbench list``: list of suites, and of the problems of a suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli.common import SELECTION, AsJson, Data, print_json, print_line, print_notes, print_table, selection
from caretbench.cli.options import with_options

if TYPE_CHECKING:
    from caretbench.problem import Problem, Profile
    from caretbench.suites.base import Suite
    from caretbench.suites.suite_types import ProblemSet, Table


@with_options(*SELECTION)
def listing(
    suite_name: Annotated[
        str | None, typer.Argument(metavar="SUITE", help="Suite whose problems are listed. Default: list the suites.")
    ] = None,
    data: Data = "starter",
    ids: Annotated[bool, typer.Option("--ids", help="Print one problem id per line instead of counts.")] = False,
    sizes: Annotated[
        bool,
        typer.Option("--statistics", help="Print mean lines, tokens and complexity by language (Table 4 of DevBench)."),
    ] = False,
    tables: Annotated[
        bool,
        typer.Option(
            "--tables", help="Print the tables of the suite's paper for the data of --data (simcopilot, c3bench, efcb)."
        ),
    ] = False,
    profiles: Annotated[
        bool, typer.Option("--profiles", help="Print the differences between the profiles paper and default.")
    ] = False,
    profile: Annotated[
        str, typer.Option(help="Counting rules of --statistics: default, or paper (as the released script).")
    ] = "default",
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """List the suites, or count the problems of one suite by label.

    Examples:
      caretbench list
      caretbench list devbench --ids --select language=python
    """
    from caretbench.profiles import profile_named
    from caretbench.suites import load_suite as find_suite
    from caretbench.suites import usable_suites
    from caretbench.suites.profile_tables import profile_table

    if suite_name is None:
        suites, errors = usable_suites()
        _print_suites(suites, as_json=as_json)
        print_notes(map(str, errors))
        return
    suite, rules = find_suite(suite_name), profile_named(profile)
    if profiles or tables:
        _print_tables([profile_table(suite)] if profiles else _data_tables(suite_name, data), as_json=as_json)
        return
    loaded = _load(suite, data)
    problems = selection(options).apply(suite, loaded.problems)
    if sizes:
        _print_statistics(suite, problems, rules, as_json=as_json)
    elif as_json:
        print_json([{"id": problem.id, "labels": dict(problem.labels)} for problem in problems])
    elif ids:
        print_line("\n".join(problem.id for problem in problems))
    else:
        size = f"{len(problems)} of {len(loaded.problems)} problems"
        print_line(f"{suite.title}, {loaded.name}: {size}, data {loaded.hash[:12]}")
        for label in suite.strata:
            if counts := _counts(problems, label):
                print_line(f"{label}: " + ", ".join(f"{value} {count}" for value, count in counts.items()))


def _load(suite: Suite, data: str) -> ProblemSet:
    """Return a suite's problems; note what of the source was passed over."""
    from caretbench.suites import load_problems

    loaded = load_problems(suite, data)
    print_notes(loaded.passed_over)
    return loaded


def _data_tables(suite_name: str, data: str) -> Sequence[Table]:
    from caretbench.build import load_builder

    return load_builder(suite_name).data_tables(data)


def _print_suites(suites: Sequence[Suite], *, as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {"suite": suite.name, "about": suite.about, "needs": suite.needs, "cpu_minutes": suite.cpu_minutes}
                | {"labels": list(suite.strata)}
                for suite in suites
            ]
        )
        return
    rows = [
        [suite.name, suite.about, suite.needs, "" if suite.cpu_minutes is None else f"{suite.cpu_minutes:g}"]
        for suite in suites
    ]
    print_table(rows, ("suite", "measures", "needs", "CPU minutes, 100 problems"))


def _counts(problems: Sequence[Problem], label: str) -> Counter[str]:
    """Return the number of problems by value of a label; a problem with several values counts for each."""
    counts: Counter[str] = Counter()
    for problem in problems:
        value = problem.labels.get(label)
        if isinstance(value, list):
            counts.update(value or ["none"])
        elif label in problem.labels:
            counts[problem.label(label)] += 1
    return counts


def _print_tables(tables: Sequence[Table], *, as_json: bool) -> None:
    if as_json:
        print_json([table._asdict() for table in tables])
        return
    for number, table in enumerate(tables):
        print_line(("\n" if number else "") + table.title)
        print_table([list(row) for row in table.rows], table.columns)


def _print_statistics(suite: Suite, problems: Sequence[Problem], profile: Profile, *, as_json: bool) -> None:
    """Print means by the suite's first label; the last line is the mean of all problems."""
    from caretbench.build import load_builder

    groups: dict[str, list[Mapping[str, float]]] = {}
    builder = load_builder(suite.name)
    for problem in problems:
        sizes = builder.statistics(problem, profile)
        groups.setdefault(problem.label(suite.strata[0]), []).append(sizes)
    groups["all"] = [sizes for group in groups.values() for sizes in group]
    means = {
        name: {key: sum(sizes[key] for sizes in group) / len(group) for key in group[0]}
        for name, group in groups.items()
    }
    if as_json:
        print_json(means)
        return
    heads = [key.replace("_", " ") for key in means["all"]]
    rows = [[name, *(_one_digit(value) for value in sizes.values())] for name, sizes in means.items()]
    print_table(rows, (suite.strata[0], *heads))


def _one_digit(value: float) -> str:
    """Return a number with one digit, rounded half up as in the paper's tables."""
    return str(Decimal(repr(round(value, 9))).quantize(Decimal("0.1"), ROUND_HALF_UP))
