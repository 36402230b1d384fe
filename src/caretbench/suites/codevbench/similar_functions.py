"""Functions of a project that are most like the one at a caret, for scenario 4."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final, NamedTuple

from caretbench.files import read_packaged_toml
from caretbench.problem import ContextFile, Problem, Row
from caretbench.projects.answer_requests import file_splice
from caretbench.projects.code_search import TokenSearch, rank_by_similarity, split_tokens
from caretbench.projects.file_spans import visible_text
from caretbench.syntax import ProjectScopes, Span, is_test_path
from caretbench.syntax.analysis_types import NAMED_FUNCTION_SCOPES

MAX_FUNCTIONS: Final = 3
"""Maximum number of functions that a prompt shows, as in the paper."""


class _Function(NamedTuple):
    path: str
    span: Span
    text: str


@lru_cache(maxsize=4)
def _functions(scopes: ProjectScopes, language: str) -> tuple[_Function, ...]:
    """Return the functions of a project outside of its tests, in the order of files and positions."""
    return tuple(
        _Function(path, scope.span, visible_text(file.source.data[scope.span.start : scope.span.end]))
        for path, file in sorted(scopes.files.items())
        if file.source.language == language and not is_test_path(path, language)
        for scope in file.named_functions
        if not scope.is_test
    )


def enclosing_function(scopes: ProjectScopes, path: str, span: tuple[int, int]) -> Span:
    """Return the innermost named function around a span, or the span itself where there is none."""
    around = [scope.span for scope in scopes[path].enclosing_scopes(span) if scope.kind in NAMED_FUNCTION_SCOPES]
    return around[-1] if around else Span(*span)


def similar_functions(problem: Problem, scopes: ProjectScopes, *, oracle: bool = False) -> tuple[ContextFile, ...]:
    """Return the functions most like the one at the caret by BM25, the best last; at most three.

    The query is the function around the caret without the hidden text. ``oracle`` leaves the hidden text in it, as the
    paper's released code does: an upper bound, since the answer takes part in the search. Functions that overlap with
    the caret's, or that contain a hidden text of at least ``min_repeated_tokens`` tokens, are not shown.
    """
    splice = file_splice(problem)
    inner = enclosing_function(scopes, splice.path, (splice.start, splice.end))
    around = scopes[splice.path].enclosing_scopes(inner)
    outer = next((scope.span for scope in around if scope.kind in NAMED_FUNCTION_SCOPES), inner)
    data = scopes[splice.path].source.data
    hidden = split_tokens(problem.reference)
    query = visible_text(data[inner.start : splice.start]) + "\n" + visible_text(data[splice.end : inner.end])
    if oracle:
        query = visible_text(data[inner.start : inner.end])
    is_long = len(hidden) >= block_rules().min_repeated_tokens
    functions = _functions(scopes, scopes[splice.path].source.language)
    others = [function for function in functions if not _overlap(function, splice.path, outer)]
    shown: list[_Function] = []
    for number in rank_by_similarity(query, [function.text for function in others]):
        if len(shown) == MAX_FUNCTIONS:
            break
        function = others[number]
        if is_long and any(TokenSearch(function.text).find(hidden)):
            continue
        if not any(_overlap(function, earlier.path, earlier.span) for earlier in shown):
            shown.append(function)
    return tuple(ContextFile(path=function.path, text=function.text + "\n") for function in reversed(shown))


def _overlap(function: _Function, path: str, span: Span) -> bool:
    return function.path == path and function.span.start < span.end and span.start < function.span.end


class CodevRules(Row):
    """Rules of ``blocks.toml``: which blocks become problems, and the paper's class of each kind."""

    min_tokens: int
    max_lines: int
    min_repeated_tokens: int
    argument_lists: frozenset[str]
    """Types of nodes that are the arguments of a call."""
    idle_statements: frozenset[str]
    """Types of nodes of statements that are no problems."""
    leaving_statements: frozenset[str]
    """Types of nodes after which no further statement of the same list runs."""
    branches: frozenset[str]
    guards: frozenset[str]
    tries: frozenset[str]
    handlers: frozenset[str]
    bodies: frozenset[str]
    """Types of nodes of compound statements and their parts, for :func:`always_leaves`."""
    classes: dict[str, str]


@cache
def block_rules() -> CodevRules:
    """Return the rules."""
    return CodevRules.model_validate(read_packaged_toml("caretbench.suites.codevbench", "blocks.toml"))
