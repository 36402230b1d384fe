"""Too deep nesting is a compile error at every try; an exit behind an answer's lines is the program's own end."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from caretbench.execution.execution_types import ExecutionRequest, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.scan.program_text import answer_lines, exceeds_bracket_depth
from caretbench.languages import languages
from tests.support.compiled_programs import need_toolchain

_FRAMES: Mapping[str, str] = {
    "python": "x = @\n",
    "javascript": "const x = @;\n",
    "typescript": "const x = @;\nexport {};\n",
    "java": "public class Main { public static void main(String[] a) { int x = @; } }\n",
    "cpp": "int main() { int x = @; return x - x; }\n",
    "csharp": "class Program { static void Main() { int x = @; System.Console.WriteLine(x); } }\n",
    "go": "package main\n\nfunc main() {\n\tx := @\n\t_ = x\n}\n",
    "rust": "fn main() { let _x = @; }\n",
    "ruby": "x = @\n",
}


def _brackets(depth: int) -> str:
    return "(" * depth + "1" + ")" * depth


@pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize("language", _FRAMES)
def test_the_status_is_the_same_at_every_try(language: str) -> None:
    need_toolchain(language)
    programs = {
        "good before": "1", "deep": _brackets(1500), "deeper": _brackets(60_000), "open": "(" * 60_000,
        "good after": _brackets(20),
    }  # fmt: skip
    requests = [
        ExecutionRequest(
            id=f"{name} {repeat}", language=language, source=_FRAMES[language].replace("@", text), repeat=repeat
        )
        for repeat in range(3)
        for name, text in programs.items()
    ]
    results = {result.id: result for result in LocalExecutor(2, use_cache=False).submit(requests)}
    for identity, result in results.items():
        wanted = Status.PASSED if identity.startswith("good") else Status.COMPILE_ERROR
        assert result.status is wanted, (identity, result.reason, result.diagnostics, result.stderr.text[-500:])


@pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize("language", ["python", "javascript"])
def test_what_a_parser_refuses_without_a_bracket_is_a_compile_error_too(language: str) -> None:
    source = _FRAMES[language].replace("@", "- " * 60_000 + "1")
    requests = [
        ExecutionRequest(id=str(n), language=language, source=source, repeat=n, profile=profile)  # type: ignore[arg-type]
        for n, profile in enumerate(("default", "default", "paper"))
    ]
    results = list(LocalExecutor(2, use_cache=False).submit(requests))
    assert {result.status for result in results} == {Status.COMPILE_ERROR}


@pytest.mark.parametrize("language", _FRAMES)
def test_strings_comments_and_long_programs_are_not_deep(language: str) -> None:
    assert not exceeds_bracket_depth("f(1)\n" * 5000, language)
    assert not exceeds_bracket_depth('text = "' + "(" * 5000 + '"\n' + "g([])\n" * 5000, language)
    assert exceeds_bracket_depth("x = " + "[" * 1001 + "]" * 1001, language)
    comment = f"{languages()[language].line_comment} "
    assert not exceeds_bracket_depth(comment + "[" * 5000 + "\n", language)
    if block := languages()[language].block_comment:
        assert not exceeds_bracket_depth(f"{block[0]}\n{'{' * 5000}\n{block[1]}", language)


@pytest.mark.parametrize(
    ("language", "begin"),
    [
        ("cpp", "int x = 1'000 + @;"),
        ("cpp", "int x = 0xFF'FF + @;"),
        ("cpp", "#define X @"),
        ("cpp", 'auto s = R"a(")a"; int x = @;'),
        ("csharp", "#region x @"),
        ("csharp", 'var s = @"\\"; var x = @;'),
        ("javascript", "class A { #x = 1; y() { return this.#x + @; } }"),
        ("typescript", "class A { #x = 1; y() { return this.#x + @; } }"),
        ("python", "x = 7 // 2 + @"),
        ("go", "s := `\\`; x := @"),
        ("rust", "fn f<'a>(x: &'a str) -> i32 { @"),
        ("rust", 'let s = r"\\"; let x = @'),
        ("rust", "let c = '\\''; let x = @"),
        ("ruby", "=begin\n(\n=end\nx = '(' + @"),
    ],
)
def test_what_only_another_language_skips_is_counted(language: str, begin: str) -> None:
    before, _, after = begin.rpartition("@")
    assert exceeds_bracket_depth(before + _brackets(1001) + after, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("cpp", 'auto s = R"a(@)a";'),
        ("cpp", "char c = u8'('; // @"),
        ("csharp", 'var s = @"a""@";'),
        ("go", "s := `@`"),
        ("rust", 'let s = r#"a"@"#;'),
        ("rust", 'let s = "a\n@";'),
        ("rust", "let c = '('; // @"),
        ("javascript", "s = `@`"),
        ("python", "s = \"\"\"@\"\"\"\ns = '''@'''"),
        ("java", 's = """\n@""";'),
    ],
)
def test_what_the_language_itself_skips_is_not_counted(language: str, text: str) -> None:
    before, _, after = text.rpartition("@")
    assert not exceeds_bracket_depth(before + "(" * 1001 + after, language)


@pytest.mark.parametrize("language", _FRAMES)
def test_a_hostile_text_does_not_keep_it_busy(language: str) -> None:
    begin = time.monotonic()
    for text in ("/*", '"""', "'\"", "`\\", "#(", '"\\', 'R"(', "1'", '@"'):
        exceeds_bracket_depth(text * (300_000 // len(text)) + "(" * 2000, language)
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize(
    ("before", "answer", "lines"),
    [
        ("", "x", (1, 1)),
        ("", "", (1, 1)),
        ("a\nb\n", "c\n", (3, 3)),
        ("a\nb\n", "c\nd", (3, 4)),
        ("a\nb = ", "", (2, 2)),
        ("a\nb = ", "1\n", (2, 2)),
        ("a\r\n", "b\rc\r\n\n", (2, 4)),
    ],
)
def test_lines_are_counted_from_one_and_a_closing_end_begins_none(
    before: str, answer: str, lines: tuple[int, int]
) -> None:
    assert answer_lines(before, answer, "python") == lines
    assert answer_lines(before, answer, "javascript") == lines
    assert answer_lines(before, answer, "typescript") == lines


def test_each_language_has_its_own_line_ends() -> None:
    assert answer_lines("", "a\u2028b", "javascript") == (1, 2)
    assert answer_lines("", "a\u2028b", "python") == (1, 1)


@pytest.mark.parametrize("language", ["java", "cpp", "csharp", "go", "rust"])
def test_languages_without_lines_have_no_end_by_an_exit(language: str) -> None:
    assert answer_lines("", "x", language) is None
