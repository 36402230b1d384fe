"""Expected reaching definitions, in Python: (program, name, line of the use, lines that define it, binding)."""

from __future__ import annotations

import pytest

from caretbench.syntax import SourceFile
from caretbench.syntax.analysis import analyse
from caretbench.syntax.names.references import Reference

LOOP = "def f():\n r=0\n for i in range(3):\n  r+=i\n return r\n"
AGAIN = "def f(x):\n y=x\n y=y+1\n return y\n"
AFTER = "def f(a):\n for i in a:\n  z=i\n return z\n"
WITH = "with open(p) as fh:\n  fh.read()\n"
EXCEPT = "try:\n f()\nexcept E as e:\n print(e)\n"
STARS = "def f(*args,k=1,**kw):\n return args,k,kw\n"
WALRUS = "def f(x):\n if (n:=len(x))>1:\n  return n\n"
FORWARD = "def a():\n return b()\ndef b():\n pass\n"
GLOBAL = "G=1\ndef f():\n return G\n"
METHOD = "class C:\n def g(self):\n  pass\n def h(self):\n  return self.g()\n"
LIBRARY = "import os.path\nos.getcwd()\n"
BRANCHES = "def f(c):\n if c: x=1\n else: x=2\n return x\n"
COMPREHENSION = "def f(d):\n return {k:v for k,v in d.items()}\n"

VECTORS = [
    (LOOP, "r", 4, {2, 4}, "local"),
    (LOOP, "r", 5, {2, 4}, "local"),
    (LOOP, "i", 4, {3}, "loop_variable"),
    (AGAIN, "y", 3, {2}, "local"),
    (AGAIN, "y", 4, {3}, "local"),
    (AFTER, "z", 4, {3}, "local"),
    (WITH, "fh", 2, {1}, "global"),
    (EXCEPT, "e", 4, {3}, "global"),
    (STARS, "args", 2, {1}, "parameter"),
    (STARS, "k", 2, {1}, "parameter"),
    (STARS, "kw", 2, {1}, "parameter"),
    (WALRUS, "n", 3, {2}, "local"),
    (FORWARD, "b", 2, {3}, "function"),
    (GLOBAL, "G", 3, {1}, "global"),
    (METHOD, "g", 5, {2}, "method"),
    (LIBRARY, "os", 2, {1}, "module"),
    (BRANCHES, "x", 4, {2, 3}, "local"),
    (COMPREHENSION, "k", 2, {2}, "comprehension"),
    (COMPREHENSION, "v", 2, {2}, "comprehension"),
    (COMPREHENSION, "d", 2, {1}, "parameter"),
]


def reference(program: str, name: str, line: int, path: str = "m.py") -> Reference:
    """The one reference of this name in this line; where there are several, they must agree."""
    file = analyse([SourceFile(path, program)])[path]
    found = [one for one in file.references if one.name == name and one.line == line]
    assert found, f"no use of {name} in line {line}"
    assert len({(one.binding, one.reaching) for one in found}) == 1
    return found[0]


@pytest.mark.parametrize(("program", "name", "line", "lines", "binding"), VECTORS)
def test_the_vectors_of_the_reference_study(program: str, name: str, line: int, lines: set[int], binding: str) -> None:
    found = reference(program, name, line)
    assert {definition.line for definition in found.reaching} == lines
    assert found.binding == binding


def test_a_library_is_named_and_has_no_distance() -> None:
    found = reference(LIBRARY, "getcwd", 2)
    assert (found.library, found.origin, found.is_call) == ("os.getcwd", "stdlib", True)
    assert found.declaration_lines is None
    assert found.reaching_lines is None


def test_distances_to_the_declaration_and_to_what_reaches() -> None:
    found = reference(AGAIN, "y", 4)
    assert (found.declaration_lines, found.reaching_lines) == (2, 1)
    assert reference(METHOD, "g", 5).origin == "same_class"
    assert reference(GLOBAL, "G", 3).origin == "same_file"
