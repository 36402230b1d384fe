"""Four texts for four versions: a writer and a checker that are right, wrong, vague, or quote the code."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from caretbench.build.build_models import NO_MODELS, BuildRequest
from caretbench.errors import DataError, UsageError
from caretbench.files import write_rows
from caretbench.problem import ChoiceCheck, Problem, Question
from caretbench.suites.efcb.build.builder import QuestionGate
from caretbench.suites.efcb.build.changes import EfcbOptions
from caretbench.suites.efcb.build.choices.choice_problems import choice_problems
from caretbench.suites.efcb.build.choices.gmcq_hard import PeoplesText, TextSource, VersionSet, hard_questions
from caretbench.suites.efcb.build.problem_building import leak_report
from caretbench.suites.efcb.choices import LETTERS, query_text
from caretbench.suites.efcb.problem_metadata import FOUR_TEXTS_TIER
from caretbench.suites.efcb.suite import Efcb
from tests.support.efcb_changes import changes

PULLS = changes(8)
OPTIONS = EfcbOptions()


class Scripted:
    """A writer and a checker by functions of a request's text."""

    def __init__(self, write: Callable[[str], str], check: Callable[[str], str], checker: str = "c") -> None:
        self._answer = {"writer": write, "checker": check}
        self._names = {"writer": "w", "checker": checker}
        self.roles = frozenset(self._answer)
        self.asked: dict[str, list[str]] = defaultdict(list)

    def names(self, role: str) -> tuple[str, ...]:
        """The model of a role."""
        return (self._names[role],)

    def ask(self, role: str, requests: Iterable[BuildRequest]) -> Mapping[str, str]:
        """Return an answer for each request."""
        found = {}
        for request in requests:
            self.asked[role].append(str(request.prompt))
            found[request.key] = self._answer[role](str(request.prompt))
        return found

    def ask_each(self, role: str, requests: Mapping[str, Iterable[BuildRequest]]) -> Mapping[str, Mapping[str, str]]:
        """Return an answer for each request."""
        return {name: self.ask(role, asked) for name, asked in requests.items()}


WORDS = ("amber", "basalt", "cedar", "dune", "ember", "fjord", "grove", "heath")


def code_word(patch: str) -> str:
    """A text that only this patch has, and that nobody reads off the code."""
    number = sum(place * ord(letter) for place, letter in enumerate(patch.strip(), 1))
    return " ".join(WORDS[int(digit)] for digit in f"{number % 8**6:o}")


def right_writer(prompt: str) -> str:
    return code_word(prompt.partition("The patch:")[2].partition("The lines:")[0])


def right_checker(prompt: str) -> str:
    told = re.search(r"Text: (.*)", prompt)
    assert told
    versions = re.split(r"\nVersion [A-D]:\n", prompt.partition("\nWhich version does")[0])[1:]
    return next((letter for letter, one in zip(LETTERS, versions, strict=True) if code_word(one) == told[1]), "none")


def problems_of(source: TextSource) -> tuple[list[Problem], Counter[str]]:
    items, rejected = hard_questions(PULLS, OPTIONS, texts=source)
    return [problem for item in items for problem in choice_problems(item, OPTIONS)], Counter(
        r.reason for r in rejected
    )


def test_each_version_of_a_set_is_right_once_and_no_rule_without_the_text_is_right_twice() -> None:
    models = Scripted(right_writer, right_checker)
    problems, _ = problems_of(TextSource({}, models))
    plain, _ = hard_questions(PULLS, OPTIONS)
    assert len(problems) == 4 * len(plain) >= 20
    sets: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        assert (problem.labels["tier"], problem.labels["text_by"]) == (FOUR_TEXTS_TIER, "model")
        sets[str(problem.labels["choice_set"])].append(problem)
    for members in sets.values():
        shown = [one.shown for one in members if isinstance(one.shown, Question)]
        assert len({frozenset(one.choices) for one in shown}) == 1
        rights = [
            (one.choices[check.correct], check.correct)
            for one, problem in zip(shown, members, strict=True)
            for check in problem.checks
            if isinstance(check, ChoiceCheck)
        ]
        assert {choice for choice, _ in rights} == set(shown[0].choices)
        assert sorted(place for _, place in rights) == [0, 1, 2, 3]
        assert len({one.id for one in members}) == len({query_text(one) for one in members}) == 4
    for leak in leak_report(problems):
        assert leak.kind == "floor" or leak.accuracy == pytest.approx(0.25), leak.attack
    # The writer sees one version, never the change's own text.
    assert not any(pull.description[:40] in prompt for prompt in models.asked["writer"] for pull in PULLS)
    assert len(models.asked["writer"]) == len(models.asked["checker"]) == len(problems)


def quoting_writer(prompt: str) -> str:
    return f"It does {prompt.rstrip().splitlines()[-1][1:]} as {right_writer(prompt)}"


@pytest.mark.parametrize(
    ("write", "check", "reason"),
    [
        (lambda _: "It changes the code.", right_checker, "same_text"),
        (lambda _: "", right_checker, "no_text"),
        (lambda prompt: f"{right_writer(prompt)} " * 40, right_checker, "no_text"),
        (quoting_writer, right_checker, "quotes_code"),
        (right_writer, lambda _: "A", "not_picked"),
        (right_writer, lambda _: "none", "not_picked"),
        (lambda prompt: right_writer(prompt)[::-1], right_checker, "not_picked"),
    ],
    ids=["vague", "silent", "long", "leaking", "careless checker", "checker in doubt", "wrong"],
)
def test_a_set_with_a_text_that_fails_is_dropped_whole(
    write: Callable[[str], str], check: Callable[[str], str], reason: str
) -> None:
    problems, reasons = problems_of(TextSource({}, Scripted(write, check)))
    assert problems == []
    assert set(reasons) <= {reason, "too_few_edits", "no_fair_pair"}
    assert reasons[reason] >= 5


def test_one_wrong_text_of_four_costs_the_set() -> None:
    wrong = {right_writer(f"The patch:\n\n{PULLS[0].files[0].path}\n{PULLS[0].files[0].patch}\n---\n\nThe lines:")}
    clean, _ = problems_of(TextSource({}, Scripted(right_writer, right_checker)))
    problems, reasons = problems_of(
        TextSource({}, Scripted(lambda p: "x y z" if right_writer(p) in wrong else right_writer(p), right_checker))
    )
    assert len(clean) - len(problems) == 4
    assert reasons["not_picked"] == 1


def test_people_write_and_pick() -> None:
    items, _ = hard_questions(PULLS, OPTIONS)
    plain = [next(choice_problems(item, OPTIONS)) for item in items[:3]]
    texts = {
        problem.id: [
            PeoplesText(problem=problem.id, choice=letter, text=f"text {number} {letter}", picked=letter)
            for letter in LETTERS
        ]
        for number, problem in enumerate(plain)
    }
    texts[plain[1].id][2] = texts[plain[1].id][2].model_copy(update={"picked": "A"})
    texts[plain[2].id][0] = texts[plain[2].id][0].model_copy(update={"picked": None})
    problems, reasons = problems_of(TextSource(texts))
    assert {problem.labels["text_by"] for problem in problems} == {"people"}
    assert len(problems) == 4
    assert (reasons["not_picked"], reasons["unchecked"], reasons["no_text"]) == (1, 1, len(items) - 3)
    shown = plain[0].shown
    assert isinstance(shown, Question)
    for problem in problems:
        letter = query_text(problem)[-1]
        assert isinstance(problem.shown, Question)
        assert problem.shown.choices[LETTERS.index(problem.reference)] == shown.choices[LETTERS.index(letter)]


def test_the_lines_at_which_versions_differ_are_told() -> None:
    one = VersionSet("n", ("+a\n+b\n+c", "+x\n+b\n+c", "+a\n+b\n+y", "+x\n+b\n+y"))
    assert [one.edited_lines(number) for number in range(4)] == [["+a", "+c"], ["+x", "+c"], ["+a", "+y"], ["+x", "+y"]]


def test_sources_that_cannot_work_are_refused(tmp_path: Path) -> None:
    assert TextSource.of(None, NO_MODELS) is None
    alone = Scripted(right_writer, right_checker)
    alone.roles = frozenset({"writer"})
    with pytest.raises(UsageError, match="add -m checker="):
        TextSource.of(None, alone)
    with pytest.raises(UsageError, match="w cannot"):
        TextSource.of(None, Scripted(right_writer, right_checker, checker="w"))
    path = tmp_path / "texts.jsonl"
    write_rows(path, [PeoplesText(problem="p", choice="A", text="t")])
    with pytest.raises(DataError, match="p needs"):
        TextSource.of(path, NO_MODELS)


def test_a_set_with_an_invalid_question_is_invalid_whole() -> None:
    problems, _ = problems_of(TextSource({}, Scripted(right_writer, right_checker)))
    group = str(problems[0].labels["choice_set"])
    broken = [one.model_copy(update={"reference": "E"}) if one is problems[0] else one for one in problems]

    def measure(problem: Problem, text: str | None) -> dict[str, float]:
        return {
            name: value for entry in Efcb().measure(problem, text, "default") for name, value in entry.values.items()
        }

    gate = QuestionGate(measure)
    for problem, found in zip(broken, gate.decide(broken), strict=True):
        if problem.labels["choice_set"] != group:
            assert not any("incomplete_set" in reason for reason in found.reasons)
        elif problem.id != problems[0].id:
            assert found.reasons[0].startswith(f"incomplete_set: {problems[0].id}")
