from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from caretbench.errors import MachineError
from caretbench.extraction.policies import get_policy
from caretbench.files import DataError, RowAppender
from caretbench.judging.criteria import CriterionProblems, get_criterion
from caretbench.models import ModelRequest, Sampling
from caretbench.problem import Completion, Judgement, Problem, Usage
from caretbench.runs.judge import JudgingResult, JudgingSettings, judge_batch
from caretbench.runs.judging.judge_requests import distinct_texts
from caretbench.runs.plans.prices import CostBudget, Price
from caretbench.runs.run_folder import DataInfo, Manifest, RunFolder
from tests.support.fakes import FakeClient, Reply, failure
from tests.support.make_problem import MakeProblem

GOOD = '{"reasoning": "fits", "relevance": 4, "helpfulness": 3}'
QUALITY = get_criterion("devbench-quality")
RIGHT, WRONG = "    return 2 * x\n", "    return x\n"


def make_run(path: Path, problems: Sequence[Problem], answers: Sequence[str | None], model: str = "m") -> RunFolder:
    folder = RunFolder(path)
    data = DataInfo(name="d", hash="h", problems=len(problems), selected=len(problems))
    folder.write_manifest(Manifest(suite="devbench", data=data, policy="syntax@4", profile="default"))
    folder.write_problems(problems)
    add(folder, problems, answers, model)
    return folder


def add(folder: RunFolder, problems: Sequence[Problem], answers: Sequence[str | None], model: str) -> None:
    with RowAppender(folder.completions_path) as appender:
        appender.append(
            *(
                Completion(problem_id=problem.id, model=model, sample=sample, text=text)
                for problem in problems
                for sample, text in enumerate(answers)
            )
        )


def judge(folder: RunFolder, *clients: FakeClient, **options: Any) -> JudgingResult:
    criterion, sampling = options.pop("criterion", QUALITY), options.pop("sampling", None)
    part = CriterionProblems(criterion, tuple(options.pop("problems", None) or folder.problems()))
    settings = JudgingSettings(get_policy("syntax"), **{"control_problems": 0} | options)
    return judge_batch(folder, part, [(client.name, client) for client in clients], settings, sampling)


def judge_client(reply: Reply | Callable[[ModelRequest, int], Reply] = GOOD, **options: Any) -> FakeClient:
    return FakeClient(reply if callable(reply) else lambda _request, _sample: reply, **options)


def test_a_text_is_judged_once_whoever_wrote_it(tmp_path: Path, make_problem: MakeProblem) -> None:
    problems = [make_problem(), make_problem("python/low_context/two")]
    folder = make_run(tmp_path, problems, [RIGHT, WRONG, f"```python\n{RIGHT}\n```", RIGHT])
    add(folder, problems, [WRONG, WRONG], "another")
    add(folder, problems, ["    ...\n"], "stub")
    client = judge_client()
    result = judge(folder, client)
    assert (result.completions, result.texts, result.judged) == (12, 4, 4)
    assert result.complete
    assert len(client.asked) == 4
    rows = list(folder.judgements())
    assert len({row.key for row in rows}) == len(rows) == 4
    assert {row.criterion for row in rows} == {"devbench-quality@1"}
    assert rows[0].values == {"relevance": 4.0, "helpfulness": 3.0}
    assert (rows[0].text, rows[0].attempts, rows[0].fault) == (GOOD, 1, None)
    assert not folder.judge_errors_path.exists()


def test_what_is_there_is_not_asked_again(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    folder = make_run(tmp_path, [problem], [RIGHT])
    judge(folder, judge_client())
    before = folder.judgements_path.read_bytes()
    again = judge_client()
    assert judge(folder, again).complete
    assert again.asked == []
    assert folder.judgements_path.read_bytes() == before
    add(folder, [problem], [WRONG, RIGHT], "another")
    judge(folder, again)
    assert len(again.asked) == 1
    judge(folder, again, repeats=3)
    assert [request.samples for request in again.asked[1:]] == [(1, 2), (1, 2)]
    assert len(list(folder.judgements())) == 6


def test_other_settings_make_another_judge(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder = make_run(tmp_path, [make_problem()], [RIGHT])
    judge(folder, judge_client())
    judge(folder, judge_client(), sampling=Sampling(max_tokens=100))
    judge(folder, judge_client(identity={"weights": "other"}))
    judge(folder, judge_client("Score: 7"), criterion=get_criterion("devbench-paper"))
    judges = folder.manifest().judges
    assert len({info.parameters for info in judges}) == 4
    assert {row.parameters for row in folder.judgements()} == {info.parameters for info in judges}
    assert judges[0].settings["scores"] == {"relevance": 5.0, "helpfulness": 5.0}


def test_nothing_and_errors_in_place_of_a_completion(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem()
    folder = make_run(tmp_path, [problem], [None, ""])
    with RowAppender(folder.completions_path) as appender:
        appender.append(
            Completion(problem_id=problem.id, model="m", sample=2, text="Error: no", error=True),
            Completion(problem_id="unknown", model="m", text="x"),
        )
    part = CriterionProblems(get_criterion("devbench-quality"), (problem,))
    [subject], count = distinct_texts(folder, part, get_policy("syntax"), "default", control_problems=0)
    assert (subject.text, count) == ("", 2)
    found, count = distinct_texts(folder, part, get_policy("released"), "paper", control_problems=0)
    assert ([entry.text for entry in found], count) == (["", "Error: no"], 3)


def test_controls_are_judged_beside_the_completions(tmp_path: Path, make_problem: MakeProblem) -> None:
    problems = [make_problem(str(number), reference=f"    return {number}\n") for number in range(3)]
    folder = make_run(tmp_path, problems, ["    return 1\n"])
    client = judge_client()
    result = judge(folder, client, control_problems=2)
    # Each of three problems has its completion's text; two have four controls, one of which may be that text.
    assert 3 + 6 <= result.texts <= 3 + 8
    assert result.completions == 3
    add(folder, problems, [""], "empty")
    assert judge(folder, client, control_problems=2).texts == result.texts
    assert judge(folder, client, baselines=True).completions == 6


def test_an_answer_that_cannot_be_read_is_asked_again_then_missing(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder = make_run(tmp_path, [make_problem()], [RIGHT, WRONG])
    said: dict[str, int] = {}

    def reply(request: ModelRequest, _sample: int) -> str:
        text = request.prompt.messages[-1].text  # type: ignore[union-attr]
        said[text] = said.get(text, 0) + 1
        if "2 * x" in text:
            return "4/5"
        return GOOD if said[text] == 3 else '{"relevance": 6, "helpfulness": 3}'

    client = judge_client(reply)
    result = judge(folder, client)
    assert (result.received, result.judged, result.unreadable) == (6, 1, 1)
    assert not result.complete
    rows = {bool(row.values): row for row in folder.judgements()}
    assert (rows[True].attempts, rows[True].fault) == (3, None)
    assert (rows[False].attempts, rows[False].fault) == (3, "the answer is not a JSON object")
    assert rows[False].text == "4/5"
    better = judge_client()
    assert judge(folder, better).complete
    assert len(better.asked) == 1
    assert sorted(row.attempts for row in folder.judgements()) == [1, 3]
    assert all(row.values for row in folder.judgements())


def test_another_try_draws_with_another_seed(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder = make_run(tmp_path, [make_problem()], [RIGHT])
    client = judge_client("?")
    judge(folder, client, sampling=Sampling(seed=5, temperature=0))
    assert [request.sampling.seed for request in client.asked] == [5, 1005, 2005]


def test_the_released_judge_is_asked_once(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder = make_run(tmp_path, [make_problem()], [RIGHT])
    client = judge_client("no idea")
    assert judge(folder, client, criterion=get_criterion("devbench-paper"), profile="paper").unreadable == 1
    assert len(client.asked) == 1


def test_failures_stand_in_a_file_and_are_asked_again(tmp_path: Path, make_problem: MakeProblem) -> None:
    problems = [make_problem(), make_problem("python/low_context/two", prefix="def two(x):\n")]
    folder = make_run(tmp_path, problems, [RIGHT])

    def reply(request: ModelRequest, _sample: int) -> Reply:
        two = "def two" in request.prompt.messages[-1].text  # type: ignore[union-attr]
        return failure("401: sk-abcdefghijklmnop is wrong") if two else GOOD

    result = judge(folder, judge_client(reply), repeats=2)
    assert (result.judged, result.failed) == (2, 2)
    missing = list(folder.missing_judgements())
    assert [(row.problem_id, row.repeat, row.kind) for row in missing] == [
        ("python/low_context/two", 0, "provider"), ("python/low_context/two", 1, "provider"),
    ]  # fmt: skip
    assert "sk-abc" not in folder.judge_errors_path.read_text()
    judge(folder, judge_client(reply), repeats=2)
    assert len(list(folder.missing_judgements())) == 2
    assert judge(folder, judge_client(), repeats=2).complete
    assert not folder.judge_errors_path.exists()
    assert len(list(folder.judgements())) == 4


def test_a_client_that_forgets_a_request(tmp_path: Path, make_problem: MakeProblem) -> None:
    class Forgetful(FakeClient):
        def submit(self, requests: Any) -> Any:
            return iter([next(iter(super().submit(requests)))])

    folder = make_run(tmp_path, [make_problem()], [RIGHT, WRONG])
    result = judge(folder, Forgetful(lambda _request, _sample: GOOD, window=2))
    assert (result.judged, result.failed) == (1, 1)
    [row] = folder.missing_judgements()
    assert row.message == "the client gave neither an answer nor a failure"


def test_no_more_is_spent_than_there_is(tmp_path: Path, make_problem: MakeProblem) -> None:
    problems = [make_problem(str(number)) for number in range(20)]
    folder = make_run(tmp_path, problems, [RIGHT])
    price = Price(input_per_million=0, output_per_million=1000)
    client = judge_client(usage=Usage(input_tokens=500, output_tokens=100), window=3)
    sampling = Sampling(max_tokens=1000)  # at worst a dollar each, in truth ten cents
    budget = CostBudget(limit=2.5)
    result = judge(folder, client, sampling=sampling, prices={client.name: price}, budget=budget)
    assert budget.spent == pytest.approx(result.cost)
    assert 1.5 < result.cost <= 2.5
    assert result.judged + result.over_budget == 20
    assert result.judged == len(client.asked) == pytest.approx(result.cost * 10)
    assert {row.kind for row in folder.missing_judgements()} == {"budget"}
    assert sum(row.cost or 0 for row in folder.judgements()) == pytest.approx(result.cost)
    judge(folder, judge_client(), sampling=sampling)
    assert len(list(folder.judgements())) == 20
    assert not folder.judge_errors_path.exists()


def test_the_tries_before_are_paid_too(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder = make_run(tmp_path, [make_problem()], [RIGHT])
    price = Price(input_per_million=1, output_per_million=1)
    client = judge_client("?", usage=Usage(input_tokens=500_000, output_tokens=500_000))
    assert judge(folder, client, prices={client.name: price}).cost == pytest.approx(3.0)
    assert next(folder.judgements()).cost == pytest.approx(3.0)


def test_what_may_have_been_charged_is_spent(tmp_path: Path, make_problem: MakeProblem) -> None:
    problems = [make_problem(str(number)) for number in range(5)]
    price = Price(input_per_million=0, output_per_million=1000)
    sampling = Sampling(max_tokens=1000)  # at worst a dollar each
    for reply, spent in ((GOOD, 2.0), (failure("late", "timeout"), 2.0), (failure(), 0.0)):
        folder = make_run(tmp_path / f"{spent} {reply}"[:20], problems, [RIGHT])
        budget = CostBudget(limit=2.5)
        client = judge_client(lambda _request, _sample, reply=reply: reply)  # type: ignore[misc]
        judge(folder, client, sampling=sampling, prices={client.name: price}, budget=budget)
        assert budget.spent == pytest.approx(spent)


def test_without_a_price_no_cost_is_claimed(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder = make_run(tmp_path, [make_problem()], [RIGHT])
    judge(folder, judge_client(usage=Usage(input_tokens=5, output_tokens=5)))
    assert [row.cost for row in folder.judgements()] == [None]


def test_what_an_unreadable_answer_cost_stays_spent(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder = make_run(tmp_path, [make_problem()], [RIGHT])
    price = Price(input_per_million=1, output_per_million=1)
    for runs in (1, 2):
        client = judge_client("?", usage=Usage(input_tokens=500_000, output_tokens=500_000))
        assert judge(folder, client, prices={client.name: price}).cost == pytest.approx(3.0)
        assert sum(row.cost or 0 for row in folder.judgements()) == pytest.approx(3.0 * runs)


def test_a_judge_that_cannot_be_asked(tmp_path: Path, make_problem: MakeProblem) -> None:
    class Locked(FakeClient):
        def submit(self, requests: Any) -> Any:
            yield next(iter(super().submit(requests)))
            raise MachineError("HTTP 401 for Bearer abcdefgh12345678")

    folder = make_run(tmp_path, [make_problem(str(number)) for number in range(3)], [RIGHT])
    result = judge(folder, Locked(lambda _request, _sample: GOOD))
    assert (result.judged, result.failed, result.complete) == (1, 2, False)
    assert result.complaint(folder).startswith("2 judgements did not come; HTTP 401 for Bearer [redacted]; the same")
    assert {row.message for row in folder.missing_judgements()} == {"not asked: HTTP 401 for Bearer [redacted]"}
    assert judge(folder, judge_client()).complete
    assert not folder.judge_errors_path.exists()


def test_without_completions_nothing_is_asked(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder = make_run(tmp_path, [make_problem()], [])
    client = judge_client()
    with pytest.raises(DataError, match="holds no completion to judge"):
        judge(folder, client, control_problems=1)
    assert client.asked == []


def test_what_is_refused(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder = make_run(tmp_path, [make_problem()], [RIGHT])
    with pytest.raises(ValueError, match="occurs twice"):
        judge(folder, judge_client(), judge_client())
    with pytest.raises(ValueError, match="no conversations"):
        judge(folder, judge_client(accepts=["fill"]))
    with pytest.raises(ValueError, match=r"price .*fake/model"):
        judge(folder, judge_client(), budget=CostBudget(limit=1.0))
    with RowAppender(folder.judgements_path), pytest.raises(DataError, match="another caretbench"):
        judge(folder, judge_client())
    assert not folder.judge_errors_path.exists()


def test_a_stop_in_the_middle_loses_nothing(tmp_path: Path, make_problem: MakeProblem) -> None:
    problems = [make_problem(str(number)) for number in range(10)]
    folder = make_run(tmp_path, problems, [RIGHT])
    count = 0

    def reply(_request: ModelRequest, _sample: int) -> str:
        nonlocal count
        count += 1
        if count == 6:
            raise KeyboardInterrupt
        return GOOD

    with pytest.raises(KeyboardInterrupt):
        judge(folder, judge_client(reply))
    with folder.judgements_path.open("ab") as stream:
        stream.write(b'{"problem_id": "9", "ans')  # what a kill leaves
    client = judge_client()
    assert judge(folder, client).complete
    assert len(client.asked) == 5
    rows: list[Judgement] = list(folder.judgements())
    assert len({row.key for row in rows}) == len(rows) == 10


def test_several_judges_judge_for_themselves(tmp_path: Path, make_problem: MakeProblem) -> None:
    folder = make_run(tmp_path, [make_problem()], [RIGHT, WRONG])
    steps: list[tuple[str, int, int | None]] = []
    judge(folder, judge_client(name="a/one"), judge_client(name="b/two"), report=lambda *step: steps.append(step))
    assert sorted(row.judge for row in folder.judgements()) == ["a/one"] * 2 + ["b/two"] * 2
    assert [step for step in steps if step[1] == 0] == [
        ("judged by a/one, devbench-quality", 0, 2), ("judged by b/two, devbench-quality", 0, 2),
    ]  # fmt: skip


def test_what_the_judge_is_sent_is_blind(tmp_path: Path, make_problem: MakeProblem) -> None:
    problem = make_problem(reference="    return REFERENCE\n", hidden="\nassert HIDDEN\n")
    folder = make_run(tmp_path, [problem], [RIGHT], model="secret-model")
    client = judge_client()
    judge(folder, client)
    [request] = client.asked
    sent = json.dumps(request.model_dump(mode="json"))
    assert not re.search(r"secret-model|REFERENCE|HIDDEN|sample", sent.replace('"samples"', ""))
