"""Files as they are found: broken, binary, huge, deep, with marks and foreign line ends; and their surroundings."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from caretbench.errors import DataError
from caretbench.syntax import SourceFile, is_test_path
from caretbench.syntax.analysis import analyse

DEEP = {
    "python": ("a.py", "x = " + "(" * 3000 + "y" + ")" * 3000 + "\n"),
    "java": ("A.java", "class A { int f(int a) { return " + "a + " * 5000 + "a; } }\n"),
    "javascript": ("a.js", "if (a) b();\n" + "else if (a) b();\n" * 3000),
    "typescript": ("a.ts", "const a = " + "[" * 3000 + "b" + "]" * 3000 + ";\n"),
    "cpp": ("a.cpp", "int f(int a) {" + "{" * 3000 + "a = 1;" + "}" * 3000 + "}\n"),
    "csharp": ("A.cs", "class A { int F(int a) { return " + "(a + " * 2000 + "a" + ")" * 2000 + "; } }\n"),
}


@pytest.mark.parametrize("language", list(DEEP))
def test_deep_programs_do_not_overflow(language: str) -> None:
    path, program = DEEP[language]
    file = analyse([SourceFile(path, program)])[path]
    assert file.references or file.faults


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "line", "around"),
    [
        ("a.py", "x{n} = f(x{m}) if c else x{m}\n", "def g(c, x0):\n"),
        ("A.java", "int x{n} = f(x{m});\n", "class A {{ void g(int x0) {{\n"),
    ],
)
def test_fifty_thousand_lines_in_one_function(path: str, line: str, around: str) -> None:
    indent = " " if path.endswith(".py") else ""
    text = around.replace("{{", "{") + "".join(indent + line.format(n=n, m=n - 1) for n in range(1, 50_001))
    text += "" if indent else "}}\n"
    started = time.process_time()
    file = analyse([SourceFile(path, text)])[path]
    assert time.process_time() - started < 60
    last = [one for one in file.references if one.name == "x49999"][-1]
    assert [found.line for found in last.reaching] == [50_000]


def test_faults_say_where() -> None:
    file = analyse([SourceFile("a.py", "def f(:\n    return 1\n\ndef g():\n    return 2\n")])["a.py"]
    assert file.faults
    assert file.faults[0].line == 1
    assert any(scope.name == "g" for scope in file.scopes)


@pytest.mark.parametrize("data", [b"\x7fELF\0\1", "x = 1".encode("utf-16"), b"x = '\xe9'\n"])
def test_binary_files_are_refused(data: bytes) -> None:
    with pytest.raises(DataError, match=r"a\.py"):
        SourceFile("a.py", data)


def test_a_path_is_given_once() -> None:
    with pytest.raises(DataError, match="given twice"):
        analyse([SourceFile("a.py", "x"), SourceFile("a.py", "y")])


def test_unknown_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^a\.txt: .*'\.txt'"):
        SourceFile("a.txt", "x")
    (tmp_path / "a.hpp").write_bytes(b"int a;\r\n")
    assert SourceFile.read(tmp_path, "a.hpp").language == "cpp"


def test_lines_end_as_an_editor_shows_it() -> None:
    source = SourceFile("a.py", "a\r\nb\rc\nd")
    assert source.line_starts == [0, 3, 5, 7]
    assert [source.line_at(position) for position in (0, 2, 3, 5, 7)] == [1, 1, 2, 3, 4]
    assert source.text(source.lines_of(2, 3)) == "b\rc\n"
    with pytest.raises(ValueError, match="no lines 0"):
        source.lines_of(0, 1)


COMMENTED = '''"""Module."""
import a
# one
b = 1  # behind
c = 2


def f():
    """Doc."""
    return 3
'''


@pytest.mark.parametrize(
    ("text", "counting", "expected"),
    [
        ("import a", "full_line", 1),
        ("b = 1", "full_line", 1),
        ("c = 2", "full_line", 2),
        ("c = 2", "any", 1),
        ("return 3", "full_line", 1),
        ('"""Module', "any", None),
    ],
)
def test_comment_distance(text: str, counting: str, expected: int | None) -> None:
    file = analyse([SourceFile("a.py", COMMENTED)])["a.py"]
    found = file.comment_distance(COMMENTED.index(text), counting=counting)  # type: ignore[arg-type]
    assert found == expected


@pytest.mark.parametrize(
    ("path", "language", "expected"),
    [
        ("tests/a.py", "python", True),
        ("pkg/test_a.py", "python", True),
        ("pkg/latest_a.py", "python", False),
        ("src/test/java/a/B.java", "java", True),
        ("src/main/java/a/BTest.java", "java", True),
        ("src/main/java/a/Contest.java", "java", False),
        ("src/main/java/a/LoadTester.java", "java", False),
        ("src/AuditIT.java", "java", False),
        ("src/test/java/a/PortIT.java", "java", True),
        ("src/a.spec.ts", "typescript", True),
        ("lib/__tests__/a.js", "javascript", True),
        ("lib/a.js", "javascript", False),
        ("a/foo_test.cc", "cpp", True),
        ("src/test_lib_json/main.cpp", "cpp", True),
        ("net_tests/a.cpp", "cpp", True),
        ("unit-test/a.cpp", "cpp", True),
        ("src/latest/a.cpp", "cpp", False),
        ("My.Tests/A.cs", "csharp", True),
        ("test/Program.cs", "csharp", True),
        ("Contest/Program.cs", "csharp", False),
        # One file with all tests next to the source: blocks of python-slugify's became problems.
        ("test.py", "python", True),
        ("shop/tests.py", "python", True),
        ("werkzeug/test.py", "python", False),
        ("test.js", "javascript", True),
        ("latest.js", "javascript", False),
        ("src/test.ts", "typescript", True),
        ("test.cpp", "cpp", True),
        ("contest.cpp", "cpp", False),
        ("test.rb", "ruby", True),
    ],
)
def test_test_files_by_convention(path: str, language: str, expected: bool) -> None:
    assert is_test_path(path, language) is expected


@pytest.mark.parametrize(
    ("path", "program", "inside", "outside"),
    [
        ("a.py", "def f():\n    return 1\n\n\ndef test_f():\n    assert f()\n", "assert", "return"),
        ("a.py", "class Case(unittest.TestCase):\n    def run(self):\n        pass\n\nx = 1\n", "pass", "x"),
        ("A.java", "class A {\n int f() { return 1; }\n @Test\n void g() { f(); }\n}\n", "f(); }", "return"),
        ("A.java", "class PortIT {\n @Test\n void g() { f(); }\n}\nclass LoadTester { int h; }\n", "f();", "int h"),
        ("A.java", "class QueueTester extends TestCase { void g() { f(); } }\nclass B {}\n", "f();", "B {"),
        ("a.js", "function f() {}\ndescribe('f', () => { it('is', () => { check(f); }); });\n", "check", "function"),
        ("a.cpp", "int f() { return 1; }\nTEST(Suite, Name) { EXPECT_EQ(f(), 1); }\n", "EXPECT", "return"),
        ("A.cs", "class A {\n int F() { return 1; }\n [Fact]\n public void G() { F(); }\n}\n", "F(); }", "return"),
    ],
)
def test_test_code_by_convention(path: str, program: str, inside: str, outside: str) -> None:
    file = analyse([SourceFile(path, program)])[path]
    for text, expected in ((inside, True), (outside, False)):
        at = program.index(text)
        assert file.is_test((at, at + 1)) is expected, text


def test_sizes() -> None:
    program = "def f(a, b):\n    if a and b:\n        return [c for c in a if c]\n    return 0\n"
    file = analyse([SourceFile("a.py", program)])["a.py"]
    assert file.size((0, len(program)))[::2] == (4, 5)
    at = program.index("return 0")
    assert file.size((at, at + 8)) == (1, 2, 1)
