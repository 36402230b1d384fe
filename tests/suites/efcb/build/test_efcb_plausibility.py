"""N-gram models of repositories and questions, and the balance of what they say."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.suites.efcb.build.attacks.code_likelihood import (
    LIKELIHOOD_SCORERS,
    CodeModels,
    RepositoryNgrams,
    likelihood_scores,
)
from caretbench.suites.efcb.build.choices.edit_pairs import balance_groups
from caretbench.suites.efcb.floors import (
    SMOOTHING_STRENGTH,
    UNSEEN_SHARE,
    QuestionNgrams,
    code_lines,
    split_shared_lines,
    tokenize,
)
from tests.support.efcb_programs import change

LINES = st.lists(st.text("ab (", min_size=1, max_size=8).filter(tokenize), min_size=1, max_size=6)


def smoothed(count: float, of: float, shorter: float) -> float:
    return (count + SMOOTHING_STRENGTH * shorter) / (of + SMOOTHING_STRENGTH)


def test_likelihoods_by_hand() -> None:
    # Lines "a b" and "a c": words a a b c and two ends; of the question's model, and of the repository's bigrams.
    one = {word: smoothed(count, 6, UNSEEN_SHARE) for word, count in {"a": 2, "b": 1, "end": 2}.items()}
    bigrams = smoothed(2, 2, one["a"]) * smoothed(1, 2, one["b"]) * smoothed(1, 1, one["end"])
    _, three, two = RepositoryNgrams(["a b\na c"]).excluding().log_likelihoods(["a b"])
    assert two[0] == pytest.approx(math.log(bigrams))
    assert QuestionNgrams(["a b", "a c"]).log_likelihoods([["a b"]]) == pytest.approx([math.log(bigrams)])
    trigrams = (
        smoothed(2, 2, smoothed(2, 2, one["a"]))
        * smoothed(1, 2, smoothed(1, 2, one["b"]))
        * smoothed(1, 1, smoothed(1, 1, one["end"]))
    )
    assert three[0] == pytest.approx(math.log(trigrams))


def test_a_word_that_was_never_seen_is_unlikely_and_not_impossible() -> None:
    model = RepositoryNgrams(["a b"]).excluding()
    for likelihoods in model.log_likelihoods(["a b", "zebra", ""]):
        assert likelihoods[0] > likelihoods[1] > -100
        assert math.isfinite(likelihoods[2])
    assert all(map(math.isfinite, RepositoryNgrams([]).excluding().log_likelihoods(["a b"])[:, 0]))
    assert model.log_likelihoods([]).shape == (3, 0)


@settings(max_examples=50, deadline=None)
@given(LINES, LINES, LINES)
def test_what_is_left_out_was_never_counted(kept: list[str], left_out: list[str], asked: list[str]) -> None:
    whole = RepositoryNgrams(["\n".join(kept), "\n".join(left_out)]).excluding("\n".join(left_out))
    part = RepositoryNgrams(["\n".join(kept)]).excluding()
    for one, other in zip(whole.log_likelihoods(asked), part.log_likelihoods(asked), strict=True):
        assert list(one) == pytest.approx(list(other))


def test_the_lines_that_not_all_choices_have() -> None:
    choices = [f"a.go\n@@ -1,1 +1,3 @@\n same\n+{line}\n+twice\n+twice\n---\n" for line in "wxyz"]
    choices[0] = choices[0].replace("+twice\n", "+once\n", 1)
    shared, apart = split_shared_lines(choices)
    assert Counter(shared) == Counter(["same", "twice"])
    assert [sorted(lines) for lines in apart] == [["once", "w"], ["twice", "x"], ["twice", "y"], ["twice", "z"]]
    found = likelihood_scores(choices, RepositoryNgrams(["x x"]).excluding())
    assert tuple(found) == LIKELIHOOD_SCORERS
    assert all(len(values) == 4 for values in found.values())
    assert found["combined"][1] == pytest.approx(found["repository_trigram"][1] + found["in_question"][1])
    assert found["repository_bigram"][1] > found["repository_bigram"][2]


def test_code_lines_have_no_marks() -> None:
    patch = "src/a.go\n@@ -1,2 +1,2 @@ func f() {\n kept\n-removed\n+added\n\\ No newline at end of file\n---\n"
    assert list(code_lines(patch)) == ["kept", "removed", "added"]


def test_backgrounds_are_the_other_changes() -> None:
    first = change(("a.go", "@@ -0,0 +1,1 @@\n+apple banana"), sha="1" * 40)
    second = change(("a.go", "@@ -0,0 +1,1 @@\n+cherry"), sha="2" * 40)
    foreign = change(("a.go", "@@ -0,0 +1,1 @@\n+apple banana"), sha="3" * 40, repo="owner/other")

    def says(backgrounds: CodeModels) -> float:
        return float(backgrounds.excluding(first.repo, first).log_likelihoods(["apple banana"])[0][0])

    nothing = says(CodeModels([first, foreign]))
    assert says(CodeModels([first, second])) == says(CodeModels([second, first]))
    assert says(CodeModels([first, change(("b.go", first.files[0].patch), sha="4" * 40)])) > nothing + 5


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.sets(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=12)),
        min_size=1,
        max_size=40,
    ),
    st.integers(0, 3),
)
def test_every_value_is_chosen_as_often(items: list[tuple[bool, set[tuple[int, ...]]]], seed: int) -> None:
    ways = {str(number): vectors for number, (_, vectors) in enumerate(items)}
    groups = {str(number): str(group) for number, (group, _) in enumerate(items)}
    chosen = balance_groups(ways, groups, seed, "a test", 4)
    assert all(vector in ways[item] for item, vector in chosen.items())
    for group in set(groups.values()):
        vectors = [vector for item, vector in chosen.items() if groups[item] == group]
        for feature in range(3):
            counts = Counter(vector[feature] for vector in vectors)
            assert max(counts[value] for value in range(4)) - min(counts[value] for value in range(4)) <= 1
    backwards = {item: ways[item] for item in reversed(ways)}
    assert balance_groups(backwards, groups, seed, "a test", 4) == chosen


def test_only_what_is_too_many_is_left_out() -> None:
    free = {(one, other) for one in range(4) for other in range(4)}
    ways = {f"{number}": {(0, 0)} for number in range(10)} | {f"free {number}": free for number in range(30)}
    chosen = balance_groups(ways, dict.fromkeys(ways, ""), 0, "a test", 4)
    assert len(chosen) == 40
    assert len(balance_groups({"a": {(0, 1)}}, {"a": ""}, 0, "a test", 4)) == 1
    assert balance_groups({}, {}, 0, "a test", 4) == {}
