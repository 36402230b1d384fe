"""Checks of an instance's text, before anything runs: each returns a fault, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from caretbench.build.validation.texts.private_texts import private_texts
from caretbench.extraction.policies import policy
from caretbench.metrics.text_overlap import dense_text
from caretbench.problem import Caret, Problem
from caretbench.suites.devbench.build.instance_rules.documentation_facts import comment_facts, documentation_facts
from caretbench.suites.devbench.build.instance_rules.import_use import unused_imports
from caretbench.suites.devbench.build.instance_rules.program_view import ProgramView
from caretbench.suites.devbench.build.instance_rules.rule_measures import RULE_MEASURES, documented_name
from caretbench.suites.devbench.cells.cell_tables import CellCategory, Rules, cell_categories, rules
from caretbench.suites.devbench.documentation import DocumentationCheck, documentation_faults
from caretbench.syntax.parser import encode

REPEATED_LINE: Final = 13
"""Length from which a line of the reference may not stand in the suffix."""
_REMARK: Final = re.compile(r"(?<=[\s;])(?://|#\s).*$|/\*.*\*/\s*$")
PASSED: Final = "ok"
"""Entry of a check without a fault."""
TEXT_CHECKS: Final = ("parse", "extraction", "suffix", "rules", "band", "imports", "private", "documentation")
"""Names of the checks of this module, in their order."""


def rule_faults(view: ProgramView, bounds: Rules) -> dict[str, str]:
    """Return the rules that a program breaks: name → the rule and the measured number."""
    found = {}
    for name, (low, high) in bounds.items():
        measured = RULE_MEASURES[name](view)
        if not low <= measured <= high:
            found[name] = f"{rules()[name].sentence((low, high))}; measured: {measured}"
    return found


def instance_kind(view: ProgramView, category: CellCategory, asked: str = "") -> str:
    """Return the kind of an instance: the requested one if its rules hold, else the first whose rules hold, or ""."""
    names = [asked, *category.kinds] if asked in category.kinds else list(category.kinds)
    return next((name for name in names if not rule_faults(view, category.kinds[name].rules)), "")


def instance_band(view: ProgramView, category: CellCategory, asked: str = "") -> str:
    """Return the band of difficulty, by the tokens of the reference; the requested one if it fits, or ""."""
    tokens = RULE_MEASURES["reference_tokens"](view)
    fitting = [name for name, (low, high) in category.bands.items() if low <= tokens <= high]
    return asked if asked in fitting else fitting[-1] if fitting else ""


def repeated_lines(reference: str, suffix: str) -> list[str]:
    """Return the lines of a reference, of at least 13 characters, that stand in the suffix.

    Blanks, a semicolon at the end and a comment behind the line make no difference.
    """
    after = {_plain_line(line) for line in suffix.split("\n")}
    lines = (line.strip() for line in reference.split("\n"))
    return [line for line in lines if len(line) >= REPEATED_LINE and _plain_line(line) in after]


def _plain_line(line: str) -> str:
    code = _REMARK.sub("", line)
    return dense_text(code if code.strip() else line).removesuffix(";")


def made_documentation_check(view: ProgramView) -> DocumentationCheck | None:
    """Return the predicate of a reference that is documentation or a comment, made from the code; None for code.

    The documentation must describe the parameters, the returned value and the errors that the reference describes, as
    far as the declaration has them; it must have half of its words, and a word of a name in the code.
    """
    lines = RULE_MEASURES["reference_comment_lines"](view)
    if not lines or lines < RULE_MEASURES["reference_lines"](view):
        return None  # it is code, which may hold comments of its own
    name = documented_name(view)
    if name is not None:
        return documentation_facts(view, name)
    return comment_facts(view) if _is_comment(view) else None


def _is_comment(view: ProgramView) -> bool:
    """Return whether the reference consists of comments."""
    rest = bytearray(encode(view.program))
    for comment in view.comments:
        rest[comment.start : comment.end] = bytes(comment.end - comment.start)
    return not rest[view.start : view.end].strip(b"\0 \t\r\n")


def _parse(view: ProgramView, _category: CellCategory) -> str:
    """Return a fault where the syntax tree has one in the reference; the compiler finds those elsewhere."""
    waiting = [view.tree.root_node]
    while waiting:
        node = waiting.pop()
        if (node.is_error or node.is_missing) and node.start_byte <= view.end + 1 and node.end_byte >= view.start:
            return "the reference does not parse in its place"
        waiting.extend(child for child in node.children if child.has_error)
    return "the program does not parse" if view.tree.root_node.type == "ERROR" else ""


def _extraction(view: ProgramView, _category: CellCategory) -> str:
    caret = Caret(language=view.language, prefix=view.prefix, suffix=view.suffix)
    changed = policy().apply(view.reference, caret).text != view.reference
    return "the reference does not survive as an answer: it would be cut or stripped" if changed else ""


def _suffix(view: ProgramView, _category: CellCategory) -> str:
    lines = repeated_lines(view.reference, view.suffix)
    return f"lines of the reference stand in the suffix: {lines[0]!r}" if lines else ""


def _rules(view: ProgramView, category: CellCategory) -> str:
    faults = rule_faults(view, category.rules)
    if not faults and not instance_kind(view, category):
        kinds = "; or ".join(
            ", ".join(rules()[name].sentence(bounds) for name, bounds in kind.rules.items())
            for kind in category.kinds.values()
        )
        return f"of no kind of the category: {kinds}"
    return "; ".join(faults.values())


def _band(view: ProgramView, category: CellCategory) -> str:
    if instance_band(view, category):
        return ""
    low, high = min(low for low, _ in category.bands.values()), max(high for _, high in category.bands.values())
    return f"{rules()['reference_tokens'].sentence((low, high))}; measured: {RULE_MEASURES['reference_tokens'](view)}"


def _imports(view: ProgramView, _category: CellCategory) -> str:
    unused = unused_imports(view)
    return f"imports that nothing uses: {', '.join(unused)}" if unused else ""


def _private(view: ProgramView, _category: CellCategory) -> str:
    found = next(private_texts(view.program), None)
    return f"the program holds {found.description}" if found else ""


def _documentation(view: ProgramView, _category: CellCategory) -> str:
    check = made_documentation_check(view)
    if check is None:
        return ""
    return "; ".join(documentation_faults(view.program, view.language, check, view.start, view.end))


_CHECKS: Final[Mapping[str, Callable[[ProgramView, CellCategory], str]]] = {
    "parse": _parse,
    "extraction": _extraction,
    "suffix": _suffix,
    "rules": _rules,
    "band": _band,
    "imports": _imports,
    "private": _private,
    "documentation": _documentation,
}


def text_checks(problem: Problem) -> dict[str, str]:
    """Return the result of each check of an instance's text: ``ok`` or the fault.

    A program that does not parse has no other result.

    Raises:
        KeyError: the tables have no such category or language.
    """
    category = cell_categories()[problem.label("category")]
    view = ProgramView.of(problem)
    found: dict[str, str] = {}
    for name in TEXT_CHECKS:
        fault = _CHECKS[name](view, category)
        found[name] = fault or PASSED
        if name == "parse" and fault:
            break
    return found
