"""GMCQ-Hard: four choices alike, no clue in likeness, likelihood or place; and the paper's, with the clue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from rapidfuzz.distance import Indel, Levenshtein

from caretbench.build.sources.pull_request import PullRequest, read_pull_requests
from caretbench.problem import ChoiceCheck, Question
from caretbench.suites.efcb.build.changes import EfcbOptions, filter_changes, render_patch
from caretbench.suites.efcb.build.choices.choice_problems import ChoiceItem, choice_problems
from caretbench.suites.efcb.build.choices.gmcq_hard import hard_questions
from caretbench.suites.efcb.build.edits.editable_patch import EditablePatch
from caretbench.suites.efcb.build.edits.patch_parts import PatchEdit, Replacement
from caretbench.suites.efcb.problem_metadata import seeded_random
from tests.support.efcb_programs import added, change

NAMES = ("left", "right", "total", "count", "limit", "offset", "result", "buffer")


def written(number: int) -> PullRequest:
    """A change in Go or Ruby, made up of calls."""
    draw = seeded_random(0, "a change", str(number))
    names = draw.sample(NAMES, 5)
    ruby = number % 3 == 0
    lines = []
    for step in range(draw.randint(6, 12)):
        one, other, third = draw.choice(names), draw.choice(names), draw.choice(names)
        use = f"{one}.use({other}, {step})"
        lines.append(use if draw.random() < 0.5 else f"{one} = step{step % 4}({other}, {third})")
    head = f"def run{number}({', '.join(names)})" if ruby else f"func run{number}({', '.join(names)} int) {{"
    code = "\n".join([head, *(f"\t{line}" for line in lines), "end" if ruby else "}"])
    repo = "owner/one" if number % 2 else "owner/two"
    path = f"run{number}.{'rb' if ruby else 'go'}"
    return change((path, added(code)), sha=f"{number:040x}", repo=repo)


PULLS = [written(number) for number in range(40)]


def words_apart(choices: Sequence[str], correct: int) -> list[float]:
    """By words, then by characters, then by lines: how far the right choice is from the others."""
    words = [choice.split() for choice in choices]
    lines = [choice.split("\n") for choice in choices]
    return [
        sum(distance.distance(texts[correct], text) for text in texts)
        for distance, texts in ((Indel, words), (Levenshtein, choices), (Indel, choices), (Levenshtein, lines))
    ]


def check_default(items: Sequence[ChoiceItem]) -> None:
    for item in items:
        gold = render_patch(item.pull).text
        assert item.choices[item.correct] == gold
        assert len(set(item.choices)) == 4
        # Every choice is as far from the other three: consensus finds one in four, exactly.
        distances = [words_apart(item.choices, number) for number in range(4)]
        assert all(distance == distances[0] for distance in distances)
        # One of the others is the two swaps together: its lines are those of the one and those of the other.
        lines = [choice.split("\n") for choice in item.choices]
        changed = [
            {number for number, (old, new) in enumerate(zip(gold.split("\n"), version, strict=True)) if old != new}
            for version in lines
        ]
        both = max(range(4), key=lambda number: len(changed[number]))
        single = [number for number in range(4) if number not in {both, item.correct}]
        assert changed[single[0]] | changed[single[1]] == changed[both]
        assert changed[single[0]].isdisjoint(changed[single[1]])
        undone = list(lines[both])
        for number in single:
            for line in changed[number]:
                assert lines[both][line] == lines[number][line]
                undone[line] = gold.split("\n")[line]
        assert "\n".join(undone) == gold
        assert all(gold.split("\n")[line].startswith("+") for line in changed[both])
    places = Counter(item.correct for item in items)
    assert max(places.values()) - min(places[place] for place in range(4)) <= 1


def test_default_questions_have_no_clue() -> None:
    items, rejected = hard_questions(PULLS, EfcbOptions())
    assert len(items) >= 20
    assert len(items) + len(rejected) == len(PULLS)
    assert {one.reason for one in rejected} <= {"too_few_edits", "no_fair_pair"}
    check_default(items)


@pytest.mark.long
def test_the_order_of_the_changes_is_irrelevant_and_the_seed_is_not() -> None:
    options = EfcbOptions(seed=3)
    items, rejected = hard_questions(PULLS[:10], options)
    again, refused = hard_questions([PULLS[number] for number in (3, 8, 0, 1, 9, 7, 2, 6, 4, 5)], options)
    assert [next(choice_problems(item, options)) for item in items] == [
        next(choice_problems(item, options)) for item in again
    ]
    assert rejected == refused
    others, _ = hard_questions(PULLS[:10], EfcbOptions(seed=4))
    assert [item.choices for item in items] != [item.choices for item in others]


def test_changes_without_two_swaps_are_rejected() -> None:
    few = change(("a.go", added("func f(a, b int) {\n\tuse(a, b)\n\tuse(b, a)\n}")), sha="c" * 40)
    prose = change(("README.md", added("one two three four five six\nfive four three two one six")), sha="d" * 40)
    silent = PULLS[0].model_copy(update={"title": " ", "description": "", "merge_sha": "e" * 40})
    items, rejected = hard_questions([few, prose, silent], EfcbOptions())
    assert not items or items[0].pull == few
    reasons = {one.merge_sha[0]: one.reason for one in rejected}
    assert (reasons["d"], reasons["e"]) == ("too_few_edits", "no_query")


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("lines", "reason"),
    [((), "too_few_edits"), ((1,), "too_few_edits"), ((1, 1), "too_few_edits"), ((1, 2), "no_fair_pair")],
)
def test_a_change_without_pairs_has_the_reason_that_is_true_of_it(
    monkeypatch: pytest.MonkeyPatch, lines: tuple[int, ...], reason: str
) -> None:
    # The same texts exchanged on two lines: no pair.
    edits = [PatchEdit("boundary", (Replacement(0, line, 1, 2, "<="),)) for line in lines]
    monkeypatch.setattr(EditablePatch, "draw_edits", lambda *_: edits)
    _, rejected = hard_questions(PULLS[:1], EfcbOptions())
    assert [one.reason for one in rejected] == [reason]


def test_the_paper_exchanges_words_and_says_that_consensus_finds_the_answer() -> None:
    options = EfcbOptions(profile="paper")
    items, rejected = hard_questions(PULLS, options)
    assert len(items) == len(PULLS)
    assert rejected == []
    for item in items:
        assert item.choices[item.correct] == render_patch(item.pull, include_generated=True).text
        assert len(set(item.choices)) == 4
        found = [words_apart(item.choices, number)[0] for number in range(4)]
        assert found.index(min(found)) == item.correct
        asked = list(choice_problems(item, options))
        assert [one.labels["query"] for one in asked] == ["description_only", "title_and_description"]
        assert all(one.labels["consensus_leaky"] == 1.0 for one in asked)


def test_rotations_turn_the_same_choices() -> None:
    options = EfcbOptions(rotations=4)
    items, _ = hard_questions(PULLS[:8], options)
    turned = list(choice_problems(items[0], options))
    assert [one.labels["rotation"] for one in turned] == [0.0, 1.0, 2.0, 3.0]
    assert len({one.id for one in turned}) == 4
    for one in turned:
        assert isinstance(one.shown, Question)
        assert isinstance(one.checks[0], ChoiceCheck)
        assert one.shown.choices[one.checks[0].correct] == render_patch(items[0].pull).text
        assert one.labels["task"] == "gmcq-hard"


@pytest.mark.long
@pytest.mark.data
def test_released_records(test_data: Path) -> None:
    asked = of = 0
    for name in ("indigo", "tailscale"):
        records = list(read_pull_requests([test_data / "pull_requests" / f"{name}.jsonl.gz"]))
        pulls = filter_changes(records, "default").pulls
        items, _ = hard_questions(pulls, EfcbOptions())
        check_default(items)
        asked += len(items)
        of += len(pulls)
    assert asked >= 0.3 * of, "the yield without a source tree"
