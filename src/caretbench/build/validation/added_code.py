"""Wrong answers to problems whose right answer is empty: repeated code around the caret, returns, throws.

Each begins a new line after the caret, as a model's answer does that goes on where nothing is due.
"""

from __future__ import annotations

from collections.abc import Iterator

from caretbench.build.validation.mutants import Mutant
from caretbench.build.validation.mutation_tables import mutation_table
from caretbench.build.validation.mutation_target import MutationTarget
from caretbench.problem import InlineSplice, Problem
from caretbench.syntax.blocks import StatementList, statement_lists
from caretbench.syntax.faults import fault_count
from caretbench.syntax.parser import encode, parse

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
    splice = problem.splice
    if not isinstance(splice, InlineSplice):
        raise TypeError(f"{problem.id} is not spliced into a program: no code can be added")
    language = problem.caret.language
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
        (one, number)
        for one in lists
        for number, span in enumerate(one.statements)
        if span.end == caret and not any(span.start <= start for start in ended)  # inside the function of the caret
    ]
    ending.sort(key=lambda found: found[0].statements[found[1]].start)  # the outermost statement first
    for one, number in ending:
        yield REPEATED, _line(program, one, number, number)
    for one, number in ending:
        if number + 1 < len(one.statements):
            yield REPEATED, _line(program, one, number, number + 1)
    table = mutation_table(language)
    last_lines = [f"\n{_indentation(program, one.statements[number].start)}" for one, number in ending]
    yield from ((ADDED_RETURN, line + table.early_return.replace("@", "")) for line in last_lines)
    yield from ((ADDED_THROW, line + table.throw) for line in last_lines)


def _line(program: bytes, one: StatementList, sibling: int, number: int) -> str:
    """Return a statement of a list on lines of its own, indented as its ``sibling``."""
    start, end = one.statements[number]
    while program[end : end + 1] == b";":
        end += 1
    text = program[start:end].decode("utf-8", "surrogatepass")
    return f"\n{_indentation(program, one.statements[sibling].start)}{text}"


def _indentation(program: bytes, position: int) -> str:
    """Return the blanks at the beginning of a position's line."""
    line = program[program.rfind(b"\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip())].decode()
