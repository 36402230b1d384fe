"""Mutants for the gate: wrong answers that parse and should compile, and that a check worth its name kills.

A mutant that merely does not compile proves nothing, so changes are chosen that keep types and reachability:
a guard with a throw, an early return of the type's default, a negated condition. None is guaranteed to compile
or to be wrong: the gate runs them until one fails at run time. Mutants called ``crash`` come last: a throw at the
top level or in the main function stops any program, whether or not it checks what the reference did.
"""

from __future__ import annotations

import re
from itertools import islice, zip_longest
from typing import NamedTuple

from caretbench.languages import language as language_named
from caretbench.problem import InlineSplice, Problem
from caretbench.syntax.docs.comments import Comment, comments
from caretbench.syntax.parser import encode
from caretbench.validation.mutation import OPERATORS
from caretbench.validation.mutation_subject import MutationEdit, MutationSubject
from caretbench.validation.mutation_tables import mutation_table
from caretbench.validation.mutation_throws import CRASH, early_throw

REACH_ONLY = frozenset({CRASH})
"""Names of mutants whose failure shows that the place is run, not that anything is checked."""
VAGUE_COMMENT = "vague_comment"
"""The name of mutants of comments: running the program cannot kill them."""

MOST_OF_A_KIND = 3
"""More throws at other places, say, would prove nothing new."""
VAGUE_WORDS = "Does something."

_ENDS_WITH_COLON = re.compile(r":[ \t]*(?:#.*)?$")
_PYTHON_INDENTATION = "    "


class Mutant(NamedTuple):
    """A wrong answer; ``name`` says what was done to the reference."""

    name: str
    text: str


def _splice(problem: Problem) -> InlineSplice:
    if not isinstance(problem.splice, InlineSplice):
        raise TypeError(f"{problem.id} is not spliced into one program: it has no mutants")
    return problem.splice


def _subject(problem: Problem) -> MutationSubject:
    splice = _splice(problem)
    start = len(encode(splice.before))
    program = encode(splice.program(problem.reference))
    language = language_named(problem.caret.language).name
    return MutationSubject(program, language, start, start + len(encode(problem.reference)))


def _comments_of(problem: Problem) -> list[Comment]:
    """Return the comments of the reference program that reach into the reference."""
    splice = _splice(problem)
    start = len(encode(splice.before))
    end = start + len(encode(problem.reference))
    found = comments(splice.program(problem.reference), problem.caret.language)
    return [comment for comment in found if comment.start < end and start < comment.end]


def only_comment(problem: Problem) -> bool:
    """Return whether the reference is nothing but comments or a docstring, which no execution can check.

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
        # The comment began before the reference; what ends it within the reference has to stay.
        body = VAGUE_WORDS + (" */" if reference.rstrip().endswith("*/") else "")
    lead = reference[: len(reference) - len(reference.lstrip())]
    tail = reference[len(reference.rstrip()) :]
    return [Mutant(VAGUE_COMMENT, lead + body + tail)]


def _in_turn(subject: MutationSubject) -> list[MutationEdit]:
    """Return the first change of every kind, then the second of every kind, up to the third; crashes last."""
    kinds = [list(islice(operator(subject), MOST_OF_A_KIND)) for operator in OPERATORS]
    edits = [edit for row in zip_longest(*kinds) for edit in row if edit is not None]
    return sorted(edits, key=lambda edit: edit.name in REACH_ONLY)


def mutants(problem: Problem, limit: int = 12) -> list[Mutant]:
    """Wrong answers to a problem, the likeliest to fail at run time first, in a deterministic order.

    All whole programs have no more syntactic faults than the reference. A reference that is only a comment
    gets mutants called ``vague_comment``.

    Raises:
        TypeError: the problem asks a question, or is not spliced into one program.
    """
    if only_comment(problem):
        return _vague_comments(problem)[:limit]
    subject = _subject(problem)
    found: dict[str, Mutant] = {}
    for edit in _in_turn(subject):
        if len(found) >= limit:
            break
        text = subject.after(edit)
        key = text.strip()
        if key and key != problem.reference.strip() and key not in found and subject.parses_after(edit):
            found[key] = Mutant(edit.name, text)
    return list(found.values())


def throw_at_start(problem: Problem) -> Mutant | None:
    """The reference with a throw before the first statement that it executes: it does nothing of what it should.

    None where there is no such statement, or the program would not parse. Called ``crash`` where every run passes.

    Raises:
        TypeError: the problem asks a question, or is not spliced into one program.
    """
    subject = _subject(problem)
    edit = early_throw(subject)
    return Mutant(edit.name, subject.after(edit)) if edit is not None and subject.parses_after(edit) else None


def stub(problem: Problem) -> str:
    """The least that keeps a program well formed: ``pass`` in Python where a block must follow a colon, else nothing.

    Brace languages need nothing: their blocks may be empty. It is a floor (``baseline stub``), not a mutant.

    Raises:
        TypeError: the problem asks a question.
    """
    caret = problem.caret
    if language_named(caret.language).name != "python":
        return ""
    head, _, line = caret.prefix.rpartition("\n")
    if line.strip():
        return " pass" if _ENDS_WITH_COLON.search(line) else ""
    opener = next((above for above in reversed(head.split("\n")) if above.strip()), "")
    if not _ENDS_WITH_COLON.search(opener):
        return ""
    indentation = opener[: len(opener) - len(opener.lstrip())] + _PYTHON_INDENTATION
    missing = indentation.removeprefix(line) if indentation.startswith(line) else ""
    needs_newline = bool(caret.suffix.strip()) and not caret.suffix.startswith("\n")
    return f"{missing}pass" + ("\n" if needs_newline else "")
