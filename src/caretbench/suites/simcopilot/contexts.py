"""Project context that a model sees in addition to the caret, with the origin of each shown line.

``as_is`` shows the file alone; ``prepend_files`` the other files before it; ``move_enclosing_to_end`` moves the
functions and classes around the caret to the end of what they stand in, and prepends the other files (the paper's);
``retrieval`` shows parts of other files that are like the code at the caret (BM25).

Hidden text reaches no prompt: of other files, lines go out in which the reference, or what is hidden behind the caret,
stands again; nothing of the caret's own file is shown twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final, NamedTuple

from caretbench.problem import Caret, ContextFile, FileSplice, Problem
from caretbench.projects.retrieval import most_alike
from caretbench.projects.running import file_splice
from caretbench.suites.simcopilot.mining.candidates import shown
from caretbench.suites.simcopilot.mining.repeated import Haystack, tokens_of
from caretbench.suites.simcopilot.mining.rules import mining_rules
from caretbench.suites.simcopilot.moving import LinePiece, moved
from caretbench.syntax import FileAnalysis, ProjectAnalysis, SourceFile, is_test_path

VERSION: Final = 2
"""Of what is shown: a change of it is a new one. 2: the project's name, where a format has a place for it."""

MOST_BYTES: Final = 200_000
"""Of other files; the most distant ones stay out."""
_FUNCTIONS: Final = ("function", "method")
_QUERY_LINES: Final = 20
_PARTS: Final = 6

Place = tuple[str, int]
"""A file and a line of it, from 1."""


class ShownContext(NamedTuple):
    """What is shown, and where its lines come from: those of prefix and suffix, and those of each other file."""

    caret: Caret
    prefix: tuple[Place, ...]
    suffix: tuple[Place, ...]
    files: tuple[tuple[Place, ...], ...] = ()


class FilePart(NamedTuple):
    """Lines of another file, in their order."""

    path: str
    lines: tuple[tuple[int, str], ...]

    @property
    def text(self) -> str:
        """The lines, each with its line feed."""
        return "".join(f"{line}\n" for _, line in self.lines)


class ContextSubject(NamedTuple):
    """A problem in its project."""

    problem: Problem
    splice: FileSplice
    analysis: ProjectAnalysis

    @property
    def file(self) -> FileAnalysis:
        """The caret's file."""
        return self.analysis[self.splice.path]

    @property
    def hides_suffix(self) -> bool:
        """Return whether what stands behind the caret is hidden."""
        return self.problem.labels.get("mode") == "suffix_hidden"

    def hidden(self) -> list[list[str]]:
        """Return the tokens of the texts that no prompt may hold, where they are long enough to be told from chance."""
        data, splice = self.file.source.data, self.splice
        texts = [self.problem.reference]
        if self.hides_suffix:
            around = self.file.enclosing_scopes((splice.start, splice.end))
            ends = [scope.span.end for scope in around if scope.kind in _FUNCTIONS]
            texts += [shown(data[splice.end : end]) for end in ends[:1]]
        least = mining_rules().blocks.repeated_tokens
        return [tokens for text in texts if len(tokens := tokens_of(text)) >= least]


def without(source: SourceFile, hidden: Sequence[list[str]]) -> FilePart:
    """Return a file without the lines in which hidden text stands."""
    lines = list(enumerate(shown(source.data).removesuffix("\n").split("\n"), 1))
    while found := _holding("\n".join(line for _, line in lines), hidden):
        lines = [line for n, line in enumerate(lines) if n not in found]
    return FilePart(source.path, tuple(lines))


@lru_cache(maxsize=256)
def _haystack(text: str) -> Haystack:
    """Files are looked through for one problem after the other."""
    return Haystack(text)


def _holding(text: str, hidden: Sequence[list[str]]) -> set[int]:
    """Return the lines, from 0, in which hidden text stands. Without them others meet, so it is looked for again."""
    haystack = _haystack(text)
    return {
        line
        for tokens in hidden
        for start, end in haystack.find(tokens)
        for line in range(text.count("\n", 0, start), text.count("\n", 0, end) + 1)
    }


def others(one: ContextSubject) -> list[FilePart]:
    """Return the other files of the caret's language, tests apart, the nearest last, without hidden text."""
    hidden = one.hidden()
    home = PurePosixPath(one.splice.path).parts

    def shared(path: str) -> int:
        pairs = zip(home, PurePosixPath(path).parts, strict=False)
        return next((n for n, (a, b) in enumerate(pairs) if a != b), 0)

    language = one.file.source.language
    paths = [
        path
        for path, file in one.analysis.files.items()
        if path != one.splice.path and file.source.language == language and not is_test_path(path, language)
    ]
    found: list[FilePart] = []
    room = MOST_BYTES
    for path in sorted(paths, key=lambda path: (-shared(path), path)):
        part = without(one.analysis[path].source, hidden)
        room -= len(part.text)
        if room < 0:
            break
        found.append(part)
    return found[::-1]


def _context(
    one: ContextSubject, pieces: tuple[Sequence[LinePiece], Sequence[LinePiece]], parts: Sequence[FilePart]
) -> ShownContext:
    before, after = pieces
    project = one.problem.labels.get("project")
    caret = one.problem.caret.model_copy(
        update={
            "prefix": "".join(piece.text for piece in before),
            "suffix": "" if one.hides_suffix else "".join(piece.text for piece in after),
            "context": tuple(ContextFile(path=part.path, text=part.text) for part in parts),
            "repository": project if parts and isinstance(project, str) else None,
        }
    )
    path = one.splice.path
    return ShownContext(
        caret,
        tuple((path, piece.line) for piece in before),
        () if one.hides_suffix else tuple((path, piece.line) for piece in after),
        tuple(tuple((part.path, number) for number, _ in part.lines) for part in parts),
    )


def _as_is(one: ContextSubject) -> ShownContext:
    return _context(one, moved(one.file, one.splice, move=False), ())


def _prepend_files(one: ContextSubject) -> ShownContext:
    return _context(one, moved(one.file, one.splice, move=False), others(one))


def _move_enclosing(one: ContextSubject) -> ShownContext:
    before, after = moved(one.file, one.splice, move=True)
    return _context(one, (_without_hidden(one, before), after), others(one))


def _without_hidden(one: ContextSubject, before: list[LinePiece]) -> list[LinePiece]:
    """What comes before the caret, without what of its outermost function stood behind it and is hidden there.

    Lines that have moved before the caret go out, too, where hidden text stands in them again.
    """
    source, splice = one.file.source, one.splice
    last = source.line_at(max(splice.start, splice.end - 1))
    if one.hides_suffix:
        around = one.file.enclosing_scopes((splice.start, splice.end))
        ends = [source.line_at(max(0, s.span.end - 1)) for s in around if s.kind in _FUNCTIONS]
        hidden_to = ends[0] if ends else last
        before = [piece for piece in before if not last < piece.line <= hidden_to]
    hidden = one.hidden()
    while True:
        found = _holding("".join(piece.text for piece in before), hidden)
        kept = [piece for n, piece in enumerate(before) if n not in found or piece.line <= last]
        if len(kept) == len(before):
            return kept
        before = kept


def _retrieval(one: ContextSubject) -> ShownContext:
    caret = one.problem.caret
    behind = [] if one.hides_suffix else caret.suffix.split("\n")[: _QUERY_LINES // 2]
    query = "\n".join((*caret.prefix.split("\n")[-_QUERY_LINES:], *behind))
    pools = [(part.path, part.lines) for part in others(one)]
    parts = [FilePart(path, lines) for path, lines in most_alike(query, pools, _PARTS)]
    return _context(one, moved(one.file, one.splice, move=False), parts)


CONTEXTS: Final[Mapping[str, Callable[[ContextSubject], ShownContext]]] = MappingProxyType(
    {
        "as_is": _as_is,
        "prepend_files": _prepend_files,
        "move_enclosing_to_end": _move_enclosing,
        "retrieval": _retrieval,
    }
)
"""The strategies by name."""


def context_of(name: str, problem: Problem, analysis: ProjectAnalysis) -> ShownContext:
    """What is shown of a problem under a strategy.

    Raises:
        KeyError: no such strategy.
        DataError: the answer goes into no file of a project.
    """
    if name not in CONTEXTS:
        raise KeyError(f"unknown context {name!r}; known: {', '.join(CONTEXTS)}")
    return CONTEXTS[name](ContextSubject(problem, file_splice(problem), analysis))
