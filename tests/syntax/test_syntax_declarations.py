"""Declarations: parameters of functions without a body end with them, in every language that has such functions."""

from __future__ import annotations

import pytest

from caretbench.syntax.parser import parse
from caretbench.syntax.uses.declarations import DeclarationIndex

BODILESS = {
    "go": (
        "package p\ntype I interface {\n\tRun(inner int) error\n}\ntype F func(inner int) error\ntype S struct {\n"
        "\tcall func(inner int)\n}\nfunc outer(given func(inner int)) {\n\tuse(HERE)\n}\n"
    ),
    "typescript": (
        "interface I { run(inner: number): void; new (inner: number): I; (inner: number): void; "
        "call: (inner: number) => void }\ntype F = (inner: number) => void;\ntype C = new (inner: number) => I;\n"
        "declare function g(inner: number): void;\nabstract class A { abstract run(inner: number): void; }\n"
        "function outer(given: (inner: number) => void) { use(HERE); }\n"
    ),
    "csharp": (
        "delegate void D(int inner);\ninterface I { void Run(int inner); int this[int inner] { get; } }\n"
        "record R(int inner);\nclass P(int inner) { }\n"
        "class A { public static A operator +(A inner, A other) => inner; "
        "void Outer(int given) { D d = delegate(int inner) { }; Use(HERE); } }\n"
    ),
    "cpp": (
        "void run(int inner);\nint* get(int inner);\nint& ref(int inner);\ntypedef void (*F)(int inner);\n"
        "using G = void (*)(int inner);\nusing H = std::function<void(int inner)>;\n"
        "struct S { virtual void go(int inner) = 0; int* p(int inner); void (*m)(int inner); S(int inner); };\n"
        "void outer(int given, void (*call)(int inner)) { use(HERE); }\n"
    ),
    "java": (
        "interface I { void run(int inner); }\nrecord R(int inner) { }\n"
        "abstract class A { abstract void go(int inner); void outer(int given) { use(HERE); } }\n"
    ),
    "rust": (
        'trait T { fn run(&self, inner: i32); }\ntype F = fn(inner: i32);\nextern "C" { fn g(inner: i32); }\n'
        "fn outer(given: i32) { used(HERE); }\n"
    ),
}


@pytest.mark.parametrize("grammar", BODILESS)
def test_a_parameter_of_a_function_without_a_body_is_not_visible_elsewhere(grammar: str) -> None:
    code = BODILESS[grammar]
    tree = parse(code.encode(), grammar)
    assert not tree.root_node.has_error
    index, here = DeclarationIndex(tree.root_node, grammar), code.index("HERE")
    assert len(index.by_name("inner")) >= 3
    assert index.resolve("inner", here) is None
    names = {one.name for one in index.visible_variables(here)}
    assert "given" in names
    assert "inner" not in names
