"""The glossary of CONTRIBUTING.md: its form, and that the package uses no word of its third column."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.test_structure import SOURCE

_PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"
_DATA = frozenset({"harness", "inside", "samples", "starter", "starter_set", "starter_tasks"})
"""Folders of programs that are executed or mined: their text is part of cache keys or of data."""

_ORDINARY = frozenset({"asked", "chunk", "given", "house", "told", "trade", "wanted"})
"""Words with another ordinary meaning in sentences: only identifiers are checked."""

_ALLOWED = {
    "asked": "key of a build report and of `models probe --json`",
    "samples_wanted": "key of the JSON of a dry run",
    "chunk": "bytes that were read from a stream",
}
"""Identifiers that contain a word of the third column, each with its reason."""

_QUESTIONS = frozenset({"What", "Which", "Whether", "Where", "When", "Who", "Whose", "How", "Why"})


class Entry(NamedTuple):
    """A row of the glossary; ``avoided`` are the words or phrases of its third column."""

    word: str
    meaning: str
    avoided: tuple[str, ...]


def glossary() -> list[Entry]:
    """Return the rows of the glossary."""
    _, _, section = _PAGE.read_text("utf-8").partition("**Glossary**")
    rows = [line.strip("| ").split(" |") for line in section.split("\n") if line.startswith("| ")][2:]
    return [
        Entry(word.strip(), meaning.strip(), tuple(part.strip() for part in rest[0].split(",") if part.strip()))
        for word, meaning, *rest in ((*row, "", "")[:3] for row in rows)
    ]


@cache
def modules() -> tuple[tuple[Path, ast.Module], ...]:
    """Return path and tree of every module of the package."""
    paths = (path for path in sorted(SOURCE.rglob("*.py")) if not _DATA & set(path.relative_to(SOURCE).parts))
    return tuple((path.relative_to(SOURCE), ast.parse(path.read_text("utf-8"))) for path in paths)


def identifiers(path: Path, tree: ast.Module) -> Iterator[str]:
    """Yield the names of a module, its classes, functions, parameters and fields."""
    yield path.stem
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        if isinstance(node, ast.ClassDef | ast.Module):
            for part in node.body:
                targets = part.targets if isinstance(part, ast.Assign) else [getattr(part, "target", None)]
                yield from (target.id for target in targets if isinstance(target, ast.Name))


def split(identifier: str) -> str:
    """Return an identifier as words: ``_leftOut`` and ``LEFT_OUT`` are `` left out ``."""
    return f" {re.sub(r'(?<=[a-z0-9])(?=[A-Z])|_+', ' ', identifier).lower().strip()} "


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of every docstring, those of fields and constants included."""
    for node in ast.walk(tree):
        body = getattr(node, "body", ())
        for part in body if isinstance(body, list) else ():
            value = part.value if isinstance(part, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield part.lineno, value.value


def test_the_glossary_is_a_sorted_table_of_distinct_words() -> None:
    entries = glossary()
    words = [entry.word for entry in entries]
    avoided = [word for entry in entries for word in entry.avoided]
    assert 40 <= len(words) <= 60
    assert words == sorted(words, key=str.lower)
    assert len(set(words)) == len(words)
    assert len(set(avoided)) == len(avoided)
    assert not set(avoided) & {part for word in words for part in word.split(", ")}
    assert all(entry.meaning for entry in entries)
    assert set(avoided) >= _ORDINARY


def test_no_identifier_contains_a_word_that_the_glossary_avoids() -> None:
    avoided = [word for entry in glossary() for word in entry.avoided]
    pattern = re.compile(rf" (?:{'|'.join(map(re.escape, avoided))}) ")
    found = {
        f"{path}: {name}"
        for path, tree in modules()
        for name in set(identifiers(path, tree)) - _ALLOWED.keys()
        if pattern.search(split(name))
    }
    assert sorted(found) == []


def test_exceptions_are_still_needed() -> None:
    names = {name for path, tree in modules() for name in identifiers(path, tree)}
    assert [name for name in _ALLOWED if name not in names] == []


def test_no_docstring_contains_a_word_that_the_glossary_avoids() -> None:
    avoided = [word for entry in glossary() for word in entry.avoided if word not in _ORDINARY]
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, avoided))})\b", re.IGNORECASE)
    found = [
        f"{path}:{line} {hit[0]}"
        for path, tree in modules()
        for line, text in docstrings(tree)
        for hit in pattern.finditer(re.sub(r"``.*?``", "", " ".join(text.split())))
    ]
    assert found == []


def test_no_docstring_opens_with_a_question_word() -> None:
    found = [
        f"{path}:{line} {text.split()[0]}"
        for path, tree in modules()
        for line, text in docstrings(tree)
        if text.split() and text.split()[0] in _QUESTIONS
    ]
    assert found == []


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the names of a function's parameters."""
    one = node.args
    return {entry.arg for entry in (*one.posonlyargs, *one.args, *one.kwonlyargs, one.vararg, one.kwarg) if entry}


def documented_parameters(text: str) -> set[str]:
    """Return the names that the section ``Args`` or ``Attributes`` of a docstring explains."""
    lines = inspect.cleandoc(text).split("\n")
    begin = next((place + 1 for place, line in enumerate(lines) if line in ("Args:", "Attributes:")), len(lines))
    section = itertools.takewhile(lambda line: not line or line[0] == " ", lines[begin:])
    named = (re.match(r" {4}(\*{0,2}\w+(?:, \*{0,2}\w+)*):", line) for line in section)
    return {name.lstrip("*") for match in named if match for name in match[1].split(", ")}


def test_docstrings_name_parameters_that_exist() -> None:
    """Of classes the fields and the parameters of the constructor; `spaces` was `workspace_runner` in two of them."""
    wrong = []
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                known = parameters(node)
            elif isinstance(node, ast.ClassDef):
                fields = (part.target for part in node.body if isinstance(part, ast.AnnAssign))
                known = {target.id for target in fields if isinstance(target, ast.Name)}
                known |= {
                    name
                    for part in node.body
                    if isinstance(part, ast.FunctionDef) and part.name in ("__init__", "__new__")
                    for name in parameters(part)
                }
            else:
                continue
            unknown = documented_parameters(ast.get_docstring(node) or "") - known
            wrong += [f"{path}:{node.lineno} {name}" for name in sorted(unknown)]
    assert wrong == []
