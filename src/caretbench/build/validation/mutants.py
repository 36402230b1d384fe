"""Mutants of references: wrong answers that parse and should compile, and that a good check kills."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, zip_longest
from typing import NamedTuple

import tree_sitter

from caretbench.build.validation.mutation_operators import (
    CRASH,
    MUTATION_OPERATORS,
    removed_construct_edits,
    throw_before_first_statement,
)
from caretbench.build.validation.mutation_target import MutationEdit, MutationTarget, mutation_table
from caretbench.languages import get_language
from caretbench.problem import FileSplice, InlineSplice, Problem
from caretbench.projects.answer_requests import file_splice
from caretbench.suites.baselines import stub
from caretbench.syntax.blocks import StatementList, statement_lists
from caretbench.syntax.documentation import Comment, comments
from caretbench.syntax.parser import encode, fault_count, parse

REACH_ONLY_MUTANTS = frozenset({CRASH})
"""Names of mutants whose failure shows only that the code is executed, not that it is checked."""
VAGUE_COMMENT = "vague_comment"
"""Name of mutants of comments, which execution cannot kill."""

STRENGTHS = ("value", "default", "throw", "reach")
"""Strengths of mutants, the strongest first: a changed value or step, the default of a type, a throw, mere reach."""
_STRENGTHS = {"default_return": "default", "empty": "default", "stub": "default", "throw": "throw", CRASH: "reach"}


def strength(name: str) -> str:
    """Return how much the failure of a mutant, or of an answer without content, shows about a check."""
    return _STRENGTHS.get(name, STRENGTHS[0])


MAX_PER_KIND = 3
"""Maximum number of mutants of each kind; more of them would show nothing new."""
VAGUE_WORDS = "Does something."


class Mutant(NamedTuple):
    """A wrong answer; ``name`` is the kind of change to the reference."""

    name: str
    text: str


def program_splice(problem: Problem) -> InlineSplice:
    """Return the splice of a problem into its program.

    Raises:
        TypeError: the problem is not spliced into one program.
    """
    if not isinstance(problem.splice, InlineSplice):
        raise TypeError(f"{problem.id} is not spliced into a program: it has no mutants")
    return problem.splice


def _mutation_target(problem: Problem) -> MutationTarget:
    splice = program_splice(problem)
    start = len(encode(splice.before))
    program = encode(splice.program(problem.reference))
    language = get_language(problem.caret.language).name
    return MutationTarget(program, language, start, start + len(encode(problem.reference)))


def _comments_of(problem: Problem) -> list[Comment]:
    """Return the comments of the program that overlap with the reference."""
    splice = program_splice(problem)
    start = len(encode(splice.before))
    end = start + len(encode(problem.reference))
    all_comments = comments(splice.program(problem.reference), problem.caret.language)
    return [comment for comment in all_comments if comment.start < end and start < comment.end]


def is_only_comment(problem: Problem) -> bool:
    """Return whether the reference consists of comments or a docstring, which execution cannot check.

    Raises:
        TypeError: the problem asks a question, or is not spliced into one program.
    """
    all_comments = _comments_of(problem)
    rest = encode(problem.reference)
    start = len(encode(program_splice(problem).before))
    for comment in reversed(all_comments):
        rest = rest[: max(0, comment.start - start)] + rest[max(0, comment.end - start) :]
    return bool(all_comments) and not rest.strip()


def _vague_comments(problem: Problem) -> list[Mutant]:
    table = mutation_table(get_language(problem.caret.language).name)
    first = _comments_of(problem)[0]
    reference = problem.reference
    start = len(encode(program_splice(problem).before))
    is_plain = first.kind == "line" and not first.text.startswith(("///", "//!"))
    body = table.vague_line_comment if is_plain else table.vague_comment
    if first.start < start or first.end > start + len(encode(reference)):
        # The comment began before the reference; its end within the reference must stay.
        body = VAGUE_WORDS + (" */" if reference.rstrip().endswith("*/") else "")
    lead = reference[: len(reference) - len(reference.lstrip())]
    tail = reference[len(reference.rstrip()) :]
    return [Mutant(VAGUE_COMMENT, lead + body + tail)]


def _in_turn(target: MutationTarget) -> list[MutationEdit]:
    """Return the first change of each kind, then the second of each kind, up to the third; crashes last."""
    kinds = [list(islice(operator(target), MAX_PER_KIND)) for operator in MUTATION_OPERATORS]
    edits = [edit for row in zip_longest(*kinds) for edit in row if edit is not None]
    # Crashes last: a killed crash shows reach alone, and the gate would have to go on anyway.
    return sorted(edits, key=lambda edit: edit.name in REACH_ONLY_MUTANTS)


def mutants(problem: Problem, limit: int = 12) -> list[Mutant]:
    """Return up to ``limit`` wrong answers to a problem, in the order of their chance to fail at run time.

    The programs with them have no more syntax faults than with the reference. A reference that is only a comment has a
    mutant named ``vague_comment``.

    Raises:
        TypeError: the problem asks a question, or is not spliced into one program.
    """
    if is_only_comment(problem):
        return _vague_comments(problem)[:limit]
    target = _mutation_target(problem)
    by_text: dict[str, Mutant] = {}
    for edit in _in_turn(target):
        if len(by_text) >= limit:
            break
        text = target.mutated_reference(edit)
        key = text.strip()
        # An answer that only differs in blanks is the reference; an empty one is tried by the gate itself.
        if key and key != problem.reference.strip() and key not in by_text and target.parses_after(edit):
            by_text[key] = Mutant(edit.name, text)
    return list(by_text.values())


def _changed(target: MutationTarget, edits: Iterable[MutationEdit]) -> Iterator[Mutant]:
    """Yield the reference after each of the changes that add no syntax faults."""
    return (Mutant(edit.name, target.mutated_reference(edit)) for edit in edits if target.parses_after(edit))


def throw_at_start(problem: Problem) -> Mutant | None:
    """Return the reference with a throw before its first statement, so that it does nothing.

    None if there is no statement, or the program would not parse. Its name is ``crash`` if every run executes it, else
    ``throw``.

    Raises:
        TypeError: the problem asks a question, or is not spliced into one program.
    """
    target = _mutation_target(problem)
    return next(_changed(target, throw_before_first_statement(target)), None)


def removed_constructs(problem: Problem) -> list[Mutant]:
    """Return up to three references without one of their constructs, the outer ones first.

    An ``if`` is always taken, a loop runs once, and what a ``try`` catches is thrown on.

    Raises:
        TypeError: the problem is not spliced into one program.
    """
    target = _mutation_target(problem)
    return list(islice(_changed(target, removed_construct_edits(target)), MAX_PER_KIND))


def changed_references(problem: Problem) -> Iterator[Mutant]:
    """Yield the wrong answers that are no mere throws: mutants, then wrong values; code that is not due if none is due.

    Raises:
        TypeError: the problem is not spliced into one program.
    """
    if not problem.reference.strip():
        yield from (mutant for mutant in added_code(problem) if mutant.name != ADDED_THROW)
        return
    no_changes = {"throw", *REACH_ONLY_MUTANTS, VAGUE_COMMENT}
    yield from (mutant for mutant in mutants(problem) if mutant.name not in no_changes)
    yield from value_mutants(problem)


VALUE = "wrong value"
"""Name of these mutants."""
_NO_VALUES = frozenset(
    {"function", "name", "attribute", "property", "left", "constructor", "type", "parameters", "body"}
)
"""Fields of a node whose content is a name or a target, and no value."""


def value_mutants(problem: Problem) -> list[Mutant]:
    """Return up to three mutants, those of outer values first.

    Raises:
        TypeError: the problem asks a question, or is not spliced into one program.
    """
    target = _mutation_target(problem)
    edits = (MutationEdit(VALUE, node.start_byte, node.end_byte, target.table.wrong_value) for node in _values(target))
    wrong_values = (mutant for mutant in _changed(target, edits) if mutant.text != problem.reference)
    return list(islice(wrong_values, MAX_PER_KIND))


def _values(target: MutationTarget) -> Iterator[tree_sitter.Node]:
    """Yield the nodes of values in the reference, outer ones first."""
    waiting = [target.tree.root_node]
    while waiting:
        node = waiting.pop(0)
        if node.end_byte <= target.start or node.start_byte >= target.end:
            continue
        for number, child in enumerate(node.children):
            field = node.field_name_for_child(number)
            if not child.is_named or "comment" in child.type:
                continue
            is_value = target.contains(child) and not child.type.endswith(("_statement", "block", "_clause", "_list"))
            if is_value and field not in _NO_VALUES and not target.is_assertion(child):
                yield child
            waiting.append(child)


REPEATED = "repeated"
"""Name of answers that repeat code next to the caret."""
ADDED_RETURN = "added return"
"""Name of answers that return at once."""
ADDED_THROW = "added throw"
"""Name of answers that only throw."""


def added_code(problem: Problem) -> Iterator[Mutant]:
    """Yield the wrong answers that parse: repetitions first, then returns, throws last.

    Raises:
        TypeError: the problem is not spliced into one program.
    """
    splice, language = program_splice(problem), problem.caret.language
    seen: set[str] = set()
    for name, text in _texts(splice, language):
        if text not in seen and fault_count(parse(splice.program(text), language), language) == 0:
            seen.add(text)
            yield Mutant(name, text)


def _texts(splice: InlineSplice, language: str) -> Iterator[tuple[str, str]]:
    program = encode(splice.program(""))
    caret = len(encode(splice.before))
    lists = statement_lists(parse(program, language).root_node, language)
    functions = [node for node, _ in MutationTarget(program, language, caret, caret).functions.values()]
    ended = [node.start_byte for node in functions if node.end_byte == caret]
    ending = [
        (block, number)
        for block in lists
        for number, span in enumerate(block.statements)
        if span.end == caret and not any(span.start <= start for start in ended)  # inside the function of the caret
    ]
    ending.sort(key=lambda pair: pair[0].statements[pair[1]].start)  # the outermost statement first
    for block, number in ending:
        yield REPEATED, _line(program, block, number, number)
    for block, number in ending:
        if number + 1 < len(block.statements):
            yield REPEATED, _line(program, block, number, number + 1)
    table = mutation_table(language)
    last_lines = [f"\n{_indentation(program, block.statements[number].start)}" for block, number in ending]
    yield from ((ADDED_RETURN, line + table.early_return.replace("@", "")) for line in last_lines)
    yield from ((ADDED_THROW, line + table.throw) for line in last_lines)


def _line(program: bytes, block: StatementList, sibling: int, number: int) -> str:
    """Return a statement of a list on lines of its own, indented as its ``sibling``."""
    start, end = block.statements[number]
    # In some grammars the semicolon is no part of the statement.
    while program[end : end + 1] == b";":
        end += 1
    text = program[start:end].decode("utf-8", "surrogatepass")
    return f"\n{_indentation(program, block.statements[sibling].start)}{text}"


def _indentation(program: bytes, position: int) -> str:
    """Return the blanks at the beginning of a position's line."""
    line = program[program.rfind(b"\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip())].decode()


def parses_as_reference(splice: InlineSplice, reference: str, language: str) -> Callable[[str], bool]:
    """Return the check that the program with an answer parses, if that with the reference does."""

    def parses(answer: str) -> bool:
        return fault_count(parse(splice.program(answer), language), language) == 0

    is_clean = parses(reference)
    # Where the reference itself has faults for the parser (macros of C), the parser cannot judge answers.
    return lambda answer: not is_clean or parses(answer)


def masks(problem: Problem, content: bytes, span: tuple[int, int], *, throw: bool) -> list[Mutant]:
    """Return the masks of the bytes ``span`` of a problem's file with this ``content``.

    Args:
        problem: The problem; its own span does not count.
        content: The unchanged file.
        span: The masked bytes.
        throw: Also a throw before the first statement, which keeps the text after it.
    """
    masked = in_file(problem, content, span)
    text = masked.reference
    # A mask that does not parse fails every test that imports the file: it would show nothing about the block.
    is_sound = parses_as_reference(program_splice(masked), text, masked.caret.language)
    least = stub(masked)
    candidates = [Mutant("deletion", ""), *([Mutant("pass", least)] if least else [])]
    sound = [mask for mask in candidates if mask.text.strip() != text.strip() and is_sound(mask.text)][:1]
    thrown = throw_at_start(masked) if throw else None
    return sound if thrown is None else [*sound, Mutant("throw", thrown.text)]


def in_file(problem: Problem, content: bytes, span: tuple[int, int] | None = None) -> Problem:
    """Return a problem whose program is a file with this ``content``, shown as a whole; its span is by default its own.

    Raises:
        DataError: no span is given, and the problem is not in a file.
    """
    start, end = span or (file_splice(problem).start, file_splice(problem).end)
    before, text, after = (
        data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
        for data in (content[:start], content[start:end], content[end:])
    )
    caret = problem.caret.model_copy(update={"prefix": before, "suffix": after})
    splice = InlineSplice(before=before, after=after)
    return problem.model_copy(update={"shown": caret, "splice": splice, "reference": text})


def with_span(problem: Problem, span: tuple[int, int]) -> Problem:
    """Return the problem with another span of its file, for requests that test a mask."""
    assert isinstance(problem.splice, FileSplice)  # noqa: S101  a problem of a project
    splice = problem.splice.model_copy(update={"start": span[0], "end": span[1]})
    return problem.model_copy(update={"splice": splice})
