"""Decisions of judges about instructions, compared with what is known: controls, predicates, people; round by round.

A decision is yes (the instruction is followed) or no. Each judgement counts once, so that a text that was judged in ten
rounds counts ten times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from caretbench.grouping import grouped
from caretbench.judging.aggregation import JudgeKey, TextKey
from caretbench.judging.answers import answer_key
from caretbench.judging.controls import INSTRUCTION_CONTROLS, REFERENCE
from caretbench.metrics.agreement import krippendorff_alpha
from caretbench.problem import Judgement
from caretbench.reports.judged.scores import (
    CaretScores,
    ControlDecisions,
    DecisionAgreement,
    JudgeDecisions,
    JudgeNumbers,
    RoundDecisions,
)
from caretbench.reports.judged.trust import Acceptance, Calibration, ControlRating, State, acceptance_of, rejection_line
from caretbench.runs.judging.ratings import HumanRating
from caretbench.suites.suite_types import FAILED_CONTROLS_MARK

Decision = tuple[bool, bool]
"""Decision of a judge, and the known one."""


class KnownDecisions(NamedTuple):
    """Known decisions about the judged texts of a run.

    Args:
        controls: Texts of the controls by problem and name.
        predicate: Returns the decision of a problem's predicates about a text; None where they do not decide.
        people: Shares of people who said yes, by text.
    """

    controls: Mapping[str, Mapping[str, str]]
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


def judge_decisions(
    key: JudgeKey, title: str, judgements: Sequence[Judgement], known: KnownDecisions, answers: Iterable[TextKey]
) -> JudgeDecisions:
    """Return the decisions of one judge, compared with what is known.

    Args:
        key: The judge.
        title: Its title.
        judgements: Judgements by the criterion; those of other judges do not count.
        known: Known decisions.
        answers: The models' texts; predicates and people are compared on these, controls apart.
    """
    rows = [row for row in judgements if (row.judge, row.parameters) == key]
    compared = _Compared(known, _judged_controls(known.controls, rows), set(answers))
    controls = _control_values(rows, compared.names)
    verdict = acceptance_of(_calibration(controls), INSTRUCTION_CONTROLS)
    repeats = sorted({row.repeat for row in rows})
    rounds = [_round(repeat, [row for row in rows if row.repeat == repeat], compared) for repeat in repeats]
    return JudgeDecisions(
        judge=key[0],
        parameters=key[1],
        title=title,
        controls={
            name: ControlDecisions(expected="yes" if name == REFERENCE else "no", problems=len(values), right=right)
            for name, values in controls.items()
            if (right := _share_right(name, values)) is not None
        },
        **compared.agreements(rows),
        rounds=tuple(rounds) if len(rounds) > 1 else (),
        same=_same_decisions(rows),
        alpha=_alpha_of_rounds(rows, repeats),
        state=verdict.state,
        reason=verdict.reason,
    )


class _Compared(NamedTuple):
    """Known decisions with the names of the controls by text, and the texts of models."""

    known: KnownDecisions
    names: Mapping[TextKey, str]
    answers: set[TextKey]

    def agreements(self, rows: Iterable[Judgement]) -> dict[str, DecisionAgreement]:
        """Return the agreement of judgements with controls, predicates and people."""
        by_source: dict[str, list[Decision]] = {"known": [], "predicate": [], "people": []}
        for row in rows:
            text, said = (row.problem_id, row.answer), _said(row)
            if said is None:
                continue
            if text in self.names:
                by_source["known"].append((said, self.names[text] == REFERENCE))
            if text in self.answers and (decided := self.known.predicate(text)) is not None:
                by_source["predicate"].append((said, decided))
            if text in self.known.people and self.known.people[text] != 0.5:  # a tie decides nothing
                by_source["people"].append((said, self.known.people[text] > 0.5))
        return {name: decision_agreement(decisions) for name, decisions in by_source.items()}


def _said(row: Judgement) -> bool | None:
    """Return the decision of a judgement; None if it could not be read."""
    return next((value >= 0.5 for value in row.values.values()), None)


def _round(repeat: int, rows: Sequence[Judgement], compared: _Compared) -> RoundDecisions:
    said = [decision for row in rows if (decision := _said(row)) is not None]
    return RoundDecisions(
        number=repeat + 1,
        judged=len(said),
        unreadable=len(rows) - len(said),
        yes=sum(said) / len(said) if said else None,
        **compared.agreements(rows),
    )


def _judged_controls(controls: Mapping[str, Mapping[str, str]], rows: Iterable[Judgement]) -> dict[TextKey, str]:
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


def _control_values(rows: Iterable[Judgement], names: Mapping[TextKey, str]) -> dict[str, list[float]]:
    """Return the share of yes over the repeats of each judged control, by name."""
    said: dict[TextKey, list[bool]] = defaultdict(list)
    for row in rows:
        text, decision = (row.problem_id, row.answer), _said(row)
        if text in names and decision is not None:
            said[text].append(decision)
    values: dict[str, list[float]] = {name: [] for name in INSTRUCTION_CONTROLS}
    for text, decisions in said.items():
        values[names[text]].append(sum(decisions) / len(decisions))
    return values


def _share_right(name: str, values: Sequence[float]) -> float | None:
    """Return the share of controls that were judged correctly in more than half of the rounds."""
    right = [value > 0.5 if name == REFERENCE else value < 0.5 for value in values]
    return sum(right) / len(right) if right else None


def _calibration(controls: Mapping[str, Sequence[float]]) -> Calibration:
    ratings = {
        name: ControlRating(mean=sum(values) / len(values), problems=len(values), right=right)
        for name, values in controls.items()
        if (right := _share_right(name, values)) is not None
    }
    return Calibration(ratings, 0)


def _by_text(rows: Iterable[Judgement]) -> dict[TextKey, dict[int, bool]]:
    by_text: dict[TextKey, dict[int, bool]] = defaultdict(dict)
    for row in rows:
        if (decision := _said(row)) is not None:
            by_text[row.problem_id, row.answer][row.repeat] = decision
    return by_text


def _same_decisions(rows: Iterable[Judgement]) -> float | None:
    """Return the share of pairs of rounds with the same decision about a text."""
    pairs = [one == two for said in _by_text(rows).values() for one, two in combinations(said.values(), 2)]
    return sum(pairs) / len(pairs) if pairs else None


def _alpha_of_rounds(rows: Iterable[Judgement], repeats: Sequence[int]) -> float | None:
    texts = [said for said in _by_text(rows).values() if len(said) > 1]
    if not texts:
        return None
    return krippendorff_alpha([[_number(said.get(repeat)) for said in texts] for repeat in repeats])


def _number(decision: bool | None) -> float | None:
    return None if decision is None else float(decision)


def people_decisions(ratings: Iterable[HumanRating], names: Iterable[str]) -> dict[TextKey, float]:
    """Return the share of people who said yes about each text, of ratings by the criterion's score."""
    expected = set(names)
    by_text = grouped(
        ((row.problem_id, row.answer), row.total)
        for row in ratings
        if row.total is not None and set(row.values) == expected
    )
    return {text: sum(totals) / len(totals) for text, totals in by_text.items()}


_MARKED = f"scores are no accepted measure of quality, and are marked {FAILED_CONTROLS_MARK}"


def decision_warnings(judged: Iterable[CaretScores]) -> Iterator[str]:
    """Yield a line for each judge of texts at carets that did not pass its controls."""
    for entry in judged:
        says = "decisions do not measure whether instructions are followed" if entry.decisions else _MARKED
        for line in refusal_lines([entry], ("failed", "too_few", "unknown")):
            yield f"{line}; its {says}"


def decision_failures(judged: Iterable[CaretScores]) -> Iterator[str]:
    """Yield a line for each judge of texts at carets that failed its controls."""
    for line in refusal_lines(judged, ("failed",)):
        yield f"{line}; this run has failed"


def refusal_lines(judged: Iterable[CaretScores], states: Sequence[State]) -> Iterator[str]:
    """Yield a line for each judge in one of the states, with the reason."""
    for entry in judged:
        judges: list[JudgeDecisions | JudgeNumbers] = [*entry.decisions, *entry.judges]
        for judge in judges:
            if judge.state is not None and judge.state in states:
                yield rejection_line(judge.title, entry.criterion, Acceptance(judge.state, judge.reason))
