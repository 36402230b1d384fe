"""Items of a review from problems: the reference in its place, the hidden tests, controls and warm-up items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caretbench.files import DataError, replace_surrogates
from caretbench.judging.answers import answer_key
from caretbench.judging.caret_controls import caret_controls, control_sample
from caretbench.problem import Caret, InlineSplice, Problem, Question, TestsCheck
from caretbench.review.item import HiddenItem, ReviewItem, ShownItem
from caretbench.review.protocol import ControlRule, ReviewProtocol


def problem_items(problems: Sequence[Problem], protocol: ReviewProtocol) -> list[ReviewItem]:
    """Return the items of problems: their references, and the controls and warm-up items of the protocol.

    Raises:
        DataError: there is no problem of a suite that the protocol is for, or the protocol is about answers.
    """
    if protocol.subject == "answer":
        raise DataError(f"the protocol {protocol.name} is about answers of models, which problems alone do not have")
    chosen = [problem for problem in problems if not protocol.suites or problem.suite in protocol.suites]
    if not chosen:
        raise DataError(f"the protocol {protocol.name} is for {', '.join(protocol.suites) or 'problems'}; found none")
    items = [_item(problem, problem.reference, protocol) for problem in chosen]
    return [*items, *_controls(chosen, protocol)]


def _controls(problems: Sequence[Problem], protocol: ReviewProtocol) -> Iterator[ReviewItem]:
    """Yield warm-up items and controls, the kinds in turn; their texts are those by which judges are checked."""
    warm_up = protocol.mix.warm_up
    wanted = warm_up + (max(1, round(protocol.mix.controls * len(problems))) if protocol.mix.controls else 0)
    sample = control_sample(problems, wanted) if protocol.controls else []
    texts = caret_controls(problems)
    for place, problem in enumerate(sample):
        rules = [rule for rule in protocol.controls if rule.kind in texts[problem.id]]
        if rules:
            rule: ControlRule = rules[place % len(rules)]
            hidden = HiddenItem(control=rule.kind, expect=rule.expect, explanation=rule.explanation)
            item = _item(problem, texts[problem.id][rule.kind], protocol)
            kind = "warm_up" if place < warm_up else "control"
            yield item.model_copy(update={"kind": kind, "hidden": hidden})


def _item(problem: Problem, span: str, protocol: ReviewProtocol) -> ReviewItem:
    shown = problem.shown
    texts: dict[str, object] = {"span": span} if protocol.subject == "problem" else {}
    if isinstance(shown, Caret):
        texts |= {"before": shown.prefix, "after": shown.suffix, "instruction": shown.instruction or ""}
    if isinstance(shown, Question):
        texts |= {
            "question": shown.text,
            "choices": shown.choices,
            "files": [one.model_dump() for one in shown.context],
        }
    if "tests" in protocol.shows:
        texts["tests"] = _tests(problem)
    language = shown.language if isinstance(shown, Caret) else problem.labels.get("language", "")
    return ReviewItem(
        problem_id=problem.id,
        suite=problem.suite,
        language=str(language),
        answer=answer_key(span),
        labels={name: problem.label(name) for name in ("category", "task", "tier") if name in problem.labels},
        shown=ShownItem.model_validate(replace_surrogates(_as_lists(texts))),
    )


def _as_lists(texts: dict[str, object]) -> dict[str, object]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in texts.items()}


def _tests(problem: Problem) -> str:
    """Return the hidden tests: what the program has behind the shown text, or the command that runs tests."""
    if isinstance(problem.splice, InlineSplice) and isinstance(problem.shown, Caret):
        return problem.splice.after.removeprefix(problem.shown.suffix)
    commands = [" ".join(check.command) for check in problem.checks if isinstance(check, TestsCheck)]
    return "\n".join(commands)
