"""``caretbench list``: suites, and the problems of a suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caretbench.cli.common import SELECTION, AsJson, Data, note, say, say_json, say_table, selection
from caretbench.cli.options import with_options

if TYPE_CHECKING:
    from caretbench.problem import Problem, Profile
    from caretbench.suites.base import Suite
    from caretbench.suites.values import Table


@with_options(*SELECTION)
def listing(
    suite_name: Annotated[
        str | None, typer.Argument(metavar="SUITE", help="List the problems of this suite.")
    ] = None,
    data: Data = "starter",
    ids: Annotated[bool, typer.Option("--ids", help="One problem id a line instead of counts.")] = False,
    sizes: Annotated[
        bool,
        typer.Option(
            "--statistics", help="Mean lines, tokens and complexity by language (DevBench: Table 4)."
        ),
    ] = False,
    tables: Annotated[
        bool,
        typer.Option(
            "--tables",
            help="The paper's tables about the data under --data (SimCopilot: released ones; EFCB).",
        ),
    ] = False,
    profiles: Annotated[
        bool, typer.Option("--profiles", help="The differences between the profiles paper and default.")
    ] = False,
    profile: Annotated[
        str, typer.Option(help="How --statistics counts: default, or paper as the released script does.")
    ] = "default",
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Suites; with a suite, how many problems each of its cells has."""
    from caretbench.profiles import profile_named
    from caretbench.suites import load_problems, load_suite, usable_suites
    from caretbench.suites.profile_tables import profile_table

    if suite_name is None:
        found, errors = usable_suites()
        _suites(found, as_json=as_json)
        for error in errors:
            note(str(error))
        return
    house, counting = load_suite(suite_name), profile_named(profile)
    if profiles or tables:
        _tables([profile_table(house)] if profiles else house.data_tables(data), as_json=as_json)
        return
    loaded = load_problems(house, data)
    problems = selection(options).apply(house, loaded.problems)
    if sizes:
        _statistics(house, problems, counting, as_json=as_json)
    elif as_json:
        say_json([{"id": problem.id, "labels": dict(problem.labels)} for problem in problems])
    elif ids:
        say("\n".join(problem.id for problem in problems))
    else:
        among = f"{len(problems)} of {len(loaded.problems)} problems"
        say(f"{house.title}, {loaded.name}: {among}, data {loaded.hash[:12]}")
        for label in house.strata:
            if counts := _counts(problems, label):
                say(f"{label}: " + ", ".join(f"{value} {count}" for value, count in counts.items()))


def _suites(suites: Sequence[Suite], *, as_json: bool) -> None:
    if as_json:
        say_json([{"suite": one.name, "about": one.about, "labels": list(one.strata)} for one in suites])
        return
    say_table([[one.name, one.about] for one in suites], ("suite", "measures"))


def _counts(problems: Sequence[Problem], label: str) -> Counter[str]:
    """Return how many problems have each value of a label; one with several values counts several times."""
    counts: Counter[str] = Counter()
    for problem in problems:
        value = problem.labels.get(label)
        if isinstance(value, list):
            counts.update(value or ["none"])
        elif label in problem.labels:
            counts[problem.label(label)] += 1
    return counts


def _tables(found: Sequence[Table], *, as_json: bool) -> None:
    if as_json:
        say_json([table._asdict() for table in found])
        return
    for place, table in enumerate(found):
        say(("\n" if place else "") + table.title)
        say_table([list(row) for row in table.rows], table.columns)


def _statistics(house: Suite, problems: Sequence[Problem], profile: Profile, *, as_json: bool) -> None:
    """Means by the suite's first label; the last line is the mean over all problems."""
    groups: dict[str, list[Mapping[str, float]]] = {}
    for problem in problems:
        sizes = house.statistics(problem, profile)
        groups.setdefault(problem.label(house.strata[0]), []).append(sizes)
    groups["all"] = [sizes for group in groups.values() for sizes in group]
    means = {
        name: {key: sum(sizes[key] for sizes in group) / len(group) for key in group[0]}
        for name, group in groups.items()
    }
    if as_json:
        say_json(means)
        return
    heads = [key.replace("_", " ") for key in means["all"]]
    rows = [[name, *(_one_digit(value) for value in sizes.values())] for name, sizes in means.items()]
    say_table(rows, (house.strata[0], *heads))


def _one_digit(value: float) -> str:
    """Rounded half up, as the paper's tables are."""
    return str(Decimal(repr(round(value, 9))).quantize(Decimal("0.1"), ROUND_HALF_UP))
