"""Instrumentation of sources: a call before every statement appends a line to a log file, once per process.

The call and its definition are in ``projects.toml`` of a language. Each file contains its own definition, so that no
build file has to change. Line numbers stay the same if the language allows two statements on a line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import tree_sitter
from pydantic import BaseModel

from caretbench.build.projects.language_tables import InstrumentationTable, project_tables
from caretbench.errors import DataError
from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.workspace_runner import WorkspaceResult
from caretbench.languages import get_language
from caretbench.languages.node_kinds import node_kinds
from caretbench.syntax.analysis_types import Span
from caretbench.syntax.blocks import statement_lists
from caretbench.syntax.parser import captures, has_error
from caretbench.syntax.source import SourceFile, parse_file

EXECUTION_LOG = ".caretbench-marks"
"""Path of the log file in the project."""

Mark = tuple[int, int]
"""Number of a file, and number of a statement or of a line in it."""

Place = tuple[int, int, str]
"""Number of a file, first line of a code object in it, and its name."""

_MARK = re.compile(rb"^(\d+) (\d+)$", re.MULTILINE)
_UNTRACED = re.compile(rb"^untraced$", re.MULTILINE)


class ExecutedMarks(NamedTuple):
    """Marks that a command executed.

    Args:
        executed: All executed marks.
        shared: Those that belong to no single test: of imports, shared fixtures and other processes.
        by_test: For each test, in the order of execution, its marks; empty if the runner does not report single tests.
        untraced: Whether a part of the command ran without its tracer.
        calls: For each test, the calling code object (None: the test) and the called one of each call, once, in the
            order of their first occurrence; empty without a tracer.
    """

    executed: frozenset[Mark]
    shared: frozenset[Mark] = frozenset()
    by_test: Mapping[str, frozenset[Mark]] = {}
    untraced: bool = False
    calls: Mapping[str, tuple[tuple[Place | None, Place], ...]] = {}

    def converted(self, convert: Callable[[frozenset[Mark]], frozenset[Mark]]) -> ExecutedMarks:
        """Return the marks with each set converted, such as lines to statements."""
        tests = {name: convert(marks) for name, marks in self.by_test.items()}
        return self._replace(executed=convert(self.executed), shared=convert(self.shared), by_test=tests)


def executed_marks(result: WorkspaceResult) -> ExecutedMarks:
    """Return the marks in the log file of a command."""
    data = result.file(EXECUTION_LOG) or b""
    counts = Counter((int(file), int(number)) for file, number in _MARK.findall(data))
    # Each process writes a mark once, so a second one comes from a process that belongs to no single test.
    shared = {mark for mark, count in counts.items() if count > 1}  # by several processes
    tests: dict[str, set[Mark]] = {}
    calls: dict[str, list[int]] = {}
    codes: tuple[Place, ...] = ()
    for line in data.splitlines():
        if line.startswith(b"{"):
            logged = _Line.model_validate_json(line)
            numbers = ((file, int(bits, 16)) for file, bits in logged.marks.items())
            marks = {(file, n) for file, bits in numbers for n in range(bits.bit_length()) if bits >> n & 1}
            if logged.test is None:
                shared |= marks
                codes = logged.codes or codes
            else:
                tests.setdefault(logged.test, set()).update(marks)
                calls.setdefault(logged.test, []).extend(logged.calls)
    by_test = {name: frozenset(marks) for name, marks in tests.items()}
    placed = {name: tuple(_placed(numbers, codes)) for name, numbers in calls.items() if codes}
    return ExecutedMarks(frozenset(counts), frozenset(shared), by_test, _UNTRACED.search(data) is not None, placed)


def _placed(numbers: Sequence[int], codes: Sequence[Place]) -> Iterator[tuple[Place | None, Place]]:
    """Yield calls by the places of their code objects; ``numbers`` are those of calling and called ones in turn."""
    for caller, called in zip(numbers[::2], numbers[1::2], strict=True):
        yield None if caller < 0 else codes[caller], codes[called]


class _Line(BaseModel):
    """Log line of the pytest plugin: the marks that one test executed, as a bit set for each file, and the calls."""

    test: str | None
    marks: Mapping[int, str]
    calls: tuple[int, ...] = ()
    codes: tuple[Place, ...] = ()


class InstrumentedFile(NamedTuple):
    """An instrumented file: its number, its content, and the spans of its recorded statements in text order."""

    number: int
    content: bytes
    spans: tuple[Span, ...]


def recorded_statements(source: SourceFile) -> list[tree_sitter.Node]:
    """Return the statements of a file whose execution is recorded, in text order.

    Raises:
        DataError: the file does not parse.
        KeyError: its language has no instrumentation.
    """
    table = project_tables()[source.language].instrumentation
    tree = parse_file(source)
    if has_error(tree) and not get_language(source.language).preprocessed:  # they may be no errors of the file
        raise DataError(f"{source.path} does not parse")
    nodes = _statements(tree.root_node, source, table)
    if has_error(tree) and not get_language(source.language).has_macros:  # a preprocessor has cut up some functions
        lists = captures(tree.root_node, source.grammar, "blocks").get("statements", [])
        faulty = [Span(node.start_byte, node.end_byte) for node in lists if node.has_error]
        nodes = (node for node in nodes if not any(span.start <= node.start_byte < span.end for span in faulty))
    return sorted(nodes, key=lambda node: node.start_byte)


def instrument(source: SourceFile, number: int) -> InstrumentedFile:
    """Return a file with a recording call before every statement; ``number`` identifies it in the log.

    Raises:
        DataError: the file does not parse.
        KeyError: its language has no instrumentation.
    """
    nodes = recorded_statements(source)
    table = project_tables()[source.language].instrumentation
    numbers = {"@file": str(number), "@size": str(len(nodes) + 1), "@place": f"{WORK}/{EXECUTION_LOG}"}
    definition = _filled(table.definition, numbers)
    parts = [definition] if nodes and table.definition_position == "head" else []
    position = 0
    if nodes and table.imports:
        position = max(
            node.end_byte for node in captures(parse_file(source).root_node, source.grammar, "imports")["package"]
        )
        parts += [source.text((0, position)), table.imports]
    for n, node in enumerate(nodes):
        parts.append(source.text((position, node.start_byte)))
        call = _filled(table.call, {**numbers, "@n": str(n)})
        if n == 0 and table.definition_position == "first":
            call = definition + call
        parts.append(_before(source, node, call))
        position = node.start_byte
    parts.append(source.text((position, len(source.data))))
    if nodes and table.definition_position == "foot":
        parts.append(f"\n{definition}\n")
    spans = tuple(Span(node.start_byte, node.end_byte) for node in nodes)
    return InstrumentedFile(number, "".join(parts).encode("utf-8", "surrogatepass"), spans)


def _filled(template: str, numbers: Mapping[str, str]) -> str:
    for name, value in numbers.items():
        template = template.replace(name, value)
    return template


def _before(source: SourceFile, node: tree_sitter.Node, call: str) -> str:
    """Return the call before a statement; before a compound statement of Python, on a line of its own."""
    if not get_language(source.language).indented or not _is_compound(node):
        return call
    line_start = source.data.rfind(b"\n", 0, node.start_byte) + 1
    return call.rstrip("; ") + "\n" + source.text((line_start, node.start_byte))


def _is_compound(node: tree_sitter.Node) -> bool:
    kinds = node_kinds()
    compound = node.type in kinds.decorated or node.type in kinds.tries or node.type in kinds.matches
    return compound or any(child.type == ":" for child in node.children)


def _statements(root: tree_sitter.Node, source: SourceFile, table: InstrumentationTable) -> Iterator[tree_sitter.Node]:
    """Yield the statements that get a call."""
    allowed = {span for body in statement_lists(root, source.grammar) for span in body.statements}
    # A call in a constexpr function does not compile.
    constant = _constant_bodies(root, source, table.constant_header) if table.constant_header else []
    for node in captures(root, source.grammar, "blocks").get("statements", []):
        if _is_class_body(node):
            continue
        children = [child for child in node.named_children if Span(child.start_byte, child.end_byte) in allowed]
        head = _head(children, table)
        for child in children[head:]:
            inside = any(span.start <= child.start_byte < span.end for span in constant)
            directive = child.type.startswith("preproc_")  # it has lines of its own
            before = child.prev_named_sibling
            follows = before is not None and before.type in table.attached_nodes
            if child.type not in table.excluded_nodes and not (inside or follows or directive):
                yield child


def _head(children: list[tree_sitter.Node], table: InstrumentationTable) -> int:
    """Return the number of statements that must stay first: docstrings, directives, ``__future__`` imports."""
    head = 0
    if not table.leading_strings:
        return head
    kinds = node_kinds()
    for n, child in enumerate(children):
        inner = child.named_children[0] if child.named_child_count else None
        is_text = child.type in kinds.expression_statements and inner is not None and inner.type == "string"
        # A call before these is a syntax error, or makes a docstring a plain string.
        if child.type in kinds.future_imports or (is_text and n == head):
            head = n + 1
    return head


def _is_class_body(node: tree_sitter.Node) -> bool:
    """Return whether the body of a function is in fact that of a class with a macro: ``class EXPORTED Name {``."""
    function, kinds = node.parent, node_kinds()
    if function is None or function.type not in kinds.functions:
        return False
    kind = function.child_by_field_name("type")
    declarator = function.child_by_field_name("declarator")
    named = declarator is not None and declarator.type in kinds.names | kinds.type_names
    return named and kind is not None and kind.type in kinds.types


def _constant_bodies(root: tree_sitter.Node, source: SourceFile, constant: str) -> list[Span]:
    """Return the spans of functions that a compiler may evaluate, which must have no side effects."""
    pattern, kinds = re.compile(constant.encode()), node_kinds(source.grammar)
    spans, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        if node.type in kinds.functions:
            body = node.child_by_field_name("body")
            header = source.data[node.start_byte : body.start_byte if body else node.end_byte]
            if pattern.search(header):
                spans.append(Span(node.start_byte, node.end_byte))
                continue
        waiting.extend(node.children)
    return spans
