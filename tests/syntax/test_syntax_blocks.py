"""Every kind of block in every language, and what holds for all of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.syntax import SourceFile
from caretbench.syntax.analysis import FileAnalysis, analyse
from caretbench.syntax.blocks import Block

PYTHON = '''class A:
    """What it is."""

    def f(self, xs):
        total = 0  # a sum: é
        for x in xs:
            total += x
        while total > 3:
            total -= 1
        if total:
            a()
            b()
            bb()
        elif xs:
            c()
        else:
            d()
        try:
            e()
        except OSError as error:
            print(error)
        finally:
            g()
        with open(xs) as h:
            h.read()
        match xs:
            case []:
                i()
        k = [y for y in xs]
        return lambda z: z
'''
BRACES = """%(open)s
  %(function)s {
    int total = 0; // a sum: é
    for (int i = 0; i < n; i++) {
      total += i;
    }
    while (total > 3) total--;
    do { total++; } while (total < 2);
    if (total > 1) {
      a();
      b();
      bb();
    } else if (n > 0) {
      c();
    } else {
      d();
    }
    try {
      e();
    } catch (%(catch)s) {
      h();
    }%(finally)s
    switch (n) {
      case 1:
        i();
        break;
      default:
        j();
    }
    run(%(lambda)s);
    return total;
  }
%(close)s
"""
FINALLY = " finally {\n      g();\n    }"
SCRIPT = {"open": "class A {", "close": "}", "catch": "error", "finally": FINALLY, "lambda": "(z) => z"}


def braces(function: str, **changes: str) -> str:
    return BRACES % {**SCRIPT, "function": function, **changes}


PROGRAMS = {
    "python": ("a.py", PYTHON),
    "java": ("A.java", braces("int f(int n)", catch="Exception x", **{"lambda": "z -> z"})),
    "javascript": ("a.js", braces("f(n)").replace("int ", "let ")),
    "typescript": ("a.ts", braces("f(n: number): number").replace("int ", "let ")),
    "cpp": (
        "a.cpp",
        braces("int f(int n)", close="};", catch="const E& x", **{"finally": "", "lambda": "[](int z) { return z; }"}),
    ),
    "csharp": ("A.cs", braces("int F(int n)", catch="Exception x").replace("j();\n", "j();\n        break;\n")),
}
COMMON = {
    "function_body", "function_tail", "if_condition", "elif_condition", "if_body", "elif_body", "else_body",
    "switch_case", "loop_header", "loop_body", "try_body", "handler", "lambda", "class_body", "statement",
    "statement_run", "return", "call_expression",
}  # fmt: skip


def analysed(path: str, program: str | bytes) -> FileAnalysis:
    return analyse([SourceFile(path, program)])[path]


def texts(file: FileAnalysis, kind: str) -> list[str]:
    return [file.source.text(block.span) for block in file.blocks if block.kind == kind]


@pytest.mark.parametrize("language", list(PROGRAMS))
def test_every_kind_is_found(language: str) -> None:
    file = analysed(*PROGRAMS[language])
    assert not file.faults
    assert {block.kind for block in file.blocks} >= COMMON
    if language != "cpp":
        assert texts(file, "finally_body")
    if language == "python":
        assert texts(file, "with_body") == ["h.read()"]
        assert texts(file, "comprehension") == ["[y for y in xs]"]
    assert len(texts(file, "else_body")) == 1
    assert len(texts(file, "elif_body")) == 1
    assert len(texts(file, "if_body")) == 1
    assert texts(file, "elif_condition") == ["xs" if language == "python" else "n > 0"]
    assert len(texts(file, "handler")) == 1


@pytest.mark.parametrize("language", [name for name in PROGRAMS if name != "python"])
def test_spans_of_brace_languages(language: str) -> None:
    file = analysed(*PROGRAMS[language])
    assert texts(file, "if_condition") == ["total > 1"]
    headers = texts(file, "loop_header")
    assert [header.replace("let ", "int ") for header in headers] == ["int i = 0; i < n; i++", "total > 3", "total < 2"]
    body = next(block for block in file.blocks if block.kind == "if_body")
    assert (body.closing_token, body.closing_token_end, body.statements, body.whole_statements) == (
        "}",
        body.span.end,
        3,
        False,
    )
    assert file.source.text(body.content) == "a();\n      b();\n      bb();"
    unbraced = next(b for b in file.blocks if b.kind == "loop_body" and file.source.text(b.span) == "total--;")
    assert (unbraced.closing_token, unbraced.statements, unbraced.whole_statements) == ("", 1, True)
    tail = [block for block in file.blocks if block.kind == "function_tail"][-1]
    assert file.source.text(tail.span) == "return total;"
    assert tail.closing_token == "}"  # noqa: S105  a bracket
    assert file.source.data[tail.closing_token_end - 1 : tail.closing_token_end] == b"}"


def test_spans_of_python() -> None:
    file = analysed(*PROGRAMS["python"])
    assert texts(file, "loop_header") == ["x in xs", "total > 3"]
    assert texts(file, "if_condition") == ["total"]
    body = next(block for block in file.blocks if block.kind == "if_body")
    assert (body.closing_token, body.statements, body.whole_statements, body.lines) == ("", 3, True, (11, 13))
    assert [file.scopes[index].kind for index in body.enclosing] == ["file", "class", "method"]
    assert [file.scopes[index].name for index in body.enclosing] == ["", "A", "f"]
    assert texts(file, "function_tail")[-1] == "return lambda z: z"


@pytest.mark.parametrize("language", list(PROGRAMS))
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_what_holds_for_every_block(language: str, line_end: str, start: str) -> None:
    path, program = PROGRAMS[language]
    check_blocks(analysed(path, start + program.replace("\n", line_end).replace("    ", "\t")))


def check_blocks(file: FileAnalysis) -> None:
    data = file.source.data
    for block in file.blocks:
        start, end = block.span
        assert data[:start] + data[start:end] + data[end:] == data
        assert 0 <= start <= block.content.start <= block.content.end <= end <= len(data)
        for position in (start, end, *block.content):
            data[:position].decode("utf-8", "surrogatepass")
        assert all(file.scopes[index].span.contains(block.span) for index in block.enclosing)
        assert block.lines[0] <= block.lines[1]
    for kinds in ({"statement"}, {"if_body", "elif_body", "else_body", "loop_body", "function_body", "try_body"}):
        check_nesting([block for block in file.blocks if block.kind in kinds])
    check_look_ups(file)
    for reference in file.references:
        assert data[slice(*reference.span)].decode("utf-8", "surrogatepass") == reference.name
        assert file.source.line_at(reference.span.start) >= 1


def check_look_ups(file: FileAnalysis) -> None:
    """What is found fast is what looking at all blocks finds."""
    for block in file.blocks[::3]:
        assert file.blocks_in(block.span) == tuple(one for one in file.blocks if block.span.contains(one.span))
        assert file.enclosing_blocks(block.span) == tuple(one for one in file.blocks if one.span.contains(block.span))


def check_nesting(blocks: list[Block]) -> None:
    stack: list[Block] = []
    for block in blocks:
        while stack and stack[-1].span.end <= block.span.start:
            stack.pop()
        assert not stack or stack[-1].span.contains(block.span)
        stack.append(block)


@pytest.mark.parametrize("language", list(PROGRAMS))
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_damaged_programs_are_analysed_as_far_as_they_go(language: str, data: st.DataObject) -> None:
    path, program = PROGRAMS[language]
    at = data.draw(st.integers(0, len(program)))
    length = data.draw(st.integers(0, 40))
    text = data.draw(st.text(st.sampled_from("(){}[];:,=.\"'#/*é\U0001f600\t\r\n \\x0a") | st.characters(), max_size=8))
    damaged = (program[:at] + text + program[at + length :]).replace("\0", " ")
    check_blocks(analysed(path, damaged))
