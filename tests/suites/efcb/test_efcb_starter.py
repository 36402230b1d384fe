"""The starter set of efcb: a repository that is always the same, and a build that gives nothing away."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from caretbench.build.sources.pull_request import PullRequest
from caretbench.errors import DataError, MachineError
from caretbench.problem import Problem, Question
from caretbench.suites import load_suite
from caretbench.suites.efcb.build import problem_building as leaks
from caretbench.suites.efcb.build import starter_set as starter
from caretbench.suites.efcb.build.changes import filter_changes, render_patch
from caretbench.suites.efcb.build.choices.gmcq_hard import VersionSet, _are_equidistant, _fault
from caretbench.suites.efcb.build.problem_building import task_and_tier
from caretbench.suites.efcb.choices import query_text
from caretbench.syntax.parser import has_error, parse

HEAD = "4237547d7b44abb360e0c1177be919de1417776c"
"""The repository's last commit: the same on every machine. A change of the history is a change of this line."""
FEWEST = {
    "gmcq-easy random": 100,
    "gmcq-easy matched": 100,
    "gmcq-easy same_file": 100,
    "gmcq-easy adversarial": 100,
    "gmcq-hard four_texts": 52,
    "mpr-gen added": 100,
    "mpr-gen changed": 20,
    "reverse-qa": 100,
    "reverse-qa-hallu": 100,
}


@pytest.fixture(scope="module")
def pulls(tmp_path_factory: pytest.TempPathFactory) -> list[PullRequest]:
    return starter.mine_starter(tmp_path_factory.mktemp("starter"))


@pytest.fixture(scope="module")
def problems() -> list[Problem]:
    """What the suite loads."""
    return list(load_suite("efcb").load("starter").problems)


# --- the repository ---------------------------------------------------------------------------------------------


def test_the_repository_is_always_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
    monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
    folder = tmp_path / "shop"
    assert starter.write_repository(folder) == HEAD
    git = shutil.which("git")
    assert git is not None
    said = subprocess.run([git, "-C", str(folder), "status", "--short"], capture_output=True, check=True)
    assert said.stdout == b""
    assert not has_error(parse((folder / "wayfarer" / "roads.py").read_text(), "python"))
    with pytest.raises(DataError, match=rf"{folder}: .*empty folder"):
        starter.write_repository(folder)


def test_a_machine_without_git_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="install git"):
        starter.write_repository(tmp_path / "shop")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert starter.main([]) == 2
    assert starter.main([str(tmp_path / "shop")]) == 0
    assert HEAD in capsys.readouterr().out
    assert starter.main([str(tmp_path / "shop")]) == 1
    monkeypatch.setenv("PATH", "")
    assert starter.main([str(tmp_path / "other")]) == 1


# --- the build --------------------------------------------------------------------------------------------------


def test_filters_find_what_was_planted(pulls: list[PullRequest]) -> None:
    filtered = filter_changes(pulls, "default")
    assert len(filtered.pulls) >= 100
    reasons = Counter(one.reason for one in filtered.rejected)
    found = {name: reasons[name] for name in ("bot", "revert", "release", "backport")}
    assert found == {"bot": 3, "revert": 2, "release": 6, "backport": 1}
    assert {pull.license for pull in pulls} == {"MIT"}


@pytest.mark.long
def test_what_is_shipped_is_what_is_built(problems: list[Problem], pulls: list[PullRequest]) -> None:
    # The order of the changes is no matter.
    assert starter.starter_problems(pulls[::-1]) == problems


@pytest.mark.long
def test_there_are_problems_of_every_task(problems: list[Problem]) -> None:
    counts = Counter(map(task_and_tier, problems))
    assert {kind: counts[kind] for kind in FEWEST if counts[kind] < FEWEST[kind]} == {}
    assert {problem.labels["language"] for problem in problems} >= {"python", "java"}
    assert all(problem.provenance.licence == "MIT" for problem in problems if problem.provenance)


@pytest.mark.long
def test_nothing_is_given_away(problems: list[Problem]) -> None:
    report = leaks.leak_report(problems)
    assert [leak for leak in report if leak.exceeds_limit] == []
    limits = [leak for leak in report if leak.kind == "limit"]
    assert {leak.attack for leak in limits} == set(leaks.SHAPE_ATTACKS)
    assert {leak.tier for leak in limits if leak.task == "gmcq-easy" and not leak.has_too_few_questions} == {
        "random",
        "matched",
        "same_file",
        "adversarial",
    }


def test_people_wrote_four_texts_for_four_versions(pulls: list[PullRequest]) -> None:
    problems = list(starter.version_problems(pulls))
    sets: dict[str, list[Problem]] = {}
    for problem in problems:
        assert problem.labels["text_by"] == "people"
        sets.setdefault(str(problem.labels["choice_set"]), []).append(problem)
    assert len(problems) == len({problem.id for problem in problems}) == 52
    shown = {pull.title: render_patch(pull).text for pull in pulls}
    for one, members in zip(starter.starter_versions(), sets.values(), strict=True):
        assert {problem.reference for problem in members} == set("ABCD")
        versions = []
        for problem in members:
            assert isinstance(problem.shown, Question)
            versions.append(problem.shown.choices["ABCD".index(problem.reference)])
        # Each line occurs once, both edits are made, and the choices are four programs at equal distances.
        assert versions[0] == shown[one["change"]]
        assert len(set(versions)) == 4
        assert _are_equidistant(versions)
        assert [edit["edited"] in versions[3] for edit in (one["first"], one["second"])] == [True, True]
        found = VersionSet("", tuple(versions))
        assert [len(found.edited_lines(number)) for number in range(4)] == [2] * 4
        assert _fault(found, [query_text(problem) for problem in members]) is None
    # Words of the text point at no version more often than at another.
    floors = {leak.attack: leak.accuracy for leak in leaks.leak_report(problems)}
    assert floors["TF-IDF"] <= 0.6
