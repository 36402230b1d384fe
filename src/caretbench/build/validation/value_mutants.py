"""Mutants of parts of a line: one value of the reference replaced by a wrong one.

The other mutants change statements, conditions and returns; the rest of a line, or a list of arguments, may hold none.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import tree_sitter

from caretbench.build.validation.mutants import MAX_PER_KIND, Mutant
from caretbench.build.validation.mutation_target import MutationEdit, MutationTarget
from caretbench.languages import language as language_named
from caretbench.problem import InlineSplice, Problem
from caretbench.syntax.parser import encode

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
    splice = problem.splice
    if not isinstance(splice, InlineSplice):
        raise TypeError(f"{problem.id} is not spliced into a program: it has no mutants")
    start = len(encode(splice.before))
    program = encode(splice.program(problem.reference))
    language = language_named(problem.caret.language).name
    target = MutationTarget(program, language, start, start + len(encode(problem.reference)))
    edits = (MutationEdit(VALUE, node.start_byte, node.end_byte, target.table.wrong_value) for node in _values(target))
    found = (Mutant(VALUE, target.mutated_reference(edit)) for edit in edits if target.parses_after(edit))
    return list(islice((one for one in found if one.text != problem.reference), MAX_PER_KIND))


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
