"""The vectors of the reference study, said in the five other languages; and what only they have.

A vector is (files, name, line of the use in the first file, lines that reach it, binding, origin).
"""

from __future__ import annotations

import pytest

from caretbench.syntax import SourceFile
from caretbench.syntax.analysis import analyse
from caretbench.syntax.names.references import Reference

JAVA = """import java.util.List;
class A extends Base {
    static int G = 1;
    int f(List<Integer> xs, int n) {
        int r = 0;
        for (int x : xs) {
            r += x;
        }
        int y = n;
        y = y + 1;
        int z;
        if (n > 0) { z = 1; } else { z = 2; }
        try (Reader fh = open()) {
            fh.read();
        } catch (Exception e) {
            log(e);
        }
        return r + y + z + G + g() + this.g() + inherited();
    }
    int g() { return G; }
    int size; int size() { return size; }
    Object s(Object o) {
        return o instanceof String t ? t.length() : switch (size()) { case 1 -> o; default -> size; };
    }
}
class Base { int inherited() { return 0; } }
"""
JAVASCRIPT = """import { helper as h } from './util';
const path = require('path');
let G = 1;
function f(xs, ...rest) {
  let r = 0;
  for (const x of xs) {
    r += x;
  }
  let y = xs.length;
  y = y + 1;
  let z;
  if (y) { z = 1; } else { z = 2; }
  try { b(); } catch (e) { console.log(e, rest); }
  const { p, q: [w = 3] } = h(path.join(G));
  return r + y + z + p + w;
}
function b() {}
class C {
  g() { return 1; }
  h() { return this.g(); }
}
"""
TYPESCRIPT = (
    JAVASCRIPT.replace("f(xs, ...rest)", "f(xs: number[], ...rest: number[])").replace(
        "const path = require('path')", "import * as path from 'path'"
    )
    + """interface Shape { area(): number; }
class Square implements Shape {
  constructor(private side: number) {}
  area(): number { return this.side * this.side; }
}
function total(s: Shape): number { return s.area(); }
"""
)
CPP = """#include "util.h"
int G = 1;
struct C {
  int g() { return m; }
  int h() { return this->g() + g(); }
  int m = 0;
};
int b(int n);
int f(const std::vector<int>& xs, int n) {
  int r = 0;
  for (auto x : xs) {
    r += x;
  }
  int y = n;
  y = y + 1;
  int z;
  if (n) { z = 1; } else { z = 2; }
  try { b(n); } catch (const std::exception& e) { log(e); }
  auto [u, v] = helper(G);
  auto l = [&](int a) { return a + r; };
  C c;
  return r + y + z + u + v + c.g() + l(1);
}
int b(int n) { return n; }
"""
CSHARP = """using System;
class A : Base {
    static int G = 1;
    int F(int[] xs, int n) {
        int r = 0;
        foreach (var x in xs) {
            r += x;
        }
        int y = n;
        y = y + 1;
        int z;
        if (n > 0) { z = 1; } else { z = 2; }
        using (var fh = Open()) {
            fh.Read();
        }
        try { B(); } catch (Exception e) { Console.WriteLine(e); }
        return r + y + z + G + H() + this.H() + Inherited();
    }
    int H() { return P; }
    int P { get; set; }
    int B() { int.TryParse("1", out var o); return o; }
}
class Base { protected int Inherited() { return 0; } }
"""
UTIL_TS = "export function helper(x) { return x; }\n"
UTIL_H = "int helper(int x);\n"

PROGRAMS = {
    "java": {"src/A.java": JAVA},
    "javascript": {"src/a.js": JAVASCRIPT, "src/util.js": UTIL_TS},
    "typescript": {"src/a.ts": TYPESCRIPT, "src/util.ts": UTIL_TS},
    "tsx": {"src/a.tsx": TYPESCRIPT + "const el = <b>{G}</b>;\n", "src/util.tsx": UTIL_TS},
    "cpp": {"src/a.cpp": CPP, "src/util.h": UTIL_H},
    "csharp": {"src/A.cs": CSHARP},
}
SCRIPT = [
    ("r", 7, {5, 7}, "local", "same_function"),
    ("x", 7, {6}, "loop_variable", "same_function"),
    ("y", 10, {9}, "local", "same_block"),
    ("r", 15, {5, 7}, "local", "same_block"),
    ("y", 15, {10}, "local", "same_block"),
    ("z", 15, {12}, "local", "same_block"),
    ("p", 15, {14}, "local", "same_block"),
    ("w", 15, {14}, "local", "same_block"),
    ("e", 13, {13}, "local", "same_block"),
    ("rest", 13, {4}, "parameter", "same_function"),
    ("b", 13, {17}, "function", "same_file"),
    ("G", 14, {3}, "global", "same_file"),
    ("h", 14, {1}, "function", "same_project"),
    ("g", 20, {19}, "method", "same_class"),
    ("console", 13, set(), "builtin", "builtin"),
    ("path", 14, {2}, "module", "stdlib"),
]
VECTORS = {
    "java": [
        ("r", 7, {5, 7}, "local", "same_function"),
        ("x", 7, {6}, "loop_variable", "same_function"),
        ("y", 10, {9}, "local", "same_block"),
        ("r", 18, {5, 7}, "local", "same_block"),
        ("y", 18, {10}, "local", "same_block"),
        ("z", 18, {12}, "local", "same_block"),
        ("fh", 14, {13}, "local", "same_function"),
        ("e", 16, {15}, "local", "same_block"),
        ("n", 9, {4}, "parameter", "same_function"),
        ("G", 18, {3}, "field", "same_class"),
        ("g", 18, {20}, "method", "same_class"),
        ("inherited", 18, {26}, "method", "same_file"),
        ("size", 21, {21}, "field", "same_class"),
        ("t", 23, {23}, "local", "same_block"),
        ("List", 4, {1}, "class", "stdlib"),
        ("String", 23, set(), "class", "stdlib"),
    ],
    "javascript": SCRIPT,
    "typescript": [*SCRIPT, ("side", 25, {24}, "field", "same_class"), ("area", 27, {22}, "method", "same_file")],
    "tsx": [*SCRIPT, ("G", 28, {3}, "global", "same_file")],
    "cpp": [
        ("r", 12, {10, 12}, "local", "same_function"),
        ("x", 12, {11}, "loop_variable", "same_function"),
        ("y", 15, {14}, "local", "same_block"),
        ("r", 22, {10, 12}, "local", "same_block"),
        ("y", 22, {15}, "local", "same_block"),
        ("z", 22, {17}, "local", "same_block"),
        ("u", 22, {19}, "local", "same_block"),
        ("v", 22, {19}, "local", "same_block"),
        ("e", 18, {18}, "parameter", "same_block"),
        ("b", 18, {8, 24}, "function", "same_file"),
        ("G", 19, {2}, "global", "same_file"),
        ("helper", 19, {1}, "function", "same_project"),
        ("a", 20, {20}, "parameter", "same_block"),
        ("r", 20, {10, 12}, "local", "same_block"),
        ("g", 5, {4}, "method", "same_class"),
        ("m", 4, {6}, "field", "same_class"),
        ("g", 22, {4}, "method", "same_file"),
    ],
    "csharp": [
        ("r", 7, {5, 7}, "local", "same_function"),
        ("x", 7, {6}, "loop_variable", "same_function"),
        ("y", 10, {9}, "local", "same_block"),
        ("r", 17, {5, 7}, "local", "same_block"),
        ("y", 17, {10}, "local", "same_block"),
        ("z", 17, {12}, "local", "same_block"),
        ("fh", 14, {13}, "local", "same_function"),
        ("e", 16, {16}, "local", "same_block"),
        ("B", 16, {21}, "method", "same_class"),
        ("G", 17, {3}, "field", "same_class"),
        ("H", 17, {19}, "method", "same_class"),
        ("Inherited", 17, {23}, "method", "same_file"),
        ("P", 19, {20}, "field", "same_class"),
        ("o", 21, {21}, "local", "same_block"),
        ("Console", 16, set(), "class", "stdlib"),
    ],
}
CASES = [(language, *vector) for language, vectors in VECTORS.items() for vector in vectors]


def references(files: dict[str, str], name: str, line: int) -> list[Reference]:
    analysis = analyse([SourceFile(path, text) for path, text in files.items()])
    first = analysis[next(iter(files))]
    assert not first.faults
    return [one for one in first.references if one.name == name and one.line == line]


@pytest.mark.parametrize(("language", "name", "line", "lines", "binding", "origin"), CASES)
def test_vectors(language: str, name: str, line: int, lines: set[int], binding: str, origin: str) -> None:
    found = references(PROGRAMS[language], name, line)
    assert found, f"no use of {name} in line {line}"
    for one in found:
        assert ({d.line for d in one.reaching}, one.binding, one.origin) == (lines, binding, origin)


def test_java_packages_are_linked() -> None:
    files = {
        "a/Main.java": "package a;\nimport b.Tool;\nimport static b.Tool.help;\n"
        "class Main { int m(Tool t) { return t.run() + help() + Tool.MAX + new Near().x; } }\n",
        "b/Tool.java": "package b;\npublic class Tool { static int MAX = 1; int run() { return 1; }\n"
        "static int help() { return 2; } }\n",
        "a/Near.java": "package a;\nclass Near { int x; }\n",
    }
    for name, line, binding in (
        ("Tool", 2, "class"), ("run", 2, "method"), ("help", 3, "method"), ("MAX", 2, "field"), ("Near", 2, "class"),
    ):  # fmt: skip
        for one in references(files, name, 4):
            assert (one.binding, one.origin, one.files_crossed) == (binding, "same_project", 1), name
            assert [d.line for d in one.reaching] == [line]
            assert one.declaration_lines is None


def test_methods_outside_of_their_class_see_its_members() -> None:
    files = {
        "src/shape.cpp": '#include "geo/shape.h"\nnamespace geo {\nShape::Shape() : side(0) {}\n'
        "int Shape::area() const { return side * scale() * this->side; }\n}\n",
        "include/geo/shape.h": "namespace geo {\nclass GEO_EXPORT Shape {\n int side;\n int scale() const;\n"
        " public:\n Shape();\n int area() const;\n};\n}\n",
    }
    assert [(one.binding, one.origin) for one in references(files, "side", 4)] == [("field", "same_project")] * 2
    assert [one.binding for one in references(files, "scale", 4)] == ["method"]
    assert {one.binding for one in references(files, "Shape", 4)} == {"class"}


@pytest.mark.parametrize("path", ["a.js", "a.ts"])
def test_fields_are_declared_by_the_class(path: str) -> None:
    text = "class S {\n #open = true;\n closed = false;\n f() { this.closed = !this.#open;\n return this.closed; }\n}\n"
    found = references({path: text}, "closed", 5)[0]
    assert ([d.line for d in found.reaching], found.binding) == ([3, 4], "field")
    assert [d.line for d in references({path: text}, "#open", 4)[0].reaching] == [2]


def test_partial_classes_are_one() -> None:
    files = {
        "A.cs": "partial class A { int F() { return _x + G(); } }\n",
        "A.More.cs": "partial class A { int _x; int G() { return 1; } }\n",
    }
    assert references(files, "_x", 1)[0].binding == "field"
    assert references(files, "G", 1)[0].origin == "same_project"


def test_switches_fall_through_only_where_the_language_does() -> None:
    body = (
        "{ int r = 0; switch (n) {\n case 1:\n  r = 1;\n case 2:\n  use(r);\n  r = 2; break;\n"
        " default:\n  r = 3; }\n return r; }"
    )
    assert {d.line for d in references({"A.java": f"class A {{ int f(int n) {body} }}"}, "r", 5)[0].reaching} == {1, 3}
    found = references({"A.java": f"class A {{ int f(int n) {body} }}"}, "r", 9)[0]
    assert {d.line for d in found.reaching} == {6, 8}


def test_a_declaration_comes_before_what_writes() -> None:
    files = {"a.cpp": "struct A {\n void f() { m = 1; }\n int g() { return m; }\n int m;\n};\n"}
    found = references(files, "m", 3)[0]
    assert found.declaration is not None
    assert (found.declaration.line, [d.line for d in found.reaching]) == (4, [2, 4])


def test_an_object_is_not_taken_for_a_function() -> None:
    files = {"a.cpp": "struct N { int size; };\nint f(int k) {\n N node(k);\n return node.size;\n}\n"}
    assert references(files, "node", 4)[0].binding == "local"
    assert references(files, "size", 4)[0].binding == "field"
