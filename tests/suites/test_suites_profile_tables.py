from __future__ import annotations

import re
from pathlib import Path

import pytest

from caretbench.profiles import PROFILES, ProfileRule, ProfileRules, profile_named, rules_of
from caretbench.suites import built_in, load_suite
from caretbench.suites.profile_tables import profile_sections, profile_table

ROOT = Path(__file__).parents[2]


class Own(ProfileRules):
    policy = ProfileRule("Policy", paper="a", default="b")
    more = ProfileRule("More?", paper=True, default=False)


def test_a_rule_has_the_value_of_the_profile_it_is_read_from() -> None:
    assert (Own("paper").policy, Own("default").policy) == ("a", "b")
    assert rules_of("default").sentinel is True
    assert Own("paper").sentinel is False


def test_rules_of_a_suite_replace_those_of_all_and_come_last() -> None:
    rules = Own.rules()
    assert rules["policy"].descriptions == ("a", "b")
    assert list(rules)[-1] == "more"
    assert set(ProfileRules.rules()) <= set(rules)


def test_an_unknown_profile_is_refused() -> None:
    assert [profile_named(name) for name in PROFILES] == list(PROFILES)
    with pytest.raises(ValueError, match="'papre'"):
        profile_named("papre")


@pytest.mark.parametrize("name", built_in())
def test_a_line_for_each_rule(name: str) -> None:
    house = load_suite(name)
    table = profile_table(house)
    assert table.columns == ("", *PROFILES)
    assert len(table.rows) == len(house.profile_rules.rules())
    assert all(paper and default for _, paper, default in table.rows)


def test_the_page_of_the_site_has_each_rule() -> None:
    suites = [load_suite(name) for name in built_in()]
    text = profile_sections(suites)
    common = ProfileRules.rules()
    assert all(text.count(f"| {rule.about} |") >= 1 for rule in common.values())
    for suite in suites:
        own = [rule for name, rule in suite.profile_rules.rules().items() if common.get(name) is not rule]
        assert suite.title in text
        assert all(f"| {' | '.join((rule.about, *rule.descriptions))} |" in text for rule in own)


def test_profiles_are_told_apart_in_one_place() -> None:
    source = ROOT / "src" / "caretbench"
    literal = re.compile(r"""["']paper["']""")
    found = {str(path.relative_to(source)) for path in source.rglob("*.py") if literal.search(path.read_text("utf-8"))}
    assert found <= {"problem.py", "profiles.py", "judging/criteria.py"}  # in criteria it is a field's name
