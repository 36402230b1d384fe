"""GMCQ-Easy: fair and different choices, no telling ranks, the same questions from the same records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.problem import Problem
from caretbench.sources.pull_request import FileChange, PullRequest, read_pull_requests
from caretbench.suites.efcb.choices_easy import EasyItem, easy_items, problem, problems
from caretbench.suites.efcb.easy_options import EasyOptions
from caretbench.suites.efcb.filtering import accepted
from caretbench.suites.efcb.lexical import Corpus
from caretbench.suites.efcb.linking import Links, linked
from caretbench.suites.efcb.rendering import render
from caretbench.suites.efcb.seeding import rng

THINGS = ("cache", "socket", "route", "peer", "timer", "store", "packet", "token", "filter", "queue")


def changes(count: int, seed: int = 0, repo: str = "owner/name") -> list[PullRequest]:
    """Made-up changes whose descriptions use words of their patches, and of others."""
    made = []
    for number in range(count):
        draw = rng(seed, repo, str(number))
        names = draw.sample(THINGS, 3)
        size = draw.randint(10, 60)
        body = "".join(
            f"+\t{draw.choice(names)}{draw.choice(THINGS).title()}({line})\n" for line in range(size)
        )
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


def built(pulls: Sequence[PullRequest], options: EasyOptions) -> list[Problem]:
    return [one for item in easy_items(pulls, options)[0] for one in problems(item, options)]


@settings(deadline=None, max_examples=6)
@given(st.integers(5, 30), st.integers(0, 3), st.sampled_from(["paper", "default"]))
def test_questions_are_sound_whatever_the_records(count: int, seed: int, profile: str) -> None:
    pulls = changes(count, seed) + changes(count // 2, seed, "other/one")
    options = EasyOptions(seed=seed, profile=profile)  # type: ignore[arg-type]
    items, rejected = easy_items(pulls, options)
    assert len(items) + len(rejected) == len(pulls) * len(options.all_tiers)
    by_key = {pull.key: pull for pull in pulls}
    for item in items:
        assert len(set(item.choices)) == 4
        assert item.choices[item.correct] == render(item.pull).text
        wrong = [by_key[item.pull.repo, sha] for sha in item.wrong]
        assert {render(pull).text for pull in wrong} == set(item.choices) - {item.choices[item.correct]}
    for tiers in (options.all_tiers, *((tier,) for tier in options.all_tiers)):
        places = Counter(item.correct for item in items if item.tier in tiers)
        assert max(places.get(n, 0) for n in range(4)) - min(places.get(n, 0) for n in range(4)) <= 1
    shuffled = rng(seed, "order", "pulls").sample(pulls, len(pulls))
    assert [one.model_dump_json() for one in built(shuffled, options)] == [
        one.model_dump_json() for one in built(pulls, options)
    ]


def test_another_seed_gives_other_questions() -> None:
    pulls = changes(20)
    first, second = (built(pulls, EasyOptions(seed=seed, tiers=("random",))) for seed in (0, 1))
    assert [one.shown for one in first] != [one.shown for one in second]
    assert not {one.id for one in first} & {one.id for one in second}


def test_too_few_changes_make_no_question() -> None:
    items, rejected = easy_items(changes(3), EasyOptions())
    assert items == []
    assert {entry.reason for entry in rejected} == {"too_few_candidates"}
    assert easy_items([], EasyOptions()) == ([], [])


def test_what_does_not_describe_itself_is_not_asked_about() -> None:
    pulls = [pull.model_copy(update={"description": ""}) for pull in changes(6)]
    items, rejected = easy_items(pulls, EasyOptions(profile="paper", queries=("description_only",)))
    assert items == []
    assert {entry.reason for entry in rejected} == {"no_query"}


def test_problems_say_what_they_are() -> None:
    pulls = changes(30)
    options = EasyOptions(tiers=("matched",), queries=("title_and_description", "scrubbed"), rotations=2)
    item = easy_items(pulls, options)[0][0]
    first = problem(item, options)
    assert first.id.startswith("name/gmcq-easy-matched/")
    assert first.labels["tier"] == "matched"
    assert first.labels["lexical_margin"] == pytest.approx(item.margin, abs=1e-6)
    every = list(problems(item, options))
    assert [one.labels["query"] for one in every] == ["title_and_description"] * 2 + ["scrubbed"] * 2
    assert len({one.id for one in every}) == 4
    assert {one.cluster for one in every} == {f"owner/name@{item.pull.merge_sha}"}


@pytest.fixture(scope="module")
def rivals() -> tuple[list[EasyItem], EasyOptions]:
    options = EasyOptions(tiers=("resistant", "matched"))
    return easy_items(changes(220), options)[0], options


def test_ranks_by_words_tell_nothing_in_the_resistant_tier(
    rivals: tuple[list[EasyItem], EasyOptions],
) -> None:
    items = [item for item in rivals[0] if item.tier == "resistant"]
    assert len(items) > 40
    for ranks in (
        Counter(item.tfidf_rank for item in items),
        Counter(item.bm25_rank for item in items),
        Counter(sum(len(text) > len(item.choices[item.correct]) for text in item.choices) for item in items),
    ):
        assert max(ranks.values()) - min(ranks.get(rank, 0) for rank in range(4)) <= 4  # of nine ranks
    assert all((item.margin > 0) == (item.tfidf_rank == 0) for item in items)


def test_wrong_choices_were_merged_at_about_the_same_time() -> None:
    pulls = changes(40)
    order = {
        pull.merge_sha: place for place, pull in enumerate(sorted(pulls, key=lambda pull: pull.newest_first))
    }
    for item in easy_items(pulls, EasyOptions(window=8, wide_window=12))[0]:
        bound = 8 if item.tier in ("random", "matched") else 12
        assert all(abs(order[sha] - order[item.pull.merge_sha]) <= bound for sha in item.wrong)


def test_wrong_choices_are_fair(rivals: tuple[list[EasyItem], EasyOptions]) -> None:
    items, options = rivals
    order = sorted({item.pull.newest_first: item.pull for item in items}.items())
    assert len(order) > 150
    for item in items:
        lines = [text.count("\n") for text in item.choices]
        right = lines[item.correct]
        assert all(options.smallest * right <= length <= options.largest * right for length in lines)


@pytest.fixture(scope="module")
def real(test_data: Path) -> list[PullRequest]:
    records = list(read_pull_requests(sorted((test_data / "pull_requests").glob("*.jsonl.gz"))))
    return list(accepted(records, "default").pulls)


@pytest.mark.data
def test_on_real_records_nothing_but_words_tells_the_answer(real: list[PullRequest]) -> None:
    options = EasyOptions()
    items, _ = easy_items(real, options)
    by_key = {pull.key: Links.of(pull) for pull in real}
    for tier in ("random", "matched", "adversarial"):
        of_tier = [item for item in items if item.tier == tier]
        assert len(of_tier) > 120
        sizes = Counter(
            sum(len(text) > len(item.choices[item.correct]) for text in item.choices) for item in of_tier
        )
        assert max(sizes.values()) - min(sizes.values()) <= 2
        assert all(
            not linked(by_key[item.key], by_key[item.pull.repo, sha])
            for item in of_tier
            for sha in item.wrong
        )
        central = 0
        for item in of_tier:
            sums = Corpus(item.choices).likeness(range(4)).sum(axis=1)  # type: ignore[arg-type]
            central += int(sums.argmax() == item.correct)
        assert central / len(of_tier) < 0.25 + 3 * (0.25 * 0.75 / len(of_tier)) ** 0.5
