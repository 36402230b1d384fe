"""Controls of questions: answers with a known correct judgement.

========================  ==========================================================================
``reference``             the reference: the best score, no hallucination
``false-claim``           the reference with a false statement in addition: a hallucination
``other-reference``       the reference of another pull request: a low score, a hallucination
``empty``                 nothing: a low score
========================  ==========================================================================
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final

from caretbench.files import sha256_text
from caretbench.judging.caret_controls import INSTRUCTION_CONTROLS, balanced_sample, hash_ordered, problems_by_group
from caretbench.judging.criteria import AnswerForm, Criterion
from caretbench.problem import Problem, Question

REFERENCE: Final = "reference"
FALSE_CLAIM: Final = "false-claim"
OTHER: Final = "other-reference"
EMPTY: Final = "empty"

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
    found = {}
    for problem in ordered:
        other = _other(problem, near[_near(problem)]) or _other(problem, far[_far(problem)])
        texts = {REFERENCE: problem.reference, FALSE_CLAIM: _with_false_claim(problem), OTHER: other, EMPTY: ""}
        found[problem.id] = {
            name: text
            for name in names
            if (text := texts[name]) is not None and (name == REFERENCE or text.strip() != problem.reference.strip())
        }
    return found


def question_control_sample(problems: Sequence[Problem], limit: int) -> list[Problem]:
    """Return at most ``limit`` problems, balanced over tasks and repositories; always the same ones."""
    return balanced_sample(problems_by_group(hash_ordered(problems), _near), limit)


def _near(problem: Problem) -> tuple[str, ...]:
    """Return the task and the repository of a problem, or empty texts."""
    return tuple(problem.label(name) if name in problem.labels else "" for name in ("task", "repository"))


def _far(problem: Problem) -> tuple[str, ...]:
    return _near(problem)[:1]


def _other(problem: Problem, group: Sequence[Problem]) -> str | None:
    """Return the reference of the next problem in the group from another pull request with a different text."""
    start = next(index for index, entry in enumerate(group) if entry.id == problem.id)
    for step in range(1, len(group)):
        other = group[(start + step) % len(group)]
        if other.cluster != problem.cluster and other.reference.strip() != problem.reference.strip():
            return other.reference
    return None


# --- false statements -------------------------------------------------------------------------------------------


@cache
def _false_claims() -> tuple[tuple[str, tuple[str, ...]], ...]:
    text = resources.files("caretbench.judging").joinpath("false_claims.toml").read_text("utf-8")
    return tuple((row["text"], tuple(row["words"])) for row in tomllib.loads(text)["claims"])


def _with_false_claim(problem: Problem) -> str | None:
    """Return the reference with a false statement appended; None if every statement might be true of the patch."""
    known = " ".join(_sources(problem)).lower()
    claims = _false_claims()
    start = int(sha256_text(problem.id), 16) % len(claims)
    for text, words in claims[start:] + claims[:start]:
        if not any(word in known for word in words):
            return f"{problem.reference.rstrip()}\n\n{text}"
    return None


def _sources(problem: Problem) -> list[str]:
    shown = problem.shown
    files = [file.text for file in shown.context]
    return [problem.reference, *files, *([shown.text] if isinstance(shown, Question) else [])]
