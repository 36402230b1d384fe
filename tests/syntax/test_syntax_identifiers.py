"""Identifiers of fragments: uses and their places, what declares, what has no order."""

from __future__ import annotations

import pytest

from caretbench.syntax.uses.identifiers import identifiers, naming_style


def places(text: str, grammar: str) -> list[tuple[str, str]]:
    """Name and place of every use, without the kind of token and the way of writing."""
    return [
        (name.name, name.syntactic_position.split(" ")[1])
        for name in identifiers(text, grammar).names
        if name.syntactic_position
    ]


@pytest.mark.parametrize(
    ("grammar", "text", "expected"),
    [
        ("go", "x, err := a.b(c)", [("a", "object"), ("b", "called+member"), ("c", "plain")]),
        ("go", "for i := range rows { use(i) }", [("rows", "plain"), ("use", "called"), ("i", "plain")]),
        ("go", "p := &T{Foo: a}", [("T", "plain"), ("Foo", "key"), ("a", "plain")]),
        ("go", "n = len(string(a))", [("n", "plain"), ("a", "plain")]),
        ("rust", "let x = a::b(c).d;", [("a", "object"), ("b", "called+member"), ("c", "plain"), ("d", "member")]),
        ("rust", "log!(a.b(c), d::E);", [
            ("a", "object+loose"), ("b", "member+called+loose"), ("c", "loose"), ("d", "object+loose"),
            ("E", "member+loose"),
        ]),
        ("rust", "match a { Some(b) => c }", [("a", "plain"), ("c", "plain")]),
        ("ruby", "x = a.b(c, d: e)", [
            ("a", "object"), ("b", "called+member"), ("c", "plain"), ("d", "key"), ("e", "plain"),
        ]),
        ("ruby", "rows.each { |row| use(row) }", [
            ("rows", "object"), ("each", "member"), ("use", "called"), ("row", "plain"),
        ]),
        ("python", "x = a.b(c, d=e)", [
            ("a", "object"), ("b", "called+member"), ("c", "plain"), ("d", "key"), ("e", "plain"),
        ]),
        ("python", "def f(self, a: T = b): pass", [("T", "type"), ("b", "plain")]),
        ("tsx", "const x = <A b={c} />;", [("c", "plain")]),
        ("javascript", "const x = <A b={c}>{d}</A>;", [("c", "plain"), ("d", "plain")]),
    ],
)  # fmt: skip
def test_uses_and_their_places(grammar: str, text: str, expected: list[tuple[str, str]]) -> None:
    found = [(name, "+".join(sorted(place.split("+")))) for name, place in places(text, grammar)]
    assert found == [(name, "+".join(sorted(place.split("+")))) for name, place in expected]


def test_positions_count_bytes() -> None:
    text = "é = ü(ö)\n"
    for name in identifiers(text, "python").names:
        assert text.encode()[name.start : name.end].decode() == name.name


def test_what_has_no_order() -> None:
    read = identifiers("f(a + b + c - d, {e, f})", "python")
    by_name = {name.name: name for name in read.names}

    def parts(name: str) -> list[str]:
        spans = read.group_member_spans[by_name[name].unordered_groups[-1]]
        return ["f(a + b + c - d, {e, f})"[start:end] for start, end in spans]

    assert parts("a") == ["a", "b", "c"]
    assert parts("e") == ["e", "f"]
    assert by_name["d"].unordered_groups == by_name["f"].unordered_groups[:1]


def test_the_outermost_function_counts() -> None:
    read = identifiers("func f() {\n\tgo func() { one(two) }()\n}\nfunc g() { three() }\nfour()", "go")
    functions = {name.name: name.function for name in read.names}
    assert functions["one"] == functions["two"] == 1
    assert functions["three"] > 1
    assert functions["four"] == 0


def test_fragments_are_read_as_far_as_they_parse() -> None:
    read = identifiers("\t}, nil\n}\n\nfunc f() { use(a) }\n", "go")
    assert read.errors > 0
    assert [name.name for name in read.names if name.syntactic_position][-2:] == ["use", "a"]
    assert identifiers("", "go").names == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", "lower"), ("Aa", "upper"), ("ID", "upper"), ("A_B", "constant"), ("_a", "_"), ("@a", "@"), ("@@a", "@@"),
        ("é", "lower"),
    ],
)  # fmt: skip
def test_ways_of_writing(name: str, expected: str) -> None:
    assert naming_style(name) == expected
