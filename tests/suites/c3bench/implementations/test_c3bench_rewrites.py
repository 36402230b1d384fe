"""Rewrites: where they apply, what their predicates say, and that behaviour stays."""

from __future__ import annotations

import ast

import pytest

from caretbench.execution.dispatcher import open_executor
from caretbench.execution.execution_types import ExecutionRequest, Status
from caretbench.suites.c3bench.implementations.features import found_features
from caretbench.suites.c3bench.implementations.quality import agreement_program
from caretbench.suites.c3bench.implementations.rewrite import (
    Equivalent,
    PythonMiddle,
    equivalent_contexts,
    rewrite_entries,
    rewrites,
)
from tests.support.python_rewrites import EXAMPLES, RewriteExample, check_text, function_text


def middles(body: str) -> list[PythonMiddle]:
    module = ast.parse(function_text(body))
    [function] = module.body
    assert isinstance(function, ast.FunctionDef)
    lists = [getattr(node, "body", []) for node in ast.walk(function)]
    return [
        PythonMiddle(tuple(one), function, module, one is function.body)
        for one in lists
        if isinstance(one, list) and one
    ]


def applied(example: RewriteExample) -> list[list[ast.stmt]]:
    function = rewrites()[example.rewrite]
    return [made.statements for middle in middles(example.source) for made in function(middle)]


def test_every_rewrite_has_an_entry_and_an_example() -> None:
    assert set(rewrites()) == set(rewrite_entries()) == {example.rewrite for example in EXAMPLES}
    for entry in rewrite_entries().values():
        assert len(entry.instructions) >= 2


def equivalents(example: RewriteExample) -> list[tuple[str, Equivalent]]:
    text = function_text(example.source)
    return [
        (text[: context.start] + one.text + text[context.end :], one)
        for context in equivalent_contexts(text, "f")
        for one in context.equivalents
        if one.rewrite == example.rewrite
    ]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.rewrite)
def test_a_rewrite_applies_and_its_rule_tells_it_from_the_original(example: RewriteExample) -> None:
    assert applied(example)
    found = equivalents(example)
    assert found
    head, line_end, body = function_text(example.source).partition("\n")
    original = found_features(head + line_end, body, "", "python")
    assert original is not None
    for program, one in found:
        assert one.rule.holds(one.features)
        assert not one.rule.holds(original)
        assert not any("{" in text for text in one.instructions)
        ast.parse(program)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("loop_to_comprehension", "r = []\nfor x in a:\n    r.append(len(r))\nreturn r"),
        ("loop_to_comprehension", "r = []\nfor x in a:\n    r.append(x)\nreturn (r, x)"),
        ("chain_to_match", "if a == None:\n    return 1\nreturn 2"),
        ("chain_to_match", "if a == True:\n    return 1\nreturn 2"),
        ("accumulator_to_sum", "t = 0\nfor x in a:\n    t += x + t\nreturn t"),
        ("loop_to_any_or_all", "if a:\n    return True\nreturn False"),
        ("single_return", "for x in a:\n    return x\nreturn 0"),
        ("sorted_to_heap", "heap = 1\nreturn sorted(a)"),
        ("sorted_to_heap", "return sorted(a, key=abs)"),
    ],
)
def test_guards_refuse_what_would_change_behaviour(name: str, source: str) -> None:
    assert applied(RewriteExample(name, source, ())) == []


@pytest.mark.parametrize("named", [True, False])
def test_a_wording_names_what_the_prompt_shows_and_the_rule_asks_for_no_more(named: bool) -> None:
    text = function_text("r = []\nfor x in a:\n    r.append(x * 2)\nreturn r")
    start, stop = text.index("    r = []"), text.index("    return r") if named else len(text)
    [one] = [
        each
        for context in equivalent_contexts(text, "f")
        if (context.start, context.end) == (start, stop)
        for each in context.equivalents
        if each.rewrite == "loop_to_comprehension"
    ]
    assert {"`r`" in wording for wording in one.instructions} == {named}
    head, line_end, body = function_text("found = [2 * x for x in a]\nreturn found").partition("\n")
    features = found_features(head + line_end, body, "", "python")
    assert features is not None
    assert one.rule.holds(features) is not named


def test_rules_of_one_context_tell_its_implementations_apart() -> None:
    for example in EXAMPLES:
        for context in equivalent_contexts(function_text(example.source), "f"):
            for one in context.equivalents:
                assert [other.rewrite for other in context.equivalents if one.rule.holds(other.features)] == [
                    one.rewrite
                ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("f = 0\ndef f(): return [int(x) for x in input().split()]\n\n\nprint(f())\n", "def f():"),
        ("def f(xs):\n    n = 1; return [x + n for x in xs]\n", "n = 1"),
        ("def f(xs):\n    ys = [x for x in xs if x]; ys.sort()\n    return ys\n", "ys.sort()"),
    ],
)
def test_what_else_is_in_a_line_stays(text: str, kept: str) -> None:
    for context in equivalent_contexts(text, "f"):
        for one in context.equivalents:
            program = text[: context.start] + one.text + text[context.end :]
            compile(program, "program", "exec")
            assert kept in program


@pytest.mark.long
def test_behaviour_stays_on_tests_and_mutated_inputs() -> None:
    programs = {
        f"{number}/{position}": agreement_program(
            function_text(example.source), program, check_text(example.calls, function_text(example.source)), "f"
        )
        for number, example in enumerate(EXAMPLES)
        for position, (program, _) in enumerate(equivalents(example))
    }
    requests = [ExecutionRequest(id=key, language="python", source=source) for key, source in programs.items()]
    failed = {
        result.id: result.stderr.text
        for result in open_executor(2).submit(requests)
        if result.status is not Status.PASSED
    }
    assert len(programs) >= len(EXAMPLES)
    assert failed == {}


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("return sum(a[1:])", "differs for"),
        ("return sum(a) + 0.0", "differs for"),
        ("a.append(1)\nreturn sum(a) - 1", "differs for"),
        ("for _ in range(2000):\n    pass\nreturn sum(a)", "times the lines"),
        ("if len(a) > 4:\n    raise ValueError\nreturn sum(a)", "differs for"),
    ],
)
def test_another_behaviour_is_found(variant: str, message: str) -> None:
    source = function_text("return sum(a)")
    program = agreement_program(source, function_text(variant), check_text(("[0, 2]", "[0]"), source), "f")
    [result] = open_executor(1).submit([ExecutionRequest(id="one", language="python", source=program)])
    assert result.status is not Status.PASSED
    assert message in result.stderr.text


def test_arguments_with_a_star_are_left_as_they_are() -> None:
    """``range(*bounds)`` has any number of arguments; ``while value < *bounds`` ended a build."""
    calls = (
        "for one in range(*bounds):\n    print(one)",
        "return sum(*bounds)",
        "return sorted(*bounds)",
        "return any(*bounds)",
    )
    for call in calls:
        for middle in middles(call):
            assert not [made for name in rewrites() for made in rewrites()[name](middle)]
