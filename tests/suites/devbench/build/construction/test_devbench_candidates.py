from __future__ import annotations

import pytest

from caretbench.problem import PredicateCheck
from caretbench.suites.devbench.build.construction.build_folder import InstanceRequest
from caretbench.suites.devbench.build.construction.candidates import (
    GeneratedInstance,
    examined_candidate,
    instance_candidate,
    measured_properties,
    parse_fault,
    scenario_checks,
)
from caretbench.suites.devbench.build.construction.scenario_grid import instance_request, read_template, scenario

PREFIX = """import bisect


def place(values, value):
    \"\"\"Return the index of a value in sorted values, or -1.\"\"\"
    if not values:
        return -1
    low, high = 0, len(values)
    if value > values[-1]:
        return -1
    index = """
SUFFIX = "\n    return index if values[index] == value else -1\n"
REFERENCE = "bisect.bisect_left(values, value, low, high)"
TESTS = "assert place([1, 3], 3) == 1\n"


def request(category: str, boundary: str = "operator") -> InstanceRequest:
    drawn = scenario("python", category, 1, 1)
    kind = {"api_usage": "call", "code_purpose": "step", "code2nl_nl2code": "documentation_styles"}[category]
    drawn = drawn.model_copy(update={"kind": kind, "band": "low", "mode": "suffix", "boundary": boundary})
    return InstanceRequest(key="k#1", track="k", scenario=drawn, generator="one", attempt=1,
                           prompt=instance_request(read_template(), drawn, []))  # fmt: skip


def instance(**changes: str) -> GeneratedInstance:
    fields = {"name": "place", "prefix": PREFIX, "reference": REFERENCE, "suffix": SUFFIX, "tests": TESTS,
              "library": "bisect", "justification": "It tests bisect."}  # fmt: skip
    return GeneratedInstance.model_validate(fields | changes)


def checks(category: str, **changes: str) -> dict[str, str]:
    found = instance_candidate(request(category), instance(**changes))
    found = scenario_checks(found.problem, found.request.scenario, found.instance.library)
    return {name: fault for name, fault in found.items() if fault != "ok"}


def test_documentation_has_a_predicate_made_from_the_code_and_code_has_none() -> None:
    documentation = '"""Return the index of a value in sorted values, or -1."""'
    changes = {
        "prefix": PREFIX.partition('"""')[0],
        "reference": documentation,
        "suffix": PREFIX.rpartition('"""')[2] + REFERENCE + SUFFIX,
        "library": "",
    }
    found = instance_candidate(request("code2nl_nl2code"), instance(**changes))
    assert found.predicate is not None
    assert found.predicate.documents == "place"
    [check] = [one for one in found.problem.checks if isinstance(one, PredicateCheck)]
    assert check.arguments == found.predicate.model_dump(mode="json")
    for category, fields in (("code2nl_nl2code", {}), ("api_usage", changes)):
        found = instance_candidate(request(category), instance(**fields))
        assert found.predicate is None
        assert not any(isinstance(one, PredicateCheck) for one in found.problem.checks)


def test_a_good_instance_has_no_fault() -> None:
    assert checks("api_usage") == {}


@pytest.mark.parametrize(
    ("changes", "check", "fault"),
    [
        ({"library": ""}, "library", "must name the library"),
        ({"library": "heapq"}, "library", "the code does not mention the library 'heapq'"),
        ({"suffix": "\n"}, "mode", "the suffix must not be empty"),
        ({"reference": "len(values"}, "parse", "does not parse"),
        ({"reference": "low"}, "difficulty", "too easy"),
        ({"reference": "place(values, value)"}, "rules", "that the program does not define itself"),
        ({"reference": "bisect.bisect(values, min(value, value))"}, "kind", "calls exactly one"),
        ({"suffix": f"\n    index = {REFERENCE}\n    return index\n", "reference": f"low\n    index = {REFERENCE}"},
         "suffix", "stand in the suffix"),
        ({"prefix": "import os\n" + PREFIX}, "imports", "os"),
        ({"prefix": "# by Susan Calder\n" + PREFIX}, "private", "the name of a person"),
    ],
)  # fmt: skip
def test_each_fault_has_its_check(changes: dict[str, str], check: str, fault: str) -> None:
    found = checks("api_usage", **changes)
    assert check in found, found
    assert fault in found[check]


@pytest.mark.parametrize(
    ("boundary", "reference", "measured"),
    [
        ("operator", REFERENCE, "operator"),
        ("new_line", f"index = {REFERENCE}", "new_line"),
        ("word", REFERENCE, "operator"),  # the gap would have no call whose name is due
        ("call", REFERENCE, "operator"),  # more than a third of the gap would be given away
        ("declaration", REFERENCE, "operator"),  # there is no such place near the gap
    ],
)
def test_the_caret_moves_to_the_requested_boundary(boundary: str, reference: str, measured: str) -> None:
    found, results = examined_candidate(request("api_usage", boundary), instance())
    assert set(results.values()) == {"ok"}
    assert found.problem.reference == reference
    assert measured_properties(found.problem, found.request.scenario)["boundary"] == measured


def test_only_a_category_about_libraries_needs_one() -> None:
    assert "library" not in checks("code_purpose", library="")


@pytest.mark.parametrize(
    ("reference", "fault"), [("(" * 300 + "1" + ")" * 300, "nested 30"), ("x=>" * 9000, "a parser takes too much")]
)
def test_programs_that_stop_an_analysis_are_refused_before_it(reference: str, fault: str) -> None:
    assert fault in parse_fault(f"int a = {reference};\n", "java")
    assert parse_fault("int a = 1;\n", "java") == ""
