"""Items of a review from problems: the text to review in its place, the hidden tests, controls and warm-up items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caretbench.build.validation.reviewed import problem_hash
from caretbench.files import DataError, replace_surrogates
from caretbench.judging.answers import answer_key
from caretbench.judging.caret_controls import caret_controls, control_sample
from caretbench.people.review.item import HiddenItem, ReviewItem, ShownItem
from caretbench.people.review.protocol import MOST_CHOICES, ControlRule, ReviewProtocol
from caretbench.problem import Caret, ChoiceCheck, InlineSplice, Problem, Question, TestsCheck

_LABELS = ("category", "task", "tier", "scenario")
"""Labels of problems that people see."""


def problem_items(problems: Sequence[Problem], protocol: ReviewProtocol) -> list[ReviewItem]:
    """Return the items of problems: their references, and the controls and warm-up items of the protocol.

    Raises:
        DataError: there is no problem that the protocol is for, or the protocol is about answers.
    """
    if protocol.subject == "answer":
        raise DataError(f"the protocol {protocol.name} is about answers of models: give a run, --run RUN")
    chosen = suited_problems(problems, protocol)
    items = [item_of_text(problem, problem.reference, protocol, _right_choice(problem, protocol)) for problem in chosen]
    return [*items, *control_items(chosen, protocol)]


def suited_problems(problems: Sequence[Problem], protocol: ReviewProtocol) -> list[Problem]:
    """Return the problems that a protocol is for: of its suites, and with choices where people choose.

    Raises:
        DataError: there is none, or one has more choices than keys.
    """
    needs_choices = any(question.kind == "problem_choice" for question in protocol.questions)
    for problem in problems if needs_choices else ():
        if isinstance(problem.shown, Question) and len(problem.shown.choices) > MOST_CHOICES:
            raise DataError(
                f"{problem.id}: {len(problem.shown.choices)} choices; people choose by the keys 1 to {MOST_CHOICES}"
            )
    chosen = [
        problem
        for problem in problems
        if (not protocol.suites or problem.suite in protocol.suites)
        and (not needs_choices or (isinstance(problem.shown, Question) and problem.shown.choices))
    ]
    if not chosen:
        suites = ", ".join(sorted({problem.suite for problem in problems})) or "nothing"
        wanted = " or ".join(protocol.suites) or "any suite"
        raise DataError(
            f"the protocol {protocol.name} is for {'questions with choices of ' if needs_choices else ''}{wanted}; "
            f"found problems of {suites}; choose other ones with --suite, --data or --select"
        )
    return chosen


def control_items(problems: Sequence[Problem], protocol: ReviewProtocol, items: int | None = None) -> list[ReviewItem]:
    """Return warm-up items and controls, the kinds in turn; their texts are those by which judges are checked.

    Args:
        problems: Problems from which they are made.
        protocol: The protocol, with the numbers.
        items: Number of items that the share of controls is of; by default that of the problems.
    """
    return list(_controls(problems, protocol, len(problems) if items is None else items))


def _controls(problems: Sequence[Problem], protocol: ReviewProtocol, items: int) -> Iterator[ReviewItem]:
    warm_up = protocol.mix.warm_up
    wanted = warm_up + (max(1, round(protocol.mix.controls * items)) if protocol.mix.controls else 0)
    sample = control_sample(problems, wanted) if protocol.controls else []
    texts = caret_controls(problems)
    for place, problem in enumerate(sample):
        rules = [rule for rule in protocol.controls if rule.kind in texts[problem.id]]
        if rules:
            rule: ControlRule = rules[place % len(rules)]
            hidden = HiddenItem(control=rule.kind, expect=rule.expect, explanation=rule.explanation)
            item = item_of_text(problem, texts[problem.id][rule.kind], protocol, hidden)
            kind = "warm_up" if place < warm_up else "control"
            yield item.model_copy(update={"kind": kind})


def item_of_text(
    problem: Problem, span: str, protocol: ReviewProtocol, hidden: HiddenItem | None = None, verdict: str = ""
) -> ReviewItem:
    """Return the item of one text at a problem: the reference, a control, or the answer of a model.

    Args:
        problem: The problem.
        span: The text to review; it is not shown where people answer the question themselves.
        protocol: The protocol, which says what is shown.
        hidden: Facts that nobody sees.
        verdict: Outcome of the run with this text.
    """
    shown = problem.shown
    texts: dict[str, Any] = {"span": "" if protocol.subject == "question" else span}
    if isinstance(shown, Caret):
        texts |= {"before": shown.prefix, "after": shown.suffix, "instruction": shown.instruction or ""}
        language = shown.language
    else:
        files = [one.model_dump() for one in shown.context]
        texts |= {"question": shown.text, "choices": list(shown.choices), "files": files}
        language = str(problem.labels.get("language", ""))
    parts: Mapping[str, str] = {"tests": _tests(problem), "verdict": verdict, "reference": problem.reference}
    texts |= {name: text for name, text in parts.items() if name in protocol.shows and text}
    return ReviewItem(
        problem_id=problem.id,
        suite=problem.suite,
        language=language,
        answer=answer_key(span),
        labels={name: problem.label(name) for name in _LABELS if name in problem.labels},
        shown=ShownItem.model_validate(replace_surrogates(texts)),
        hidden=hidden or HiddenItem(),
        problem_hash=problem_hash(problem),
    )


def _right_choice(problem: Problem, protocol: ReviewProtocol) -> HiddenItem | None:
    """Return the known answer to a multiple-choice question that people answer themselves, or None."""
    names = [question.name for question in protocol.questions if question.kind == "problem_choice"]
    right = next((check.correct for check in problem.checks if isinstance(check, ChoiceCheck)), None)
    return None if right is None or not names else HiddenItem(expect={names[0]: (right,)})


def _tests(problem: Problem) -> str:
    """Return the hidden tests: what the program has behind the shown text, or the command that runs tests."""
    if isinstance(problem.splice, InlineSplice) and isinstance(problem.shown, Caret):
        return problem.hidden_tests
    commands = [" ".join(check.command) for check in problem.checks if isinstance(check, TestsCheck)]
    return "\n".join(commands)
