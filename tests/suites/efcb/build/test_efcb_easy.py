"""GMCQ-Easy: fair and different choices, no telling ranks, the same questions from the same records."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.build.sources.pull_request import FileChange, PullRequest, read_pull_requests
from caretbench.files import sha256_text
from caretbench.problem import Problem
from caretbench.suites.efcb.build.changes import EfcbOptions, filter_changes, render_patch
from caretbench.suites.efcb.build.choices import gmcq_easy
from caretbench.suites.efcb.build.choices.choice_problems import ChoiceItem, choice_problems
from caretbench.suites.efcb.build.choices.gmcq_easy import ChangeCorpus, easy_questions
from caretbench.suites.efcb.build.choices.sets_of_four import ChangeReferences, PairFairness
from caretbench.suites.efcb.choices import CHOICE_SET_LABEL
from caretbench.suites.efcb.problem_metadata import seeded_random

THINGS = ("cache", "socket", "route", "peer", "timer", "store", "packet", "token", "filter", "queue")
FOUR = np.arange(4)


def changes(count: int, seed: int = 0, repo: str = "owner/name") -> list[PullRequest]:
    """Made-up changes whose descriptions use words of their patches, and of others."""
    made = []
    for number in range(count):
        draw = seeded_random(seed, repo, str(number))
        names = draw.sample(THINGS, 3)
        size = draw.randint(10, 60)
        body = "".join(f"+\t{draw.choice(names)}{draw.choice(THINGS).title()}({line})\n" for line in range(size))
        text = f"@@ -0,0 +1,{size} @@\n{body}"
        made.append(
            PullRequest(
                repo=repo,
                number=number + 1,
                kind="squash",
                source="git",
                title=f"{names[0]}: {names[1]} {number}x{draw.choice(THINGS)} {draw.choice(THINGS)}",
                description=f"The {draw.choice(THINGS)} and the {names[2]} are handled before they are closed.",
                base_sha="b" * 40,
                merge_sha=f"{number:040x}",
                merged_at=f"2026-{1 + number // 28 % 12:02}-{1 + number % 28:02}T00:00:00Z",
                files=(FileChange(path=f"{names[0]}/{names[1]}.go", additions=size, patch=text),),
            )
        )
    return made


def built(pulls: Sequence[PullRequest], options: EfcbOptions) -> list[Problem]:
    return [one for item in easy_questions(pulls, options)[0] for one in choice_problems(item, options)]


@settings(deadline=None, max_examples=6)
@given(st.integers(5, 30), st.integers(0, 3), st.sampled_from(["paper", "default"]))
def test_questions_are_sound_whatever_the_records(count: int, seed: int, profile: str) -> None:
    pulls = changes(count, seed) + changes(count // 2, seed, "other/one")
    options = EfcbOptions(seed=seed, profile=profile)  # type: ignore[arg-type]
    items, rejected = easy_questions(pulls, options)
    assert len(items) + len(rejected) == len(pulls) * len(options.rules.easy_tiers)
    by_key = {pull.key: pull for pull in pulls}
    for item in items:
        assert len(set(item.choices)) == 4
        assert item.choices[item.correct] == render_patch(item.pull).text
        wrong = [by_key[item.pull.repo, sha] for sha in item.wrong_commits]
        assert {render_patch(pull).text for pull in wrong} == set(item.choices) - {item.choices[item.correct]}
    for tiers in (options.rules.easy_tiers, *((tier,) for tier in options.rules.easy_tiers)):
        places = Counter(item.correct for item in items if item.tier in tiers)
        assert max(places.get(n, 0) for n in range(4)) - min(places.get(n, 0) for n in range(4)) <= 1
    shuffled = seeded_random(seed, "order", "pulls").sample(pulls, len(pulls))
    assert [one.model_dump_json() for one in built(shuffled, options)] == [
        one.model_dump_json() for one in built(pulls, options)
    ]


def test_another_seed_gives_other_questions() -> None:
    pulls = changes(20)
    first, second = (built(pulls, EfcbOptions(seed=seed)) for seed in (0, 1))
    assert [one.shown for one in first] != [one.shown for one in second]
    assert not {one.id for one in first} & {one.id for one in second}


def test_too_few_changes_make_no_question() -> None:
    items, rejected = easy_questions(changes(3), EfcbOptions())
    assert items == []
    assert {entry.reason for entry in rejected} == {"too_few_candidates"}
    assert easy_questions([], EfcbOptions()) == ([], [])


def test_what_does_not_describe_itself_is_not_asked_about() -> None:
    pulls = [pull.model_copy(update={"description": "", "title": ""}) for pull in changes(6)]
    items, rejected = easy_questions(pulls, EfcbOptions(profile="paper"))
    assert items == []
    assert {entry.reason for entry in rejected} == {"no_query"}


def test_problems_say_what_they_are() -> None:
    pulls = changes(30)
    options = EfcbOptions(profile="paper", rotations=2)
    item = easy_questions(pulls, options)[0][0]
    first = next(choice_problems(item, options))
    assert first.id.startswith("name/gmcq-easy-random-description-only/")
    assert first.labels["tier"] == "random"
    assert first.labels["lexical_margin"] == item.labels["lexical_margin"]
    every = list(choice_problems(item, options))
    assert [one.labels["query"] for one in every] == ["description_only"] * 2 + ["title_and_description"] * 2
    assert len({one.id for one in every}) == 4
    assert {one.cluster for one in every} == {f"owner/name@{item.pull.merge_sha}"}


def by_set(items: Sequence[ChoiceItem]) -> dict[str, list[ChoiceItem]]:
    found: dict[str, list[ChoiceItem]] = defaultdict(list)
    for item in items:
        found[str(item.labels.get(CHOICE_SET_LABEL, ""))].append(item)
    return found


def sizes(text: str) -> tuple[int, int, int, int, float]:
    """Lines, characters, files, hunks, and the share of added lines, counted on what is shown."""
    lines = text.split("\n")
    hunks = sum(line.startswith("@@") for line in lines)
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") and line != "---" for line in lines)
    return text.count("\n"), len(text), text.count("\n---\n"), hunks, added / (added + removed)


def breaks(one: str, other: str) -> bool:
    """Whether two choices tell by their sizes alone which of them is no fair choice for the other."""
    (lines, characters, files, hunks, share), other_sizes = sizes(one), sizes(other)
    return (
        max(lines, other_sizes[0]) > 2 * min(lines, other_sizes[0])
        or max(characters, other_sizes[1]) > 2 * min(characters, other_sizes[1])
        or (lines - other_sizes[0]) * (characters - other_sizes[1]) < 0
        or max(files, other_sizes[2]) > 2 * min(files, other_sizes[2]) + 1
        or max(hunks, other_sizes[3]) > 2 * min(hunks, other_sizes[3]) + 1
        or abs(share - other_sizes[4]) > 0.35 + 1e-9
    )


def by_elimination(item: ChoiceItem) -> float:
    """What is won by removing every choice that breaks a rule of sizes with any other, and guessing among the rest."""
    left = [
        place
        for place, one in enumerate(item.choices)
        if not any(breaks(one, other) for other in item.choices if other != one)
    ]
    return (item.correct in left) / len(left) if left else 0.25


def by_number(item: ChoiceItem, name: str) -> bool:
    """Whether the right choice has the highest of numbers that hang on the texts of the choices alone."""
    numbers = [sha256_text(name, text) for text in item.choices]
    return numbers.index(max(numbers)) == item.correct


def test_every_member_of_a_set_is_asked_for_once() -> None:
    items, rejected = easy_questions(changes(60), EfcbOptions())
    for group, members in by_set(items).items():
        assert len(members) == 4, group
        assert len({member.pull.merge_sha for member in members}) == 4
        assert len({frozenset(member.choices) for member in members}) == 1
        assert {member.pull.merge_sha for member in members} == {*members[0].wrong_commits, members[0].pull.merge_sha}
    for tier in ("random", "matched", "adversarial"):
        asked = [item.pull.merge_sha for item in items if item.tier == tier]
        assert len(asked) == len(set(asked)) > 50
    assert {entry.reason for entry in rejected} <= {"no_set", "too_few_candidates"}


def test_no_rule_that_sees_choices_alone_finds_more_than_one_of_four() -> None:
    items, _ = easy_questions(changes(80), EfcbOptions())
    for name in map(str, range(20)):
        assert sum(by_number(item, name) for item in items) * 4 == len(items)
    assert sum(map(by_elimination, items)) * 4 == len(items)


def test_each_two_choices_are_fair_to_each_other() -> None:
    draw = seeded_random(1, "test", "sizes")
    pulls = []
    for pull in changes(90):  # several files, several hunks, removed lines
        files = []
        for number in range(draw.choice((1, 1, 2, 3, 5))):
            hunks = []
            for start in range(draw.choice((1, 1, 2, 4))):
                body = "".join(
                    f"{draw.choice('+++-')}\t{draw.choice(THINGS) * draw.randint(1, 4)}({line}, {pull.number})\n"
                    for line in range(draw.randint(4, 14))
                )
                old, new = body.count("\n-") + body.startswith("-"), body.count("\n+") + body.startswith("+")
                hunks.append(f"@@ -{100 * start + 1},{old} +{100 * start + 1},{new} @@\n{body}")
            files.append(FileChange(path=f"{pull.files[0].path}.{number}.go", patch="".join(hunks)))
        pulls.append(pull.model_copy(update={"files": tuple(files)}))
    items, _ = easy_questions(pulls, EfcbOptions())
    assert len(items) > 150
    for item in items:
        for one, other in combinations(item.choices, 2):
            assert not breaks(one, other)


def test_the_questions_of_a_set_are_one_unit() -> None:
    options = EfcbOptions()
    made = built(changes(30), options)
    groups = Counter(one.overlap_group for one in made)
    assert set(groups.values()) == {4}
    assert all(one.labels["choice_set"] == one.overlap_group for one in made)
    paper = built(changes(30), EfcbOptions(profile="paper"))
    assert {one.overlap_group for one in paper} == {None}


def test_a_long_history_is_put_into_sets_in_seconds() -> None:
    pulls = changes(1000)
    begun = process_time()
    items, _ = easy_questions(pulls, EfcbOptions())
    assert sum(item.tier == "adversarial" for item in items) > 0.95 * len(pulls)
    assert process_time() - begun < 60


def test_wrong_choices_were_merged_at_about_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gmcq_easy, "WINDOW", 8)
    monkeypatch.setattr(gmcq_easy, "WIDE_WINDOW", 12)
    pulls = changes(40)
    order = {pull.merge_sha: place for place, pull in enumerate(sorted(pulls, key=lambda pull: pull.merge_order))}
    for item in easy_questions(pulls, EfcbOptions())[0]:
        bound = 8 if item.tier in ("random", "matched") else 12
        assert all(abs(order[sha] - order[item.pull.merge_sha]) <= bound for sha in item.wrong_commits)


@pytest.fixture(scope="module")
def real(test_data: Path) -> list[PullRequest]:
    records = list(read_pull_requests(sorted((test_data / "pull_requests").glob("*.jsonl.gz"))))
    return list(filter_changes(records, "default").pulls)


@pytest.mark.data
def test_on_real_records_nothing_but_words_tells_the_answer(real: list[PullRequest]) -> None:
    items, _ = easy_questions(real, EfcbOptions())
    by_key = {pull.key: pull for pull in real}
    for tier in ("random", "matched", "adversarial"):
        of_tier = [item for item in items if item.tier == tier]
        assert len(of_tier) >= 90
        for item in of_tier:
            shown = [item.pull, *(by_key[item.pull.repo, sha] for sha in item.wrong_commits)]
            fairness = PairFairness(
                [render_patch(pull) for pull in shown], [ChangeReferences.from_pull_request(pull) for pull in shown]
            )
            assert fairness.related_changes(0).tolist() == [0]
            assert not any(breaks(one, other) for one, other in combinations(item.choices, 2))
        assert sum(map(by_elimination, of_tier)) * 4 == len(of_tier)
        central = sum(
            int(ChangeCorpus(item.choices).pairwise_scores(FOUR, FOUR).sum(axis=1).round(9).argmax() == item.correct)
            for item in of_tier
        )
        assert central / len(of_tier) < 0.25 + 3 * (0.25 * 0.75 / len(of_tier)) ** 0.5
