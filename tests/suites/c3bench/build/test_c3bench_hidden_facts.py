"""Facts of a middle that its prompt does not show, and imports that a version leaves unused."""

from __future__ import annotations

import pytest

from caretbench.suites.c3bench.build.hidden_facts import hidden_fact, unused_import
from caretbench.suites.c3bench.suite import C3BenchSuite

LEVELS = 'def level(x: int) -> str:\n    """Return off or on."""\n    if x < 50:\n        return "off"\n'


@pytest.mark.parametrize(
    ("language", "prefix", "middle", "suffix", "fact"),
    [
        # A method that only the tests call; one that calls itself is not used by that.
        (
            "typescript",
            "class Bus {\n",
            "  on(n: number) {\n    return n ? this.on(n - 1) : 0;\n  }\n",
            "}\n",
            "name on",
        ),
        ("typescript", "class Bus {\n", "  on() {\n    return 1;\n  }\n", "  all() { return this.on(); }\n}\n", ""),
        ("python", "x = 1\n", "def twice(a):\n    return 2 * a\n", "y = x\n", "name twice"),
        ("python", "def f(a):\n", "    def g(b):\n        return b\n    return g(a)\n", "", ""),
        ("python", "def f(a):\n    t = 0\n", "    for x in a:\n        t += x\n", "    return t\n", ""),
        ("javascript", "'use strict';\n", "const assert = require('assert');\n", "const a = 1;\n", "name assert"),
        ("javascript", "", "'use strict';\n", "const a = 1;\n", "nothing stands before"),
        # Texts and thresholds that cannot be derived, and those that the prompt shows.
        ("python", LEVELS, '    return "nowhere"\n', "", '"nowhere"'),
        ("python", LEVELS, '    return "on"\n', "", ""),
        ("python", LEVELS, "    if x > 100:\n", '        return "on"\n', "100"),
        ("python", LEVELS, "    if x > 50:\n", '        return "on"\n', ""),
        ("python", "def f(x):\n", '    return f"{x.real}"\n', "", ""),
        # Factors are known: minutes of an hour.
        ("javascript", "const minutes = (hours) =>\n", "  hours * 60;\n", "", ""),
    ],
)
def test_what_nobody_could_know_is_named(language: str, prefix: str, middle: str, suffix: str, fact: str) -> None:
    found = hidden_fact(prefix, middle, suffix, language)
    assert (fact in found, bool(fact)) == (True, bool(found)), found


def test_no_middle_of_the_starter_set_about_scale_is_hidden() -> None:
    problems = [one for one in C3BenchSuite().load("starter").problems if one.label("task") == "scc"]
    carets = [(one.caret, one.reference) for one in problems]
    assert len(carets) >= 120
    assert not [text for caret, text in carets if hidden_fact(caret.prefix, text, caret.suffix, caret.language)]


def test_programs_in_go_use_their_imports_as_shown() -> None:
    text = 'package main\n\nimport (\n\t"net/http"\n\t"sort"\n)\n\nfunc f(a []int) {\n'
    assert unused_import(text, "\tsort.Ints(a)\n", "}\n", "go") == "http"
    assert unused_import(text, "\tsort.Ints(a)\n\thttp.Get(``)\n", "}\n", "go") == ""
    for spec, use in (
        ('"math/rand/v2"', "rand.Int()"),
        ('_ "embed"', ""),
        ('. "fmt"', ""),
        ('str "strings"', "str.Title(a)"),
    ):
        assert unused_import(text.replace('"net/http"', spec), f"\t{use}\n\tsort.Ints(a)\n", "}\n", "go") == "", spec
    for one in C3BenchSuite().load("starter").problems:
        if one.caret.language == "go":
            assert not unused_import(one.caret.prefix, one.reference, one.caret.suffix, "go"), one.id
