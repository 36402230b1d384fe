"""Controls of questions: answers with a known correct judgement.

========================  ==========================================================================
``reference``             the reference: the best score, no hallucination
``false-claim``           the reference with a false statement in addition: a hallucination
``other-reference``       the reference of another pull request: a low score, a hallucination
``empty``                 nothing: a low score
========================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from caretbench.files import read_packaged_toml, sha256_text
from caretbench.grouping import grouped
from caretbench.judging.criteria import AnswerForm, Criterion
from caretbench.problem import Caret, Problem, Question

REFERENCE: Final = "reference"
TWICE: Final = "reference-twice"
OTHER: Final = "other-reference"
OTHER_VARIANT: Final = "other-variant"
FALSE_CLAIM: Final = "false-claim"
EMPTY: Final = "empty"

CONTROLS = (REFERENCE, TWICE, OTHER, EMPTY)
"""Names of the controls, the best first; the last two are equally bad."""

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
    controls: dict[str, dict[str, str]] = {}
    for group in _by_language(problems).values():
        for index, problem in enumerate(group):
            texts = {
                REFERENCE: problem.reference,
                # A judge of length rates the doubled reference above the reference.
                TWICE: _twice(problem.reference),
                # Good code in the wrong place: a judge that does not read the program rates it like the reference.
                OTHER: _other(group, index),
                EMPTY: "",
            }
            controls[problem.id] = {
                name: text
                for name, text in texts.items()
                if text is not None and (name == REFERENCE or text != problem.reference)
            }
    return controls


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
    asked = [problem for problem in problems if isinstance(problem.shown, Caret) and problem.shown.instruction]
    controls: dict[str, dict[str, str]] = {}
    for group in problems_by_group(hash_ordered(asked), _same_caret).values():
        for index, problem in enumerate(group):
            # In the order of hashes, which no label follows; the next one is the same in every run.
            others = _following(group, index)
            variant = next((other.reference for other in others if _is_variant(problem, other, is_followed)), None)
            # A limited run may lack the other problems; the set's builder stored the right answer to one of them.
            stored = problem.released.get("other_variant")
            if variant is None and isinstance(stored, str) and stored.strip() and not is_followed(problem, stored):
                variant = stored
            texts = {REFERENCE: problem.reference, OTHER_VARIANT: variant, EMPTY: ""}
            controls[problem.id] = _unlike_reference(texts)
    return controls


def _following(group: Sequence[Problem], index: int) -> Iterator[Problem]:
    """Yield the other problems of a group, the next one first."""
    return (group[(index + step) % len(group)] for step in range(1, len(group)))


def _unlike_reference(texts: Mapping[str, str | None]) -> dict[str, str]:
    """Return the texts that are there, without those that are the reference's but for the blanks around it."""
    reference = (texts.get(REFERENCE) or "").strip()
    return {
        name: text
        for name, text in texts.items()
        if text is not None and (name == REFERENCE or text.strip() != reference)
    }


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
    return grouped((group(problem), problem) for problem in ordered)


def balanced_sample(groups: Mapping[tuple[str, ...], Sequence[Problem]], limit: int) -> list[Problem]:
    """Return at most ``limit`` problems, balanced over the groups."""
    ranked = [(rank, name, problem) for name, group in groups.items() for rank, problem in enumerate(group)]
    return [problem for _, _, problem in sorted(ranked, key=lambda entry: entry[:2])[:limit]]


def control_totals(
    texts: Mapping[str, Mapping[str, str]], totals: Mapping[tuple[str, str], float]
) -> dict[str, list[float]]:
    """Return a judge's totals by control, over the problems of which it judged all controls."""
    whole = [
        problem
        for problem, named in sorted(texts.items())
        # Means of two controls are compared, so both are over the same problems.
        if len(named) == len(CONTROLS) and all((problem, answer) in totals for answer in named.values())
    ]
    return {name: [totals[problem, texts[problem][name]] for problem in whole] for name in CONTROLS}


def _twice(text: str) -> str:
    return text + ("" if text.endswith("\n") else "\n") + text if text else text


def _other(group: Sequence[Problem], index: int) -> str | None:
    reference = group[index].reference.strip()
    references = (other.reference for other in _following(group, index))
    return next((text for text in references if text.strip() != reference), None)


HALLUCINATIONS: Final = frozenset({"claims", "flag"})
"""Forms of criteria about false statements."""

_BY_FORM: Mapping[AnswerForm, tuple[str, ...]] = {
    "scores": (REFERENCE, OTHER, EMPTY),
    "number": (REFERENCE, OTHER, EMPTY),
    "flag": (REFERENCE, FALSE_CLAIM, OTHER),
    "claims": (REFERENCE, FALSE_CLAIM, OTHER),
}


def control_names(criterion: Criterion) -> tuple[str, ...]:
    """Return the names of the controls for a criterion, the best text first."""
    if criterion.form == "decision":
        return INSTRUCTION_CONTROLS
    return _BY_FORM.get(criterion.form, ())


def question_controls(problems: Sequence[Problem], criterion: Criterion) -> dict[str, dict[str, str]]:
    """Return the texts of the controls by problem and name; all ``problems`` are judged by ``criterion``.

    The other pull request is of the same task and, if possible, of the same repository: the next one in the order of
    the hashes of the ids. Controls equal to the reference are omitted.
    """
    names = control_names(criterion)
    ordered = hash_ordered(problems)
    near, far = problems_by_group(ordered, _near), problems_by_group(ordered, _far)
    controls = {}
    for problem in ordered:
        other = _other_question(problem, near[_near(problem)]) or _other_question(problem, far[_far(problem)])
        texts = {REFERENCE: problem.reference, FALSE_CLAIM: _with_false_claim(problem), OTHER: other, EMPTY: ""}
        controls[problem.id] = _unlike_reference({name: texts[name] for name in names})
    return controls


def question_control_sample(problems: Sequence[Problem], limit: int) -> list[Problem]:
    """Return at most ``limit`` problems, balanced over tasks and repositories; always the same ones."""
    return balanced_sample(problems_by_group(hash_ordered(problems), _near), limit)


def _near(problem: Problem) -> tuple[str, ...]:
    """Return the task and the repository of a problem, or empty texts."""
    return tuple(problem.label(name) if name in problem.labels else "" for name in ("task", "repository"))


def _far(problem: Problem) -> tuple[str, ...]:
    return _near(problem)[:1]


def _other_question(problem: Problem, group: Sequence[Problem]) -> str | None:
    """Return the reference of the next problem in the group from another pull request with a different text."""
    start = next(index for index, entry in enumerate(group) if entry.id == problem.id)
    others = (other for other in _following(group, start) if other.cluster != problem.cluster)
    # Two questions about one pull request may have the same right answer.
    references = (other.reference for other in others if other.reference.strip() != problem.reference.strip())
    return next(references, None)


# --- false statements -------------------------------------------------------------------------------------------


@cache
def _false_claims() -> tuple[tuple[str, tuple[str, ...]], ...]:
    claims = read_packaged_toml("caretbench.judging", "false_claims.toml")["claims"]
    return tuple((row["text"], tuple(row["words"])) for row in claims)


def _with_false_claim(problem: Problem) -> str | None:
    """Return the reference with a false statement appended; None if every statement might be true of the patch."""
    shown = problem.shown
    question = [shown.text] if isinstance(shown, Question) else []
    sources = " ".join([problem.reference, *(file.text for file in shown.context), *question]).lower()
    claims = _false_claims()
    # Another statement for each problem, and the same one in every run.
    start = int(sha256_text(problem.id), 16) % len(claims)
    for text, words in claims[start:] + claims[:start]:
        # A statement whose words occur in the patch might be true of it, and no judge could be blamed.
        if not any(word in sources for word in words):
            return f"{problem.reference.rstrip()}\n\n{text}"
    return None
