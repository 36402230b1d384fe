"""Syntax trees: by tree-sitter, with its queries, and for Python by Python's own parser.

Grammars are loaded on first use, with one parser per language and thread. A tree's positions count bytes of the UTF-8
text; :class:`CharacterOffsets` turns them into positions of the ``str``. Queries are ``.scm`` files in the folders of
:mod:`caretbench.languages`. A file that begins with ``; inherits: FOLDER`` extends the file of the same name in that
folder: that of another language, or of ``ecmascript``, which JavaScript and TypeScript share.

Every parse has a bound of work. What takes more is unparsed: its tree is a single error.

Faults are parse errors, and errors that a grammar does not detect: tree-sitter's for Python accepts empty blocks, wrong
indentation and ``try`` without a handler. The query file ``faults.scm`` captures the nodes that are checked, too.
"""

from __future__ import annotations

import ast
import bisect
import json
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Final

import tree_sitter

from caretbench.errors import UsageError
from caretbench.languages import get_language, language_of_grammar, languages
from caretbench.languages.node_kinds import node_kinds
from caretbench.languages.table_reader import language_file
from caretbench.syntax.parse_probe import PARSED, REFUSED, TOO_SLOW, probe

WORK_CALLS: Final = (2_000, 0.2)
"""Maximum calls of the progress callback: for any text, and in addition for each byte.

6,561 files took up to 0.02 a byte, and 100; lines of ``/*`` in C++ 7 a byte at 6 kB, and the more the longer.
"""

WORK_BYTES: Final = (64 << 20, 300)
"""Maximum memory: for any text, and in addition for each byte. Other texts take memory instead of calls."""

_UNWATCHED_SECONDS: Final = (0.02, 2e-6)
"""CPU time after which the memory is measured, in another process; 6,561 files took up to 0.3e-6 s a byte."""

_BACKSTOP_SECONDS: Final = (0.6, 1e-6)
"""CPU time that a parse within the bounds of work may take, and for each byte; above, it is this machine's fault."""

LONG_RUN: Final = 1000
"""Number of consecutive lines from which a run of comments and blank lines is shortened."""
_KEPT_AT_END: Final = 20


def without_long_comment_runs(source: bytes) -> bytes:
    """Return Python source in which long runs of comments are blank but for their first and last lines.

    All positions stay. Without this, 50,000 bytes of short comments take 3 s to parse. Lines with triple quotes may
    begin or end a string; they end a run.
    """
    # Nearly all programs: they are not divided into lines at all.
    if source.count(b"#") < LONG_RUN:
        return source
    lines = source.split(b"\n")
    start = 0
    for number in range(len(lines) + 1):
        if number < len(lines) and _is_comment_or_blank(lines[number]):
            continue
        if number - start >= LONG_RUN:
            # The first and the last lines stay comments, so that what is attached to a declaration or a caret is still
            # there.
            for inner in range(start + 1, number - _KEPT_AT_END):
                lines[inner] = b" " * len(lines[inner])
        start = number + 1
    return b"\n".join(lines)


def _is_comment_or_blank(line: bytes) -> bool:
    bare = line.strip()
    # A line with triple quotes may begin or end a string: within one, the lines are no comments.
    return not bare or (bare.startswith(b"#") and b'"""' not in bare and b"'''" not in bare)


_local = threading.local()
_loading = threading.Lock()


def encode(text: str) -> bytes:
    """Return the UTF-8 bytes of a text, in which tree positions count; lone surrogates are kept."""
    return text.encode("utf-8", "surrogatepass")


def text_of(node: tree_sitter.Node) -> str:
    """Return the text of a node."""
    return (node.text or b"").decode("utf-8", "surrogatepass")


def walk(
    root: tree_sitter.Node,
    start: int = -1,
    end: int = sys.maxsize,
    *,
    closed: Callable[[tree_sitter.Node], bool] = lambda _: False,
) -> Iterator[tree_sitter.Node]:
    """Yield the nodes of a tree that overlap a span of bytes, outer ones first, in text order.

    What is below a ``closed`` node is not visited.
    """
    # A loop: expressions of generated files are nested more deeply than Python's calls may be.
    waiting = [root]
    while waiting:
        node = waiting.pop()
        # Whole subtrees are skipped: a program has hundreds of nodes for each of an answer.
        if node.end_byte > start and node.start_byte < end:
            yield node
            if not closed(node):
                waiting.extend(reversed(node.children))


def upwards(node: tree_sitter.Node | None) -> Iterator[tree_sitter.Node]:
    """Yield a node and those around it, innermost first; nothing for None."""
    while node is not None:
        yield node
        node = node.parent


@cache
def dialects() -> Mapping[str, str]:
    """Return the language of every dialect that has its own grammar, by name of the dialect."""
    return {dialect: name for name, entry in languages().items() for dialect in entry.dialects}


@cache
def _load(name: str) -> tree_sitter.Language:
    entry = language_of_grammar(name)
    dialect = entry.dialects.get(name)
    function = dialect.function if dialect is not None else entry.grammar_function
    return tree_sitter.Language(getattr(import_module(entry.grammar), function)())


def grammar_name(language: str) -> str:
    """Return the name of a grammar: that of a language (by name or alias), or of a dialect (``tsx``).

    Raises:
        KeyError: the table has no such language.
    """
    name = language.strip().lower()
    return name if name in dialects() else get_language(name).name


def grammar(language: str) -> tree_sitter.Language:
    """Return the grammar of a language, by name or alias.

    Raises:
        KeyError: the table has no such language.
    """
    name = grammar_name(language)
    # `cache` lets two threads load one grammar at the same time; one after the other, they share one object.
    with _loading:
        return _load(name)


def _parser(language: str) -> tree_sitter.Parser:
    # A parser keeps state while it parses: each thread has its own.
    parsers: dict[str, tree_sitter.Parser] = _local.__dict__.setdefault("parsers", {})
    parser = parsers.get(language)
    if parser is None:
        parser = parsers[language] = tree_sitter.Parser(grammar(language))
    return parser


def parse(text: str | bytes, language: str, *, old: tree_sitter.Tree | None = None) -> tree_sitter.Tree:
    """Return the syntax tree of ``text``; parts that do not fit the grammar become error nodes.

    The tree of an unparsed text (:func:`unparsed`) has one error and no statements. Callers share it: who edits a tree
    edits a copy. ``old`` is the edited tree of an earlier version of the text, to parse incrementally. In Python, the
    inner lines of long runs of comments are no comments of the tree (:func:`without_long_comment_runs`).

    Raises:
        KeyError: the table has no such language.
    """
    data = encode(text) if isinstance(text, str) else text
    tree = _parsed(data, language) if old is None else _bounded_tree(data, language, old)
    return _error_tree(data, language) if isinstance(tree, bytes) else tree


def unparsed(texts: Sequence[str], language: str) -> str | None:
    """Return the reason for which one of the texts is not parsed; None if all are parsed.

    Long texts that other people or models wrote are tried here before they are parsed.
    """
    try:
        name = grammar_name(language)
    except UsageError:
        return None  # nothing parses it
    outcomes = {_probed(_without_long_comment_runs(encode(text), name), name) for text in texts}
    return TOO_SLOW_TEXT if TOO_SLOW in outcomes else UNPARSED_TEXT if REFUSED in outcomes else None


LONG_TEXT: Final = 1_000
"""Length from which a text can take more work to parse than its bound: 1,250 characters of ``x=>`` in Java. Each
text that is tried costs a process: where all programs were, error kinds of 3,000 answers took 2.4 times the CPU."""
UNPARSED_TEXT: Final = "a parser takes too much work for it"
TOO_SLOW_TEXT: Final = "this machine takes too much CPU time to parse it"


@lru_cache(maxsize=32)  # the cut, the syntax and the error kinds of an answer parse one text: 2,730 of 4,541 parses
def _parsed(data: bytes, language: str) -> tree_sitter.Tree | bytes:
    return _bounded_tree(data, language)


def _bounded_tree(data: bytes, language: str, old: tree_sitter.Tree | None = None) -> tree_sitter.Tree | bytes:
    """Return a tree; :data:`REFUSED` or :data:`TOO_SLOW` where it takes too much."""
    shown = _without_long_comment_runs(data, language)
    base, each = _UNWATCHED_SECONDS
    watched = _WatchedText(shown, time.thread_time() + base + each * len(shown))
    tree = watched.tree(language, old)
    if tree is None and watched.is_late:
        # Memory cannot be bounded in this process. What the other one parses within the bound is parsed here as well.
        answer = _probed(shown, language)
        return (_WatchedText(shown).tree(language, old) or REFUSED) if answer == PARSED else answer
    return tree or REFUSED


@lru_cache(maxsize=1_024)
def _probed(data: bytes, language: str) -> bytes:
    """Return the answer of the other process for a text."""
    return probe().answer(json.dumps([language, data.decode("utf-8", "surrogatepass")]).encode())


class _WatchedText:
    """Text that a parser reads in parts, and the work that it takes."""

    def __init__(self, data: bytes, late: float = float("inf")) -> None:
        self._data = data
        self._late = late
        self._calls_left = WORK_CALLS[0] + WORK_CALLS[1] * len(data)
        self._part = 1 << 16
        self.is_late = False

    def tree(self, language: str, old: tree_sitter.Tree | None = None) -> tree_sitter.Tree | None:
        """Return the tree; None if the parser was stopped."""
        parser = _parser(language)
        try:
            # tree-sitter calls back only where it reads the text by a function.
            if old is None:
                tree = parser.parse(self._read, progress_callback=self._stops)
            else:
                tree = parser.parse(self._read, old, progress_callback=self._stops)
        except ValueError:
            parser.reset()  # or the next text would be parsed from here
            return None
        # From now on nodes read their texts, most of which are short.
        self._part = 512
        return tree

    def _read(self, position: int, _point: object) -> bytes:
        return self._data[position : position + self._part]

    def _stops(self, _position: int, _has_error: bool) -> bool:
        self._calls_left -= 1
        self.is_late = time.thread_time() > self._late
        return self.is_late or self._calls_left < 0


def _error_tree(data: bytes, language: str) -> tree_sitter.Tree:
    """Return the tree of an unparsed text: an error, and blanks at all other positions."""
    return _parser(language).parse(re.sub(rb"[^\r\n]", b" ", data[:-1]) + b")" if data else b")")


def answer_probes() -> None:
    """Answer for each line of standard input, ``[language, text]``, whether the text is parsed within the limits."""
    for line in sys.stdin.buffer:
        language, text = json.loads(line)
        # Loaded once here, and there for all forks.
        _parser(language)
        status, slow = 0, False
        if sys.platform != "win32":
            # tree-sitter took more than 20 GB for 40,000 characters of a repetitive answer. Names that do not repeat
            # cost as much: 20,000 characters of them in Java killed the scorer. Here only the child ends.
            child = os.fork()
            if child == 0:
                _parse_and_end(encode(text), language)
            _, status = os.waitpid(child, 0)
            slow = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF
        sys.stdout.buffer.write(TOO_SLOW if slow else REFUSED if status else PARSED)
        sys.stdout.buffer.flush()


def _parse_and_end(data: bytes, language: str) -> None:
    """Parse within the limits; the process ends with status 0 if nothing stops it before."""
    try:
        if sys.platform == "linux":
            import resource

            # The pages that the process has before are no work of the parser.
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            memory = pages * resource.getpagesize() + WORK_BYTES[0] + WORK_BYTES[1] * len(data)
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            # No limit of the kernel has fractions of a second. The signal ends the process.
            signal.setitimer(signal.ITIMER_PROF, _BACKSTOP_SECONDS[0] + _BACKSTOP_SECONDS[1] * len(data))
            # A parse that is ended for its memory could leave a core file.
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os._exit(0 if _WatchedText(data).tree(language) else 1)
    finally:
        # Never back into the loop of the parent, whatever a parse raised.
        os._exit(1)


def _without_long_comment_runs(data: bytes, language: str) -> bytes:
    return without_long_comment_runs(data) if grammar_name(language) == "python" else data


def has_error(tree: tree_sitter.Tree) -> bool:
    """Return whether some part of the text does not fit the grammar."""
    return tree.root_node.has_error


def error_nodes(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the error nodes, and the missing tokens that the parser inserted, in text order."""
    # Subtrees without an error are not entered, so that a file that parses costs nothing.
    return (node for node in walk(root, closed=lambda node: not node.has_error) if node.is_error or node.is_missing)


def error_count(tree: tree_sitter.Tree) -> int:
    """Return the number of error nodes and of missing tokens."""
    return sum(1 for _ in error_nodes(tree.root_node))


class CharacterOffsets:
    """Conversion of byte positions of a text to character positions."""

    def __init__(self, text: str) -> None:
        self._ascii = text.isascii()
        widths = () if self._ascii else (len(encode(character)) for character in text)
        self._starts = list(accumulate(widths, initial=0))

    def characters(self, position: int) -> int:
        """Return the index of the character that contains byte ``position``."""
        return position if self._ascii else bisect.bisect_right(self._starts, position) - 1


Captures = dict[str, list[tree_sitter.Node]]

_INHERITS = "; inherits:"
_compiling = threading.Lock()


@cache
def _compiled(language: str, name: str) -> tree_sitter.Query | None:
    text = query_text(get_language(language).name, name)
    return tree_sitter.Query(grammar(language), text) if text is not None else None


def query_text(folder: str, name: str) -> str | None:
    """Return the text of a language's query file, inherited files included; None if there is no such file."""
    text = language_file(folder, f"{name}.scm")
    first = (text or "").partition("\n")[0]
    if not first.startswith(_INHERITS):
        return text
    return f"{query_text(first.removeprefix(_INHERITS).strip(), name) or ''}\n{text}"


def _query(language: str, name: str) -> tree_sitter.Query | None:
    with _compiling:
        return _compiled(grammar_name(language), name)


def captures(node: tree_sitter.Node, language: str, name: str) -> Captures:
    """Return the nodes under ``node`` by capture name; empty if the language has no query file of this name."""
    query = _query(language, name)
    return tree_sitter.QueryCursor(query).captures(node) if query else {}


def matches(node: tree_sitter.Node, language: str, name: str) -> list[Captures]:
    """Return one dictionary of captured nodes per match; empty if the language has no query file of this name."""
    query = _query(language, name)
    return [captured for _, captured in tree_sitter.QueryCursor(query).matches(node)] if query else []


LINE_END = re.compile(r"\r\n|\r|\n")


def python_module(text: str) -> ast.Module | None:
    """Return the tree of a Python program; None if it does not parse."""
    with warnings.catch_warnings():
        # Invalid escapes in strings are the program's business; as errors they would stop a test run.
        warnings.simplefilter("ignore")
        try:
            # tree-sitter accepts wrong indentation and empty bodies.
            return ast.parse(text)
        # ValueError: NUL bytes; the last two: expressions nested deeper than the parser's stack.
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


class PythonPositions:
    """Conversion of lines and UTF-8 columns of Python's parser to positions of the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(match.end() for match in LINE_END.finditer(text))]
        self._ascii = text.isascii()
        self._line = -1
        self._columns: list[int] = []

    def __call__(self, line: int, column: int) -> int:
        """Return the position of a line, from 1, and a column in UTF-8 bytes."""
        start = self.starts[min(line, len(self.starts)) - 1]
        if self._ascii:
            return start + column
        # Columns of a line with several-byte text are computed once: lines of generated programs have thousands of
        # nodes.
        if line != self._line:
            end = self.starts[line] if line < len(self.starts) else len(self.text)
            widths = (len(encode(character)) for character in self.text[start:end])
            self._line, self._columns = line, [0, *accumulate(widths)]
        return start + bisect.bisect_left(self._columns, column)


def _badly_laid_out(body: tree_sitter.Node) -> bool:
    """Return whether a block has no statement, or statements that begin in different columns."""
    statements = [child for child in body.named_children if child.type not in {"comment", "ERROR"}]
    if not statements:
        return body.type != "module"
    columns: set[int] = set()
    row = -1
    for statement in statements:
        # A statement after a semicolon shares the row of the one before, and its column means nothing.
        if statement.start_point.row != row:
            columns.add(statement.start_point.column)
        row = statement.end_point.row
    if len(columns) > 1:
        return True
    if body.parent is None:
        return columns != {0}
    # The column of the statement around it: a header may go over several lines, and end in another column than it
    # began.
    return columns.pop() <= _line_column(body.parent)


def _line_column(node: tree_sitter.Node) -> int:
    """Return the start column of the statement that contains ``node``."""
    lists = {"module", "block"}
    statements = (around for around in upwards(node) if around.parent is not None and around.parent.type in lists)
    return next((statement.start_point.column for statement in statements), -1)


def _extra_faults(tree: tree_sitter.Tree, language: str) -> int:
    captured = captures(tree.root_node, language, "faults")
    kinds = node_kinds(language)
    ends = kinds.handlers | kinds.finally_clauses
    without_end = (all(child.type not in ends for child in node.named_children) for node in captured.get("try", []))
    return len(captured.get("fault", [])) + sum(map(_badly_laid_out, captured.get("body", []))) + sum(without_end)


def layout_faults(tree: tree_sitter.Tree, language: str) -> int:
    """Return the number of layout faults: blocks without a statement, or with statements in different columns."""
    return sum(map(_badly_laid_out, captures(tree.root_node, language, "faults").get("body", [])))


def fault_count(tree: tree_sitter.Tree, language: str) -> int:
    """Return the number of faults of a program: error nodes, missing tokens, and errors beyond the grammar."""
    return error_count(tree) + _extra_faults(tree, language)


def is_well_formed(tree: tree_sitter.Tree, language: str) -> bool:
    """Return whether the program has no syntactic fault."""
    return not has_error(tree) and _extra_faults(tree, language) == 0


def is_well_formed_text(text: str, language: str) -> bool:
    """Return whether ``text`` is a well-formed program of its language."""
    return is_well_formed(parse(text, language), language)
