"""Mutants of references: wrong answers that parse and should compile, and that a good check kills.

Changes keep types and reachability: a throw, an early return of a default value, a negated condition. No mutant is
guaranteed to compile or to be wrong; the gate tries them until one fails at run time. Mutants named ``crash`` come
last: a throw at top level or in the main function stops every program, whatever it checks.
"""

from __future__ import annotations

from itertools import islice, zip_longest
from typing import NamedTuple

from caretbench.build.validation.mutation_operators import MUTATION_OPERATORS
from caretbench.build.validation.mutation_tables import mutation_table
from caretbench.build.validation.mutation_target import MutationEdit, MutationTarget
from caretbench.build.validation.throw_mutations import CRASH, throw_before_first_statement
from caretbench.languages import language as language_named
from caretbench.problem import InlineSplice, Problem
from caretbench.syntax.documentation import Comment, comments
from caretbench.syntax.parser import encode

REACH_ONLY_MUTANTS = frozenset({CRASH})
"""Names of mutants whose failure shows only that the code is executed, not that it is checked."""
VAGUE_COMMENT = "vague_comment"
"""Name of mutants of comments, which execution cannot kill."""

MAX_PER_KIND = 3
"""Maximum number of mutants of each kind; more of them would show nothing new."""
VAGUE_WORDS = "Does something."


class Mutant(NamedTuple):
    """A wrong answer; ``name`` is the kind of change to the reference."""

    name: str
    text: str


def _splice(problem: Problem) -> InlineSplice:
    if not isinstance(problem.splice, InlineSplice):
        raise TypeError(f"{problem.id} is not spliced into a program: it has no mutants")
    return problem.splice


def _mutation_target(problem: Problem) -> MutationTarget:
    splice = _splice(problem)
    start = len(encode(splice.before))
    program = encode(splice.program(problem.reference))
    language = language_named(problem.caret.language).name
    return MutationTarget(program, language, start, start + len(encode(problem.reference)))


def _comments_of(problem: Problem) -> list[Comment]:
    """Return the comments of the program that overlap with the reference."""
    splice = _splice(problem)
    start = len(encode(splice.before))
    end = start + len(encode(problem.reference))
    found = comments(splice.program(problem.reference), problem.caret.language)
    return [comment for comment in found if comment.start < end and start < comment.end]


def is_only_comment(problem: Problem) -> bool:
    """Return whether the reference consists of comments or a docstring, which execution cannot check.

    Raises:
        TypeError: the problem asks a question, or is not spliced into one program.
    """
    found = _comments_of(problem)
    if not found:
        return False
    rest = encode(problem.reference)
    start = len(encode(_splice(problem).before))
    for comment in reversed(found):
        rest = rest[: max(0, comment.start - start)] + rest[max(0, comment.end - start) :]
    return not rest.strip()


def _vague_comments(problem: Problem) -> list[Mutant]:
    table = mutation_table(language_named(problem.caret.language).name)
    first = _comments_of(problem)[0]
    reference = problem.reference
    start = len(encode(_splice(problem).before))
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
    found: dict[str, Mutant] = {}
    for edit in _in_turn(target):
        if len(found) >= limit:
            break
        text = target.mutated_reference(edit)
        key = text.strip()
        if key and key != problem.reference.strip() and key not in found and target.parses_after(edit):
            found[key] = Mutant(edit.name, text)
    return list(found.values())


def throw_at_start(problem: Problem) -> Mutant | None:
    """Return the reference with a throw before its first statement, so that it does nothing.

    None if there is no statement, or the program would not parse. Its name is ``crash`` if every run executes it, else
    ``throw``.

    Raises:
        TypeError: the problem asks a question, or is not spliced into one program.
    """
    target = _mutation_target(problem)
    edit = throw_before_first_statement(target)
    if edit is None or not target.parses_after(edit):
        return None
    return Mutant(edit.name, target.mutated_reference(edit))
