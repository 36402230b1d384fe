"""Learned attackers: learners, what they let pass, sites of questions, and the file that ships."""

from __future__ import annotations

from collections import Counter
from importlib import resources

import numpy as np
import pytest

from benchmarks.efcb_learn_attackers import learn_round, learned, row
from caretbench.suites.efcb.build.attacks import learned_attackers
from caretbench.suites.efcb.build.attacks.attack_accuracy import cross_validated_scores
from caretbench.suites.efcb.build.attacks.code_likelihood import CodeModels
from caretbench.suites.efcb.build.attacks.edit_sites import edit_differences, find_sites, question_differences
from caretbench.suites.efcb.build.attacks.learned_attackers import (
    AttackerRound,
    AttackersFile,
    EditSample,
    load_attackers,
)
from caretbench.suites.efcb.build.attacks.learners import BoostedTrees, LinearLearner
from caretbench.suites.efcb.build.attacks.line_features import FEATURE_NAMES
from caretbench.suites.efcb.build.changes import render_patch
from caretbench.suites.efcb.build.choices.edit_pairs import pairs_by_ranks, score_edits, select_edits
from caretbench.suites.efcb.build.edits.editable_patch import EditablePatch
from caretbench.suites.efcb.problem_metadata import seeded_random
from tests.support.efcb_programs import added, change

CODE = "\n".join(
    [
        "func run(left, right, total, count int) int {",
        *(
            f"\t{one} = step{number}({other}, {third})"
            for number, (one, other, third) in enumerate(
                [("left", "right", "total"), ("count", "left", "right"), ("total", "count", "left"),
                 ("right", "total", "count"), ("left", "count", "total"), ("count", "right", "left")]
            )
        ),
        "\treturn pick(left, right, total, count)",
        "}",
    ]
)  # fmt: skip
PULL = change(("a.go", added(CODE)), ("b.go", added(CODE.replace("run", "walk").replace("step", "skip"))))


def made(rows: int, seed: int = 0) -> np.ndarray:
    """Differences of which the first tells, the second tells where the third is large, the rest is noise."""
    draw = np.random.default_rng(seed)
    found = draw.normal(size=(rows, 6))
    found[:, 0] += 0.5
    found[:, 1] = np.where(np.abs(found[:, 2]) > 1, np.abs(found[:, 1]), found[:, 1])
    return np.round(found, 4)


@pytest.mark.parametrize("learner", [LinearLearner, BoostedTrees])
def test_learners_find_what_tells_and_see_no_side(learner: type[LinearLearner] | type[BoostedTrees]) -> None:
    train, test = made(2000), made(1000, 1)
    one = learner.fit(train, np.ones(len(train)))
    scores = one.score(test)
    assert (scores > 0).mean() > 0.68
    assert np.array_equal(one.score(-test), -scores)
    assert np.array_equal(one.score(test[::-1]), scores[::-1])
    noise = np.random.default_rng(3).normal(size=(1000, 6))
    assert abs((one.score(noise) > 0).mean() - 0.5) < 0.05
    nothing = learner.fit(np.zeros((10, 6)), np.ones(10))
    assert not nothing.score(test).any()


def test_what_the_attackers_let_pass_tells_them_nothing() -> None:
    samples = [EditSample(made(3000, seed), np.arange(3000) // 10) for seed in range(3)]
    found = learned(samples)
    test = made(3000, 9)
    keep = found.keep_probabilities(test) > np.random.default_rng(0).random(len(test))
    passed = test[keep]
    assert 500 < len(passed) < 2500
    before = learn_round(made(2000, 11), np.ones(2000))
    error = 0.5 / len(passed) ** 0.5
    for column in range(2):
        assert (before.scores(test)[:, column] > 0).mean() > 0.68
        assert (before.scores(passed)[:, column] > 0).mean() < 0.5 + 3 * error
        assert (found.evaluation_round.scores(passed)[:, column] > 0).mean() < 0.5 + 3 * error


def test_a_last_round_learns_what_the_others_let_pass_in_new_repositories() -> None:
    def elsewhere(seed: int) -> np.ndarray:
        found = made(3000, seed)
        found[:, 3] += 0.5  # tells here, and not where the first rounds learned
        return np.round(found, 4)

    samples = [EditSample(made(2000, seed), np.arange(2000)) for seed in range(2)]
    unseen = [EditSample(elsewhere(seed), np.arange(3000)) for seed in (5, 6)]
    found = learned(samples, unseen, rounds=1)
    assert len(found.rounds) == 2
    assert found.rounds[1].odds_factor > 0
    test = elsewhere(9)
    draw = np.random.default_rng(0).random(len(test))
    before = test[found.rounds[0].keep_probabilities(test) > draw]
    after = test[found.keep_probabilities(test) > draw]
    assert (before[:, 3] > 0).mean() > 0.62
    assert (after[:, 3] > 0).mean() < 0.5 + 3.5 * 0.5 / len(after) ** 0.5


def test_rounds_are_the_same_as_numbers() -> None:
    one = learn_round(made(500), np.ones(500))
    again = AttackerRound.from_parameters(row(one))
    assert np.array_equal(one.scores(made(100, 4)), again.scores(made(100, 4)))


def test_the_shipped_attackers_fit_the_features() -> None:
    text = (
        resources.files("caretbench.suites.efcb.build.attacks").joinpath(learned_attackers.ATTACKERS_FILE).read_text()
    )
    assert len(text) < 400_000
    file = AttackersFile.model_validate_json(text)
    assert file.features == FEATURE_NAMES
    assert len(set(FEATURE_NAMES)) == len(FEATURE_NAMES) >= 40
    assert len(file.learned_on) >= 4
    assert len(file.corrected_on) >= 4
    assert not set(file.learned_on) & set(file.corrected_on)
    assert len(load_attackers().rounds) == len(file.rounds) - 1
    assert load_attackers().keep_probabilities(np.zeros((2, len(FEATURE_NAMES)))).tolist() == [1.0, 1.0]


def test_sites_are_the_edits_that_a_question_is_made_of() -> None:
    patch = EditablePatch(render_patch(PULL))
    background = CodeModels([PULL]).excluding(PULL.repo)
    edits = patch.draw_edits(seeded_random(0, "test", "edits"), 60)
    first = edits[0]
    second = next(edit for edit in edits if edit.lines.isdisjoint(first.lines))
    choices = [patch.apply(chosen).text for chosen in ([], [first], [second], [first, second])]
    found = find_sites([choices[2], choices[0], choices[3], choices[1]])
    assert found is not None
    assert sorted(len(site.positions) for site in found) == sorted(len(edit.lines) for edit in (first, second))
    for site in found:
        assert 1 in site.first_choices or site.first_choices == {0, 2} or site.first_choices == {0, 1}
    # Alone, an edit's differences are those of its site.
    alone = find_sites([choices[0], choices[1], choices[0], choices[1]])
    assert alone is not None
    own = edit_differences(patch, [first], background)
    shown = question_differences(choices[0].split("\n"), alone, background)
    assert np.allclose(own, shown)
    assert find_sites([choices[0], choices[0] + "\n", choices[1], choices[2]]) is None
    assert find_sites([choices[0], choices[1], choices[1].replace("left", "lift"), choices[2]]) is None
    assert find_sites([choices[0]] * 4) is None


def test_pairs_are_on_different_lines_and_of_edits_that_passed() -> None:
    patch = EditablePatch(render_patch(PULL))

    def once() -> tuple[object, ...]:
        background = CodeModels([PULL]).excluding(PULL.repo)
        found = select_edits(patch, background, load_attackers(), seeded_random(0, "test", "edits"))
        assert found.edit_count >= len(found.edits) == len(found.differences)
        (edits,) = score_edits([found], [PULL.repo], ["one"], load_attackers())
        return found.edits, edits, pairs_by_ranks(patch, edits, seeded_random(0, "test", "pairs"))

    passed, edits, made_pairs = once()
    assert once() == (passed, edits, made_pairs)
    for pair in made_pairs.values():
        assert pair.first.lines.isdisjoint(pair.second.lines)
        assert {pair.first, pair.second} <= set(passed)
        assert patch.exchanged_texts(pair.first).isdisjoint(patch.exchanged_texts(pair.second))
    by_exchange = Counter(exchange for edit in passed for exchange in patch.exchanged_texts(edit))
    assert max(by_exchange.values()) > 1
    none = select_edits(
        EditablePatch(render_patch(change(("a.md", added("one two\nthree"))))),
        CodeModels([]).excluding("owner/name"),
        load_attackers(),
        seeded_random(0, "test", "none"),
    )
    assert (none.edits, none.edit_count, len(none.differences)) == ((), 0, 0)
    assert score_edits([], [], [], load_attackers()) == []
    assert pairs_by_ranks(patch, [], seeded_random(0, "test", "pairs")) == {}


def test_scores_here_come_from_other_changes_and_find_what_tells() -> None:
    rows = [made(8, seed) for seed in range(120)]
    names = [f"change {number}" for number in range(120)]
    found = np.concatenate(cross_validated_scores(rows, ["owner/name"] * 120, names))
    for column in range(2):
        assert (found[:, column] > 0).mean() > 0.65
    # A change's own differences do not decide its scores.
    other = cross_validated_scores([-rows[0], *rows[1:]], ["owner/name"] * 120, names)
    assert np.array_equal(other[0], -cross_validated_scores(rows, ["owner/name"] * 120, names)[0])
    noise = np.random.default_rng(5).normal(size=(120, 8, 6))
    blind = np.concatenate(cross_validated_scores(list(noise), ["owner/name"] * 120, names))
    assert abs((blind > 0).mean() - 0.5) < 0.06
