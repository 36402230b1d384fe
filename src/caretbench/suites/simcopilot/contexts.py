"""Project contexts of prompts (``--context``), with the origin of each shown line.

* ``as_is``: only the caret's file.
* ``prepend_files``: the other files before it.
* ``move_enclosing_to_end``: in addition, the functions and classes around the caret are moved to the end of their
  scope (the paper's strategy).
* ``retrieval``: parts of other files that are similar to the code at the caret (BM25).

No prompt contains hidden text: lines of other files that repeat the reference, or the hidden suffix, are removed. No
line of the caret's file is shown twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final, NamedTuple

from caretbench.errors import UsageError
from caretbench.problem import Caret, ContextFile, FileSplice, Problem
from caretbench.projects.answer_requests import file_splice
from caretbench.projects.code_search import TokenSearch, most_similar_parts, split_tokens
from caretbench.projects.file_spans import visible_text
from caretbench.suites.simcopilot.rules import mining_rules
from caretbench.syntax import FileScopes, ProjectScopes, SourceFile, is_test_path

_MOVED: Final = frozenset({"function", "method", "class"})
_ABOVE: Final = ("#", "//", "@", "[", "/*", "*")


class LinePart(NamedTuple):
    """A line, or a part of the caret's line, with its number in the file."""

    line: int
    text: str


def split_at_caret(
    file: FileScopes, splice: FileSplice, *, move_declarations: bool
) -> tuple[list[LinePart], list[LinePart]]:
    """Return the lines before and after the caret, without the span itself.

    With ``move_declarations``, every function and class around the caret is moved to the end of its scope, with its
    decorators and the comments above it. Only whole lines are moved. Text after the caret within the innermost
    declaration stays after it.
    """
    source = file.source
    starts = [*source.line_starts, len(source.data)]
    first = source.line_at(splice.start)
    last = source.line_at(max(splice.start, splice.end - 1))
    order = list(range(1, len(source.line_starts) + 1))
    if move_declarations:
        for scope in file.enclosing_scopes((splice.start, splice.end)):
            if scope.kind in _MOVED:
                order = _to_the_end(file, order, scope.span)
    before, after = [], []
    behind = False
    for line in order:
        start, end = starts[line - 1], starts[line]
        if line == first:
            before.append(LinePart(line, visible_text(source.data[start : splice.start])))
        if line == last:
            after.append(LinePart(line, visible_text(source.data[splice.end : end])))
            behind = True
        if first <= line <= last:
            continue
        text = visible_text(source.data[start:end])
        if text:  # the file's last line may lack a line feed, and may now precede others
            ends = text.endswith("\n") or line == order[-1]
            (after if behind else before).append(LinePart(line, text if ends else f"{text}\n"))
    return before, after


def _to_the_end(file: FileScopes, order: list[int], span: tuple[int, int]) -> list[int]:
    """Return the line order with a declaration after its neighbours; unchanged if it shares a line with other code."""
    source = file.source
    first, last = source.line_at(span[0]), source.line_at(max(span[0], span[1] - 1))
    head = source.data[source.line_starts[first - 1] : span[0]]
    tail = source.data[span[1] : source.lines_of(last, last).end]
    if head.strip() or tail.strip():
        return order
    while first > 1 and source.text(source.lines_of(first - 1, first - 1)).strip().startswith(_ABOVE):
        first -= 1
    inner = [line for line in order if first <= line <= last]
    around = [scope.span for scope in file.enclosing_scopes(span) if scope.span != span and scope.kind in _MOVED]
    if around:
        begin, stop = source.line_at(around[-1][0]), source.line_at(max(0, around[-1][1] - 1))
        if source.data[: around[-1][1]].endswith(b"}"):
            stop -= 1
    else:
        begin, stop = 1, len(source.line_starts)
    outside = set(range(first, last + 1))
    target = max((n for n, line in enumerate(order) if begin <= line <= stop), default=len(order) - 1) + 1
    rest_before, rest_after = (
        [line for line in lines if line not in outside] for lines in (order[:target], order[target:])
    )
    return [*rest_before, *inner, *rest_after]


CONTEXT_VERSION: Final = 2
"""Version of the shown text. 2: includes the project's name, if the prompt format has a field for it."""

MAX_CONTEXT_BYTES: Final = 200_000
"""Maximum size of the other files in a prompt; the most distant ones are omitted."""
_FUNCTIONS: Final = ("function", "method")
_QUERY_LINES: Final = 20
_PARTS: Final = 6

LineOrigin = tuple[str, int]
"""A path and a line number, from 1."""


class ShownContext(NamedTuple):
    """The caret with its context, and the origin of each line of prefix, suffix and other files."""

    caret: Caret
    prefix_origins: tuple[LineOrigin, ...]
    suffix_origins: tuple[LineOrigin, ...]
    file_origins: tuple[tuple[LineOrigin, ...], ...] = ()


class FileExcerpt(NamedTuple):
    """Numbered lines of another file."""

    path: str
    lines: tuple[tuple[int, str], ...]

    @property
    def text(self) -> str:
        """The lines, each with a line feed."""
        return "".join(f"{line}\n" for _, line in self.lines)


class ContextProblem(NamedTuple):
    """A problem and the scopes of its project."""

    problem: Problem
    splice: FileSplice
    scopes: ProjectScopes

    @property
    def file(self) -> FileScopes:
        """Scopes of the file that contains the caret."""
        return self.scopes[self.splice.path]

    @property
    def hides_suffix(self) -> bool:
        """Return whether the text after the caret is hidden."""
        return self.problem.labels.get("mode") == "suffix_hidden"

    def hidden_tokens(self) -> list[list[str]]:
        """Return token lists of texts that no prompt may contain, without texts short enough to repeat by chance."""
        data, splice = self.file.source.data, self.splice
        texts = [self.problem.reference]
        if self.hides_suffix:
            around = self.file.enclosing_scopes((splice.start, splice.end))
            ends = [scope.span.end for scope in around if scope.kind in _FUNCTIONS]
            texts += [visible_text(data[splice.end : end]) for end in ends[:1]]
        least = mining_rules().blocks.min_repeated_tokens
        return [tokens for text in texts if len(tokens := split_tokens(text)) >= least]


def without_hidden_text(source: SourceFile, hidden: Sequence[list[str]]) -> FileExcerpt:
    """Return a file without the lines that contain hidden text."""
    lines = list(enumerate(visible_text(source.data).removesuffix("\n").split("\n"), 1))
    while numbers := _holding("\n".join(line for _, line in lines), hidden):
        lines = [line for n, line in enumerate(lines) if n not in numbers]
    return FileExcerpt(source.path, tuple(lines))


@lru_cache(maxsize=256)
def _haystack(text: str) -> TokenSearch:
    """Return the search index of a file; kept, because the next problems search the same files."""
    return TokenSearch(text)


def _holding(text: str, hidden: Sequence[list[str]]) -> set[int]:
    """Return the lines, from 0, that contain hidden text. Removing them can create new matches."""
    haystack = _haystack(text)
    return {
        line
        for tokens in hidden
        for start, end in haystack.find(tokens)
        for line in range(text.count("\n", 0, start), text.count("\n", 0, end) + 1)
    }


def other_files(context_problem: ContextProblem) -> list[FileExcerpt]:
    """Return the other files of the caret's language, without tests and hidden text, the nearest file last."""
    hidden = context_problem.hidden_tokens()
    home = PurePosixPath(context_problem.splice.path).parts

    def shared(path: str) -> int:
        pairs = zip(home, PurePosixPath(path).parts, strict=False)
        return next((n for n, (a, b) in enumerate(pairs) if a != b), 0)

    language = context_problem.file.source.language
    paths = [
        path
        for path, file in context_problem.scopes.files.items()
        if path != context_problem.splice.path and file.source.language == language and not is_test_path(path, language)
    ]
    excerpts: list[FileExcerpt] = []
    room = MAX_CONTEXT_BYTES
    for path in sorted(paths, key=lambda path: (-shared(path), path)):
        excerpt = without_hidden_text(context_problem.scopes[path].source, hidden)
        room -= len(excerpt.text)
        if room < 0:
            break
        excerpts.append(excerpt)
    return excerpts[::-1]


def _context(
    asked: ContextProblem, excerpts: Sequence[FileExcerpt], *, move_declarations: bool = False
) -> ShownContext:
    before, after = split_at_caret(asked.file, asked.splice, move_declarations=move_declarations)
    if move_declarations:
        before = _without_hidden(asked, before)
    if asked.hides_suffix:
        after = []
    project = asked.problem.labels.get("project")
    caret = asked.problem.caret.model_copy(
        update={
            "prefix": "".join(piece.text for piece in before),
            "suffix": "".join(piece.text for piece in after),
            "context": tuple(ContextFile(path=excerpt.path, text=excerpt.text) for excerpt in excerpts),
            "repository": project if excerpts and isinstance(project, str) else None,
        }
    )
    path = asked.splice.path
    return ShownContext(
        caret,
        tuple((path, piece.line) for piece in before),
        tuple((path, piece.line) for piece in after),
        tuple(tuple((excerpt.path, number) for number, _ in excerpt.lines) for excerpt in excerpts),
    )


def _without_hidden(asked: ContextProblem, before: list[LinePart]) -> list[LinePart]:
    """Return the lines before the caret, without lines of its outermost function that are hidden after it.

    Lines that were moved before the caret are removed too, if they repeat hidden text.
    """
    source, splice = asked.file.source, asked.splice
    last = source.line_at(max(splice.start, splice.end - 1))
    if asked.hides_suffix:
        around = asked.file.enclosing_scopes((splice.start, splice.end))
        ends = [source.line_at(max(0, scope.span.end - 1)) for scope in around if scope.kind in _FUNCTIONS]
        before = [piece for piece in before if not (ends and last < piece.line <= ends[0])]
    hidden = asked.hidden_tokens()
    while True:
        numbers = _holding("".join(piece.text for piece in before), hidden)
        kept = [piece for n, piece in enumerate(before) if n not in numbers or piece.line <= last]
        if len(kept) == len(before):
            return kept
        before = kept


def _similar_parts(asked: ContextProblem) -> list[FileExcerpt]:
    caret = asked.problem.caret
    behind = [] if asked.hides_suffix else caret.suffix.split("\n")[: _QUERY_LINES // 2]
    query = "\n".join((*caret.prefix.split("\n")[-_QUERY_LINES:], *behind))
    pools = [(file.path, file.lines) for file in other_files(asked)]
    return [FileExcerpt(path, lines) for path, lines in most_similar_parts(query, pools, _PARTS)]


CONTEXTS: Final[Mapping[str, Callable[[ContextProblem], ShownContext]]] = MappingProxyType(
    {
        "as_is": lambda asked: _context(asked, ()),
        "prepend_files": lambda asked: _context(asked, other_files(asked)),
        "move_enclosing_to_end": lambda asked: _context(asked, other_files(asked), move_declarations=True),
        "retrieval": lambda asked: _context(asked, _similar_parts(asked)),
    }
)
"""Context strategies by name."""


def build_context(name: str, problem: Problem, scopes: ProjectScopes) -> ShownContext:
    """Return the caret of a problem with the context of a strategy.

    Raises:
        UsageError: no such strategy.
        DataError: the problem has no span in a file of a project.
    """
    if name not in CONTEXTS:
        raise UsageError(f"unknown context {name!r}; known: {', '.join(CONTEXTS)}")
    return CONTEXTS[name](ContextProblem(problem, file_splice(problem), scopes))
