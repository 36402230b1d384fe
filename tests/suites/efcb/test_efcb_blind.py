"""``--blind``: questions are asked without their text, too, and these answers are the floor of the same model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from caretbench.api import load_suite, run
from caretbench.errors import UsageError
from caretbench.models import ChatPrompt
from caretbench.problem import ChoiceCheck, Problem, Question, ReleasedMessage
from caretbench.reports.run_summary import load_run_folder, summarise_run
from caretbench.reports.summary import SuiteTable
from caretbench.runs.plans.config import RequestConfig, RunConfig, SuiteConfig
from caretbench.runs.runner import RunResult
from caretbench.suites.efcb.efcb_score import ProblemOutcome, efcb_score
from caretbench.suites.efcb.problem_metadata import TASKS, EfcbTask
from caretbench.suites.efcb.suite import Efcb
from caretbench.suites.efcb.tables.choice_tables import ModelRows, blind_tables
from tests.support.efcb_changes import build_tasks


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tasks(tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="module")
def problems(tasks: Path) -> list[Problem]:
    return list(load_suite("efcb").load(str(tasks)).problems)


def reader(problems: list[Problem], *, blind: bool) -> Callable[[ChatPrompt], str]:
    """A model that knows every answer; without the text it knows them only if it is ``blind``."""

    def read(prompt: ChatPrompt) -> str:
        text = prompt.messages[-1].text
        shown_text = "not shown" not in text
        for problem in problems:
            shown = problem.shown
            assert isinstance(shown, Question)
            parts = [part.strip() for part in (*shown.choices, *(file.text for file in shown.context))]
            if parts and all(part in text for part in parts) and (not shown_text or shown.text.strip() in text):
                return problem.reference if shown_text or blind else "A"
        return "A"

    read.version = int(blind)  # type: ignore[attr-defined]  # a function's version is an attribute of it
    return read


def tables_of(done: RunResult) -> dict[str, SuiteTable]:
    return {table.name: table for table in summarise_run(load_run_folder(done.folders[0].path)).suite_tables}


def test_what_is_hidden_is_the_text_alone(problems: list[Problem]) -> None:
    suite = Efcb()
    for problem in problems:
        shown, blind = problem.shown, suite.question_without_text(problem)
        assert isinstance(shown, Question)
        assert (blind is None) is problem.label("task").startswith("reverse")
        if blind is not None:
            request, _, text = shown.text.partition("\n\n")
            assert (blind.choices, blind.context) == (shown.choices, shown.context)
            assert "not shown" in blind.text
            assert text
            assert text not in blind.text
            assert len(blind.text) < len(request) + 40
    # The messages of a released question have its description in their midst.
    messages = (ReleasedMessage(role="system", text="s"), ReleasedMessage(role="user", text="Task Description: x"))
    choice = next(problem for problem in problems if problem.label("task") == EfcbTask.HARD)
    told = choice.model_copy(update={"shown": choice.shown.model_copy(update={"messages": messages})})
    assert suite.question_without_text(told) == suite.question_without_text(choice)


def test_a_model_is_measured_above_its_own_blind_answers(tasks: Path, problems: list[Problem], tmp_path: Path) -> None:
    config = RunConfig(
        suites=(SuiteConfig(name="efcb", data=str(tasks), select="task=gmcq-hard|mpr-gen|reverse-qa"),),
        defaults=RequestConfig(blind=True), output=tmp_path / "run", baselines=(),
    )  # fmt: skip
    models = {"reads": reader(problems, blind=False), "knows": reader(problems, blind=True)}
    found = tables_of(run(config, models=models))
    rows = {row[:2]: row for row in found["efcb-blind"].rows}
    hard = [problem for problem in problems if problem.label("task") == EfcbTask.HARD]
    at_a = sum(isinstance(check, ChoiceCheck) and check.correct == 0 for one in hard for check in one.checks) / len(
        hard
    )
    assert rows["reads", "GMCQ-Hard"][2:5] == (str(len(hard)), "1.000", f"{at_a:.3f}")
    assert rows["reads", "GMCQ-Hard"][5].startswith("1.000")
    assert rows["knows", "GMCQ-Hard"][5] == "answered without its text (blind 1.00)"
    assert rows["knows", "MPR-Gen added, edit similarity"][5] == "answered without its text (blind 1.00)"
    assert rows["reads", "MPR-Gen added, edit similarity"][5].startswith("1.000")
    headline = {row[0]: row[2:4] for row in found["efcb-choices"].rows}
    assert headline["reads"][1] == f"blind answers\n{at_a:.3f}"
    assert headline["knows"] == ("answered without its text (blind 1.00)", "blind answers\n1.000")
    # Blind answers are no model of their own in the suite's tables.
    assert {row[0] for row in found["efcb-choices"].rows} == {"reads", "knows"}


def outcomes(blind: float, hard: float = 0.9) -> list[ProblemOutcome]:
    values = dict.fromkeys(TASKS, 0.25) | {EfcbTask.HARD: hard, EfcbTask.MASKED: 8.0, EfcbTask.HALLUCINATION: 1.0}
    floors = {EfcbTask.HARD: blind, EfcbTask.MASKED: 10 * blind}
    return [
        ProblemOutcome(task, "r", str(number), value, 6.0, floors.get(task))
        for task, value in values.items()
        for number in range(30)
    ]


def test_the_total_is_above_blind_answers_and_is_not_stated_where_they_are_right() -> None:
    found = efcb_score(outcomes(0.6), resamples=50)
    assert found.blind
    assert found.corrected is not None
    assert found.corrected.value == pytest.approx((0.3 / 0.4 + 0.2 / 0.4 + 0.025) / 5)
    known = efcb_score(outcomes(0.95), resamples=50)
    assert known.published is not None
    assert known.corrected is None
    assert known.answered_blind == pytest.approx({EfcbTask.HARD: 0.95, EfcbTask.MASKED: 0.95})
    # Below 98 % of the problems they are the floor of others.
    few = [one._replace(blind=None) if one.cluster == "7" else one for one in outcomes(0.95)]
    assert not efcb_score(few, resamples=50).blind


def test_a_suite_without_such_questions_refuses_it(tmp_path: Path) -> None:
    config = RunConfig(
        suites=(SuiteConfig(name="devbench", limit=2),), defaults=RequestConfig(blind=True), output=tmp_path / "run"
    )
    with pytest.raises(UsageError, match=r"--blind: .*devbench"):
        run(config, models={"m": lambda _prompt: "A"})


def test_values_of_a_judge_that_fails_its_controls_are_marked_above_blind_too() -> None:
    line = {
        "task": "mpr-gen", "tier": "", "query": "", "problem_id": "p", "cluster": "c", "passed": None, "judged": 5.0,
        "withheld": "j by c@1: fails its controls",
    }  # fmt: skip
    model = ModelRows("m", (line,), ({**line, "judged": 2.0},))
    [table] = blind_tables([model], "default", 0)
    assert [cell.partition("\n")[0] for cell in table.rows[0][3:]] == ["0.500 (!)", "0.200 (!)", "0.375 (!)"]
    [table] = blind_tables([ModelRows("m", ({**line, "withheld": None},), model.blind_rows)], "default", 0)
    assert table.rows[0][3] == "0.500"
