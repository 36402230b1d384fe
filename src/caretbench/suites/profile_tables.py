"""Table of the differences between a suite's profiles, and the page of all suites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from caretbench.profiles import PROFILES, ProfileRule, ProfileRules
from caretbench.suites.base import Suite
from caretbench.suites.suite_types import Table

_HEAD = ("", *PROFILES)

_ABOUT = """\
# Profiles

Each suite scores in two ways. `paper` does what the paper's released code does, so that numbers can be compared with
published ones. `default` does what should be done; it is the one to believe. The two are never mixed in one column.

Rules about programs hold where answers become programs of their own (DevBench). In SimCopilot the project's tests
decide, under both profiles by the exit status of their command and their reports; in EFCB nothing runs. The gate
(`validate`) always works under `default`.

This page is made of the rules in the code (`python scripts/profiles_page.py`); `caretbench list SUITE --profiles`
prints the same.
"""


def profile_table(suite: Suite) -> Table:
    """Return a table of the differences between a suite's profiles, one row per rule."""
    title = f"{suite.title}: the profiles"
    return Table("profiles", title, _HEAD, tuple(_lines(suite.profile_rules.rules())))


def profiles_page(suites: Iterable[Suite]) -> str:
    """Return the Markdown page ``docs/reference/profiles.md``: the common rules, then those of each suite.

    Suites with the same rules have one table.
    """
    common = ProfileRules.rules()
    parts = [_ABOUT, "## All suites\n", *_markdown(common)]
    titles: dict[tuple[str, ...], list[str]] = {}
    for suite in suites:
        rules = suite.profile_rules.rules()
        own = {name: rule for name, rule in rules.items() if common.get(name) is not rule}
        titles.setdefault(tuple(_markdown(own) if own else ["As all suites.\n"]), []).append(suite.title)
    for table, of_suites in titles.items():
        parts += [f"\n## {', '.join(of_suites)}\n", *table]
    return "\n".join(part.rstrip("\n") if part.startswith("|") else part for part in parts).rstrip() + "\n"


def _lines(rules: dict[str, ProfileRule[object]]) -> Iterator[tuple[str, ...]]:
    for rule in rules.values():
        yield (rule.about, *rule.descriptions)


def _markdown(rules: dict[str, ProfileRule[object]]) -> list[str]:
    heads = [f"`{name}`" for name in PROFILES]
    rows = ["| | " + " | ".join(heads) + " |", "| --- " * (len(heads) + 1) + "|"]
    return [*rows, *("| " + " | ".join(line) + " |" for line in _lines(rules))]
