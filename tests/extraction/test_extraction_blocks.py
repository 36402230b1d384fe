"""The end of the caret's block: what goes, and that right answers stay as they are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
import tree_sitter

from caretbench.extraction import get_policy
from caretbench.extraction.caret_surroundings import Surroundings
from caretbench.extraction.cuts import longest_parsing_cut
from caretbench.problem import Caret
from caretbench.syntax.parser import parse

PYTHON = "def f(items):\n    total = 0\n    for item in items:\n        "
PYTHON_AFTER = "\n    average = total / len(items)\n    return average, total\n"
JAVA = "class A {\n  int f(int x) {\n    for (;;) {\n      "
JAVA_AFTER = "\n    }\n    System.out.println(x);\n    return x * factor(x);\n  }\n}\n"


def apply(prefix: str, suffix: str, text: str, language: str = "python") -> str:
    return get_policy("block").apply(text, Caret(language=language, prefix=prefix, suffix=suffix)).text


@pytest.mark.parametrize(
    ("suffix", "text", "kept"),
    [
        (PYTHON_AFTER, "total += item", "total += item"),
        (PYTHON_AFTER, "total += item\n    return total\n\ndef g():\n    pass\n", "total += item"),
        (PYTHON_AFTER, "total += item" + PYTHON_AFTER + "\nprint(f([1]))\n", "total += item"),
        (PYTHON_AFTER, "    for item in items:\n        total += item", "total += item"),
        (PYTHON_AFTER, "        total += item", "        total += item"),  # deeper than needed, and right
        (PYTHON_AFTER, "        x = item\n        total += x", "x = item\n        total += x"),
        (PYTHON_AFTER, "if item:\n    total += item\nelse:\n    total -= 1",
         "if item:\n            total += item\n        else:\n            total -= 1"),
        ("", "total += item\n        seen = 1\n    return total\n", "total += item\n        seen = 1"),
        ("", "total += item", "total += item"),
        (PYTHON_AFTER, "```python\ntotal += item\n```", "total += item"),
        ("", "", ""),
    ],
)  # fmt: skip
def test_python_blocks_end_with_their_indentation(suffix: str, text: str, kept: str) -> None:
    assert apply(PYTHON, suffix, text) == kept


def test_a_header_of_python_ends_with_its_clauses() -> None:
    text = "x > 1:\n        a()\n    else:\n        b()\n    c()\n"
    assert apply("def f(x):\n    if ", "", text) == "x > 1:\n        a()\n    else:\n        b()"


@pytest.mark.parametrize(
    ("prefix", "answer"),
    [
        ("def f(x):\n    if ", "(\n        x > 1\n        and x < 9\n    ):\n        a()\n    else:\n        b()"),
        ("def f(x):\n    while (", "\n        x\n    ):\n        x -= 1"),
        ("def f(x):\n    for a in ", "[\n    1, x,\n]:\n        print(a)"),
        ("def f(x):\n    if ", 'x == """\none\n""":\n        a()'),
    ],
)
def test_a_header_of_python_may_have_several_lines(prefix: str, answer: str) -> None:
    assert apply(prefix, "", answer + "\n    c()\n") == answer
    assert apply(prefix, "\n    c()\n", answer) == answer


@pytest.mark.parametrize(
    ("suffix", "text", "kept"),
    [
        (JAVA_AFTER, "x++;", "x++;"),
        (JAVA_AFTER, "x++;\n    }\n", "x++;"),
        (JAVA_AFTER, "x++;" + JAVA_AFTER, "x++;"),
        (JAVA_AFTER, "if (x > 1) {\n        x++;", "if (x > 1) {\n        x++;\n}"),
        (JAVA_AFTER, 'String s = "}";', 'String s = "}";'),
        ("", "x++;\n    }\n    return x;\n  }\n}\n", "x++;\n    }"),
        ("", "if (x > 1) { x--; }\n      x++;\n    }", "if (x > 1) { x--; }\n      x++;\n    }"),
        ("", "x++;", "x++;"),
    ],
)
def test_java_blocks_end_with_their_bracket(suffix: str, text: str, kept: str) -> None:
    assert apply(JAVA, suffix, text, "java") == kept


CSHARP = "class A\n{\n    int F(int x)\n    {\n        "
CSHARP_AFTER = "\n    }\n\n    int G(int x)\n    {\n        return x;\n    }\n}\n"
CSHARP_BODY = "\n        {\n            x = 0;\n        }\n        return x;\n    }\n}\n"


@pytest.mark.parametrize(
    ("line", "suffix", "text", "kept"),
    [
        # Three lines of the suffix, of which one has a word: the program would parse with an empty G of its own.
        ("", CSHARP_AFTER, "return -x;\n    }\n    int G(int x)\n    {", "return -x;"),
        ("if ", CSHARP_BODY, "(x < 0)\n        {\n            x = 0;\n        }", "(x < 0)"),
        (
            "",
            CSHARP_AFTER,
            "if (x < 0)\n        {\n        }\n        return x;",
            "if (x < 0)\n        {\n        }\n        return x;",
        ),
    ],
)
def test_braces_on_lines_of_their_own(line: str, suffix: str, text: str, kept: str) -> None:
    assert apply(CSHARP + line, suffix, text, "csharp") == kept


RUBY = "class A\n  def f(items)\n    total = 0\n    "
RUBY_AFTER = "\n  end\n\n  def g\n    f([1])\n  end\nend\n"
RUBY_LOOP = "items.each do |item|\n  total += item if item\nend\ntotal"


@pytest.mark.parametrize(
    ("suffix", "text", "kept"),
    [
        ("", RUBY_LOOP, RUBY_LOOP),  # dedented: the word ends the block, not its column
        ("", f"{RUBY_LOOP}\n  end\nend\n", RUBY_LOOP),
        ("", f"{RUBY_LOOP}\nrescue KeyError\n  0\nend\n", RUBY_LOOP),
        ("", "\titems.each do |item|\n\t\ttotal += item\n\tend", "\titems.each do |item|\n\t\ttotal += item\n\tend"),
        ("", "x = items.first.end\n    x", "x = items.first.end\n    x"),
        (RUBY_AFTER, f"{RUBY_LOOP}\n  end\nend", RUBY_LOOP),
        (RUBY_AFTER, "if items\n  total", "if items\n  total\nend"),
        (RUBY_AFTER, "total\n  end", "total"),
    ],
)
def test_ruby_blocks_end_with_their_word(suffix: str, text: str, kept: str) -> None:
    assert apply(RUBY, suffix, text, "ruby") == kept


def test_a_header_of_ruby_ends_with_its_construct() -> None:
    text = "x > 1\n  a\nelse\n  b\nend\nc\n  end\nend\n"
    assert apply("def f(x)\n  if ", "", text, "ruby") == "x > 1\n  a\nelse\n  b\nend"
    assert apply("def f(x)\n  return if ", "", "x > 1\n  c\nend\n", "ruby") == "x > 1\n  c"


def test_words_that_begin_or_end_a_block_of_ruby_are_not_said_twice() -> None:
    assert apply("def f(x)\n", "", "def f(x)\n  x + 1", "ruby") == "  x + 1"
    assert apply("def f(x)\n  if x\n    a\n  end\n", "", "  end\n  x + 1", "ruby") == "  x + 1"
    shown = "class A\n  def a() = 1\n  "
    assert apply(shown, "\nend\n", "def a() = 1\n  def b() = 2", "ruby") == "def b() = 2"


@pytest.mark.parametrize(
    ("language", "line", "goes"),
    [
        ("java", "} else if (word.equals(sign)) {", True),  # the first clause would be empty
        ("java", "default:", True),
        ("java", "if (number < 1 || number > 3999) {", True),
        ("java", "for (int step = 0; step < size(); step++) {", True),
        ("javascript", "if (closed) continue;", True),
        ("csharp", "foreach (var item in Items()) {", True),
        ("cpp", "std::ostringstream line;", True),
        ("go", "for i := range skips {", True),
        ("go", "if found == -1 {", True),
        ("go", "var buffer Builder", True),
        # A call may be meant twice, and so may a step.
        ("java", "if (match('=')) {", False),
        ("cpp", "while (next(tokens)) {", False),
        ("java", "if (open) depth++;", False),
        ("java", "number += VALUES[step];", False),
    ],
)
def test_a_line_that_was_just_there_goes_where_it_does_nothing_again(language: str, line: str, goes: bool) -> None:
    begin = {"java": "class A {\n  void f() {\n", "csharp": "class A {\n  void F() {\n"}.get(language, "void f() {\n")
    begin = {"javascript": "function f() {\n", "go": "package a\nfunc f() {\n"}.get(language, begin)
    before = begin + ("    if (x) {\n" if line.startswith("}") else "    switch (x) {\n" if line == "default:" else "")
    body = "      x = 1;\n      y = 2;"
    answer = f"    {line}\n{body}" + "\n    }" * line.endswith("{")
    kept = apply(f"{before}    {line}\n", "", answer, language)
    assert kept.strip().startswith("x = 1;" if goes else line)


def test_a_header_of_java_ends_with_its_construct() -> None:
    prefix = "class A {\n  int f(int x) {\n    if ("
    text = "x > 1) { x--; } else { x++; }\n    return x;\n  }\n}\n"
    assert apply(prefix, "", text, "java") == "x > 1) { x--; } else { x++; }"
    commented = "x > 1) { x--; }\n\n    // or not\n    /* at all */\n    else { x++; }"
    assert apply(prefix, "", f"{commented}\n    // done\n    return x;\n  }}\n}}\n", "java") == commented
    assert apply(prefix, "", "x > 1)\n      x--;\n    return x;\n  }", "java") == "x > 1)\n      x--;"


# --- right answers ----------------------------------------------------------------------------------------------

_BLOCKS = {"python": ("block",), "java": ("block", "constructor_body"), "go": ("block",), "csharp": ("block",)}
_CPP = """#include <vector>
int sum(const std::vector<int>& v, int most) {
  int total = 0;
  for (int x : v) {
    if (x > most) {
      continue;
    } else if (x < 0) { total -= x; }
    auto twice = [&](int y) { total += y; return 2 * y; };
    total += twice(x);
  }
  do { total--; } while (total > most);
  return total;
}
"""


def _answers(text: str, language: str, kinds: tuple[str, ...]) -> Iterator[tuple[int, int, bool]]:
    """Runs of statements up to the end of their block: bytes, and whether the suffix is hidden."""
    open_nodes: list[tree_sitter.Node] = [parse(text, language).root_node]
    while open_nodes:
        node = open_nodes.pop()
        open_nodes.extend(node.children)
        condition = node.child_by_field_name("condition")
        if condition is not None:
            yield condition.start_byte, condition.end_byte, False
        if node.type not in kinds:
            continue
        statements = [child for child in node.named_children if "comment" not in child.type]
        for statement in statements:
            yield statement.start_byte, statements[-1].end_byte, False
            yield statement.start_byte, statement.end_byte, False
            yield (statement.start_byte, statements[-1].end_byte if language == "python" else node.end_byte, True)


def _sources() -> list[tuple[str, str]]:
    package = Path(str(resources.files("caretbench")))
    names = ["execution/workspaces/workspace_runner.py", "reports/charts.py", "extraction/cuts.py"]
    found = [("python", (package / name).read_text()) for name in names]
    for language, pattern in (("java", "*.java"), ("csharp", "*.cs"), ("go", "*.go")):
        found += [
            (language, path.read_text())
            for path in sorted((package / "languages" / language / "harness").glob(pattern))[:3]
        ]
    return [*found, ("cpp", _CPP)]


@pytest.mark.parametrize(("language", "text"), _sources())
def test_right_answers_stay_as_they_are(language: str, text: str) -> None:
    data = text.encode()
    answers = list(_answers(text, language, _BLOCKS.get(language, ("compound_statement",))))
    assert answers
    random.Random(0).shuffle(answers)  # noqa: S311  a sample of a test
    for start, end, hidden in answers[:60]:
        prefix, reference = data[:start].decode(), data[start:end].decode()
        assert apply(prefix, "" if hidden else data[end:].decode(), reference, language) == reference


def test_a_cut_leaves_the_tree_of_the_text_as_it_is() -> None:
    """Texts that are equal share a tree; cuts edit copies of it."""
    here = Surroundings("def f(a):\n", "\nprint(f(1))\n", "python")
    answer = "    b = a\n    return b\n    )\n    ]\n"
    program = here.before + answer + here.after
    tree = parse(program, "python")
    before = str(tree.root_node), tree.root_node.end_byte, tree.root_node.has_changes
    assert longest_parsing_cut(answer, here) != answer
    assert parse(program, "python") is tree
    assert (str(tree.root_node), tree.root_node.end_byte, tree.root_node.has_changes) == before
