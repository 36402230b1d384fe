"""The analysis of a project's files: blocks, scopes, comments, references."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Set
from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import tree_sitter

from caretbench.errors import DataError
from caretbench.syntax.analysis_types import Span, SpanIndex
from caretbench.syntax.blocks import Block, BlockSize, FileSizes, find_blocks
from caretbench.syntax.documentation import Comment, comments_in
from caretbench.syntax.names.file_symbols import FileSymbols
from caretbench.syntax.names.name_resolution import resolve_names
from caretbench.syntax.names.project_names import ProjectNames
from caretbench.syntax.names.references import DefinitionTable, Reference, find_references
from caretbench.syntax.parser import error_nodes
from caretbench.syntax.scopes import FileScopes, ProjectScopes, fits_a_pattern, scopes_of, test_conventions
from caretbench.syntax.source import SourceFile, parse_file


class ParseFault(NamedTuple):
    """Part of a file that does not fit the grammar, or (with an empty span) a missing token."""

    span: Span
    line: int


def test_calls(source: SourceFile, blocks: tuple[Block, ...]) -> list[Span]:
    """Return the calls whose arguments are tests (``describe(…)``, ``it(…)``)."""
    patterns = test_conventions(source.language).calls
    if not patterns:
        return []
    spans = []
    for block in blocks:
        if block.kind == "call_expression":
            name = source.data[block.span.start : block.span.start + 80].partition(b"(")[0].decode("utf-8", "replace")
            if fits_a_pattern(patterns, name.strip()):
                spans.append(block.span)
    return spans


test_calls.__test__ = False  # type: ignore[attr-defined]


def parse_faults(root: tree_sitter.Node, source: SourceFile) -> tuple[ParseFault, ...]:
    """Return the parts of a file that do not fit the grammar, in text order."""
    spans = sorted(Span(node.start_byte, node.end_byte) for node in error_nodes(root))
    return tuple(ParseFault(span, source.line_at(span.start)) for span in spans)


def _start(item: Block | Reference) -> int:
    return item.span.start


@dataclass(eq=False)
class FileAnalysis(FileScopes):
    """Scopes, blocks, comments, references and tests of one file. All sequences are in text order."""

    blocks: tuple[Block, ...]
    comments: tuple[Comment, ...]
    references: tuple[Reference, ...]
    faults: tuple[ParseFault, ...]
    tests: tuple[Span, ...]
    tree: InitVar[tree_sitter.Tree]

    def __post_init__(self, tree: tree_sitter.Tree) -> None:
        self._sizes = FileSizes(self.source, tree)
        self._nestings: dict[frozenset[str] | None, tuple[list[int], SpanIndex]] = {}

    def _blocks_nested(self, kinds: frozenset[str] | None) -> tuple[list[int], SpanIndex]:
        """Return the indices of the blocks of some kinds, and the nesting of their spans."""
        if kinds not in self._nestings:
            numbers = [n for n, block in enumerate(self.blocks) if kinds is None or block.kind in kinds]
            self._nestings[kinds] = numbers, SpanIndex([self.blocks[n].span for n in numbers])
        return self._nestings[kinds]

    @cached_property
    def _test_nesting(self) -> SpanIndex:
        return SpanIndex(self.tests)

    def references_in(self, span: tuple[int, int]) -> tuple[Reference, ...]:
        """Return the references inside a span."""
        first, last = (bisect.bisect_left(self.references, position, key=_start) for position in span)
        return self.references[first:last]

    def blocks_in(self, span: tuple[int, int]) -> tuple[Block, ...]:
        """Return the blocks inside a span."""
        wanted = Span(*span)
        first = bisect.bisect_left(self.blocks, wanted.start, key=_start)
        last = bisect.bisect_right(self.blocks, wanted.end, key=_start)
        return tuple(block for block in self.blocks[first:last] if wanted.contains(block.span))

    def enclosing_blocks(self, span: tuple[int, int], kinds: Set[str] | None = None) -> tuple[Block, ...]:
        """Return the blocks that contain a span, outermost first; by default those of all kinds.

        With all kinds there are many: each statement of a list begins a block that runs to the end of the list.
        """
        numbers, nesting = self._blocks_nested(None if kinds is None else frozenset(kinds))
        return tuple(self.blocks[numbers[index]] for index in sorted(nesting.enclosing(*span)))

    def is_test(self, span: tuple[int, int]) -> bool:
        """Return whether a span lies in test code: a test file, class, function, or call (``it(…)``)."""
        return self._test_nesting.innermost(*span) is not None

    def comment_distance(self, position: int, *, counting: Literal["full_line", "any"] = "full_line") -> int | None:
        """Return the number of lines from the end of the nearest earlier comment to a byte; None without a comment.

        ``full_line`` counts comments that begin their line, block comments and docstrings, as the paper does; ``any``
        also counts comments after code on the same line.
        """
        starts = self.source.line_starts
        line = self.source.line_at(position)
        # Backwards from the position: the nearest comment decides, and files have thousands.
        before = bisect.bisect_right(self.comments, position, key=lambda comment: comment.start)
        for comment in (self.comments[n] for n in range(before - 1, -1, -1)):
            end = self.source.line_at(max(comment.end - 1, comment.start))
            if comment.end > position or (end == line and comment.start >= starts[line - 1]):
                continue
            first = starts[self.source.line_at(comment.start) - 1]
            begins_line = not self.source.data[first : comment.start].strip()
            if counting == "any" or comment.kind != "line" or begins_line:
                return line - end
        return None

    def size(self, span: tuple[int, int]) -> BlockSize:
        """Return lines, tokens and cyclomatic complexity of a span."""
        return self._sizes.size(span)

    def cyclomatic(self, span: tuple[int, int]) -> int:
        """Return the cyclomatic complexity of a span: 1 + its decisions (McCabe 1976)."""
        return self._sizes.cyclomatic(span)


@dataclass(frozen=True, eq=False)
class ProjectAnalysis(ProjectScopes):
    """Analyses of the files of a project, by path."""

    files: Mapping[str, FileAnalysis]

    def __getitem__(self, path: str) -> FileAnalysis:
        return self.files[path]


def analyse(sources: Iterable[SourceFile]) -> ProjectAnalysis:
    """Return the analysis of all files of a project. Files that do not parse are included, with their faults.

    Names resolve only within a language; JavaScript and TypeScript count as one.

    Raises:
        DataError: two files have the same path.
    """
    trees: dict[str, tree_sitter.Tree] = {}
    files: list[FileSymbols] = []
    for source in sources:
        if source.path in trees:
            raise DataError(f"{source.path}: given twice")
        tree = trees[source.path] = parse_file(source)
        file = FileSymbols(source, tree.root_node)
        resolve_names(file)
        files.append(file)
    # After all files are read: an import may lead to a file that comes later.
    project = ProjectNames(files)
    definitions = DefinitionTable()
    analyses = {}
    for file in files:
        tree = trees[file.source.path]
        analyses[file.source.path] = _file_analysis(file, tree, project, definitions)
    return ProjectAnalysis(analyses)


def _file_analysis(
    file: FileSymbols, tree: tree_sitter.Tree, project: ProjectNames, definitions: DefinitionTable
) -> FileAnalysis:
    source, root = file.source, tree.root_node
    scopes = scopes_of(file)
    blocks = find_blocks(root, source, SpanIndex([scope.span for scope in scopes]))
    tests = [scope.span for scope in scopes if scope.is_test] + test_calls(source, blocks)
    return FileAnalysis(
        source,
        scopes,
        blocks,
        tuple(comments_in(tree, source.grammar)),
        find_references(file, project, definitions, blocks),
        parse_faults(root, source),
        tuple(sorted(tests)),
        tree,
    )
