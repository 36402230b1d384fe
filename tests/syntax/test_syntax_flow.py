"""Reaching definitions in Python, construct by construct: (lines, name, line of the use, lines that reach it)."""

from __future__ import annotations

import pytest

from caretbench.syntax import SourceFile
from caretbench.syntax.analysis import analyse

CASES = {
    "try": ("def f():\n x=1\n try:\n  x=2\n  x=g(x)\n except E:\n  print(x)\n return x\n", "x", 7, {2, 4, 5}),
    "after try": ("def f():\n x=1\n try:\n  x=2\n  x=g(x)\n except E:\n  print(x)\n return x\n", "x", 8, {2, 4, 5}),
    "handler that raises": ("def f():\n x=1\n try:\n  x=g()\n except E:\n  raise\n return x\n", "x", 7, {4}),
    "finally": ("def f():\n x=1\n try:\n  x=2\n finally:\n  g(x)\n", "x", 6, {2, 4}),
    "try else": ("def f():\n try:\n  x=2\n except E:\n  x=3\n else:\n  g(x)\n", "x", 7, {3}),
    "break": ("def f(a):\n x=0\n for i in a:\n  x=1\n  if i: break\n  x=2\n return x\n", "x", 7, {2, 4, 6}),
    "continue": ("def f(a):\n x=0\n while a:\n  x=1\n  if a: continue\n  x=2\n return x\n", "x", 7, {2, 4, 6}),
    "endless": ("def f():\n x=0\n while True:\n  x=1\n  break\n return x\n", "x", 6, {4}),
    "for else": ("def f(a):\n for i in a:\n  x=1\n  break\n else:\n  x=2\n return x\n", "x", 7, {3, 6}),
    "return": ("def f(c):\n x=1\n if c:\n  x=2\n  return 0\n return x\n", "x", 6, {2}),
    "elif": ("def f(c):\n if c: x=1\n elif d: x=2\n else: x=3\n return x\n", "x", 5, {2, 3, 4}),
    "elif without else": ("def f(c):\n x=0\n if c: x=1\n elif d: x=2\n return x\n", "x", 5, {2, 3, 4}),
    "del": ("def f():\n x=1\n del x\n x=2\n return x\n", "x", 5, {4}),
    "nested targets": ("def f(a):\n (p,(q,*r)),s[0]=a\n return r\n", "r", 3, {2}),
    "subscripts define nothing": ("def f(a):\n x={}\n x[1]=a\n return x\n", "x", 4, {2}),
    "attributes define nothing": ("def f(a):\n x=a\n x.b=a\n return x\n", "x", 4, {2}),
    "annotated": ("def f():\n x: int = 1\n return x\n", "x", 3, {2}),
    "chained": ("def f():\n x = y = 1\n return x\n", "x", 3, {2}),
    "match": ("def f(v):\n match v:\n  case [a, *b]: x=a\n  case C(k=a) as d: x=a\n return x\n", "x", 5, {3, 4}),
    "capture": ("def f(v):\n match v:\n  case {'k': w}:\n   return w\n", "w", 4, {3}),
    "with tuple": ("def f():\n with g() as (a, b):\n  return b\n", "b", 3, {2}),
    "walrus in a comprehension": ("def f(a):\n [y:=x for x in a]\n return y\n", "y", 3, {2}),
    "comprehension is apart": ("def f(a):\n x=1\n [x for x in a]\n return x\n", "x", 4, {2}),
    "inside the comprehension": ("def f(a):\n x=1\n return [x for x in a]\n", "x", 3, {3}),
    "global": ("G=1\ndef f():\n global G\n G=2\n return G\n", "G", 5, {1, 4}),
    "nonlocal": ("def f():\n x=1\n def g():\n  nonlocal x\n  x=2\n g()\n return x\n", "x", 7, {2, 5}),
    "closure": ("def f():\n x=1\n def g():\n  return x\n x=2\n return g\n", "x", 4, {2, 5}),
    "lambda": ("def f(x):\n return lambda y: x+y\n", "x", 2, {1}),
    "default": ("x=1\ndef f(x=x):\n return x\n", "x", 2, {1}),
    "decorator": ("def d(f):\n return f\n@d\ndef g():\n pass\n", "d", 3, {1}),
    "class scope is hidden": ("x=1\nclass C:\n x=2\n def f(self):\n  return x\n", "x", 5, {1}),
    "class body": ("class C:\n x=2\n y=x\n", "x", 3, {2}),
    "async": ("async def f(a):\n async for i in a:\n  async with i as j:\n   await j\n", "j", 4, {3}),
    "keyword": ("def f(k):\n return g(k=k)\n", "k", 2, {1}),
}


@pytest.mark.parametrize("case", list(CASES))
def test_reaching(case: str) -> None:
    program, name, line, lines = CASES[case]
    file = analyse([SourceFile("a.py", program)])["a.py"]
    found = [one for one in file.references if (one.name, one.line) == (name, line) and not one.is_member]
    assert [{definition.line for definition in one.reaching} for one in found] == [lines] * len(found)
    assert found


FILES = {
    "shop/__init__.py": "from .cart import Cart\n",
    "shop/base.py": "class Base:\n    def close(self):\n        self.open = False\n",
    "shop/cart.py": (
        "import numpy as np\nfrom . import tools\nfrom .tools import add as plus\nfrom shop.base import Base\n\n\n"
        "class Cart(Base):\n    size: int = 0\n\n    def total(self, other: 'Cart'):\n"
        "        self.close()\n        return plus(tools.LIMIT, other.size) + np.sum(self.open)\n"
    ),
    "shop/tools.py": "LIMIT = 3\n\n\ndef add(a, b):\n    return a + b\n",
    "main.py": "from shop import Cart\n\ncart = Cart()\ncart.total(cart)\nprint(cart.unknown)\n",
}


@pytest.mark.parametrize(
    ("path", "name", "line", "expected"),
    [
        ("shop/cart.py", "plus", 12, ("function", "same_project", "shop/tools.py", 4, 1)),
        ("shop/cart.py", "LIMIT", 12, ("global", "same_project", "shop/tools.py", 1, 1)),
        ("shop/cart.py", "tools", 12, ("module", "same_project", "shop/tools.py", 1, 1)),
        ("shop/cart.py", "close", 11, ("method", "same_project", "shop/base.py", 2, 1)),
        ("shop/cart.py", "open", 12, ("field", "same_project", "shop/base.py", 3, 1)),
        ("shop/cart.py", "size", 12, ("field", "same_class", "shop/cart.py", 8, 0)),
        ("main.py", "Cart", 3, ("class", "same_project", "shop/cart.py", 7, 2)),
        ("main.py", "total", 4, ("method", "same_project", "shop/cart.py", 10, 2)),
    ],
)
def test_across_files(path: str, name: str, line: int, expected: tuple[str, str, str, int, int]) -> None:
    analysis = analyse([SourceFile(path, text) for path, text in FILES.items()])
    found = next(one for one in analysis[path].references if (one.name, one.line) == (name, line))
    assert found.declaration is not None
    declared = (found.declaration.path, found.declaration.line, found.files_crossed)
    assert (found.binding, found.origin, *declared) == expected


def test_libraries_and_unknown_members() -> None:
    analysis = analyse([SourceFile(path, text) for path, text in FILES.items()])
    cart = {(one.name, one.line): one for one in analysis["shop/cart.py"].references}
    assert (cart["sum", 12].library, cart["sum", 12].origin) == ("numpy.sum", "third_party")
    assert cart["np", 12].reaching_lines is None
    main = {one.name: one for one in analysis["main.py"].references}
    assert main["unknown"].binding == "unresolved"
    assert main["print"].binding == "builtin"


def test_of_two_base_classes_the_first_gives_a_member() -> None:
    program = (
        "class A:\n    def m(self): pass\nclass B:\n    def m(self): pass\nclass C(A, B):\n    def f(self): self.m()\n"
    )
    references = analyse([SourceFile("a.py", program)])["a.py"].references
    member = next(reference for reference in references if reference.name == "m")
    assert member.declaration is not None
    assert member.declaration.line == 2
