"""The judging stage on questions about changes: what is asked, in how many steps, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from caretbench.errors import UsageError
from caretbench.extraction.policies import get_policy
from caretbench.files import RowAppender
from caretbench.judging.answers import TextOf, answer_key, plain_answer
from caretbench.judging.criteria import CriterionProblems, get_criterion, problems_by_criterion
from caretbench.models import ModelRequest
from caretbench.problem import Completion, Problem, Profile
from caretbench.reports.judged.judged_scores import judged_scores
from caretbench.reports.judged.judged_texts import JudgedRun, RatedCompletion
from caretbench.runs.judge import JudgingResult, JudgingSettings, NothingToJudgeError, judge_batch, judge_batches
from caretbench.runs.judging.judge_requests import EMPTY_ANSWER
from caretbench.runs.run_folder import DataInfo, Manifest, ModelInfo, RunFolder
from tests.support.fakes import FakeClient, Reply, failure
from tests.support.make_problem import MakeProblem
from tests.support.questions import CHANGES, question_problem, question_problems
from tests.support.rule_judges import agreeing, between, kind_of

GOOD = "Title: cache: evict\n\nBody: The oldest entry is dropped. The lock is gone."


def make_run(
    path: Path, problems: Iterable[Problem], answers: Mapping[str, Iterable[str | None]], profile: Profile = "default"
) -> RunFolder:
    """A run of some problems; every model's answers to each of them."""
    folder, problems = RunFolder(path), list(problems)
    data = DataInfo(name="d", hash="h", problems=len(problems), selected=len(problems))
    folder.write_manifest(Manifest(suite="efcb", data=data, policy="raw@2", profile=profile))
    folder.write_problems(problems)
    with RowAppender(folder.completions_path) as appender:
        for model, texts in answers.items():
            appender.append(
                *(
                    Completion(problem_id=problem.id, model=model, sample=sample, text=text)
                    for problem in problems
                    for sample, text in enumerate(texts)
                )
            )
    return folder


def said(request: ModelRequest) -> str:
    return request.prompt.messages[-1].text  # type: ignore[union-attr]


def kind(request: ModelRequest) -> str:
    """Which criterion a request is about."""
    return kind_of(said(request))


def honest(request: ModelRequest, _sample: int) -> Reply:
    """A judge that compares texts letter by letter."""
    return agreeing(said(request))


def judge(
    folder: RunFolder, reply: Callable[[ModelRequest, int], Reply] = honest, name: str = "fake/judge", **options: Any
) -> tuple[dict[str, JudgingResult], FakeClient]:
    client = FakeClient(reply, name=name, accepts=["chat"])
    arguments: dict[str, Any] = {"control_problems": 0} | options
    profile = folder.manifest().profile
    chosen = problems_by_criterion(folder.problems(), profile, arguments.pop("asked", None))
    changed = arguments.pop("changed", None)
    settings = JudgingSettings(get_policy("raw"), profile, **arguments)
    return judge_batches(folder, chosen, [(name, client)], settings, changed), client


def rated(folder: RunFolder, text_of: TextOf = plain_answer) -> list[RatedCompletion]:
    run = JudgedRun.of_folder(folder, text_of)
    return [row for judged in run.texts for _, rows in run.model_rows(judged) for row in rows]


def rows_of(folder: RunFolder) -> dict[tuple[str, str, int], RatedCompletion]:
    return {(row.problem_id, row.model, row.sample): row for row in rated(folder)}


# --- which criterion --------------------------------------------------------------------------------------------


def test_checks_name_the_criterion_and_the_profile_decides(make_problem: MakeProblem) -> None:
    problems = [*question_problems(), make_problem()]
    default = {part.criterion.key: len(part.problems) for part in problems_by_criterion(problems, "default")}
    assert default == {"efcb-masked@1": 3, "efcb-description@1": 3, "efcb-claims@1": 3, "devbench-quality@1": 1}
    paper = {part.criterion.key: len(part.problems) for part in problems_by_criterion(problems, "paper")}
    assert paper == {"efcb-similarity-paper@1": 6, "efcb-hallucination-paper@1": 3, "devbench-paper@1": 1}
    own = problems_by_criterion(problems, "default", get_criterion("efcb-similarity-paper"))
    assert [len(part.problems) for part in own] == [9]  # no choices, no carets
    several = problems_by_criterion(problems, "paper", get_criterion("devbench-quality"))
    assert [len(part.problems) for part in several] == [1]
    with pytest.raises(ValueError, match="another criterion"):
        problems_by_criterion(problems, "default", get_criterion("efcb-claim-support"))
    with pytest.raises(UsageError, match="unknown criterion 'beauty'"):
        problems_by_criterion([question_problem("reverse-qa", "cache", criterion="beauty")], "default")


def test_every_task_is_judged_by_its_own(tmp_path: Path) -> None:
    folder = make_run(tmp_path, question_problems(), {"m": [GOOD]})
    results, client = judge(folder)
    assert list(results) == ["efcb-masked@1", "efcb-description@1", "efcb-claims@1"]
    assert all(result.complete for result in results.values())
    assert [kind(request) for request in client.asked] == [
        *["masked"] * 6, *["description"] * 6, *["claims"] * 3, *["support"] * 6,
    ]  # fmt: skip
    assert (results["efcb-claims@1"].requested, results["efcb-claims@1"].texts) == (3 + 6, 3)
    stored = list(folder.judgements())
    assert len({row.key for row in stored}) == len(stored) == 21
    before = folder.judgements_path.read_bytes()
    again, silent = judge(folder)
    assert silent.asked == []
    assert folder.judgements_path.read_bytes() == before
    assert again["efcb-claims@1"].requested == 9


def test_both_orders_are_asked_and_requests_are_not_mixed(tmp_path: Path) -> None:
    folder = make_run(tmp_path, [question_problem("reverse-qa", "cache")], {"m": [GOOD, GOOD]})

    def biased(request: ModelRequest, _sample: int) -> str:
        first = said(request).index("AUTHOR'S TEXT ") < said(request).index("WRITTEN TEXT ")
        score = 4 if first else 6
        return json.dumps({"intent": score, "scope": score, "key_facts": score, "title": 0})

    _, client = judge(folder, biased, repeats=3)
    assert [request.samples for request in client.asked] == [(0, 2), (1,)]
    assert {row.repeat: row.values["intent"] for row in folder.judgements()} == {0: 4.0, 1: 6.0, 2: 4.0}
    row = rows_of(folder)["efcb/reverse-qa/cache", "m", 1]
    assert row.value == pytest.approx(14 / 3)
    assert row.repeats == (4.0, 6.0, 4.0)
    assert row.parts["title"] == 0.0


# --- two steps --------------------------------------------------------------------------------------------------


def test_one_false_statement_makes_a_hallucination(tmp_path: Path) -> None:
    problem = question_problem("reverse-qa-hallu", "cache")
    true = "It drops an entry. It compares with c.limit {"
    folder = make_run(tmp_path, [problem], {"m": [true, f"{true}. It sells shoes", "", None, "<think>so</think> "]})
    result, client = judge(folder)
    assert [kind(request) for request in client.asked] == ["claims"] * 2 + ["support"] * 3 + ["support"]
    rows = rows_of(folder)
    values = [rows[problem.id, "m", sample] for sample in range(5)]
    assert [row.value for row in values] == [0.0, 1.0, 1.0, 1.0, 1.0]  # silence is not truthful
    assert [row.says_nothing for row in values] == [False, False, True, True, True]
    assert [row.claim_rate for row in values[:3]] == [0.0, pytest.approx(1 / 4), None]
    assert values[1].parts["unsupported"] == 1.0
    assert result["efcb-claims@1"].complete
    steps = {row.criterion: row for row in folder.judgements()}
    assert steps["efcb-claim-support@1"].answer == answer_key("It sells shoes")
    assert all(row.answer != EMPTY_ANSWER for row in folder.judgements())


def test_equal_statements_are_judged_once(tmp_path: Path) -> None:
    problem = question_problem("reverse-qa-hallu", "cache")
    folder = make_run(tmp_path, [problem], {"m": ["It drops an entry", "It drops an entry. It is new"]})
    _, client = judge(folder, repeats=2)
    assert [kind(request) for request in client.asked] == ["claims"] * 2 + ["support"] * 2
    assert [request.samples for request in client.asked] == [(0, 1)] * 4


def test_statements_that_differ_between_repeats_are_judged_in_theirs(tmp_path: Path) -> None:
    problem = question_problem("reverse-qa-hallu", "cache")
    folder = make_run(tmp_path, [problem], {"m": ["whatever"]})

    def unsteady(request: ModelRequest, sample: int) -> Reply:
        if kind(request) == "claims":
            return json.dumps({"claims": [["It drops an entry"], ["It drops an entry", "It sells shoes"]][sample]})
        return honest(request, sample)

    _, client = judge(folder, unsteady, repeats=2)
    assert [request.samples for request in client.asked] == [(0, 1), (0, 1), (1,)]
    row = rows_of(folder)[problem.id, "m", 0]
    assert (row.value, row.repeats) == (0.5, (0.0, 1.0))


def test_a_statement_that_was_not_judged_leaves_no_verdict(tmp_path: Path) -> None:
    problems = [question_problem("reverse-qa-hallu", change) for change in CHANGES]
    folder = make_run(tmp_path, problems, {"m": ["It drops an entry. It sells shoes"]})

    def forgetful(request: ModelRequest, sample: int) -> Reply:
        if kind(request) == "support" and "cache/cache.go" in said(request) and "drops an entry" in said(request):
            return failure("gone")
        return honest(request, sample)

    results, _ = judge(folder, forgetful)
    assert (results["efcb-claims@1"].failed, results["efcb-claims@1"].coverage) == (1, pytest.approx(8 / 9))
    # The other statement was false, and yet: no verdict.
    assert [row.value for row in rated(folder)] == [None, 1.0, 1.0]
    _, client = judge(folder)
    assert len(client.asked) == 1
    assert [row.value for row in rated(folder)] == [1.0] * 3


def test_a_stop_between_the_steps_loses_nothing(tmp_path: Path) -> None:
    folder = make_run(tmp_path, [question_problem("reverse-qa-hallu", change) for change in CHANGES], {"m": [GOOD]})
    count = 0

    def stopped(request: ModelRequest, sample: int) -> Reply:
        nonlocal count
        count += 1
        if count == 6:
            raise KeyboardInterrupt
        return honest(request, sample)

    with pytest.raises(KeyboardInterrupt):
        judge(folder, stopped)
    _, client = judge(folder)
    assert len(client.asked) == 3 + 6 - 5
    rows = list(folder.judgements())
    assert len({row.key for row in rows}) == len(rows) == 9


def test_the_second_step_belongs_to_the_first(tmp_path: Path) -> None:
    folder = make_run(tmp_path, [question_problem("reverse-qa-hallu", "cache")], {"m": ["It sells shoes"]})

    def kind_judge(request: ModelRequest, sample: int) -> Reply:
        return '{"verdict": "supported_by_text"}' if kind(request) == "support" else honest(request, sample)

    judge(folder)
    judge(folder, kind_judge, changed={"temperature": 0.7})
    [scores] = judged_scores(JudgedRun.of_folder(folder))
    assert sorted(column.value.value for column in scores.by_judge if column.value) == [0.0, 1.0]
    assert len({column.judge for column in scores.by_judge}) == 2
    assert [(column.judge, column.value and column.value.value) for column in scores.columns] == [("all judges", 0.5)]


# --- what is missing --------------------------------------------------------------------------------------------


def test_out_of_range_is_asked_again_and_then_missing(tmp_path: Path) -> None:
    folder = make_run(
        tmp_path, [question_problem("reverse-qa", change) for change in CHANGES], {"m": [GOOD]}, profile="paper"
    )

    def wild(request: ModelRequest, _sample: int) -> str:
        return "11" if "cache" in said(request) and "bounds" in said(request) else "7"

    results, client = judge(folder, wild)
    [result] = results.values()
    assert (result.received, result.unreadable, result.coverage) == (5, 1, pytest.approx(2 / 3))
    rows = rows_of(folder)
    assert [row.value for row in rows.values()] == [None, 7.0, 7.0]
    assert [request.sampling.seed for request in client.asked if "bounds" in said(request)] == [0, 1000, 2000]
    assert {request.sampling.temperature for request in client.asked} == {0.0}


def test_two_judges_count_where_both_judged(tmp_path: Path) -> None:
    folder = make_run(
        tmp_path, [question_problem("reverse-qa", change) for change in CHANGES], {"m": [GOOD]}, profile="paper"
    )
    judge(folder, lambda _request, _sample: "4", name="fake/a")
    judge(folder, lambda request, _sample: failure() if "flags" in said(request) or "--json" in said(request) else "8",
          name="fake/b")  # fmt: skip
    assert [row.value for row in rows_of(folder).values()] == [6.0, None, 6.0]
    [scores] = judged_scores(JudgedRun.of_folder(folder))
    assert {column.judge for column in scores.by_judge} == {"fake/a", "fake/b"}


def test_what_a_judge_sees_may_be_the_suites_word(tmp_path: Path) -> None:
    folder = make_run(tmp_path, [question_problem("mpr-gen", "cache")], {"m": ["a diff: [x = 1]"]})

    def only_lines(_problem: Problem, text: str, _profile: str) -> str:
        return text.partition("[")[2].rstrip("]")

    _, client = judge(folder, text_of=only_lines)
    assert between(said(client.asked[0]), "WRITTEN LINES") == "x = 1"
    assert [row.value for row in rated(folder, only_lines)] == [1.0]
    assert [row.value for row in rated(folder)] == [None]


def test_under_the_paper_profile_the_raw_answer_is_judged(tmp_path: Path) -> None:
    text = "<think>hm</think>\nTitle: x\n"
    for profile, seen in (("paper", text), ("default", "Title: x")):
        folder = make_run(tmp_path / profile, [question_problem("reverse-qa", "cache")], {"m": [text]}, profile=profile)  # type: ignore[arg-type]
        _, client = judge(folder)
        assert between(said(client.asked[0]), "PREDICTION" if profile == "paper" else "WRITTEN TEXT") == seen


def test_baselines_are_judged_when_asked(tmp_path: Path) -> None:
    folder = make_run(
        tmp_path, [question_problem("mpr-gen", "cache")], {"m": ["x"], "reference": ["whatever"], "own": ["y"]}
    )
    manifest = folder.manifest()
    manifest.models.append(ModelInfo(model="own", source="baseline"))
    folder.write_manifest(manifest)
    results, _ = judge(folder)
    assert results["efcb-masked@1"].texts == 1
    results, _ = judge(folder, baselines=True)
    assert results["efcb-masked@1"].texts == 3
    assert {row.model for row in rated(folder)} == {"m", "reference", "own"}


def test_without_an_answer_nothing_is_judged(tmp_path: Path) -> None:
    folder = make_run(tmp_path, [question_problem("mpr-gen", "cache")], {})
    with pytest.raises(NothingToJudgeError, match="no completion"):
        judge(folder)
    with pytest.raises(NothingToJudgeError, match="nothing that"):
        judge_batches(folder, [], [], JudgingSettings(get_policy("raw")))
    # One task of several may still be without answers.
    part = make_run(tmp_path / "part", [question_problem("mpr-gen", "cache")], {"m": ["x"]})
    part.write_problems([question_problem("mpr-gen", "cache"), question_problem("reverse-qa", "cache")])
    results, _ = judge(part)
    assert list(results) == ["efcb-masked@1"]
    client = FakeClient(honest, accepts=["chat"])
    with pytest.raises(NothingToJudgeError):
        judge_batch(
            part,
            CriterionProblems(get_criterion("efcb-masked"), ()),
            [("j", client)],
            JudgingSettings(get_policy("raw")),
        )
