"""Tests in an answer: one code fence, split into files with one test each; refusals by the text alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, Literal, NamedTuple, TypeGuard

from caretbench.extraction.code_fences import closed_fences
from caretbench.files import replace_surrogates, sha256_text
from caretbench.redaction import REDACTED, redact
from caretbench.syntax.parser import python_module

Framework = Literal["pytest", "unittest"]
WRITTEN_FOLDER: Final = "caretbench_written"
"""Folder of written tests in the snapshot; part of the name of each of them."""
MAX_TESTS: Final = 20
"""Maximum number of tests of one answer; the others are not examined."""
# About four times an answer of 4,096 tokens: longer texts are no test files, and 40 KB of opened fences took 10 s to
# search.
_MAX_CHARACTERS: Final = 60_000
_SHOWN_NAME: Final = 100
MAX_NAME: Final = 200
"""Maximum length of a test's name, without its file."""
_OPEN_FENCE: Final = re.compile(r"^ {0,3}```[^\n`]*\n", re.MULTILINE)
_STATEMENT: Final = re.compile(r"^(?=[^\s#)\]}])", re.MULTILINE)
"""Beginning of a statement at top level."""
_TOKEN: Final = re.compile(r"_(?=(?:[A-Za-z0-9]++_){0,2}[A-Za-z0-9]{16})")
"""Underscore in a name before what may be a key, with its prefix."""


def is_written_test(name: str) -> bool:
    """Return whether a test's name, as its runner reports it, is that of a test that a model wrote."""
    return WRITTEN_FOLDER in name


def redacted_name(name: str) -> str:
    """Return a test's name without secrets, and up to a key after an underscore, where none begins in other texts."""
    plain = redact(name)
    for token in _TOKEN.finditer(plain):
        end = plain[token.end() : token.end() + MAX_NAME]
        if redact(end) != end:
            return f"{plain[: token.end()]}{REDACTED}"
    return plain


class WrittenTest(NamedTuple):
    """One test: its name in the answer, the file of the project that it was asked for, and its own file's text."""

    name: str
    target: str
    source: str

    @property
    def shown_name(self) -> str:
        """The name without secrets, shortened."""
        return redacted_name(self.name)[:_SHOWN_NAME]

    @property
    def key(self) -> str:
        """Hash of the content."""
        return sha256_text(self.target, self.source)

    @property
    def stem(self) -> str:
        """Name of its file without the suffix, which no other test has."""
        module = re.sub(r"\W+", "_", self.target.removesuffix(".py").rpartition("/")[2], flags=re.ASCII)
        return f"test_{module[:40]}_{self.key[:12]}"


class _Test(NamedTuple):
    """Place of a test in an answer: the lines of the test, and of all that is removed for another test's file."""

    name: str
    lines: range
    whole: range
    in_class: bool


def answer_tests(answer: str, target: str, framework: Framework) -> list[WrittenTest]:
    """Return the tests of an answer, each with everything that the answer has outside of tests.

    Of an answer that is cut, the tests before the one in which it ends.

    Raises:
        ValueError: it has another form; the message names the fault.
    """
    if len(answer) > _MAX_CHARACTERS:
        raise ValueError(f"it has more than {_MAX_CHARACTERS:,} characters")
    text = _fenced_code(replace_surrogates(answer.replace("\r\n", "\n")))
    module = python_module(text)
    if module is None:
        fenced = _OPEN_FENCE.search(answer) is not None
        raise ValueError("it does not parse as Python" if fenced else "it has no code fence, and is not Python")
    tests = list(_tests(module))
    if not tests:
        raise ValueError("it has no test: no function whose name begins with test")
    lines = text.split("\n")
    alone = (WrittenTest(test.name, target, _alone(lines, test, tests, framework)) for test in tests[:MAX_TESTS])
    # Without the other tests a file may lose what it needs, such as the body of a class.
    return [test for test in dict.fromkeys(alone) if python_module(test.source) is not None]


def _fenced_code(answer: str) -> str:
    """Return the code in the only fence of an answer, or the answer itself if it has none.

    Raises:
        ValueError: there are several fences, or the code is empty.
    """
    fences = closed_fences(answer)
    begun = _OPEN_FENCE.search(answer)
    # Which of several fences is the test file would be a guess.
    if len(fences) > 1:
        raise ValueError(f"it has {len(fences)} code fences; one is expected, with the test file")
    text = fences[0] if fences else answer[begun.end() :] if begun is not None else answer.strip()
    if not text.strip():
        raise ValueError("it is empty")
    if begun is None or fences:
        return text
    # An answer cut at its maximum of tokens ends within its last test; the tests before it are paid and good.
    whole = text[: [match.start() for match in _STATEMENT.finditer(text)][-1]] if _STATEMENT.search(text) else ""
    return whole if python_module(text) is None and whole.strip() else text


def _tests(module: ast.Module) -> Iterator[_Test]:
    for node in module.body:
        if _is_test(node):
            yield _Test(node.name, _lines(node), _lines(node), in_class=False)
        elif isinstance(node, ast.ClassDef):
            tests = filter(_is_test, node.body)
            yield from (_Test(f"{node.name}.{test.name}", _lines(test), _lines(node), in_class=True) for test in tests)


def _is_test(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name.startswith("test")


def _lines(node: ast.stmt) -> range:
    """Return the numbers of a statement's lines, from 0, decorators included."""
    decorators = getattr(node, "decorator_list", ())
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first - 1, node.end_lineno or first)


def _alone(lines: list[str], test: _Test, tests: list[_Test], framework: Framework) -> str:
    """Return the file of one test: the answer without the other tests."""
    ranges = {other.lines if other.whole == test.whole else other.whole for other in tests if other != test}
    removed = set(chain.from_iterable(ranges))
    text = "\n".join(line for number, line in enumerate(lines) if number not in removed).strip("\n") + "\n"
    if framework == "pytest" or test.in_class:
        return text
    # unittest collects methods only, and models write functions.
    call = f"class WrittenTest(unittest.TestCase):\n    def {test.name}(self):\n        {test.name}()\n"
    return f"{text}\n\nimport unittest\n\n\n{call}"


_RUNNER_TEXT: Final = re.compile(
    r"\b(?:os\._exit|os\.abort|os\.kill(?:pg)?|_exit|settrace|setprofile|ctypes|sitecustomize|conftest|PYTEST_ADDOPTS"
    r"|_pytest|pytest\.(?:Function|Item|Module|Class|Session|Config|main|hookimpl|hookspec)"
    r"|pluggy|def\s+pytest_\w+|setattr\(\s*(?:pytest|unittest)"
    r"|sys\.modules|builtins\.(?:exec|eval|__import__))\b|\bTestCase\.\w+\s*=(?!=)|caretbench",
    re.IGNORECASE,
)
"""Texts by which a test could end or forge the run of the others."""
_RUNNER_NAMES: Final = frozenset({"exec", "eval", "__import__", "__builtins__", "importlib", "gc"})
_SOURCE_TEXT: Final = re.compile(
    r"\b(?:__code__|__globals__|linecache|getsource\w*|findsource|_getframe|(?:f|gi|cr|ag)_code"
    r"|co_(?:names|consts|varnames|code|cellvars|freevars|lines|linetable|firstlineno))\b|\.__file__\b"
)
"""Texts by which a test could read how the code is written."""
_SOURCE_MODULES: Final = frozenset({"inspect", "dis", "tokenize"})
_ASSERTING: Final = re.compile(r"assert.*|fail|raises|warns|deprecated_call", re.IGNORECASE)


def refusal(test: WrittenTest) -> str:
    """Return the reason to refuse a test without running it, as ``kind: explanation``; empty if there is none."""
    # Names of tests reach manifests, prompts and terminals, where a key in a parameter would stay.
    if unfit := name_fault(test.name):
        return unfit
    module = python_module(test.source)
    if module is None:
        return "asserts_nothing: it does not parse"
    nodes = list(ast.walk(module))
    imported = set(_imported(nodes))
    # Names alone: `shop.eval` is another function than `eval`.
    names = {node.id for node in nodes if isinstance(node, ast.Name)} | imported
    if runner := [*_RUNNER_TEXT.findall(test.source), *sorted(names & _RUNNER_NAMES)]:
        return f"touches_the_runner: it names {runner[0]}"
    if source := [*_SOURCE_TEXT.findall(test.source), *sorted(imported & _SOURCE_MODULES)]:
        return f"reads_the_source: it names {source[0]}"
    return "" if any(map(_asserts, nodes)) else "asserts_nothing: it has no assertion"


def name_fault(name: str) -> str:
    """Return the reason why files and terminals should not show a test's name whole; empty if they may."""
    if len(name) > MAX_NAME:
        return f"unfit_name: it has more than {MAX_NAME} characters, with the values of parameters"
    return "unfit_name: it contains what looks like a key" if redacted_name(name) != name else ""


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the first parts of the names of imported modules."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    called = node.func if isinstance(node, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return _ASSERTING.fullmatch(name) is not None
