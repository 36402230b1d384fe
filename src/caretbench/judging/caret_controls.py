"""Controls at carets: texts of known quality that are judged like any other text, to check a judge.

``reference`` is the reference, ``reference-twice`` the reference two times in a row, ``other-reference`` the
reference of another problem in the same language, ``empty`` nothing. A judge that does not put the reference first
measures something else than quality.

For criteria that decide whether an instruction is followed, ``other-variant`` is the right answer to another
instruction at the same caret. The reference is a *yes*, the others are a *no*.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from caretbench.files import sha256_text
from caretbench.judging.criteria import AnswerForm
from caretbench.problem import Caret, Problem

CONTROLS = ("reference", "reference-twice", "other-reference", "empty")
"""Names of the controls, the best first; the last two are equally bad."""

REFERENCE, OTHER_VARIANT, EMPTY = "reference", "other-variant", "empty"

INSTRUCTION_CONTROLS = (REFERENCE, OTHER_VARIANT, EMPTY)
"""Names of the controls for a decision about an instruction; only the first is a yes."""

ControlTexts = Callable[[Sequence[Problem], AnswerForm], dict[str, dict[str, str]]]
"""Function from problems and the form of a criterion to the texts of the controls by problem and name."""

DEFAULT_CONTROL_PROBLEMS = 120
"""Default number of problems with controls: enough to separate means that differ by about 0.2 points."""


def caret_controls(problems: Sequence[Problem]) -> dict[str, dict[str, str]]:
    """Return the texts of the controls by problem and name. Problems without a caret have none.

    The other problem is the next one of the language in the order of the hashes of the ids. A control with the same
    text as the reference is omitted.
    """
    found: dict[str, dict[str, str]] = {}
    for group in _by_language(problems).values():
        for index, problem in enumerate(group):
            texts = {
                "reference": problem.reference,
                "reference-twice": _twice(problem.reference),
                "other-reference": _other(group, index),
                "empty": "",
            }
            found[problem.id] = {
                name: text
                for name, text in texts.items()
                if text is not None and (name == "reference" or text != problem.reference)
            }
    return found


def default_controls(problems: Sequence[Problem], form: AnswerForm) -> dict[str, dict[str, str]]:
    """Return the texts of the controls for criteria of a form, for suites without their own rule."""
    return instruction_controls(problems) if form == "decision" else caret_controls(problems)


def instruction_controls(
    problems: Sequence[Problem], is_followed: Callable[[Problem, str], bool] = lambda _problem, _text: False
) -> dict[str, dict[str, str]]:
    """Return the texts of the controls for decisions about instructions, by problem and name.

    The other variant is the reference of the next problem, in the order of the hashes of the ids, with the same caret
    and another instruction. A text that follows the instruction too by ``is_followed`` is no such variant. Carets
    without another variant lack this control; so do problems with an empty reference the empty one.
    """
    asked = [one for one in problems if isinstance(one.shown, Caret) and one.shown.instruction]
    found: dict[str, dict[str, str]] = {}
    for group in problems_by_group(hash_ordered(asked), _same_caret).values():
        for index, problem in enumerate(group):
            others = (group[(index + step) % len(group)] for step in range(1, len(group)))
            other = next((one.reference for one in others if _is_variant(problem, one, is_followed)), None)
            texts = {REFERENCE: problem.reference, OTHER_VARIANT: other, EMPTY: ""}
            found[problem.id] = {
                name: text
                for name, text in texts.items()
                if text is not None and (name == REFERENCE or text.strip() != problem.reference.strip())
            }
    return found


def _same_caret(problem: Problem) -> tuple[str, ...]:
    caret = problem.caret
    return (caret.language, caret.path or "", caret.prefix, caret.suffix)


def _is_variant(problem: Problem, other: Problem, is_followed: Callable[[Problem, str], bool]) -> bool:
    if other.caret.instruction == problem.caret.instruction or not other.reference.strip():
        return False
    return other.reference.strip() != problem.reference.strip() and not is_followed(problem, other.reference)


def control_sample(problems: Sequence[Problem], limit: int) -> list[Problem]:
    """Return at most ``limit`` problems with a caret, balanced over languages; always the same ones."""
    return balanced_sample(_by_language(problems), limit)


def _by_language(problems: Sequence[Problem]) -> dict[tuple[str, ...], list[Problem]]:
    carets = [problem for problem in problems if isinstance(problem.shown, Caret)]
    return problems_by_group(hash_ordered(carets), lambda problem: (problem.caret.language,))


def hash_ordered(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems in the order of the hashes of their ids."""
    return sorted(problems, key=lambda problem: sha256_text(problem.id))


def problems_by_group(
    ordered: Iterable[Problem], group: Callable[[Problem], tuple[str, ...]]
) -> dict[tuple[str, ...], list[Problem]]:
    """Return the problems of each group, in the order of ``ordered``."""
    groups: dict[tuple[str, ...], list[Problem]] = defaultdict(list)
    for problem in ordered:
        groups[group(problem)].append(problem)
    return groups


def balanced_sample(groups: Mapping[tuple[str, ...], Sequence[Problem]], limit: int) -> list[Problem]:
    """Return at most ``limit`` problems, balanced over the groups."""
    ranked = [(rank, name, problem) for name, group in groups.items() for rank, problem in enumerate(group)]
    return [problem for _, _, problem in sorted(ranked, key=lambda entry: entry[:2])[:limit]]


def control_totals(
    texts: Mapping[str, Mapping[str, str]], totals: Mapping[tuple[str, str], float]
) -> dict[str, list[float]]:
    """Return a grader's totals by control, over the problems of which it judged all controls."""
    whole = [
        problem
        for problem, named in sorted(texts.items())
        if len(named) == len(CONTROLS) and all((problem, answer) in totals for answer in named.values())
    ]
    return {name: [totals[problem, texts[problem][name]] for problem in whole] for name in CONTROLS}


def _twice(text: str) -> str:
    return text + ("" if text.endswith("\n") else "\n") + text if text else text


def _other(group: Sequence[Problem], index: int) -> str | None:
    own = group[index].reference
    following = (group[(index + step) % len(group)].reference for step in range(1, len(group)))
    return next((text for text in following if text.strip() != own.strip()), None)
