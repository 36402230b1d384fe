"""The gate for questions: nothing is run, so what an answer is worth is asked of the measures themselves.

A choice is fit where its four patches differ, the right letter is right, and neither silence nor another letter is.
It is ``unverified`` where its tier has too few questions to tell whether attacks find more than chance.
What is judged is fit where the people's own answer measures best, silence worst, and copying stays well below.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.files import Appender, read_rows
from caretbench.problem import ChoiceCheck, Problem, Question
from caretbench.suites.efcb.attacks.learned_attacks import FEWEST
from caretbench.suites.efcb.positions import LETTERS
from caretbench.validation.validity import Validity

Measure = Callable[[Problem, str | None], Mapping[str, float]]
_FLOOR: Final = 0.9
_BEST: Final = ("edit_similarity", "chrf")
_MADE_UP: Final = "names_unsupported"
_NOWHERE: Final = "unheardOfHelper93"


class QuestionGate(NamedTuple):
    """The gate of the suite.

    Args:
        measure: The values of an answer, by name.
        progress: Called with the number of problems decided.
    """

    measure: Measure
    progress: Callable[[int], None] = lambda _count: None

    def run(self, problems: Sequence[Problem], path: Path) -> list[Validity]:
        """The verdicts on all problems; appends the missing ones to ``path`` and gives them all, in order."""
        with Appender(path) as appender:
            known = {row.problem_id: row for row in read_rows(path, Validity, torn_tail=True)}
            seen: dict[tuple[str, ...], str] = {}
            sizes = Counter(map(_tier, problems))
            for problem in problems:
                twin = seen.setdefault(_shown(problem), problem.id)
                if problem.id not in known:
                    size = sizes[_tier(problem)]
                    known[problem.id] = self._verdict(problem, "" if twin == problem.id else twin, size)
                    appender.append(known[problem.id])
                self.progress(1)
        return [known[problem.id] for problem in problems]

    def _verdict(self, problem: Problem, twin: str, size: int) -> Validity:
        reasons = [*([f"near_duplicate: {twin}"] if twin else []), *self._faults(problem)]
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
                yield f"golden_fails: {problem.reference!r} is not taken for the right choice"
            if self._right(problem, ""):
                yield "answerable_without_answer: the empty answer is right"
            wrong = [letter for letter in LETTERS[: len(shown.choices)] if letter != problem.reference]
            if any(self._right(problem, letter) for letter in wrong):
                yield "wrong_passes: another letter is right, too"
        else:
            yield from self._measured(problem)

    def _right(self, problem: Problem, text: str) -> bool:
        return self.measure(problem, text).get("passed") == 1.0

    def _measured(self, problem: Problem) -> Iterator[str]:
        golden, empty = self.measure(problem, problem.reference), self.measure(problem, "")
        if _MADE_UP in golden:
            false = self.measure(problem, f"{problem.reference}\n\nIt calls `{_NOWHERE}()`.")
            if golden[_MADE_UP] > 0.0:
                yield "golden_fails: the reference names what stands neither in the patch nor in its text"
            if false[_MADE_UP] < 1.0:
                yield "not_measured: a name that stands nowhere is not found"
            return
        name = next((name for name in _BEST if name in golden), None)
        if name is None:
            yield "not_measured: no measure tells answers apart"
            return
        if golden[name] < 1.0:
            yield f"golden_fails: {name} of the reference is {golden[name]:.3f}"
        if empty[name] > 0.0:
            yield f"answerable_without_answer: {name} of the empty answer is {empty[name]:.3f}"
        if golden.get("floor", 0.0) >= _FLOOR:
            yield f"copying_answers: copying reaches {golden['floor']:.3f}"


def _tier(problem: Problem) -> tuple[str, ...]:
    """Questions that are tested together: all of a tier, asked in one way and one order."""
    return tuple(str(problem.labels.get(name, "")) for name in ("task", "tier", "query", "rotation"))


def _doubts(problem: Problem, size: int) -> Iterator[str]:
    if size < FEWEST and any(isinstance(check, ChoiceCheck) for check in problem.checks):
        tier = " ".join(part for part in _tier(problem)[:2] if part)
        yield f"too_small_to_test: {tier} has {size} questions, {FEWEST} tell whether attacks find more than chance"


def _shown(problem: Problem) -> tuple[str, ...]:
    shown = problem.shown
    if not isinstance(shown, Question):
        return (problem.id,)
    files = (text for file in shown.context for text in (file.path, file.text))
    return (str(problem.labels.get("task", "")), shown.text, *shown.choices, *files)
