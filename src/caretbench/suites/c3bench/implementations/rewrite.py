"""Rewrites: changes of an implementation that keep its behaviour, and contexts of functions with what they give.

A middle is a list of statements of a Python function. Each rewrite has guards, which ask questions about the middle,
and a category.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Literal, NamedTuple

from pydantic import TypeAdapter

from caretbench.files import read_packaged_toml
from caretbench.problem import Row
from caretbench.suites.c3bench.implementations.features import ANY_NAME, FeatureRule, FoundFeatures, found_features
from caretbench.suites.c3bench.implementations.quality import MAX_LINE
from caretbench.syntax.parser import PythonPositions, python_module

Nodes = ast.AST | Sequence[ast.AST]


def nodes_of(nodes: Nodes) -> Iterable[ast.AST]:
    """Yield a node, or several, and all nodes in them."""
    for node in [nodes] if isinstance(nodes, ast.AST) else nodes:
        yield from ast.walk(node)


def stored(nodes: Nodes) -> set[str]:
    """Return the names that are assigned, deleted or defined."""
    names = {node.id for node in nodes_of(nodes) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    return names | {node.name for node in nodes_of(nodes) if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def loaded(nodes: Nodes) -> set[str]:
    """Return the names that are read."""
    return set(_loads(nodes))


def _loads(nodes: Nodes) -> Counter[str]:
    return Counter(node.id for node in nodes_of(nodes) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))


def contains(nodes: Nodes, *types: type[ast.AST]) -> bool:
    """Return whether a node of one of the types is in the nodes."""
    return any(isinstance(node, types) for node in nodes_of(nodes))


class PythonMiddle(NamedTuple):
    """Run of statements of a function: ``function`` and ``module`` contain it, ``is_tail`` if nothing follows it."""

    statements: tuple[ast.stmt, ...]
    function: ast.FunctionDef
    module: ast.Module
    is_tail: bool

    def fresh(self, name: str) -> str | None:
        """Return the name, or None if the module uses it already."""
        used = {node.id for node in ast.walk(self.module) if isinstance(node, ast.Name)}
        used |= {node.arg for node in ast.walk(self.module) if isinstance(node, ast.arg)}
        used |= {node.name for node in ast.walk(self.module) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        return None if name in used or hasattr(builtins, name) else name

    def read_outside(self, nodes: Sequence[ast.stmt]) -> set[str]:
        """Return the names that the function reads outside of some of its statements."""
        return set(_loads(self.function) - _loads(nodes))

    @property
    def parameters(self) -> set[str]:
        """Names of the function's parameters."""
        return {node.arg for node in ast.walk(self.function.args) if isinstance(node, ast.arg)}

    def replaced(self, start: int, end: int, text: str) -> list[ast.stmt]:
        """Return the statements with those from ``start`` to ``end`` replaced by a text's statements."""
        # On trees: templates lose the nesting, and rope changes whole projects.
        return [*self.statements[:start], *ast.parse(text).body, *self.statements[end:]]


def text_of(node: ast.AST | Sequence[ast.AST], margin: int = 0) -> str:
    """Return the text of a node, or of statements one below the other, each line indented by ``margin`` steps."""
    nodes = [node] if isinstance(node, ast.AST) else node
    lines = "\n".join(ast.unparse(statement) for statement in nodes).split("\n")
    return "\n".join("    " * margin + line if line else line for line in lines)


def clause_lines(value: ast.GeneratorExp | ast.ListComp) -> list[str]:
    """Return the clauses of a comprehension as headers of loops and conditions, each within the one before."""
    heads = [
        head
        for clause in value.generators
        for head in (
            f"for {text_of(clause.target)} in {text_of(clause.iter)}:",
            *(f"if {text_of(test)}:" for test in clause.ifs),
        )
    ]
    return ["    " * depth + head for depth, head in enumerate(heads)]


Category = Literal["structural", "algorithmic", "control_flow", "parameter"]


class Rewritten(NamedTuple):
    """Rewritten statements, and the words that fill the placeholders of predicate and instruction."""

    statements: list[ast.stmt]
    words: Mapping[str, str] = {}


RewriteFunction = Callable[[PythonMiddle], Iterator[Rewritten]]


class RewriteEntry(Row):
    """Table entry of a rewrite: its category, predicate and instructions.

    ``requires`` and ``forbids`` name features (:func:`features`); ``instructions`` are wordings of one instruction.
    Placeholders in braces are filled by the rewrite.
    """

    category: Category
    requires: tuple[str, ...]
    forbids: tuple[str, ...] = ()
    instructions: tuple[str, ...]


_FUNCTIONS: dict[str, RewriteFunction] = {}


def rewrite(function: RewriteFunction) -> RewriteFunction:
    """Register a rewrite under its function's name; the table must have an entry for it."""
    _FUNCTIONS[function.__name__] = function
    return function


@cache
def rewrites() -> Mapping[str, RewriteFunction]:
    """Return all rewrites by name."""
    import_module("caretbench.suites.c3bench.implementations.rewrites")
    return dict(_FUNCTIONS)


@cache
def rewrite_entries() -> Mapping[str, RewriteEntry]:
    """Return the table of rewrites by name."""
    table = read_packaged_toml("caretbench.suites.c3bench.implementations", "rewrites.toml")
    return TypeAdapter(dict[str, RewriteEntry]).validate_python(table)


class Equivalent(NamedTuple):
    """One implementation of a middle: its text, and the rewrite, rule and instructions that describe it."""

    text: str
    rewrite: str
    category: Category
    rule: FeatureRule
    instructions: tuple[str, ...]
    features: FoundFeatures


class EquivalentContext(NamedTuple):
    """Middle of a file: its character span, and other implementations by rewrite."""

    start: int
    end: int
    equivalents: tuple[Equivalent, ...]


def equivalent_contexts(text: str, entry_point: str) -> list[EquivalentContext]:
    """Return the middles of a Python function with at least one other implementation, those with the most first."""
    module = python_module(text)
    if module is None:
        return []
    contexts = [
        EquivalentContext(*span, tuple(_distinct(equivalents)))
        for span, middle in _middles(text, module, entry_point)
        if (equivalents := _equivalents(text, span, middle))
    ]
    return sorted(contexts, key=lambda variant: (-len(variant.equivalents), variant.start, variant.end))


def _middles(text: str, module: ast.Module, entry_point: str) -> Iterator[tuple[tuple[int, int], PythonMiddle]]:
    position = PythonPositions(text)
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef) and node.name == entry_point]
    for function in functions[-1:]:
        for statements, is_body in _statement_lists(function):
            for first in range(len(statements)):
                for last in range(first, len(statements)):
                    start, end = _lines_of(text, position, statements[first], statements[last])
                    middle = PythonMiddle(
                        tuple(statements[first : last + 1]), function, module, is_body and last + 1 == len(statements)
                    )
                    if end > start:
                        yield (start, end), middle


def _lines_of(text: str, position: PythonPositions, first: ast.stmt, last: ast.stmt) -> tuple[int, int]:
    """Return the span of the lines of statements; an empty one if something else is in them."""
    # `def numbers(): return [...]`, `a = 1; b = [...]`: a middle of whole lines would take the header, or `a`, away.
    start, begin = position(first.lineno, 0), position(first.lineno, first.col_offset)
    behind = position(last.end_lineno or 0, last.end_col_offset or 0)
    end = text.find("\n", behind)
    end = len(text) if end < 0 else end + 1
    rest = text[behind:end].strip()
    return (start, start) if text[start:begin].strip() or (rest and not rest.startswith("#")) else (start, end)


def _statement_lists(function: ast.FunctionDef) -> Iterator[tuple[Sequence[ast.stmt], bool]]:
    """Yield the statement lists of a function, without its docstring, and whether each is its body."""
    for node in ast.walk(function):
        for field in ("body", "orelse"):
            statements = getattr(node, field, None)
            if isinstance(statements, list) and statements and isinstance(statements[0], ast.stmt):
                if field == "orelse" and statements[0].col_offset == getattr(node, "col_offset", -1):
                    continue  # an `elif`, which is no statement by itself
                is_text = isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Constant)
                yield statements[int(is_text) :], node is function


def _equivalents(text: str, span: tuple[int, int], middle: PythonMiddle) -> list[Equivalent]:
    entries = rewrite_entries()
    accepted = []
    original: FoundFeatures | None = None
    for name, function in rewrites().items():
        for made in function(middle):
            original = original or found_features(text[: span[0]], text[slice(*span)], text[span[1] :], "python")
            equivalent = _equivalent(name, entries[name], made, text, span)
            if equivalent is not None and original is not None and not equivalent.rule.holds(original):
                accepted.append(equivalent)
                break
    return accepted


def _equivalent(name: str, entry: RewriteEntry, made: Rewritten, text: str, span: tuple[int, int]) -> Equivalent | None:
    """Return the implementation; None if its own rule does not hold, or if a line is too long to read."""
    start, end = span
    first = text[start : text.find("\n", start)]
    margin = first[: len(first) - len(first.lstrip())]
    lines = [margin + line if line else line for line in _laid_out(made.statements).split("\n")]
    if max(map(len, lines)) > MAX_LINE:
        return None
    words, instructions = shown_wordings(entry, made.words, text[:start] + text[end:])
    rule = rule_of(entry, words)
    rewritten = "\n".join(lines) + "\n"
    features = found_features(text[:start], rewritten, text[end:], "python")
    if features is None or not rule.holds(features):
        return None
    return Equivalent(rewritten, name, entry.category, rule, _filled(instructions, words), features)


def shown_wordings(
    entry: RewriteEntry, words: Mapping[str, str], shown: str
) -> tuple[Mapping[str, str], Sequence[str]]:
    """Return the words of a rewrite, and its wordings that fit to what is shown: a hidden name is not named."""
    named = [instruction for instruction in entry.instructions if "{name}" in instruction]
    if named and re.search(rf"\b{words['name']}\b", shown):
        return words, named
    return {**words, "name": ANY_NAME}, [instruction for instruction in entry.instructions if instruction not in named]


def rule_of(entry: RewriteEntry, words: Mapping[str, str]) -> FeatureRule:
    """Return the predicate of a rewrite whose placeholders stand for words."""
    return FeatureRule(_filled(entry.requires, words), _filled(entry.forbids, words))


def _laid_out(statements: Sequence[ast.stmt]) -> str:
    """Return the text of statements with a blank line around functions and classes, as PEP 8 asks for."""
    parts: list[str] = []
    for index, statement in enumerate(statements):
        around = statements[max(index - 1, 0) : index + 1]
        if index and any(isinstance(outer, ast.FunctionDef | ast.ClassDef) for outer in around):
            parts.append("")
        parts.append(text_of(statement))
    return "\n".join(parts)


def _filled(texts: Sequence[str], words: Mapping[str, str]) -> tuple[str, ...]:
    filled = []
    for text in texts:
        for name, word in words.items():
            text = text.replace("{" + name + "}", word)
        filled.append(text)
    return tuple(filled)


def _distinct(equivalents: Sequence[Equivalent]) -> Iterator[Equivalent]:
    """Yield the implementations that no other one's rule describes; a described one is dropped."""
    for equivalent in equivalents:
        others = [other for other in equivalents if other is not equivalent]
        if not any(equivalent.rule.holds(other.features) for other in others):
            yield equivalent
