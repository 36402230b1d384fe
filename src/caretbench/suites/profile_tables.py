"""Table of the differences between a suite's profiles, and those of all suites for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from caretbench.profiles import PROFILES, ProfileRule, ProfileRules
from caretbench.suites.base import Suite
from caretbench.suites.suite_types import Table

_HEAD = ("", *PROFILES)


def profile_table(suite: Suite) -> Table:
    """Return a table of the differences between a suite's profiles, one row per rule."""
    title = f"{suite.title}: the profiles"
    return Table("profiles", title, _HEAD, tuple(_lines(suite.profile_rules.rules())))


def profile_sections(suites: Iterable[Suite]) -> str:
    """Return sections in Markdown for the site's page of profiles: the common rules, then those of each suite.

    Suites with the same rules have one table.
    """
    common = ProfileRules.rules()
    parts = ["## All suites\n", *_markdown(common)]
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
