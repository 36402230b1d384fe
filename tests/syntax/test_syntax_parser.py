from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.errors import UsageError
from caretbench.languages import languages
from caretbench.syntax.documentation import comments
from caretbench.syntax.parser import CharacterOffsets, error_count, fault_count, has_error, is_well_formed_text, parse
from caretbench.syntax.source import grammar_of

GOOD = {
    "python": "def f(a):\n    return a\n",
    "javascript": "const f = (a) => a ?? 1;\n",
    "typescript": "const f = (a: number): number => a;\n",
    "java": "class A { int f(int a) { return a; } }\n",
    "cpp": "#include <vector>\ntemplate <class T> T f(T a) { return a; }\n",
    "csharp": "class A { public int F(int a) => a; }\n",
    "go": "package a\n\nfunc f[T any](a T) T { return a }\n",
    "rust": "fn f<T>(a: T) -> T { a }\n",
    "ruby": "def f(a) = a\n",
}


@pytest.mark.parametrize("language", list(GOOD))
def test_every_language_parses(language: str) -> None:
    assert set(GOOD) == set(languages())
    tree = parse(GOOD[language], language)
    assert not has_error(tree)
    assert error_count(tree) == 0
    assert is_well_formed_text(GOOD[language], language)


@pytest.mark.parametrize("language", list(GOOD))
def test_an_unclosed_bracket_is_an_error(language: str) -> None:
    tree = parse(GOOD[language] + "f(", language)
    assert has_error(tree)
    assert error_count(tree) > 0
    assert not is_well_formed_text(GOOD[language] + "f(", language)


def test_reserved_words_of_ruby_are_no_names() -> None:
    for text in ("def f\n  1\nend\nend\n", "x = 1\nelse\n  2\n", "f\nrescue KeyError => e\n", "x = end\n"):
        assert not is_well_formed_text(text, "ruby"), text
    for text in ("x.end - y&.begin\n", "def end = @end\n", "self.class\n", "f(if: 1, :end => 2)\n", "alias then end\n"):
        assert is_well_formed_text(text, "ruby"), text


def test_the_grammar_of_a_file() -> None:
    paths = ("a.go", "b.tsx", "c.RS", "d/e.rb", "f.jsx", "g.h", "Makefile", "h.lock")
    assert [grammar_of(path) for path in paths] == ["go", "tsx", "rust", "ruby", "javascript", "cpp", None, None]


def test_aliases_and_unknown_languages() -> None:
    assert is_well_formed_text("class A {}", "c_sharp")
    with pytest.raises(UsageError, match="unknown language 'cobol'"):
        parse("", "cobol")


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("", True),
        ("# nothing\n", True),
        ("def f():\n\nx = 1\n", False),
        ("def f():\n    # nothing\nx = 1\n", False),
        ("if a:\nb = 1\n", False),
        ("try:\n    a()\nb()\n", False),
        ("try:\n    a()\nfinally:\n    b()\n", True),
        ("def f():\n    a = 1\n      b = 2\n", False),
        ("def f():\n    a = 1\n  b = 2\n", False),
        ("  a = 1\n", False),
        ("a = 1; b = 2\nc = 3\n", True),
        ("if a: b = 1\nelse: c = 2\n", True),
        ("for a in b:\n  c()\nelse:\n      d()\n", True),
        ("match a:\n    case 1:\n        b()\n    case _:\n        c()\n", True),
        ("with (a as b,\n  c as d):\n    e()\n", True),
        ("print 'x'\n", False),
        ("x = '''\n  a\n'''; y = 1\nz = 2\n", True),
    ],
)
def test_python_layout(text: str, good: bool) -> None:
    assert is_well_formed_text(text, "python") is good
    assert (fault_count(parse(text, "python"), "python") == 0) is good


def test_threads_have_their_own_parsers() -> None:
    failures: list[str] = []

    def work(language: str) -> None:
        failures.extend(language for _ in range(30) if not is_well_formed_text(GOOD[language], language))

    threads = [threading.Thread(target=work, args=(language,)) for language in GOOD for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@given(st.text())
def test_offsets_count_characters(text: str) -> None:
    offsets = CharacterOffsets(text)
    for position in range(len(text) + 1):
        assert offsets.characters(len(text[:position].encode("utf-8", "surrogatepass"))) == position


def test_comments_and_docstrings() -> None:
    source = '"""é module"""\n# one\ndef f():\n    # two\n    "doc"\n    x = "no"  # three\n'
    found = comments(source, "python")
    assert [(comment.kind, comment.text) for comment in found] == [
        ("docstring", '"""é module"""'),
        ("line", "# one"),
        ("line", "# two"),
        ("docstring", '"doc"'),
        ("line", "# three"),
    ]
    data = source.encode()
    assert all(data[comment.start : comment.end].decode() == comment.text for comment in found)


@pytest.mark.parametrize("language", ["javascript", "typescript", "java", "cpp", "csharp", "go", "rust"])
def test_comments_of_brace_languages(language: str) -> None:
    found = comments(GOOD[language] + '// a "b"\n/* c\n d */ // e', language)
    assert [(comment.kind, comment.text) for comment in found] == [
        ("line", '// a "b"'),
        ("block", "/* c\n d */"),
        ("line", "// e"),
    ]


def test_comments_of_rust_and_ruby() -> None:
    rust = comments("/// says\nfn f() { /* b */ } // é\n", "rust")
    assert [(comment.kind, comment.text) for comment in rust] == [
        ("line", "/// says"),
        ("block", "/* b */"),
        ("line", "// é"),
    ]
    ruby = comments("a = 1 # é\n=begin\nb\n=end\n", "ruby")
    assert [(comment.kind, comment.text) for comment in ruby] == [("line", "# é"), ("block", "=begin\nb\n=end")]
