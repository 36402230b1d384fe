"""Rules of Codev-Bench's profiles, and the scores that follow them."""

from __future__ import annotations

import pytest

from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest
from caretbench.extraction.policies import get_policy
from caretbench.metrics.similarity import indel_similarity
from caretbench.problem import Profile, TestsCheck
from caretbench.profiles import PROFILES
from caretbench.runs.plans.plan import sampling_preset
from caretbench.suites.codevbench.measures import CodevBenchProfile, measured, request_under
from tests.support.codev_problems import codev_problem


def values(text: str | None, profile: Profile, reference: str = "  return 1\n") -> dict[str, float]:
    problem = codev_problem("p", reference=reference)
    return {name: number for one in measured(problem, text, profile) for name, number in one.values.items()}


def test_policies_of_both_profiles_exist() -> None:
    assert [get_policy(CodevBenchProfile(name).policy).name for name in PROFILES] == ["codevbench/answer", "block"]


def test_paper_compares_texts_as_they_are_and_default_without_blanks_around() -> None:
    answer = "return 1"
    assert values(answer, "paper")["indel_similarity"] == indel_similarity(answer, "  return 1\n") < 1
    assert values(answer, "default")["indel_similarity"] == 1


@pytest.mark.parametrize(
    ("text", "paper", "default"), [("", 1, 0), ("x", 1, 1), ("x\n", 2, 1), ("x\ny\n", 3, 2), ("x\ny", 2, 2)]
)
def test_paper_counts_a_line_more_than_line_feeds(text: str, paper: int, default: int) -> None:
    assert (values(text, "paper")["answer_lines"], values(text, "default")["answer_lines"]) == (paper, default)


@pytest.mark.parametrize("profile", PROFILES)
def test_blank_answers_are_empty_and_nothing_is_a_check(profile: Profile) -> None:
    assert values(" \n", profile)["empty_answer"] == 1
    assert values(None, profile)["empty_answer"] == 1
    assert values("x", profile)["empty_answer"] == 0
    assert "passed" not in values("x", profile)
    assert values("", profile, reference="")["indel_similarity"] == 1


def test_under_paper_every_named_test_must_pass() -> None:
    check = TestsCheck(command=("pytest",), tests=("a::b", "a::c"), junit=("r.xml",), minimum_tests=1)
    request = WorkspaceRequest(id="p", snapshot="s", command=("pytest",), junit=("r.xml",), minimum_tests=1)
    assert request_under(request, check, "paper").minimum_tests == 2
    assert request_under(request, check, "default").minimum_tests == 1
    silent = request.model_copy(update={"junit": ()})
    assert request_under(silent, check, "paper") == silent


def test_the_preset_is_greedy_with_256_tokens() -> None:
    preset = sampling_preset("codev-paper")
    assert (preset.samples, preset.sampling.temperature, preset.sampling.max_tokens) == (1, 0.0, 256)
