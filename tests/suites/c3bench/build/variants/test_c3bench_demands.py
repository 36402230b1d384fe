from __future__ import annotations

import pytest

from caretbench.suites.c3bench.build.variants.demands import constructs, demand_faults, demanded_rule, demands_of
from caretbench.suites.c3bench.implementations.features import FeatureRule, FoundFeatures, found_features
from caretbench.suites.c3bench.implementations.rewrite import rewrite_entries


@pytest.mark.parametrize(
    ("instruction", "required", "forbidden"),
    [
        ("Use recursion, not a loop.", {"recursion"}, {"loop"}),
        ("Without a loop, use a recursive helper function.", {"recursion", "helper function"}, {"loop"}),
        ("Replace the for loop by a while loop.", {"while loop"}, {"for loop"}),
        ("Iterate with a while loop in place of every for loop.", {"while loop"}, {"for loop"}),
        ("Do not use for loops or comprehensions.", set(), {"for loop", "comprehension"}),
        ("Avoid for and while loops. Use a heap.", {"heap"}, {"while loop"}),
        ("Convert the list comprehension into a for loop.", {"for loop"}, {"comprehension"}),
        ("Name the variable of the loop differently.", set(), set()),
        ("Return early from each case; write no else branch.", {"early return"}, {"else"}),
        ("Catch the KeyError.", {"exception handler"}, set()),
        ("Keep the running values in a dictionary rather than a class.", {"dictionary"}, {"class"}),
        ("Be quick.", set(), set()),
    ],
)
def test_constructs_are_read_with_their_negation(instruction: str, required: set[str], forbidden: set[str]) -> None:
    found = demands_of(instruction)
    assert (set(found.required), set(found.forbidden)) == (required, forbidden)


@pytest.mark.parametrize(
    ("instruction", "names", "forbidden"),
    [
        ("Use `heapq.nsmallest`.", {"nsmallest"}, set()),
        ("Use `total` and do not call sum().", {"total"}, {"sum"}),
        ("Define sort_key and pass it; no lambda.", {"sort_key"}, set()),
        ("Group with itertools.groupby.", {"groupby"}, set()),
        ("Enumerate with start=1.", {"start"}, set()),
        ("Use `fold(values)` instead of append for `result`.", {"fold", "result"}, set()),
    ],
)
def test_identifiers_are_read(instruction: str, names: set[str], forbidden: set[str]) -> None:
    found = demands_of(instruction)
    assert (set(found.names), set(found.forbidden_names)) == (names, forbidden)


CODE = "def f(values):\n    total = 0\n    for value in values:\n        total += value\n    return total\n"


def features() -> FoundFeatures:
    start = CODE.index("    total")
    found = found_features(CODE[:start], CODE[start:], "", "python")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("instruction", "faults"),
    [
        ("Add the values in a for loop with `total`; do not call sum().", []),
        ("Use a while loop.", ["no while loop"]),
        ("Use no loop.", ["has a loop"]),
        ("Keep the result in `amount`.", ["no `amount`"]),
        ("Go over `values`.", []),
        ("Do not use a variable `total`.", ["has `total`"]),
    ],
)
def test_a_demand_that_is_not_met_is_a_fault(instruction: str, faults: list[str]) -> None:
    assert demand_faults(demands_of(instruction), CODE, "", features()) == faults


def test_in_other_languages_identifiers_decide() -> None:
    found = demands_of("Use a `while` loop and `queue`, not `stack`.")
    assert demand_faults(found, "while (!queue.empty()) {}", "", None) == []
    assert demand_faults(found, "while (!stack.empty()) {}", "", None) == ["no `queue`", "has `stack`"]


def test_the_predicate_has_what_one_feature_shows() -> None:
    demands = demands_of("Add up in a for loop with `total`, without recursion and without sum().")
    assert demanded_rule(demands, features()) == FeatureRule(
        ("for", "name:total"), ("call:sum", "name:sum", "recursion")
    )
    assert demanded_rule(demands_of("Use a dictionary."), features()) is None  # several features could show it
    assert demanded_rule(demands_of("Be quick."), features()) is None


def test_the_instructions_of_rewrites_demand_what_their_rules_require() -> None:
    """No wording of a rewrite forbids what its rule requires, or demands what it forbids."""
    for name, entry in rewrite_entries().items():
        for wording in entry.instructions:
            found = demands_of(wording.replace("{name}", "item").replace("{value}", "3"))
            forbidden = {feature for one in found.forbidden for feature in constructs()[one].features}
            assert not forbidden & set(entry.requires), (name, wording)
            single = {constructs()[one].features[0] for one in found.required if len(constructs()[one].features) == 1}
            assert not single & set(entry.forbids), (name, wording)
