from __future__ import annotations

import pytest

from caretbench.suites import load_suite
from caretbench.suites.devbench.build.instance_rules.instance_checks import (
    PASSED,
    documentation_facts,
    made_documentation_check,
    mentions_library,
    repeated_lines,
    text_checks,
    unused_imports,
)
from caretbench.suites.devbench.build.instance_rules.program_view import ProgramView
from caretbench.suites.devbench.starter import documentation_faults, problem_of_text


def test_all_starter_problems_pass_the_checks_of_their_texts() -> None:
    for problem in load_suite("devbench").load("starter").problems:
        assert set(text_checks(problem).values()) == {PASSED}, problem.id


def test_lines_of_the_reference_in_the_suffix_count_from_13_characters() -> None:
    assert repeated_lines("    return total + 1\n", "x\nreturn total + 1\n") == ["return total + 1"]
    assert repeated_lines("total + 1234", "  total + 1234  ") == []  # 12 characters
    assert repeated_lines("total + 12345", "total + 12345") == ["total + 12345"]
    assert repeated_lines("total + 12345", "total + 123456") == []


@pytest.mark.parametrize(
    ("language", "program", "unused"),
    [
        ("python", "import os\nimport sys\nfrom a import b as c, d\n\nprint(sys.argv, d)\n", ["c", "os"]),
        ("python", "from __future__ import annotations\nimport a.b\n\nprint(a.b)\n", []),
        ("javascript", "const fs = require('fs');\nconst { join } = require('path');\njoin('a');\n", ["fs"]),
        ("typescript", "import { A, B } from './a';\nlet one: A | null = null;\n", ["B"]),
        ("java", "import java.util.List;\nimport java.util.Map;\nclass A { List<String> a; }\n", ["Map"]),
        ("cpp", "#include <vector>\n#include <map>\n#include <odd.h>\nstd::vector<int> a;\n", ["map"]),
        ("go", 'package main\n\nimport (\n\t"fmt"\n\t"math/big"\n)\n\nfunc main() { fmt.Println(1) }\n', ["big"]),
        ("csharp", "using System.Linq;\nclass A { }\n", []),  # binds no name that can be looked for
        (
            "cpp",
            "#include <chrono>\n#include <string>\nusing namespace std::chrono_literals;\nauto a = 10ms;\n",
            ["string"],
        ),
        ("cpp", '#include <string>\nusing namespace std::string_literals;\nauto a = "x"s;\n', []),
        ("cpp", '#include <string_view>\nusing namespace std::literals;\nauto a = "x"sv;\n', []),
        ("cpp", "#include <complex>\nusing namespace std::complex_literals;\nauto a = 1.0i;\n", []),
        ("cpp", "#include <vector>\nusing std::vector;\nint a;\n", ["vector"]),
        (
            "python",
            'from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import B\ndef f(x: "B"): pass\n',
            [],
        ),
        ("python", 'from typing import Dict, cast\nx = cast("Dict[str, int]", 1)\n', []),
        ("python", 'from a import B, C\nx: "B" = 1\n# C is not used\ny = "C"\n', ["C"]),
        ("python", "from a import B\ndef f(x):\n    # type: (B) -> None\n    return x\n", []),
        ("python", 'from a import b\n__all__ = ["b"]\n', []),
        (
            "javascript",
            "import { A } from './a.js';\n/**\n * @param {A} x\n */\nexport function f(x) { return x; }\n",
            [],
        ),
        ("javascript", "const { A } = require('./a.js');\n/** @type {Map<string, A>} */\nlet y = null;\n/* A */\n", []),
        ("javascript", "const { A } = require('./a.js');\n/* A is not used */\nlet y = null;\n", ["A"]),
        ("typescript", "import type { A } from './a';\n/** {@link A} */\nexport const x = 1;\n", []),
        ("java", "import a.E;\nimport java.util.List;\n/** {@link List}\n * @throws E never */\nclass A { }\n", []),
        ("java", "import java.util.Map;\n/** A Map in prose. */\nclass A { }\n", ["Map"]),
        ("java", "import static org.junit.Assert.assertEquals;\nclass A { void f() { assertEquals(1, 1); } }\n", []),
        ("java", "import java.util.*;\nclass A { }\n", []),
        (
            "go",
            'package main\nimport (\n\ts "strings"\n\t_ "a"\n\t. "fmt"\n\t"b/rand/v2"\n)\nvar x = F(s.A, rand.B)\n',
            [],
        ),
        ("go", 'package main\nimport (\n\tstr "strings"\n)\nfunc main() { }\n', ["str"]),
        ("go", 'package main\nimport "gopkg.in/yaml.v3"\nfunc main() { yaml.Marshal(1) }\n', []),
        ("csharp", "using static System.Math;\nusing L = System.List<int>;\nclass A { L a = Sqrt(2); }\n", []),
    ],
)
def test_unused_imports(language: str, program: str, unused: list[str]) -> None:
    assert unused_imports(ProgramView(language, program, "", "")) == unused


DOCUMENTED = '''def transfer(source, target, amount):
    ⟦"""Move an amount between accounts.

    Args:
        source: The account that pays.
        target: The account that receives.
        amount: A positive number.

    Returns:
        The new balance of the target.

    Raises:
        ValueError: The amount is not positive.
    """⟧
    if amount <= 0:
        raise ValueError(amount)
    source.balance -= amount
    return target.add(amount)
'''


def view_of(marked: str, language: str = "python") -> ProgramView:
    prefix, rest = marked.split("⟦")
    reference, suffix = rest.split("⟧")
    return ProgramView(language, prefix, reference, suffix)


def test_a_predicate_of_documentation_is_made_from_the_code() -> None:
    made = made_documentation_check(view_of(DOCUMENTED))
    assert made is not None
    assert made.documents == "transfer"
    assert made.parameters == ("source", "target", "amount")
    assert made.returns
    assert made.throws == ("ValueError",)
    assert made.mentions == (("trans", "sourc", "targe", "amoun", "raise", "value", "error", "balan", "retur"),)
    assert made.minimum_words >= 15


@pytest.mark.parametrize(
    ("language", "marked", "word"),
    [
        (
            "python",
            "def f(cargo):\n    ⟦# Heavy cargo goes first, since it needs a crane.⟧\n    cargo.sort()\n",
            "cargo",
        ),
        ("python", "rate = 3  ⟦# Percent, as in the contract of the port.⟧\nother = 4\n", "rate"),
        (
            "java",
            "class A { void f() {\n⟦/* The crane is slow, so that ships wait. */⟧\ncrane();\n\nquay(); } }\n",
            "crane",
        ),
        ("typescript", "⟦// Ships by the length of their hull.⟧\nconst ships = hulls();\n", "ships"),
        ("cpp", "int f() {\n⟦// Without a pilot nobody enters the port.⟧\nreturn pilot(); }\n", "pilot"),
    ],
)
def test_a_comment_on_statements_has_a_predicate_of_their_names(language: str, marked: str, word: str) -> None:
    view = view_of(marked, language)
    made = made_documentation_check(view)
    assert made is not None
    assert (made.documents, made.parameters, made.returns) == ("", (), False)
    assert made.minimum_words == 4
    [group] = made.mentions
    assert word[:5] in group
    assert not {"other", "quay"} & {*group}
    assert documentation_faults(view.program, language, made, view.start, view.end) == []


@pytest.mark.parametrize(
    ("body", "returns"),
    [
        ("    return first\n", True),
        ("    if first:\n        return first\n    print(first)\n", True),
        ("    return\n", False),
        ("    def inner():\n        return 1\n\n    inner()\n", False),
        ("    def inner():\n        return 1\n\n    return inner()\n", True),
        ("    print(lambda: first)\n", False),
    ],
)
def test_a_returned_value_is_one_of_the_function_itself(body: str, returns: bool) -> None:
    text = f'def use(first):\n    ⟦"""Use it.\n\n    Args:\n        first: A value.\n    """⟧\n{body}'
    assert documentation_facts(view_of(text), "use").returns is returns


def test_documentation_has_half_of_the_words_of_the_reference_at_least_four_or_five() -> None:
    words = " ".join(["word"] * 30)
    for head, name, least in (("class Place:", "Place", 4), ("def place():", "place", 5)):
        short, long = (
            documentation_facts(view_of(f'{head}\n    ⟦"""{text}."""⟧\n    pass\n'), name) for text in ("One", words)
        )
        assert (short.minimum_words, long.minimum_words) == (least, 15)


def test_a_reference_that_does_not_parse_is_the_first_fault() -> None:
    def checked(reference: str) -> dict[str, str]:
        text = f"def first(values):\n    ⟦{reference}⟧\n\n\nprint(first([1]))\n"
        return text_checks(problem_of_text(text, "python/low_context/x", "t"))

    good = checked("return values[0]")
    assert (good["parse"], good["extraction"]) == (PASSED, PASSED)
    assert checked("return values[0")["parse"] == "the reference does not parse in its place"


def test_code_with_comments_has_no_predicate() -> None:
    assert made_documentation_check(view_of("⟦total = 0  # of all parcels⟧\nuse(total)\n")) is None
    assert made_documentation_check(view_of("⟦a(); // first\nb(); /* second */⟧\n", "javascript")) is None
    assert made_documentation_check(view_of("total = ⟦0⟧  # of all parcels\n")) is None
    assert made_documentation_check(view_of('use(⟦"all"  # parcels of the day⟧\n)\n')) is None


def test_code_with_a_docstring_has_no_predicate() -> None:
    assert made_documentation_check(view_of('⟦def f(a):\n    """Return a."""\n    return a⟧\n')) is None


def test_documentation_that_omits_a_raised_error_is_a_fault() -> None:
    lacking = DOCUMENTED.replace("\n    Raises:\n        ValueError: The amount is not positive.\n", "")
    problem = problem_of_text(f"import this_is_used as u\n\nu()\n\n\n{lacking}", "python/code2nl_nl2code/x", "t")
    assert text_checks(problem)["documentation"] == "ValueError is not described"


def test_facts_of_other_languages() -> None:
    java = """class A {
    ⟦/**
     * Divides one number by another.
     *
     * @param first the number
     * @param second the divisor
     * @return the quotient
     * @throws ArithmeticException if the divisor is zero
     */⟧
    int divide(int first, int second) {
        if (second == 0) { throw new ArithmeticException("zero"); }
        return first / second;
    }
}
"""
    made = documentation_facts(view_of(java, "java"), "divide")
    assert (made.parameters, made.returns, made.throws) == (("first", "second"), True, ("ArithmeticException",))
    cpp = """#include <stdexcept>
⟦/// @brief Halves.
/// @param value An even number.
/// @return The half.
/// @throws std::invalid_argument if it is odd.
⟧int half(int value) {
    if (value % 2) throw std::invalid_argument("odd");
    return value / 2;
}
"""
    made = documentation_facts(view_of(cpp, "cpp"), "half")
    assert (made.parameters, made.returns, made.throws) == (("value",), True, ("std::invalid_argument",))


@pytest.mark.parametrize(
    ("reference", "suffix", "repeated"),
    [
        ("total = price + tax", "\ntotal = price + tax\n", True),
        ("total = price + tax", "\n    total  =  price+tax  # again\n", True),
        ("const total = price;", "\nconst total = price // again\n", True),
        ("total = price + tax", "\ntotal = price - tax\n", False),
        ("a = b + c", "\na = b + c\n", False),  # shorter than 13 characters
        ("url = 'http://a.example'", "\nurl = 'http://b.example'\n", False),
    ],
)
def test_repeated_lines(reference: str, suffix: str, repeated: bool) -> None:
    assert bool(repeated_lines(reference, suffix)) is repeated


def test_the_last_name_of_a_library_is_in_the_code() -> None:
    view = ProgramView("python", "import os.path\n# the heapq module\nx = 'json'\n", "os.path.join(x)", "\n")
    assert [name for name in ("os", "os.path", "the", "heapq", "json", "") if mentions_library(view, name)] == [
        "os",
        "os.path",
    ]
    script = ProgramView("javascript", "const c = require('node:crypto');\n", "c.createHash('md5')", "\n")
    assert mentions_library(script, "node:crypto")


@pytest.mark.parametrize(
    ("statement", "throws"),
    [
        ("raise ValueError(a)", ("ValueError",)),
        ("try:\n        raise ValueError(a)\n    except ValueError:\n        return 0", ()),
        ("try:\n        raise ValueError(a)\n    except Exception as error:\n        return 0", ()),
        ("try:\n        raise ValueError(a)\n    except:\n        return 0", ()),
        ("try:\n        raise ValueError(a)\n    except KeyError:\n        return 0", ("ValueError",)),
        ("try:\n        raise ValueError(a)\n    finally:\n        a = 0", ("ValueError",)),
        ("try:\n        a = 1\n    except KeyError:\n        raise TypeError(a)", ("TypeError",)),
        ("def inner():\n        raise ValueError(a)\n    return inner", ()),
    ],
)
def test_only_errors_that_leave_the_function_are_described(statement: str, throws: tuple[str, ...]) -> None:
    text = f'def f(a):\n    ⟦"""Return a thing.\n\n    Args:\n        a: A number.\n    """⟧\n    {statement}\n'
    assert documentation_facts(view_of(text, "python"), "f").throws == throws


def test_a_caught_error_of_another_language_is_not_described() -> None:
    doc = "/** Returns a thing.\n * @param a a number */"
    body = "try { throw new IllegalStateException(a); } catch (%s error) { return 0; }"
    for caught, throws in (("IllegalStateException", ()), ("IOException", ("IllegalStateException",))):
        text = f"class A {{\n  ⟦{doc}⟧\n  int f(String a) {{ {body % caught} }}\n}}\n"
        assert documentation_facts(view_of(text, "java"), "f").throws == throws


def test_an_error_of_an_inner_delegate_is_not_described() -> None:
    """The function makes the delegate, and throws nothing itself."""
    text = """class A {
    ⟦/// <summary>Makes a check of a limit.</summary>
    /// <param name="limit">The limit.</param>
    /// <returns>The check.</returns>⟧
    public Action<int> Check(int limit) {
        return delegate(int value) { if (value > limit) { throw new ArgumentException("large"); } };
    }
}
"""
    assert documentation_facts(view_of(text, "csharp"), "Check").throws == ()
    assert documentation_facts(view_of(text.replace("delegate(int value)", ""), "csharp"), "Check").throws


def test_parameters_of_a_generic_method_are_described() -> None:
    """Its list of type parameters is another list, which comes first."""
    text = """class A {
    ⟦/// <summary>Picks one of two.</summary>
    /// <param name="first">One.</param>
    /// <param name="second">The other.</param>⟧
    public T Pick<T>(T first, T second) { return first; }
}
"""
    assert documentation_facts(view_of(text, "csharp"), "Pick").parameters == ("first", "second")
