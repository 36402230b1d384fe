"""Numbers of a study: who is near to people, who may replace one, what style changes; intervals hold the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from caretbench.judging.aggregation import TextKey
from caretbench.metrics.correlation import pearson, spearman
from caretbench.people.review.study.judge_study import RatedText, StudyJudge, StudyResult, study_lines, study_result

LANGUAGES = ("cpp", "csharp", "java", "javascript", "python", "typescript")
PEOPLE = ("ann", "bob", "cyd")
TEXTS = 150


def world(
    seed: int, texts: int = TEXTS, noise: float = 1.0, strata: Sequence[str] = LANGUAGES
) -> tuple[list[RatedText], np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return texts that three people with known noise rated from 0 to 10, and the true qualities."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(5, 2, texts)
    ratings = np.clip(np.rint(truth + rng.normal(0, noise, (3, texts))), 0, 10)
    found = []
    for place in range(texts):
        key = (f"p{place}", "a")
        found.append(
            RatedText(
                key, strata[place % len(strata)],
                {name: {"total": float(ratings[number, place])} for number, name in enumerate(PEOPLE)},
                {"harmless-lines": (key[0], "longer")},
            )
        )  # fmt: skip
    return found, truth


def judge(
    name: str, values: Sequence[float] | np.ndarray[tuple[int], np.dtype[np.float64]], longer: float = 0.0,
    criterion: str = "mine@1",
) -> StudyJudge:  # fmt: skip
    """A judge with these totals, who gives longer answers so many points more."""
    scores: dict[TextKey, Mapping[str, float]] = {}
    for place, value in enumerate(values):
        for variant, more in (("a", 0.0), ("longer", longer)):
            scores[f"p{place}", variant] = {"total": float(value) + more}
    return StudyJudge(name, criterion, scores)


@pytest.fixture(scope="module")
def result() -> StudyResult:
    texts, truth = world(1)
    rng = np.random.default_rng(2)
    judges = [
        judge("right", np.rint(truth)),
        judge("random", rng.integers(0, 11, TEXTS)),
        judge("longer", rng.integers(0, 8, TEXTS), longer=2.0),
    ]
    return study_result(texts, judges, "mine@1", simulated=True)


def test_comparisons_are_those_of_the_formulas(result: StudyResult) -> None:
    texts, truth = world(1)
    means = [sum(one["total"] for one in text.people.values()) / 3 for text in texts]
    ours = [float(value) for value in np.rint(truth)]
    [found] = [one for one in result.comparisons if (one.judge, one.part) == ("right", "all")]
    linear, ranks = pearson(ours, means), spearman(ours, means)
    assert linear is not None
    assert ranks is not None
    assert found.pearson.value == pytest.approx(linear.coefficient)
    assert found.spearman.value == pytest.approx(ranks.coefficient)
    assert found.mean_difference.value == pytest.approx(np.mean(ours) - np.mean(means))
    assert (found.texts, found.people) == (150, 3)
    parts = {one.part: one.texts for one in result.comparisons if one.judge == "right"}
    assert parts == {"all": 150, **dict.fromkeys(LANGUAGES, 25)}


def test_only_the_judge_that_is_right_may_replace_a_person(result: StudyResult) -> None:
    assert {one.judge: one.passes for one in result.replacements} == {
        "right": True, "random": False, "longer": False,
    }  # fmt: skip
    lines = list(study_lines(result))
    assert lines[0].startswith("simulated ratings (test only), 150 texts")
    assert len(lines) == 4, "a line for the study and one for each judge"
    assert lines[1].startswith("right (mine@1), 150 texts: may take the place of a person, wins against 100% of them;")
    [right] = [one for one in result.replacements if one.judge == "right"]
    assert [(one.person, one.texts, one.wins) for one in right.people] == [(name, 150, True) for name in PEOPLE]
    assert "validated" not in " ".join(lines)


def test_style_controls_name_the_judge_that_prefers_long_answers(result: StudyResult) -> None:
    assert {(one.judge, one.style): one.verdict for one in result.styles} == {
        ("right", "harmless-lines"): "not distinguishable",
        ("random", "harmless-lines"): "not distinguishable",
        ("longer", "harmless-lines"): "higher",
    }  # fmt: skip
    assert any("harmless-lines higher: +2.00" in line for line in study_lines(result))


def test_styles_of_many_judges_are_one_family() -> None:
    """Ten judges that rate at random: each gap alone would differ by chance in one study of three."""
    texts, _ = world(11)
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        judges = []
        for number in range(10):
            scores: dict[TextKey, Mapping[str, float]] = {
                (f"p{place}", variant): {"total": float(rng.integers(0, 11))}
                for place in range(TEXTS) for variant in ("a", "longer")
            }  # fmt: skip
            judges.append(StudyJudge(f"j{number}", "mine@1", scores))
        found += study_result(texts, judges, "mine@1", simulated=True).styles
    assert len(found) == 60
    assert sum(one.verdict != "not distinguishable" for one in found) <= 2


def test_small_parts_have_no_interval() -> None:
    texts, truth = world(12, texts=60)
    found = study_result(texts, [judge("right", truth)], "mine@1", simulated=True).comparisons
    whole, *parts = [one.spearman for one in found]
    assert None not in (whole.low, whole.high)
    assert len(parts) == 6
    assert all(part.value is not None and (part.low, part.high) == (None, None) for part in parts)


@pytest.mark.long
def test_the_interval_holds_the_true_correlation() -> None:
    """A thousand studies of 150 texts, three people with known noise, one judge with known noise."""

    def once(seed: int, texts: int) -> StudyResult:
        rated, truth = world(seed, texts, strata=("python",))
        noise = np.random.default_rng(seed + 10_000).normal(0, 1.5, texts)
        bare = [text._replace(variants={}) for text in rated]
        return study_result(bare, [judge("one", np.rint(truth + noise))], "mine@1", simulated=True)

    big = once(0, 30_000).comparisons[0].spearman.value
    assert big is not None
    held = 0
    for seed in range(1, 1001):
        found = once(seed, TEXTS).comparisons[0].spearman
        held += found.low is not None and found.high is not None and found.low <= big <= found.high
    assert 925 <= held <= 975
