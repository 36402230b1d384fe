"""Decisions of judges about instructions, compared with what is known: controls, predicates, people; round by round.

A decision is yes (the instruction is followed) or no. Each judgement counts once, so that a text that was judged in ten
rounds counts ten times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from caretbench.grouping import grouped
from caretbench.judging.aggregation import TextKey
from caretbench.judging.answers import answer_key
from caretbench.judging.controls import REFERENCE
from caretbench.problem import Judgement
from caretbench.reports.judged.scores import DecisionAgreement, JudgeDecisions, RoundDecisions
from caretbench.runs.judging.ratings import HumanRating

Decision = tuple[bool, bool]
"""Decision of a judge, and the known one."""


class KnownDecisions(NamedTuple):
    """Known decisions about the judged texts of a run.

    Args:
        controls: Names of the judged controls, by text.
        answers: The models' texts; predicates are compared on these.
        predicate: Returns the decision of a problem's predicates about a text; None where they do not decide.
        people: Shares of people who said yes, by text.
    """

    controls: Mapping[TextKey, str]
    answers: Set[TextKey]
    predicate: Callable[[TextKey], bool | None]
    people: Mapping[TextKey, float]


def decision_agreement(decisions: Iterable[Decision]) -> DecisionAgreement:
    """Return agreement, precision and recall of a judge's yes; None where nothing is divided by."""
    pairs = list(decisions)
    yes, known_yes = sum(said for said, _ in pairs), sum(known for _, known in pairs)
    both = sum(said and known for said, known in pairs)
    return DecisionAgreement(
        decisions=len(pairs),
        agreement=sum(said == known for said, known in pairs) / len(pairs) if pairs else None,
        precision=both / yes if yes else None,
        recall=both / known_yes if known_yes else None,
    )


def judge_decisions(judgements: Sequence[Judgement], known: KnownDecisions) -> JudgeDecisions:
    """Return the decisions of one judge, of its judgements by the criterion, compared with what is known."""
    repeats = sorted({row.repeat for row in judgements})
    rounds = [_round(repeat, [row for row in judgements if row.repeat == repeat], known) for repeat in repeats]
    return JudgeDecisions(**_agreements(judgements, known), rounds=tuple(rounds) if len(rounds) > 1 else ())


def _agreements(rows: Iterable[Judgement], known: KnownDecisions) -> dict[str, DecisionAgreement]:
    """Return the agreement of judgements with controls, predicates and people."""
    by_source: dict[str, list[Decision]] = {"known": [], "predicate": [], "people": []}
    for row in rows:
        text, said = (row.problem_id, row.answer), _said(row)
        if said is None:
            continue
        if text in known.controls:
            by_source["known"].append((said, known.controls[text] == REFERENCE))
        if text in known.answers and (decided := known.predicate(text)) is not None:
            by_source["predicate"].append((said, decided))
        if text in known.people and known.people[text] != 0.5:  # a tie decides nothing
            by_source["people"].append((said, known.people[text] > 0.5))
    return {name: decision_agreement(decisions) for name, decisions in by_source.items()}


def _said(row: Judgement) -> bool | None:
    """Return the decision of a judgement; None if it could not be read."""
    return next((value >= 0.5 for value in row.values.values()), None)


def _round(repeat: int, rows: Sequence[Judgement], known: KnownDecisions) -> RoundDecisions:
    said = [decision for row in rows if (decision := _said(row)) is not None]
    return RoundDecisions(
        number=repeat + 1,
        judged=len(said),
        unreadable=len(rows) - len(said),
        yes=sum(said) / len(said) if said else None,
        **_agreements(rows, known),
    )


def judged_controls(controls: Mapping[str, Mapping[str, str]], rows: Iterable[Judgement]) -> dict[TextKey, str]:
    """Return the names of the controls by text, of the problems whose controls were judged.

    A reference that a model wrote is a control only where another control was judged too.
    """
    judged = {(row.problem_id, row.answer) for row in rows}
    judged_names: dict[TextKey, str] = {}
    for problem, named in controls.items():
        texts = {(problem, answer_key(text)): name for name, text in named.items()}
        if any(text in judged for text, name in texts.items() if name != REFERENCE):
            judged_names |= texts
    return judged_names


def people_decisions(ratings: Iterable[HumanRating], names: Iterable[str]) -> dict[TextKey, float]:
    """Return the share of people who said yes about each text, of ratings by the criterion's score."""
    expected = set(names)
    by_text = grouped(
        ((row.problem_id, row.answer), row.total)
        for row in ratings
        if row.total is not None and set(row.values) == expected
    )
    return {text: sum(totals) / len(totals) for text, totals in by_text.items()}
