"""``caretbench list``: suites, and what problems a suite has."""

from __future__ import annotations

from typing import Annotated

import typer

from caretbench.cli.common import AsJson, Data, Limit, Select, aligned, say, say_json, select


def listing(
    suite_name: Annotated[
        str | None, typer.Argument(metavar="[SUITE]", help="List the problems of this suite.")
    ] = None,
    data: Data = "starter",
    chosen: Select = None,
    limit: Limit = None,
    ids: Annotated[bool, typer.Option("--ids", help="One problem id a line instead of counts.")] = False,
    as_json: AsJson = False,
) -> None:
    """Suites; with a suite, how many problems each of its cells has."""
    from caretbench.suites import suite, suite_names

    if suite_name is None:
        rows = [
            {"suite": name, "about": suite(name).about, "labels": list(suite(name).strata)}
            for name in suite_names()
        ]
        if as_json:
            say_json(rows)
        else:
            for line in aligned(
                [[str(row["suite"]), str(row["about"])] for row in rows], ("suite", "measures")
            ):
                say(line)
        return
    house = suite(suite_name)
    loaded = house.load(data)
    problems = select(house, loaded.problems, chosen, limit)
    if as_json:
        say_json([{"id": problem.id, "labels": dict(problem.labels)} for problem in problems])
        return
    if ids:
        for problem in problems:
            say(problem.id)
        return
    say(
        f"{house.title}, {loaded.name}: {len(problems)} of {len(loaded.problems)} problems, data {loaded.hash[:12]}"
    )
    for label in house.strata:
        counts: dict[str, int] = {}
        for problem in problems:
            if label in problem.labels:
                counts[problem.label(label)] = counts.get(problem.label(label), 0) + 1
        if counts:
            say(f"{label}: " + ", ".join(f"{value} {count}" for value, count in counts.items()))
