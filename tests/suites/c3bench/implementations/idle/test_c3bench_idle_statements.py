"""Idle parts of implementations: additions without an effect show no feature, and code that has one is kept."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.execution.dispatcher import open_executor
from caretbench.execution.execution_types import ExecutionRequest, Status
from caretbench.suites.c3bench.implementations.equivalents import equivalent_contexts
from caretbench.suites.c3bench.implementations.features import FeatureRule, FoundFeatures, features_of_text
from caretbench.suites.c3bench.implementations.idle.idle_statements import without_idle_parts
from caretbench.suites.c3bench.implementations.quality import agreement_program
from caretbench.suites.c3bench.implementations.rewrite import rewrite_entries
from tests.support.python_rewrites import EXAMPLES, RewriteExample, check_text, function_text

IDLE = {
    "while": [
        "while False:\n    pass",
        "while not True:\n    NAME = 1",
        "while True:\n    break",
        "while 1 > 2:\n    a",
    ],
    "for": ["for NAME in []:\n    pass", "for NAME in range(3):\n    pass", "for NAME in 'abc':\n    OTHER = NAME"],
    "comprehension": ["[NAME for NAME in range(3)]", "NAME = [OTHER for OTHER in 'abc']", "NAME = {x: x for x in 'a'}"],
    "lambda": ["NAME = lambda x: x", "(lambda: 0)()", "sorted([], key=lambda x: x)"],
    "try": ["try:\n    NAME = 0\nexcept KeyError:\n    pass", "try:\n    pass\nexcept StopIteration:\n    pass"],
    "match": ["match 0:\n    case _:\n        pass", "match 0:\n    case 1:\n        NAME = 1"],
    "if": ["if False:\n    return None", "if NAME_IN_USE:\n    pass\nelse:\n    pass", "if 0:\n    NAME = 1"],
    "conditional_expression": ["NAME = 1 if 0 else 2", "0 if NAME_IN_USE else 1"],
    "function": ["def NAME(x):\n    return x", "def NAME(x):\n    return x and NAME(x - 1)\nNAME(1)"],
    "class": ["class NAME:\n    pass", "class NAME:\n    x: int = 0\nOTHER = NAME()\nOTHER.x = 1"],
    "dict_literal": [
        "NAME = {}",
        "{'x': 1}",
        "NAME = {'x': 0}\nNAME['x'] += 1",
        "NAME: dict = {}\nNAME.update({1: 2})",
    ],
    "break": ["for NAME in range(3):\n    break", "while True:\n    if 1:\n        break"],
    "continue": ["for NAME in range(3):\n    continue"],
    "yield": ["def NAME():\n    yield 1\nlist(NAME())"],
    "assignment_expression": ["(NAME := 1)", "if (NAME := 0):\n    pass"],
    "name": ["NAME = 0", "NAME = OTHER = 0", "NAME = 0\nOTHER = NAME", "NAME = 0\nNAME += 1\nNAME", "NAME: int = 0"],
    "call": ["len('abc')", "next(iter('abc'))", "NAME = list('abc')\nNAME.append(1)", "NAME = ''.join([])"],
    "import": ["import heapq", "from collections import deque", "import heapq\nheapq.nsmallest\nNAME = [1]"],
    "handler": ["try:\n    NAME = {}\n    NAME['x']\nexcept KeyError:\n    pass"],
    "keyword": ["sorted([], key=len)", "NAME = max([1], default=0)", "enumerate([], start=1)"],
    "base": ["class NAME(dict):\n    pass"],
    "decorator": ["from dataclasses import dataclass\n@dataclass\nclass NAME:\n    x: int = 0\nNAME(x=1)"],
    "recursion": ["def NAME(x):\n    return 0 if x < 1 else NAME(x - 1)", "if False:\n    f(1)", "0 and f(1)"],
    "else": ["if NAME_IN_USE:\n    NAME = 0\nelse:\n    NAME = 1"],
    "early_return": ["if False:\n    return 0", "while False:\n    if 1:\n        return 0\n    NAME = 0"],
    "updated_in_loop": ["NAME = 0\nfor OTHER in range(3):\n    NAME += OTHER"],
    "fills": [
        "from collections import deque\nNAME = deque()\nNAME.append(1)",
        "NAME = ()\nNAME += (1,)",
        "NAME = {}\nfor OTHER in 'a':\n    NAME[OTHER] = 1",
    ],
}
"""Texts that add features of a kind and change no result. NAME and OTHER are new names, NAME_IN_USE is an old one."""

PARENTS = (ast.Module, ast.For, ast.While, ast.If, ast.FunctionDef)
ALL_IDLE = [text for texts in IDLE.values() for text in texts]


def found_in(body: str) -> FoundFeatures:
    text = function_text(body)
    found = features_of_text(text, text.index("\n") + 1, len(text))
    assert found is not None, body
    return found


def effective(body: str) -> set[str]:
    return {one for one in found_in(body).effective if not one.startswith(("returns:", "nesting:"))}


def filled(text: str, name: str = "current", other: str = "state") -> str:
    return text.replace("NAME_IN_USE", "a").replace("NAME", name).replace("OTHER", other)


def with_text_at(body: str, text: str, place: int) -> str:
    """Return the source with a text in front of one of its statements, in its block."""
    lines = body.split("\n")
    starts = set()
    for node in ast.walk(ast.parse(body)):
        for one in (*getattr(node, "body", ()), *getattr(node, "orelse", ())) if isinstance(node, PARENTS) else ():
            line = min([one.lineno, *(part.lineno for part in getattr(one, "decorator_list", ()))]) - 1
            if not lines[line].lstrip().startswith("elif"):
                starts.add((line, one.col_offset))
    places = sorted(starts)
    line, column = places[place % len(places)]
    added = [" " * column + one for one in text.split("\n")]
    return "\n".join([*lines[:line], *added, *lines[line:]])


def test_every_kind_of_feature_has_idle_additions() -> None:
    for kind, texts in IDLE.items():
        for text in texts:
            present = found_in(f"{filled(text)}\nreturn a").present
            assert any(one.partition(":")[0] == kind for one in present), text


@pytest.mark.parametrize("text", ALL_IDLE)
def test_an_idle_addition_shows_no_feature(text: str) -> None:
    assert effective(f"{filled(text)}\nreturn a") == effective("return a")
    assert effective(f"b = a\n{filled(text)}\nb = b + 1\nreturn b") == effective("b = a\nb = b + 1\nreturn b")


@given(
    example=st.sampled_from(EXAMPLES),
    additions=st.lists(st.tuples(st.sampled_from(ALL_IDLE), st.integers(0, 9)), min_size=1, max_size=3),
)
def test_idle_additions_anywhere_leave_the_features_of_a_function(
    example: RewriteExample, additions: list[tuple[str, int]]
) -> None:
    body = example.source
    for number, (text, place) in enumerate(additions):
        body = with_text_at(body, filled(text, f"current_{number}", f"state_{number}"), place)
    assert effective(body) == effective(example.source), body


@pytest.mark.parametrize(
    ("rewrite", "body"),
    [
        ("accumulators_to_dictionary", "state = {}\nt = 0\nfor x in a:\n    t += x\nreturn t"),
        (
            "accumulators_to_dictionary",
            "state = {'t': 0}\nt = 0\nfor x in a:\n    t += x\n    state['t'] += x\nreturn t",
        ),
    ],
)
def test_the_source_with_one_line_more_does_not_follow_an_instruction(rewrite: str, body: str) -> None:
    entry = rewrite_entries()[rewrite]
    words = {"loop_variable_name": "current", "explicit_key": "sorted", "accumulator_name": "running_value"}
    requires = tuple(one.replace("{name}", words.get(rewrite, "")) for one in entry.requires)
    assert not FeatureRule(requires, ()).holds(found_in(body))


@pytest.mark.parametrize(
    ("body", "feature"),
    [
        ("while a:\n    b = a.pop()\nreturn b", "while"),
        ("for x in a:\n    print(x)", "for"),
        ("for x in a:\n    if x:\n        break\nreturn x", "break"),
        ("try:\n    int(a)\nexcept ValueError:\n    return 0\nreturn 1", "handler:ValueError"),
        ("try:\n    b = a['x']\nexcept KeyError:\n    b = 0\nreturn b", "handler:KeyError"),
        ("rows = []\nrow = []\nrows.append(row)\nrow.append(1)\nreturn rows", "call:append"),
        ("state = {}\nb = state\nb['x'] = 1\nreturn state", "name:b"),
        ("if not a:\n    raise ValueError\nreturn a", "if"),
        ("a.sort(key=len)\nreturn a", "keyword:key"),
        ("def g(x):\n    a.append(x)\ng(1)\nreturn a", "call:g"),
        ("def g():\n    h()\ndef h():\n    a.append(1)\ng()\nreturn a", "name:h"),
        ("b = 0\ndef g():\n    nonlocal b\n    b += 1\ng()\nreturn b", "call:g"),
        ("if a:\n    f(a[1:])\n    a.pop()\nreturn a", "recursion"),
        ("while True:\n    if a:\n        return 1\n    a.append(1)", "while"),
        ("with open(a) as b:\n    pass", "call:open"),
        ("import heapq\nheap = list(a)\nheapq.heapify(heap)\nreturn heap", "call:heapify"),
        ("match a:\n    case [x, *_]:\n        return x\n    case _:\n        return 0", "match"),
        ("b = iter(a)\nnext(b)\nreturn list(b)", "call:next"),
        ("for x in a:\n    yield x", "yield"),
        ("try:\n    b = int(a)\nfinally:\n    print(a)\nreturn b", "try"),
    ],
)
def test_what_has_an_effect_shows_its_feature(body: str, feature: str) -> None:
    assert feature in found_in(body).effective


def test_implementations_of_rewrites_have_no_idle_parts() -> None:
    idle = {
        (one.rewrite, name)
        for example in EXAMPLES
        for context in equivalent_contexts(function_text(example.source), "f", 100)
        for one in context.equivalents
        for name in one.features.present - one.features.effective
    }
    assert idle == set()


@pytest.mark.parametrize(
    "header", ["", "if a:", "for x in a:", "while a:", "with a:", "class A:", "def g():", "async def g():"]
)
def test_answers_that_are_idle_as_a_whole_have_features_too(header: str) -> None:
    for text in (*ALL_IDLE, "pass", "..."):
        inner = filled(text)
        body = f"{header}\n{indent(inner, '    ')}" if header else inner
        before, middle = "def f(a):\n", indent(body, "    ") + "\n"
        for suffix in ("", "    return a\n"):
            found = features_of_text(before + middle + suffix, len(before), len(before + middle))
            assert found is not None
            assert found.effective.isdisjoint({"name:current", "name:state"}), body


def test_forbidden_features_count_where_they_are_idle() -> None:
    rule = FeatureRule(("while",), ("for",))
    assert rule.holds(found_in("while a:\n    a.pop()\nreturn a"))
    idle = found_in("for x in []:\n    pass\nwhile a:\n    a.pop()\nreturn a")
    assert not rule.holds(idle)
    assert rule.faults(idle) == ["has for"]
    assert rule.faults(found_in("while False:\n    pass\nreturn a")) == ["idle while"]
    assert rule.faults(found_in("return a")) == ["no while"]


def test_names_of_a_program_outside_of_functions_count_as_read() -> None:
    found = features_of_text("current = 0\nwhile False:\n    pass\n", 0, 100)
    assert found is not None
    assert found.effective == {"name:current", "constant:current", "returns:0", "nesting:0"}


@pytest.mark.long
def test_the_result_is_the_same_without_idle_parts() -> None:
    programs = {}
    for number, example in enumerate(EXAMPLES):
        body = example.source
        for place, text in enumerate(ALL_IDLE[number % 7 :: 7]):
            body = with_text_at(body, filled(text, f"current_{place}", f"state_{place}"), place)
        source = function_text(body)
        shorter = ast.unparse(without_idle_parts(ast.parse(source)))
        programs[str(number)] = agreement_program(source, shorter, check_text(example.calls, source), "f")
    requests = [ExecutionRequest(id=key, language="python", source=program) for key, program in programs.items()]
    failed = {one.id: one.stderr.text for one in open_executor(1).submit(requests) if one.status is not Status.PASSED}
    assert failed == {}, [text[-300:] for text in failed.values()]
