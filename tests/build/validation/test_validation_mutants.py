from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from caretbench.build.validation.mutants import (
    REACH_ONLY_MUTANTS,
    VAGUE_COMMENT,
    is_only_comment,
    mutants,
    throw_at_start,
)
from caretbench.execution.execution_types import Status
from caretbench.problem import Caret, FileSplice, InlineSplice, Problem, ProgramCheck, Provenance
from caretbench.suites.baselines import stub
from caretbench.syntax.parser import fault_count, parse
from tests.support.compiled_programs import run_programs


def _problem(prefix: str, reference: str, suffix: str, language: str = "python", identity: str = "a") -> Problem:
    return Problem(
        id=identity,
        suite="test",
        shown=Caret(language=language, prefix=prefix, suffix=suffix),
        splice=InlineSplice(before=prefix, after=suffix),
        reference=reference,
        checks=(ProgramCheck(),),
        cluster=identity,
        provenance=Provenance(source="a test"),
    )


def _texts(problem: Problem, name: str, limit: int = 100) -> list[str]:
    return [mutant.text for mutant in mutants(problem, limit) if mutant.name == name]


PYTHON = _problem(
    "def f(a, b):\n",
    "    if not a and b < 3:\n        a += 1\n    return 'x' + str(a - 2)\n",
    "\nassert f(0, 1) == 'x-1'\n",
)


@pytest.mark.parametrize(
    ("language", "prefix", "reference", "suffix", "wrong"),
    [
        ("cpp", "int f(T* a) { int n = 0; for (", "T* p = a; p; p = p->next", ") { n++; } return n; }\n",
         "T* p = a; false && (p); p = p->next"),
        ("java", "class A { void f(T a) { while (", "a.has()", ") { a.drop(); } } }\n", "false && (a.has())"),
        ("typescript", "function f(a: T) { for (let p = a; ", "g(p)", "; p = h(p)) { i(p); } }\n", "false && (g(p))"),
        ("csharp", "class A { void F(T a) { while (", "a.Has()", ") { a.Drop(); } } }\n", "false && (a.Has())"),
        ("python", "def f(a):\n    while ", "g(a)", ":\n        a.pop()\n", "False and (g(a))"),
    ],
)  # fmt: skip
def test_heads_of_loops_have_a_mutant_that_never_begins(
    language: str, prefix: str, reference: str, suffix: str, wrong: str
) -> None:
    assert _texts(_problem(prefix, reference, suffix, language), "no_rounds") == [wrong]


@pytest.mark.parametrize(
    ("reference", "name", "begins"),
    [
        ("    x = g(a)\n    return x\n", "throw", '    raise RuntimeError("mutant")\n    x = g(a)'),
        ("    def h():\n        return a\n    return h()\n", "throw", "    def h():\n        return a\n    raise "),
        ("    # why\n    return g(a)\n", "throw", '    # why\n    raise RuntimeError("mutant")\n    return'),
    ],
)
def test_a_throw_at_the_start_comes_before_all_that_is_executed(reference: str, name: str, begins: str) -> None:
    found = throw_at_start(_problem("def f(a):\n", reference, "\nf(1)\n"))
    assert found is not None
    assert (found.name, found.text.startswith(begins)) == (name, True)


def test_a_throw_at_the_start_of_a_script_is_a_crash_and_a_head_has_none() -> None:
    script = throw_at_start(_problem("", "x = g()\n", "print(x)\n"))
    assert script is not None
    assert script.name in REACH_ONLY_MUTANTS
    assert throw_at_start(_problem("def f(a):\n    if ", "a > g(a)", ":\n        return a\n")) is None


def test_python_mutants() -> None:
    found = mutants(PYTHON, 100)
    assert [mutant.name for mutant in found][:2] == ["default_return", "throw"]
    assert found[0].text == "    pass\n"
    assert found[1].text.startswith('    raise RuntimeError("mutant")\n    if not a')
    expected = {
        "condition": ["if not (not a and b < 3):", "if (a) and b < 3:"],
        "number": ["b < 4", "a += 2", "a - 3"],
        "comparison": ["b >= 3"],
        "logical": ["not a or b"],
        "arithmetic": ["a -= 1", "a + 2"],
        "return_value": ["return None\n"],
        "string": ["'xx' +"],
        "dropped_statement": ["        pass\n"],
    }
    for name, parts in expected.items():
        texts = _texts(PYTHON, name)
        for part in parts:
            assert any(part in text for text in texts), (name, part)


def test_limit_order_and_no_repetition() -> None:
    everything = mutants(PYTHON, 100)
    assert mutants(PYTHON, 5) == everything[:5]
    texts = [mutant.text.strip() for mutant in everything]
    assert len(set(texts)) == len(texts)
    assert PYTHON.reference.strip() not in texts
    assert mutants(PYTHON, 0) == []


def test_only_the_reference_is_changed() -> None:
    problem = _problem("a = 1\nb = ", "2 + 3", "\nassert a + b == 6\n")
    found = mutants(problem, 100)
    assert {mutant.text for mutant in found} >= {"3 + 3", "2 + 4", "2 - 3"}
    assert {mutant.name for mutant in found} == {"number", "arithmetic", "crash"}


@pytest.mark.parametrize(
    ("language", "prefix", "reference", "suffix", "changed"),
    [
        ("python", "def f(a):\n    for ", "b in g(a)", ":\n        a = b\n", "b in ()"),
        ("python", "def f(a):\n    return [", "b for b in g(a)", "]\n", "b for b in ()"),
        ("javascript", "function f(a) { for (", "const b of g(a)", ") { a = b; } }\n", "const b of []"),
        ("typescript", "function f(a: X) { for (", "const b of g(a)", ") { a = b; } }\n", "const b of []"),
        (
            "java",
            "class A { void f() { for (",
            "final M.E<B, C> b : g()",
            ") { h(b); } } }",
            "final M.E<B, C> b : new M.E[0]",
        ),
        ("java", "class A { void f() { for (", "int[] b : g()", ") { h(b); } } }", "int[] b : new int[0][]"),
        ("csharp", "class A { void F() { foreach (", "L<int> b in G()", ") { H(b); } } }", "L<int> b in new L<int>[0]"),
    ],
)
def test_a_loop_over_what_a_call_gives_finds_nothing(
    language: str, prefix: str, reference: str, suffix: str, changed: str
) -> None:
    problem = _problem(prefix, reference, suffix, language)
    assert ("no_items", changed) in mutants(problem)


def test_a_loop_whose_type_is_not_said_keeps_its_items() -> None:
    problem = _problem("class A { void f() { for (", "var b : g()", ") { h(b); } } }", "java")
    assert not _texts(problem, "no_items")


def test_a_part_of_a_function_gets_an_early_return() -> None:
    problem = _problem("def f(a):\n    a += 1\n", "    a += 2\n    return a\n", "\nassert f(1) == 4\n")
    assert mutants(problem)[0] == ("default_return", "    return None\n    a += 2\n    return a\n")


def test_whole_functions_get_a_stub_and_a_throw_in_the_body() -> None:
    problem = _problem("import os\n", "def f(a):\n    '''Doc.'''\n    return a\n", "\nassert f(1) == 1\n")
    assert _texts(problem, "default_return") == ["def f(a):\n    pass\n"]
    assert _texts(problem, "throw")[0] == (
        "def f(a):\n    raise RuntimeError(\"mutant\")\n    '''Doc.'''\n    return a\n"
    )
    assert not _texts(problem, "string")  # a docstring is no constant


JAVA = _problem(
    "class A { static int g = 0;\n",
    """    A() { this(1); g = 2; }
    int f(int a) { return a * 2; }
    boolean ok() { return g > 1; }
    String text() { return "a"; }
    void run() { g++; }
    int[] all() { return null; }
""",
    "public static void main(String[] x) { new A(); } }\n",
    "java",
)


def test_java_types_decide_what_is_returned() -> None:
    stubs = " ".join(_texts(JAVA, "default_return"))
    assert "int f(int a) { return 0; }" in stubs
    assert "boolean ok() { return false; }" in stubs
    assert "A() { return" not in stubs
    values = " ".join(_texts(JAVA, "return_value"))
    assert "return (a * 2) + 1;" in values
    assert "return !(g > 1);" in values
    assert 'return ("a") + "x";' in values


def test_nothing_stands_before_a_constructor_call() -> None:
    assert 'A() { this(1); if (true) throw new RuntimeException("mutant"); g = 2; }' in _texts(JAVA, "throw")[0]


def test_leaving_main_early_is_no_mutant() -> None:
    problem = _problem(
        "class A { public static void main(String[] x) {\n", "int a = 1 + 1;\n", "assert a == 2; } }\n", "java"
    )
    assert not _texts(problem, "default_return")
    assert not _texts(problem, "throw")
    assert _texts(problem, "crash") == ['if (true) throw new RuntimeException("mutant"); int a = 1 + 1;\n']


@pytest.mark.parametrize(
    ("language", "prefix", "reference", "stub_text"),
    [
        ("cpp", "", "int f(int a) { return a; }\n", "int f(int a) { return {}; }\n"),
        ("cpp", "", "void f(int& a) { a = 1; }\n", "void f(int& a) {}\n"),
        ("csharp", "class A {", "int F(int a) { return a; }\n", "int F(int a) { return default; }\n"),
        ("csharp", "class A {", "async Task F() { await G(); }\n", "async Task F() {}\n"),
        ("csharp", "class A {", "async Task<int> F() { return 1; }\n", "async Task<int> F() { return default; }\n"),
        ("javascript", "", "const f = (a) => { return a; };\n", "const f = (a) => { return undefined; };\n"),
        ("typescript", "", "function f(): X { return 1; }\n", "function f(): X { return undefined as any; }\n"),
    ],
)
def test_stubs_of_languages(language: str, prefix: str, reference: str, stub_text: str) -> None:
    problem = _problem(prefix, reference, "}" if prefix else "", language)
    assert _texts(problem, "default_return")[0] == stub_text


@pytest.mark.parametrize(
    ("language", "reference"), [("cpp", "int& f(int& a) { return a; }\n"), ("cpp", "auto f(int a) { return a; }\n")]
)
def test_types_without_a_value_of_their_own(language: str, reference: str) -> None:
    problem = _problem("", reference, "int main() {}\n", language)
    names = {mutant.name for mutant in mutants(problem, 100)}
    assert "default_return" not in names
    assert "return_value" not in names
    assert "throw" in names


def test_assertions_of_the_reference_are_not_mutated() -> None:
    reference = "a = f(1)\nassert a == 2, 'no'\n"
    problem = _problem("def f(a):\n    return a + 1\n", reference, "")
    kinds = [mutant.name for mutant in mutants(problem, 100)]
    assert set(kinds) == {"number", "dropped_line", "dropped_statement", "crash"}
    assert kinds[-1] in REACH_ONLY_MUTANTS
    assert _texts(problem, "number") == ["a = f(2)\nassert a == 2, 'no'\n"]
    script = _problem("", "assert.equal(f(1), 2);\n", "", "javascript")
    assert {mutant.name for mutant in mutants(script)} <= REACH_ONLY_MUTANTS


def test_imports_and_loops_are_left_alone() -> None:
    problem = _problem(
        "", "const fs = require('fs');\nwhile (a < 3) { a++; }\nfor (let i = 0; i < 2; i += 1) {}\n", "", "javascript"
    )
    assert not _texts(problem, "string")
    assert not any("a >= 3" in text for text in _texts(problem, "comparison"))
    assert not _texts(problem, "arithmetic")


def test_a_blank_reference_gets_a_throw_where_statements_may_stand() -> None:
    problem = _problem("function f() {\n", "\n", "}\n", "javascript")
    assert [mutant.name for mutant in mutants(problem)] == ["throw"]
    assert mutants(_problem("class A {\n", "\n", "}\n", "java")) == []


@pytest.mark.parametrize(
    ("language", "prefix", "reference", "suffix", "vague"),
    [
        ("python", "def f():\n", '    """Adds."""\n', "    return 1\n", '    """Does something."""\n'),
        ("python", "", "# Adds.\n# More.\n", "a = 1\n", "# Does something.\n"),
        ("java", "class A {\n", " /** Adds.\n * @return x */\n", " int f = 1;\n}\n", " /** Does something. */\n"),
        ("java", "class A {\n /**\n", "  * Adds.\n  */", "\n int f = 1;\n}\n", "  Does something. */"),
        ("java", "class A {\n /**\n", "  * Adds.", "\n */\n int f = 1;\n}\n", "  Does something."),
        ("csharp", "class A {", "/// Adds.\n", "int F() => 1; }", "/// <summary>Does something.</summary>\n"),
    ],
)
def test_comments(language: str, prefix: str, reference: str, suffix: str, vague: str) -> None:
    problem = _problem(prefix, reference, suffix, language)
    assert is_only_comment(problem)
    assert mutants(problem) == [(VAGUE_COMMENT, vague)]


def test_code_with_a_comment_is_not_only_a_comment() -> None:
    assert not is_only_comment(_problem("", "# Adds.\na = 1\n", ""))
    assert not is_only_comment(_problem("", "", "# other\n"))
    assert not is_only_comment(PYTHON)


def test_other_splices_are_refused() -> None:
    problem = PYTHON.model_copy(update={"splice": FileSplice(snapshot="s", path="p", start=0, end=1)})
    with pytest.raises(TypeError, match="not spliced"):
        mutants(problem)


@pytest.mark.parametrize(
    ("prefix", "suffix", "expected"),
    [
        ("def f():\n", "\nf()\n", "    pass"),
        ("def f():\n    ", "\nf()\n", "pass"),
        ("class A:\n    def f():  # why\n\n", "", "        pass"),
        ("def f():", "\nf()\n", " pass"),
        ("def f():\n", "f()\n", "    pass\n"),
        ("a = 1\n", "", ""),
        ("a = ", "", ""),
        ("", "", ""),
    ],
)
def test_stub_baseline(prefix: str, suffix: str, expected: str) -> None:
    assert stub(_problem(prefix, "x", suffix)) == expected
    assert stub(_problem(prefix, "x", suffix, "java")) == ""


@pytest.mark.data
def test_mutants_of_released_problems(devbench_data: Path) -> None:
    total: Counter[str] = Counter()
    with_some: Counter[str] = Counter()
    for path in sorted(devbench_data.glob("benchmark/*/*/*.jsonl")):
        rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text("utf-8").splitlines()[::5]]
        for row in rows:
            prefix = row["prefix"] + ("" if row["prefix"].endswith("\n") else "\n")
            suffix = ("" if row["suffix"].startswith("\n") else "\n") + row["suffix"]
            problem = _problem(prefix, row["golden_completion"], suffix, row["language"])
            if is_only_comment(problem):
                continue
            found = mutants(problem)
            total[row["language"]] += 1
            with_some[row["language"]] += len(found) > 0
            allowed = fault_count(parse(prefix + problem.reference + suffix, row["language"]), row["language"])
            for mutant in found:
                program = prefix + mutant.text + suffix
                assert fault_count(parse(program, row["language"]), row["language"]) <= allowed
    assert total.total() > 330
    assert all(with_some[language] >= 0.95 * count for language, count in total.items())


GO = _problem(
    'package main\n\nimport "fmt"\n\n',
    """func total(items []int) int {
	sum := 0
	for _, item := range items {
		if item > 0 {
			sum += item
		}
	}
	return sum
}

func both() (int, error) { return 1, nil }

func show() { fmt.Println("a") }
""",
    "\nfunc main() {\n\tif total([]int{1, 2}) != 3 {\n\t\tpanic(1)\n\t}\n}\n",
    "go",
)


RUST = _problem(
    "// Sums and names.\n\n",
    """fn total(items: &[i64]) -> i64 {
    let mut sum = 0;
    for item in items {
        if *item > 0 && *item < 100 {
            sum += item;
        }
    }
    sum
}

fn adults(ages: &[(&str, u32)]) -> Vec<String> {
    let mut found: Vec<String> = ages.iter().filter(|(_, age)| *age >= 18).map(|(name, _)| name.to_string()).collect();
    found.sort();
    found
}

fn label(mut n: i64) -> String {
    while n > 9 {
        n -= 9;
    }
    match n {
        0 => return "zero".to_string(),
        _ => format!("{}!", n),
    }
}
""",
    """
fn main() {
    assert_eq!(total(&[1, 2, -5, 100]), 3);
    assert_eq!(adults(&[("b", 20), ("a", 18), ("c", 17)]), vec!["a", "b"]);
    assert_eq!(label(0), "zero");
    assert_eq!(label(11), "2!");
}
""",
    "rust",
)


def test_rust_mutants() -> None:
    expected = {
        "default_return": "fn total(items: &[i64]) -> i64 { return Default::default(); }",
        "throw": 'fn total(items: &[i64]) -> i64 { if true { panic!("mutant") };',
        "condition": "if !(*item > 0 && *item < 100) {",
        "comparison": "if *item <= 0 &&",
        "logical": "*item > 0 || *item < 100",
        "arithmetic": "sum -= item",
        "return_value": "    (sum) + 1\n}",
        "string": '"zerox"',
        "no_rounds": "while false && (n > 9) {",
    }
    for name, part in expected.items():
        assert any(part in text for text in _texts(RUST, name)), name
    assert not any("while n <= 9" in text for text in _texts(RUST, "comparison"))  # it might never end
    main = _problem("fn main() {\n", "    let a = 1;\n", "    assert_eq!(a, 1);\n}\n", "rust")
    assert _texts(main, "crash") == ['    if true { panic!("mutant") }; let a = 1;\n']
    assert not _texts(main, "default_return")


@pytest.mark.long
def test_rust_mutants_compile_and_fail() -> None:
    texts = {f"{n} {mutant.name}": RUST.caret.prefix + mutant.text + RUST.caret.suffix
             for n, mutant in enumerate(mutants(RUST, 100))}  # fmt: skip
    results = run_programs("rust", texts)
    killed = [name for name, result in results.items() if result.status.kills_mutant]
    assert len(killed) >= 15
    assert {name for name in results if name not in killed and not name.endswith("dropped_line")} == set()


RUBY = _problem(
    "# Sums and names.\n\n",
    """def total(items)
  sum = 0
  items.each do |item|
    if item > 0 && item < 100
      sum += item
    end
  end
  sum
end

def label(n)
  while n > 9
    n -= 9
  end
  return "zero" if n == 0
  "#{n}!"
end

def greeted(names)
  greetings = names.map { |name| "hello " + name }
  greetings.sort.join(", ")
end
""",
    """
raise "total" unless total([1, 2, -5, 100]) == 3
raise "label" unless label(0) == "zero" && label(11) == "2!"
raise "greeted" unless greeted(%w[b a]) == "hello a, hello b"
""",
    "ruby",
)


def test_ruby_mutants() -> None:
    expected = {
        "default_return": "def total(items)\n  nil\nend",
        "throw": 'def total(items)\n  raise "mutant"\n  sum = 0',
        "condition": "if !(item > 0 && item < 100)\n",
        "comparison": "if item <= 0 &&",
        "logical": "item > 0 || item < 100",
        "arithmetic": "sum -= item",
        "return_value": "  end\n  nil\nend",
        "string": 'return "zerox" if',
        "no_rounds": "while false && (n > 9)",
    }
    for name, part in expected.items():
        assert any(part in text for text in _texts(RUBY, name)), name
    assert not any("while n <= 9" in text for text in _texts(RUBY, "comparison"))  # it might never end
    main = _problem("", "a = 1\n", "raise unless a == 1\n", "ruby")
    assert _texts(main, "crash") == ['raise "mutant"\na = 1\n']


def test_ruby_mutants_parse_and_fail_by_minitest() -> None:
    """The gate needs a mutant that runs and fails: each of these does, but those that only drop a line."""
    tests = """
require "minitest/autorun"
class AllTest < Minitest::Test
  def test_total = assert_equal(3, total([1, 2, -5, 100]))
  def test_label = assert_equal(%w[zero 2!], [label(0), label(11)])
  def test_greeted = assert_equal("hello a, hello b", greeted(%w[b a]))
end
"""
    texts = {
        f"{n} {mutant.name}": RUBY.caret.prefix + mutant.text + tests for n, mutant in enumerate(mutants(RUBY, 100))
    }
    results = run_programs("ruby", {"reference": RUBY.caret.prefix + RUBY.reference + tests, **texts})
    assert results.pop("reference").status is Status.PASSED
    killed = [name for name, result in results.items() if result.status.kills_mutant]
    assert len(killed) >= 20
    assert {name for name in results if name not in killed and not name.endswith("dropped_line")} == set()


def test_go_mutants() -> None:
    stubs = " ".join(_texts(GO, "default_return"))
    assert "func total(items []int) int { return 0; }" in stubs
    assert "func show() {}" in stubs
    assert "both() (int, error) { return 1, nil }" in stubs  # several results are left alone
    expected = {
        "throw": 'func total(items []int) int { if true { panic("mutant") };',
        "condition": "if !(item > 0) {",
        "comparison": "if item <= 0 {",
        "arithmetic": "sum -= item",
        "return_value": "return (sum) + 1\n",
        "string": 'fmt.Println("ax")',
    }
    for name, part in expected.items():
        assert any(part in text for text in _texts(GO, name)), name
    main = _problem("package main\n\nfunc main() {\n", "\ta := 1\n", "\t_ = a\n}\n", "go")
    assert _texts(main, "crash") == ['\tif true { panic("mutant") }; a := 1\n']
    assert not _texts(main, "default_return")
