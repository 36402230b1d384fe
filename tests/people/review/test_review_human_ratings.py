"""Ratings of a review validate judges, for their criterion alone; simulated ones never do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from caretbench.files import DataError, read_rows, write_rows
from caretbench.judging.answers import answer_key
from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.exchange import reopen_items, write_human_ratings
from caretbench.people.review.protocol import Answer, load_protocol
from caretbench.people.review.queues import rank
from caretbench.people.review.records import ReviewItem
from caretbench.people.review.review_items import run_items
from caretbench.people.review.state import ReviewState
from caretbench.problem import Judgement
from caretbench.reports.judged.scores import NOT_VALIDATED, SIMULATED
from caretbench.runs.judging.ratings import HumanRating, read_ratings
from caretbench.runs.run_folder import RunFolder
from tests.support.command_run import in_this_process as caretbench
from tests.support.simulated_people import decide_all, starter_run

PEOPLE = ("ann", "bob", "cyd")


def opinion(item: ReviewItem, person: str) -> Mapping[str, Answer]:
    good = item.shown.span not in {"one\n", "two\n"}
    return {"relevance": 3 + rank(1, item.id, person)[0] % 3 if good else 1, "helpfulness": 4 if good else 0}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A scored run of 12 problems that two judges have judged."""
    made = starter_run(tmp_path / "made")
    path = tmp_path / "run"
    done = caretbench(
        "score", "devbench", "--completions", str(made.completions_path), "--no-execute", "--baseline", "none",
        "--policy", "raw", "-o", str(path), "--no-html",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = RunFolder(path)
    answered = {row.problem_id for row in run.completions()}
    rows = [
        Judgement(
            problem_id=problem.id, answer=answer_key(text), judge=judge, parameters="p",
            criterion="devbench-quality@1", values={"relevance": relevance, "helpfulness": helpfulness}, text="",
        )
        for judge in ("judge-a", "judge-b")
        for problem in run.problems()
        if problem.id in answered
        for text, relevance, helpfulness in ((problem.reference, 4.0, 4.0), ("one\n", 1.0, 0.0), ("two\n", 1.0, 0.0))
    ]  # fmt: skip
    write_rows(run.judgements_path, rows)
    return run


def reviewed(folder: RunFolder, place: Path, *, simulated: bool) -> Path:
    found = run_items(folder, load_protocol("completion-quality"))
    ReviewDatabase.create(place, found.protocol, found.items, 0, run=folder.path).close()
    decide_all(place, PEOPLE, opinion, simulated=simulated)
    return place


def test_ratings_of_people_validate_a_criterion(folder: RunFolder, tmp_path: Path) -> None:
    place = reviewed(folder, tmp_path / "review", simulated=False)
    done = caretbench("review", "export", str(place))
    assert f"{folder.path / 'human_ratings.jsonl'}: 108 ratings" in done.stdout
    rows = read_ratings(folder)
    assert len(rows) == 108  # 36 texts and three people; controls, warm-up and second decisions are no part
    assert {row.criterion for row in rows} == {"devbench-quality@1"}
    shown = caretbench("report", str(folder.path)).stdout
    assert "judge-a: validated against 3 people on 36 texts, wins against" in " ".join(shown.split())
    assert "not validated" not in shown


@pytest.mark.parametrize("output", ["terminal", "page", "markdown"])
def test_simulated_ratings_never_count_as_validation(folder: RunFolder, tmp_path: Path, output: str) -> None:
    place = reviewed(folder, tmp_path / "review", simulated=True)
    assert caretbench("review", "export", str(place)).returncode == 0
    words = {"terminal": (), "page": ("-o", str(tmp_path / "page.html")), "markdown": ("--format", "markdown")}
    done = caretbench("report", str(folder.path), *words[output])
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "page.html").read_text() if output == "page" else done.stdout
    assert SIMULATED in " ".join(text.split())
    assert "validated against" not in text


def test_ratings_about_another_criterion_do_not_count(folder: RunFolder, tmp_path: Path) -> None:
    place = reviewed(folder, tmp_path / "review", simulated=False)
    caretbench("review", "export", str(place))
    path = folder.path / "human_ratings.jsonl"
    rows = [row.model_copy(update={"criterion": "mine@1"}) for row in read_rows(path, HumanRating)]
    write_rows(path, rows)
    assert NOT_VALIDATED in " ".join(caretbench("report", str(folder.path)).stdout.split())


def test_a_judge_that_people_were_not_compared_with_is_named(folder: RunFolder, tmp_path: Path) -> None:
    place = reviewed(folder, tmp_path / "review", simulated=False)
    caretbench("review", "export", str(place))
    more = [row.model_copy(update={"judge": "judge-c", "answer": answer_key("three")}) for row in folder.judgements()]
    write_rows(folder.judgements_path, [*folder.judgements(), *more])
    shown = " ".join(caretbench("report", str(folder.path)).stdout.split())
    assert f"judge-c: {NOT_VALIDATED}" in shown


def test_a_second_export_replaces_the_reviews_own_ratings_alone(folder: RunFolder, tmp_path: Path) -> None:
    place = reviewed(folder, tmp_path / "review", simulated=False)
    other = HumanRating(
        problem_id=next(iter(folder.problems())).id, answer=answer_key("one\n"), rater="dan",
        values={"relevance": 1.0, "helpfulness": 1.0},
    )  # fmt: skip
    write_rows(folder.path / "human_ratings.jsonl", [other])
    with ReviewDatabase(place / "review.sqlite") as database:
        state = ReviewState(database)
        assert write_human_ratings(database, state, folder)[1:] == (108, 1)
        assert write_human_ratings(database, state, folder)[1:] == (108, 1)
    assert len(read_ratings(folder)) == 109
    with ReviewDatabase(place / "review.sqlite") as database:
        state = ReviewState(database)
        reopen_items(state, list(state.kinds))  # nothing holds any more
        assert write_human_ratings(database, state, folder)[1:] == (0, 1)


def test_the_adjudicators_and_problems_reviews_give_no_ratings(folder: RunFolder, tmp_path: Path) -> None:
    assert caretbench("review", "new", str(tmp_path / "r"), "--per-cell", "1").returncode == 0
    done = caretbench("review", "export", str(tmp_path / "r"), "--run", str(folder.path))
    assert done.returncode == 2
    assert "rates nothing" in done.stderr


def test_a_run_that_is_gone_is_said(folder: RunFolder, tmp_path: Path) -> None:
    place = reviewed(folder, tmp_path / "review", simulated=False)
    folder.path.rename(tmp_path / "elsewhere")
    done = caretbench("review", "export", str(place))
    assert done.returncode == 0
    assert "--run RUN" in done.stderr
    found = caretbench("review", "export", str(place), "--run", str(tmp_path / "elsewhere"))
    assert "108 ratings" in found.stdout


def test_rows_of_earlier_versions_stay_readable(tmp_path: Path) -> None:
    path = tmp_path / "human_ratings.jsonl"
    path.write_text(
        '{"problem_id":"p","answer":"a","rater":"ann","values":{"relevance":1,"helpfulness":2},"language":"go",'
        '"prefix":"","completion":"x","suffix":"","question":"","reference":""}\n'
    )
    [row] = read_rows(path, HumanRating)
    assert (row.total, row.criterion, row.simulated) == (3.0, "", False)
    path.write_text('{"problem_id":"p","answer":"a","values":{"relevance":"much"}}\n')
    with pytest.raises(DataError, match="values"):
        list(read_rows(path, HumanRating))


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([{"rater": ""}], "a rating of p does not name its rater"),
        ([{"rater": "ann"}, {"rater": "ann"}], "ann rated one text of p twice"),
    ],
)
def test_ratings_that_do_not_fit_are_named(tmp_path: Path, rows: list[dict[str, str]], complaint: str) -> None:
    common = {"problem_id": "p", "answer": "a", "values": {"relevance": 1.0}}
    write_rows(tmp_path / "human_ratings.jsonl", [HumanRating.model_validate(common | row) for row in rows])
    with pytest.raises(DataError, match=complaint):
        read_ratings(RunFolder(tmp_path))
    two = [HumanRating.model_validate(common | {"rater": "ann", "criterion": name}) for name in ("a@1", "b@1")]
    write_rows(tmp_path / "human_ratings.jsonl", two)
    assert len(read_ratings(RunFolder(tmp_path))) == 2
