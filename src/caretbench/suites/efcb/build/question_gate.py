"""The gate for questions, which checks problems with the suite's own measures and runs nothing.

A choice problem is valid if its four patches differ, the reference letter is right, empty answers and other letters are
wrong, and neither position nor length nor consensus answers its tier above chance. It is ``unverified`` if its tier is
too small to test attacks. A judged problem is valid if the reference has the best measure, the empty answer the worst,
and copying is well below.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from caretbench.problem import ChoiceCheck, Problem, Question
from caretbench.suites.efcb.build.attacks.leak_report import shape_leaks
from caretbench.suites.efcb.choices import LETTERS
from caretbench.suites.efcb.floors import MIN_QUESTIONS
from caretbench.suites.validity import ResumableGate, Validity

Measure = Callable[[Problem, str | None], Mapping[str, float]]
# The shown patch without its masks reaches .897 of the whole patch under `paper`: those questions stay, for comparison,
# and what is copied nearly in full goes.
_FLOOR: Final = 0.9
_BEST: Final = ("edit_similarity", "chrf")
_MADE_UP: Final = "names_unsupported"
# A name that no repository has, in a form that a reader takes for a function.
_NOWHERE: Final = "unheardOfHelper93"


@dataclass
class QuestionGate(ResumableGate):
    """The gate of the suite; ``measure`` returns the values of an answer by name."""

    measure: Measure
    progress: Callable[[int], None] = field(default=lambda _count: None)

    def decide(self, problems: Sequence[Problem], all_problems: Sequence[Problem] = ()) -> Iterator[Validity]:
        """Yield the gate's verdict on each problem, in order."""
        first: dict[tuple[str, ...], str] = {}
        for problem in all_problems or problems:
            # The first of equal questions stays, in the order of all problems, so that a gate of a part decides as one
            # of the whole.
            first.setdefault(_shown(problem), problem.id)
        sizes = Counter(map(_tier, all_problems or problems))
        shortcuts = _shortcuts(all_problems or problems) if problems else {}
        for problem in problems:
            twin = first[_shown(problem)]
            known = [f"near_duplicate: {twin}"] if twin != problem.id else []
            known += shortcuts.get(_tier(problem)[:3], [])
            yield self._verdict(problem, known, sizes[_tier(problem)])

    def _verdict(self, problem: Problem, known: Sequence[str], size: int) -> Validity:
        reasons = [*known, *self._faults(problem)]
        doubts = [] if reasons else list(_doubts(problem, size))
        return Validity(
            problem_id=problem.id,
            verdict="invalid" if reasons else "unverified" if doubts else "valid",
            reasons=(*reasons, *doubts),
        )

    def _faults(self, problem: Problem) -> Iterator[str]:
        check = next((check for check in problem.checks if isinstance(check, ChoiceCheck)), None)
        shown = problem.shown
        if not isinstance(shown, Question):
            yield "no_question: it is a place in a program"
        elif check is not None:
            if len(set(shown.choices)) < len(shown.choices):
                yield "choices_repeat: two choices are the same text"
            if not self._right(problem, problem.reference):
                yield f"reference_fails: {problem.reference!r} is not taken for the right choice"
            if self._right(problem, ""):
                yield "answerable_without_answer: the empty answer is right"
            # The release has questions in which two choices are the same text: 33 % of its GMCQ-Hard.
            wrong = [letter for letter in LETTERS[: len(shown.choices)] if letter != problem.reference]
            if any(self._right(problem, letter) for letter in wrong):
                yield "wrong_passes: another letter is right, too"
        else:
            yield from self._measured(problem)

    def _right(self, problem: Problem, text: str) -> bool:
        return self.measure(problem, text).get("passed") == 1.0

    def _measured(self, problem: Problem) -> Iterator[str]:
        reference, empty = self.measure(problem, problem.reference), self.measure(problem, "")
        if _MADE_UP in reference:
            false = self.measure(problem, f"{problem.reference}\n\nIt calls `{_NOWHERE}()`.")
            if reference[_MADE_UP] > 0.0:
                yield "reference_fails: the reference names what stands neither in the patch nor in its text"
            if false[_MADE_UP] < 1.0:
                yield "not_measured: a name that stands nowhere is not found"
            return
        name = next((name for name in _BEST if name in reference), None)
        if name is None:
            yield "not_measured: no measure tells answers apart"
            return
        if reference[name] < 1.0:
            yield f"reference_fails: {name} of the reference is {reference[name]:.3f}"
        if empty[name] > 0.0:
            yield f"answerable_without_answer: {name} of the empty answer is {empty[name]:.3f}"
        if reference.get("floor", 0.0) >= _FLOOR:
            yield f"copying_answers: copying reaches {reference['floor']:.3f}"


def _tier(problem: Problem) -> tuple[str, ...]:
    """Return the labels of questions that are tested together: task, tier, query variant and order of choices."""
    return tuple(str(problem.labels.get(name, "")) for name in ("task", "tier", "query", "rotation"))


def _shortcuts(problems: Sequence[Problem]) -> dict[tuple[str, ...], list[str]]:
    """Return the reasons against tiers whose questions position, length or consensus answer above chance."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for leak in shape_leaks(problems):
        if leak.exceeds_limit and not leak.has_too_few_questions:
            found[leak.task, leak.tier, leak.query].append(
                f"shortcut: {leak.attack} is right in {leak.accuracy:.1%} of {leak.task}, chance is {leak.chance:.0%}"
            )
    return found


def _doubts(problem: Problem, size: int) -> Iterator[str]:
    # No attack can be tested, so nothing is known against the question, and nothing for it.
    if size < MIN_QUESTIONS and any(isinstance(check, ChoiceCheck) for check in problem.checks):
        tier = " ".join(part for part in _tier(problem)[:2] if part)
        yield f"too_small_to_test: {tier} has {size} questions; attacks are tested with {MIN_QUESTIONS}"


def _shown(problem: Problem) -> tuple[str, ...]:
    shown = problem.shown
    if not isinstance(shown, Question):
        return (problem.id,)
    files = (text for file in shown.context for text in (file.path, file.text))
    return (str(problem.labels.get("task", "")), shown.text, *shown.choices, *files)
