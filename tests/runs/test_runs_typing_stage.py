"""Typing sessions of a run: where a model is asked, resuming, budget and bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from caretbench.errors import UsageError
from caretbench.metrics.typing_sessions import Trigger, TypedText, replay
from caretbench.models import FillPrompt, ModelRequest, TextPrompt
from caretbench.problem import Problem, Usage
from caretbench.prompts.registry import FillStrategy, LeftToRightStrategy
from caretbench.runs.forecast import typing_forecast
from caretbench.runs.generate import GenerationStage, ModelUnderTest, stored_cost
from caretbench.runs.plans.config import RunConfig
from caretbench.runs.plans.plan import ResolvedRun
from caretbench.runs.plans.prices import CostBudget, Price
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.typing_stage import TypingStage, typed_answers
from tests.support.fakes import FakeClient, Reply
from tests.support.scripted_models import ScriptedModel, answer_at, human_problems, unknown_tokens


def scripted(problems: list[Problem], answer: ScriptedModel, **fields: Any) -> ModelUnderTest:
    def reply(request: ModelRequest, _sample: int) -> Reply:
        assert isinstance(request.prompt, FillPrompt)
        return answer_at(problems, request.prompt, answer)

    return ModelUnderTest("m", FakeClient(reply), FillStrategy(), **fields)


def distinct(number: int) -> list[Problem]:
    """Return problems of which no caret is behind typed text of another one."""
    return [*{one.caret.prefix[:200] + one.caret.suffix[:200]: one for one in human_problems(200)}.values()][:number]


def run(folder: Path, problems: list[Problem], model: ModelUnderTest, trigger: Trigger = "token", **limit: Any) -> Any:
    files = RunFolder(folder)
    budget = CostBudget(limit.get("limit"), spent=stored_cost(files))
    GenerationStage(problems, files).run(model, budget)
    return TypingStage(problems, files, trigger).run(model, budget)


def test_a_model_is_asked_where_its_last_answer_ends_and_never_scored_there(tmp_path: Path) -> None:
    problems = distinct(6)
    model = scripted(problems, unknown_tokens(0.1))
    counts = run(tmp_path, problems, model)
    files = RunFolder(tmp_path)
    assert {row.at for row in files.completions()} == {0} == {0 for _ in files.stored_completions()}
    assert len([*files.completions()]) == len([*files.stored_completions()]) == 6
    rows = [row for row in files.all_completions() if row.at]
    texts = {one.id: TypedText(one.caret.prefix, one.reference) for one in problems}
    [answers] = typed_answers(files, problems).values()
    sessions = [replay(text, answers.answers[name]) for name, text in texts.items()]
    assert len(rows) == counts.answered == sum(one.numbers["requests"] for one in sessions if one) - 6
    assert len({row.key for row in files.all_completions()}) == len(rows) + 6
    assert len(rows) < sum(len(text.tokens) for text in texts.values()) / 2
    asked = [request for request in model.client.asked if request.prompt.stop]  # type: ignore[attr-defined]
    assert {(request.prompt.stop, request.sampling.max_tokens) for request in asked} == {(("\n",), 48)}
    # A run that is complete asks nothing; one that was killed asks for what is missing, and gives the same rows.
    whole = files.completions_path.read_bytes()
    again = scripted(problems, unknown_tokens(0.1))
    assert (run(tmp_path, problems, again).answered, again.client.asked) == (0, [])  # type: ignore[attr-defined]
    files.completions_path.write_bytes(whole[: len(whole) // 2])
    run(tmp_path, problems, again)
    assert sorted(row.key for row in files.all_completions()) == sorted(
        [row.key for row in rows] + [(one.id, "m", model.parameters, 0) for one in problems]
    )


def test_a_budget_ends_sessions_that_a_larger_one_continues(tmp_path: Path) -> None:
    problems = distinct(4)
    price = Price(input_per_million=1, output_per_million=0)
    model = scripted(problems, unknown_tokens(0.4), price=price, connections=2)
    GenerationStage(problems, RunFolder(tmp_path)).run(model)
    counts = TypingStage(problems, RunFolder(tmp_path), "token").run(model, CostBudget(0.01))
    assert counts.missing["budget"]
    assert [*RunFolder(tmp_path).missing()] == []
    counts = TypingStage(problems, RunFolder(tmp_path), "token").run(model)
    assert (counts.missing.total(), RunFolder(tmp_path).errors_path.exists()) == (0, False)


def test_the_window_of_the_prompts_of_a_problem_does_not_move(tmp_path: Path) -> None:
    [problem] = distinct(1)
    long = problem.caret.model_copy(update={"prefix": "".join(f"x{n} = {n}\n" for n in range(999)), "context": ()})
    problem = problem.model_copy(update={"shown": long})
    client = FakeClient(lambda _request, _sample: "zz", context_tokens=1500, count=len)
    model = ModelUnderTest("m", client, LeftToRightStrategy(), connections=1)
    run(tmp_path, [problem], model)
    texts = [one.prompt.text for one in client.asked[1:] if isinstance(one.prompt, TextPrompt)]
    assert len(texts) > 10
    assert {text[:40] for text in texts} == {texts[0][:40]}
    assert {text.count("x998") for text in texts} == {1}


@pytest.mark.parametrize("trigger", ["token", "line"])
def test_bounds_are_those_of_a_perfect_model_and_of_one_that_is_never_right(tmp_path: Path, trigger: Trigger) -> None:
    problems = distinct(5)
    for name, answer in (("right", unknown_tokens(0)), ("wrong", lambda _text, _at: "??")):
        model = scripted(problems, answer)
        least, most = typing_forecast(model, problems, RunFolder(tmp_path / name), trigger)
        answered = run(tmp_path / name, problems, model, trigger).answered
        assert answered == (least if name == "right" else most).requests
        after = [*typing_forecast(model, problems, RunFolder(tmp_path / name), trigger)]
        assert [(row.bound, row.stored, row.requests) for row in after] == [
            (bound, answered, 0) for bound in ("at least", "expected", "at most")
        ]


def test_a_pilot_of_twenty_estimates_requests_and_cost_within_a_fifth(tmp_path: Path) -> None:
    problems = distinct(60)
    price = Price(input_per_million=1000, output_per_million=1000)  # $0.11 for each answer below
    model = scripted(problems, unknown_tokens(0.2), price=price)
    model.client.usage = Usage(input_tokens=100, output_tokens=10)  # type: ignore[attr-defined]
    run(tmp_path, problems[::3], model)
    _, pilot, _ = typing_forecast(model, problems, RunFolder(tmp_path), "token")
    counts = run(tmp_path, problems, model)
    assert pilot.requests == pytest.approx(counts.answered, rel=0.2)
    assert pilot.cost == pytest.approx(0.11 * counts.answered, rel=0.2)


def test_references_that_nobody_typed_are_refused() -> None:
    config = RunConfig.model_validate({"suites": [{"name": "devbench", "limit": 1}], "typing": "token"})
    with pytest.raises(UsageError, match=r"--typing: .*devbench"):
        ResolvedRun.from_config(config)
