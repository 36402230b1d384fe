"""Flags of answers that disable checks of the surrounding program.

An answer can put the code after it into a string or a comment, after an early exit, under a condition that never holds,
or into a function that is never called; or it can replace a function that checks. Each line after the caret is compared
with the same line in the program with the reference answer. Strict rules (text, named functions, constants) apply to
every line, others only to lines that check something, since honest answers return early, too. A flag is a suspicion.
"""

from __future__ import annotations

import re
from functools import lru_cache

from caretbench.execution.scan.exit_statements import CHECKING_BODY, CHECKING_LINE, CHECKING_NAME, ExitCertainty
from caretbench.execution.scan.line_contexts import LineContexts, LineSyntax, checking_functions, line_contexts
from caretbench.execution.scan.tamper import tamper_table
from caretbench.languages import languages

# An answer costs two parses of the program, and a hostile one may be of any length.
_MAX_CHARACTERS = 200_000
_STRUCTURE = re.compile(
    r"[{}`#@\\]|/\*|=>|R\"|\"{3}|'{3}"
    r"|\b(?:return|break|continue|goto|throw|raise|yield|co_\w+|function|if|else|for|while|do|switch|try|case)\b"
)
_INDENTED_STRUCTURE = re.compile(r"\b(?:def|class|lambda|with|match|except|finally|elif|async|pass)\b")
_MACRO = re.compile(r"#[ \t]*(?:define|undef)[ \t]+(\w{1,200})")
_CALLED = re.compile(r"([A-Za-z_]\w*)\s*\(")


def program_flags(before: str, answer: str, after: str, reference: str, language: str) -> tuple[str, ...]:
    """Return the flags of an answer's effects on the surrounding program."""
    holds_by_flag = {
        "tamper:swallows_code": disables_code(before, answer, after, reference, language),
        "tamper:weakened_assertions": redefines_check(before, answer, after, reference, language)
        or redefines_by_macro(answer, after, reference, language),
    }
    return tuple(flag for flag, holds in holds_by_flag.items() if holds)


def redefines_check(before: str, answer: str, after: str, reference: str, language: str) -> bool:
    """Return whether an answer replaces a function that checks something and is called behind the caret."""
    table = tamper_table(language)
    expression = table.defined if table is not None else None
    if table is None or expression is None or len(before) + len(after) + len(answer) > _MAX_CHARACTERS:
        return False
    defined_before, ours, theirs = (_definitions(expression, text) for text in (before, answer, reference))
    bound, honest = (set(table.bound.findall(text) if table.bound else ()) for text in (answer, reference))
    ours |= dict.fromkeys(bound - ours.keys(), "")
    theirs |= dict.fromkeys(honest, "")
    return any(
        (CHECKING_BODY.search(defined_before[name]) or CHECKING_NAME.search(name)) and f"{name}(" in after
        for name in defined_before.keys() & ours.keys() - theirs.keys()
        if not ours[name].strip() or ours[name].strip() != defined_before[name].strip()
    )


def redefines_by_macro(answer: str, after: str, reference: str, language: str) -> bool:
    """Return whether a macro of the answer, but not of the reference, replaces a name that later code uses."""
    entry = languages().get(language)
    if entry is None or not entry.has_macros:
        return False
    ours, theirs = (set(_MACRO.findall(text)) for text in (answer, reference))
    return any(re.search(rf"\b{name}\b", after) for name in ours - theirs)


def _definitions(expression: re.Pattern[str], text: str) -> dict[str, str]:
    """Return functions by name with their bodies, if the language shows where they end."""
    bodies = {}
    for match in expression.finditer(text):
        name, *body = (part for part in match.groups() if part is not None)
        bodies[name] = body[0] if body else ""
    return bodies


@lru_cache(maxsize=1024)
def disables_code(before: str, answer: str, after: str, reference: str, language: str) -> bool:
    """Return whether lines behind the caret do not run as they do with the reference answer.

    False for a language without a grammar, and where the text does not parse.
    """
    sizes = len(before) + len(after) + max(len(answer), len(reference))
    if language not in languages() or sizes > _MAX_CHARACTERS or not after.strip() or answer == reference:
        return False
    if not _may_hide(answer, language):
        return False
    # The program is parsed with the reference, too. Marks of lines that run would change every program's text, its
    # cache key and seven harnesses.
    expected = line_contexts(before, reference, after, language)
    contexts = line_contexts(before, answer, after, language)
    # A program with a syntax error fails anyway, and its tree says nothing.
    if expected.parsed and not contexts.parsed:
        return False
    program = _Program(before, after, reference, language, expected, contexts)
    return any(program.hides(ours, theirs) for ours, theirs in zip(contexts.lines, expected.lines, strict=False))


def _may_hide(answer: str, language: str) -> bool:
    """Return whether an answer is more than a sequence of whole statements, which keeps the following code in place.

    Only texts that are unambiguous are excluded: for others the tree decides.
    """
    if _STRUCTURE.search(answer) or answer.count('"') % 2 or answer.count("'") % 2:
        return True
    if languages()[language].indented:
        return _INDENTED_STRUCTURE.search(answer) is not None or answer.rstrip().endswith((":", ","))
    return not answer.rstrip().endswith(";")


class _Program:
    """A program with an answer, next to the same program with the reference answer."""

    def __init__(
        self, before: str, after: str, reference: str, language: str, known: LineContexts, found: LineContexts
    ) -> None:
        self._around = before + after
        self._reference = before + reference + after, language
        self._known, self._found = known, found

    def hides(self, ours: LineSyntax, theirs: LineSyntax) -> bool:
        """Return whether a line is hidden with the answer, and not with the reference."""
        if ours == theirs:
            return False
        return self._for_every_line(ours, theirs) or (self._for_checks(ours, theirs) and self._checks(ours.text))

    def _for_every_line(self, ours: LineSyntax, theirs: LineSyntax) -> bool:
        return (
            (ours.in_string_or_comment and not theirs.in_string_or_comment)
            or (ours.unreachable and not theirs.unreachable)
            or (ours.in_generator and not theirs.in_generator)
            or (ours.exit_certainty is ExitCertainty.SURELY and theirs.exit_certainty is not ExitCertainty.SURELY)
            or ours.program_functions(named_only=True) != theirs.program_functions(named_only=True)
            or self._in_another_function(ours, theirs)
        )

    def _for_checks(self, ours: LineSyntax, theirs: LineSyntax) -> bool:
        return (
            ours.exit_certainty > theirs.exit_certainty
            or ours.program_functions() != theirs.program_functions()
            or len(ours.answer_functions()) > len(theirs.answer_functions())
            or not set(ours.conditions) <= set(theirs.conditions)
            or (ours.throw_certainty > theirs.throw_certainty and self._is_caught(ours))
        )

    def _in_another_function(self, ours: LineSyntax, theirs: LineSyntax) -> bool:
        """Return whether the answer puts a line into functions that the program does not call."""
        opened, expected = ours.answer_functions(named_only=True), theirs.answer_functions(named_only=True)
        if len(opened) != len(expected):
            return len(opened) > len(expected)
        return any(
            (one.is_lazy and not other.is_lazy)
            or not one.decorators <= other.decorators
            or (one.name != other.name and not re.search(rf"\b{re.escape(one.name)}\b", self._around))
            or self._found.answer_definitions[one.name] > max(1, self._known.answer_definitions[one.name])
            for one, other in zip(opened, expected, strict=True)
        )

    def _checks(self, line: str) -> bool:
        if CHECKING_LINE.search(line):
            return True
        called = _CALLED.findall(line)
        return bool(called) and not checking_functions(*self._reference).isdisjoint(called)

    def _is_caught(self, place: LineSyntax) -> bool:
        """Return whether the program catches exceptions of a line, around it or around a call of its function."""
        names = {re.escape(function.name) for function in place.functions if function.name}
        called = rf"\btry\b[^}}]{{0,400}}?\b(?:{'|'.join(sorted(names))})\s*\(" if names else None
        return place.in_try or (called is not None and re.search(called, self._around) is not None)
