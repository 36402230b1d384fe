"""Judges of instructions behind a real socket, with planted mistakes: what they are worth comes out as planted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from caretbench import cli
from caretbench.files import write_rows
from caretbench.people.review.protocol import load_protocol
from caretbench.people.review.review_items import run_items
from caretbench.problem import Completion, Score
from caretbench.reports.judged.judged_scores import judged_scores
from caretbench.reports.judged.judged_texts import JudgedRun
from caretbench.reports.run_summary import load_run_folder, summarise_run
from caretbench.reports.section_registry import SECTIONS
from caretbench.runs.judging.ratings import HumanRating
from caretbench.runs.run_folder import DataInfo, Manifest, ModelInfo, RunFolder
from caretbench.suites.base import Suite
from tests.support.instructed import LOOP, SUM, instructed_suite, is_followed, variants
from tests.support.model_server import Behaviour, ModelServer, Recorded
from tests.support.rule_judges import between

FUNCTIONS = 20
Asked = tuple[str, str, str]
"""Instruction, reference and judged text of a prompt."""
Judging = Callable[[Asked, int], str]


def asked(request: Recorded) -> Asked:
    text = request.body["messages"][-1]["content"]
    heads = ("INSERTED CODE", "EXAMPLE") if "INSERTED CODE" in text else ("IMPLEMENTATION", "GROUND TRUTH")
    judged, reference = (between(text, head) for head in heads)
    return between(text, "INSTRUCTION"), reference, judged


def tagged(decision: bool) -> str:
    word = "yes" if decision else "no"
    return f"[REASON]because of it[/REASON]\n[JUDGMENT]{word}[/JUDGMENT]"


def right(question: Asked, _choice: int) -> str:
    return tagged(is_followed(question[0], question[2]))


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Iterator[Suite]:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with instructed_suite() as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path, suite: Suite) -> RunFolder:
    """A scored run of a model that always writes loops, all of which pass; nothing is judged yet."""
    loaded = suite.load(str(FUNCTIONS))
    found = RunFolder(tmp_path / "run")
    found.path.mkdir()
    found.write_manifest(
        Manifest(
            suite="instructed", policy="raw@2", profile="default",
            data=DataInfo(name=loaded.name, hash=loaded.hash, problems=2 * FUNCTIONS, selected=2 * FUNCTIONS),
            models=[ModelInfo(model="m", source="recorded", parameters="recorded")],
        )
    )  # fmt: skip
    found.write_problems(loaded.problems)
    answers = {one.id: "    total = 0\n    for value in values:\n        total += value\n    return total + "
               f"{int(one.id[1:3])}\n" for one in loaded.problems}  # fmt: skip
    rows = [
        Completion(problem_id=identity, model="m", parameters="recorded", text=text)
        for identity, text in answers.items()
    ]
    write_rows(found.completions_path, rows)
    common: dict[str, Any] = {"model": "m", "parameters": "recorded", "policy": "raw@2", "profile": "default"}
    write_rows(
        found.scores_path,
        [
            Score(problem_id=identity, scorer="execution@1", outcome="passed", values={"passed": 1.0}, **common)
            for identity in answers
        ],
    )
    return found


def judge(folder: RunFolder, answer: Judging, *arguments: str) -> tuple[Result, ModelServer]:
    """Run the verb ``judge`` with a judge behind a socket; every problem has controls."""
    with ModelServer(answer=lambda request, choice: answer(asked(request), choice)) as server:
        words = ["judge", str(folder.path), "-m", "judge=openai/gpt-4o-mini", "--base-url", f"{server.url}/v1"]
        result = CliRunner().invoke(cli.app, [*words, *arguments, "--no-html"])
    return result, server


def controls(suite: Suite) -> dict[Asked, tuple[str, int]]:
    """Every control as it is asked, with its name and a number."""
    loaded = suite.load(str(FUNCTIONS)).problems
    texts = suite.caret_controls(loaded, "decision")
    numbers = count()
    return {
        (problem.caret.instruction or "", problem.reference, text): (name, next(numbers))
        for problem in loaded
        for name, text in texts[problem.id].items()
    }


def test_the_suite_gives_the_controls(suite: Suite) -> None:
    [loop, total, *_] = suite.load("2").problems
    texts = suite.caret_controls(suite.load("2").problems, "decision")
    assert texts[loop.id] == {"reference": loop.reference, "other-variant": total.reference, "empty": ""}
    assert texts[total.id] == {"reference": total.reference, "other-variant": loop.reference, "empty": ""}


def test_a_judge_that_is_always_right(folder: RunFolder) -> None:
    done, server = judge(folder, right)
    assert done.exit_code == 0, (done.stderr, done.exception)
    assert "PREFIX" not in str(server.requests[0].body)
    [scores] = judged_scores(JudgedRun.of_folder(folder))
    [judged] = scores.judges
    decided = judged.decisions
    assert decided is not None
    assert {name: (one["right"], one["problems"]) for name, one in judged.controls.items()} == {
        "reference": (1.0, 40), "other-variant": (1.0, 40), "empty": (1.0, 40),
    }  # fmt: skip
    assert (decided.known.agreement, decided.known.precision, decided.known.recall) == (1.0, 1.0, 1.0)
    assert decided.known.decisions == 120
    # The model wrote loops: half of its answers follow their instruction, by the predicate and by the judge.
    assert (decided.predicate.decisions, decided.predicate.agreement) == (40, 1.0)
    [column] = scores.columns
    assert (column.answers, column.rated, column.value and column.value.value) == (40, 40, 0.5)
    assert (judged.state, decided.rounds) == ("accepted", ())
    assert "Calibration by controls, answers that passed, c3-instruction@1" in done.stdout
    assert len(server.requests) == 40 + 120


def test_a_judge_that_always_says_yes_fails(folder: RunFolder) -> None:
    done, _ = judge(folder, lambda _question, _choice: tagged(True))
    assert done.exit_code == 1
    assert "fails its controls: other-variant judged correctly in 0 of 40" in done.stderr
    [scores] = judged_scores(JudgedRun.of_folder(folder))
    [judged] = scores.judges
    decided = judged.decisions
    assert decided is not None
    assert (decided.known.agreement, decided.known.precision, decided.known.recall) == pytest.approx(
        (1 / 3, 1 / 3, 1.0)
    )
    assert (decided.predicate.agreement, decided.predicate.precision, decided.predicate.recall) == (0.5, 0.5, 1.0)
    assert judged.state == "failed"


def test_a_judge_with_one_mistake_in_ten(folder: RunFolder, suite: Suite) -> None:
    places = controls(suite)

    def answer(question: Asked, _choice: int) -> str:
        wrong = question in places and places[question][1] % 10 == 0
        return tagged(is_followed(question[0], question[2]) is not wrong)

    done, _ = judge(folder, answer)
    assert done.exit_code == 0, done.stderr
    planted = [name for name, number in places.values() if number % 10 == 0]
    missed, alarms = planted.count("reference"), len(planted) - planted.count("reference")
    assert (len(planted), missed) == (12, 4)
    [judge_of] = judged_scores(JudgedRun.of_folder(folder))[0].judges
    found = judge_of.decisions
    assert found is not None
    assert found.known.agreement == pytest.approx(0.9)
    assert found.known.recall == pytest.approx((40 - missed) / 40)
    assert found.known.precision == pytest.approx((40 - missed) / (40 - missed + alarms))
    assert judge_of.state == "accepted"


@pytest.mark.long
def test_malformed_answers_are_asked_again_and_count_apart(folder: RunFolder, suite: Suite) -> None:
    places = controls(suite)
    tries: dict[Asked, int] = {}

    def answer(question: Asked, choice: int) -> str:
        tries[question] = tries.get(question, 0) + 1
        number = places[question][1] if question in places else 1
        if number % 10 == 0 or (number % 10 == 5 and tries[question] == 1):
            return ["yes", "[JUDGMENT]maybe[/JUDGMENT]", tagged(True) + tagged(False)][number % 3]
        return right(question, choice)

    done, _ = judge(folder, answer)
    assert done.exit_code == 1
    assert "12 judgements could not be read" in done.stderr
    [scores] = judged_scores(JudgedRun.of_folder(folder))
    [judged] = scores.judges
    found = judged.decisions
    assert found is not None
    assert (found.known.decisions, found.known.agreement) == (108, 1.0)
    assert (scores.judges[0].unreadable, scores.judges[0].tried_again) == (12, 24)
    rows = [row for row in folder.judgements() if row.fault]
    assert {row.fault for row in rows} == {
        "the answer has no tagged yes or no", "a tag of the decision is not around a yes or no",
        "the answer has several tagged decisions",
    }  # fmt: skip


@pytest.mark.long
def test_ten_rounds_give_a_table_of_agreement(folder: RunFolder, suite: Suite) -> None:
    places = controls(suite)

    def answer(question: Asked, choice: int) -> str:
        wrong = question in places and places[question][1] % 10 == choice
        return tagged(is_followed(question[0], question[2]) is not wrong)

    done, _ = judge(folder, answer, "--repeats", "10")
    assert done.exit_code == 0, done.stderr
    [scores] = judged_scores(JudgedRun.of_folder(folder))
    [judged] = scores.judges
    found = judged.decisions
    assert found is not None
    assert [one.number for one in found.rounds] == list(range(1, 11))
    assert [one.known.agreement for one in found.rounds] == pytest.approx([0.9] * 10)
    assert [one.predicate.agreement for one in found.rounds] == [1.0] * 10
    assert found.known.decisions == 1200
    assert found.known.agreement == pytest.approx(0.9)
    # Of the ten decisions about a control one differs: 9 of 45 pairs of rounds.
    texts = 120 + 40
    assert judged.consistency["same"] == pytest.approx(1 - 120 * 9 / (45 * texts))
    assert {one["right"] for one in judged.controls.values()} == {1.0}  # by the majority of the rounds
    assert "Agreement by round" in done.stdout
    assert re.search(r"all rounds +1600 +0", done.stdout)
    assert "90.0%" in done.stdout


@pytest.mark.long
def test_people_are_compared_too(folder: RunFolder) -> None:
    rows = list(folder.completions())
    done, _ = judge(folder, right)
    assert done.exit_code == 0
    judged = {row.problem_id: row.answer for row in folder.judgements() if row.problem_id.startswith("f0")}
    ratings = [
        HumanRating(problem_id=row.problem_id, answer=judged[row.problem_id], rater=rater, values={"follows": 1.0})
        for row in rows[:4]
        for rater in ("a", "b")
    ]
    write_rows(folder.path / "human_ratings.jsonl", ratings)
    [judged] = judged_scores(JudgedRun.of_folder(folder))[0].judges
    found = judged.decisions
    assert found is not None
    assert found.people.decisions == 4


@pytest.mark.long
def test_both_criteria_and_the_paper_profile(folder: RunFolder) -> None:
    assert judge(folder, right, "--no-controls")[0].exit_code == 0
    done, server = judge(folder, right, "--no-controls", "--criterion", "c3-instruction-paper")
    assert done.exit_code == 0
    prompt = server.requests[0].body["messages"]
    assert [message["role"] for message in prompt] == ["system", "user"]
    assert "GROUND TRUTH" in prompt[1]["content"]
    assert "def total_" not in prompt[1]["content"]  # the published judge sees no program
    assert {scores.criterion for scores in judged_scores(JudgedRun.of_folder(folder))} == {
        "c3-instruction@1",
        "c3-instruction-paper@1",
    }


def test_only_what_passed_is_judged(folder: RunFolder) -> None:
    failed = {"outcome": "failed", "values": {"passed": 0.0}}
    rows = [row.model_copy(update=failed) if row.problem_id.endswith("/sum") else row for row in folder.scores()]
    write_rows(folder.scores_path, rows)
    done, server = judge(folder, right, "--no-controls")
    assert done.exit_code == 0, done.stderr
    assert len(server.requests) == 20
    [column] = judged_scores(JudgedRun.of_folder(folder))[0].columns
    assert (column.answers, column.value and column.value.value) == (20, 1.0)


@pytest.mark.long
def test_the_report_has_the_tables_and_suites_the_values(folder: RunFolder) -> None:
    assert judge(folder, right)[0].exit_code == 0
    summary = summarise_run(load_run_folder(folder.path))
    titles = [table.title for section in SECTIONS for table in section.tables(summary)]
    assert any(title.startswith("Calibration by controls") for title in titles)
    assert "Decisions compared with what is known, c3-instruction@1" in titles
    lines = [line for section in SECTIONS for line in section.lines(summary)]
    found = {
        (line["scope"], line["metric"]): line["value"] for line in lines if "c3-instruction" in str(line["metric"])
    }
    assert found["compared with predicates", "c3-instruction@1:agreement"] == 1.0
    assert found["control other-variant", "c3-instruction@1:right"] == 1.0


def test_people_see_the_instruction(folder: RunFolder) -> None:
    found = run_items(folder, load_protocol("completion-quality"), texts=5)
    problems = {problem.id: problem for problem in folder.problems()}
    items = [item for item in found.items if item.kind == "item"]
    assert len(items) == 5
    for item in items:
        assert item.shown.instruction == problems[item.problem_id].caret.instruction


def test_a_problem_is_shown_with_its_instruction(suite: Suite) -> None:
    done = CliRunner().invoke(cli.app, ["show", "instructed", "f00/loop"])
    assert f"--- instruction (shown) ---\n{LOOP}\n" in done.stdout


# --- forecast, budget, local judges -----------------------------------------------------------------------------


def test_a_dry_run_sends_nothing(folder: RunFolder, tmp_path: Path) -> None:
    done, server = judge(folder, right, "--dry-run", "--json", "--repeats", "10")
    assert done.exit_code == 0, done.stderr
    [row] = json.loads(done.stdout)
    assert (row["criterion"], row["completions"], row["judgements"]) == ("c3-instruction@1", 40, 1600)
    assert server.requests == []
    assert not folder.judgements_path.exists()


@pytest.mark.long
def test_the_budget_holds(folder: RunFolder, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."openai/gpt-4o-mini"]\ninput_per_million = 1000\noutput_per_million = 1000\n')
    done, server = judge(folder, right, "--max-cost", "20", "--prices", str(prices), "--connections", "1")
    assert done.exit_code == 1
    assert "not asked for want of money" in done.stderr
    assert sum(row.cost or 0 for row in folder.judgements()) <= 20
    assert 0 < len(server.requests) < 160


def test_a_remote_judge_is_refused(folder: RunFolder) -> None:
    with ModelServer(lambda _request: Behaviour()) as server:
        done = CliRunner().invoke(cli.app, ["judge", str(folder.path), "-m", "openai/gpt-4o-mini", "--local-only"])
    assert done.exit_code == 1
    assert "openai/gpt-4o-mini" in str(done.exception)
    assert server.requests == []


def test_the_variants_are_right_answers_to_each_other() -> None:
    both = variants(3)
    assert is_followed(LOOP, both[LOOP])
    assert not is_followed(LOOP, both[SUM])
