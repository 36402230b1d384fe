"""Items from a run: each distinct text once, without authors, balanced, or where judges differ most."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from caretbench.files import DataError, write_rows
from caretbench.judging.answers import answer_key
from caretbench.judging.criteria import get_criterion, load_criterion
from caretbench.people.review.protocol import load_protocol
from caretbench.people.review.review_items import protocol_of_criterion, run_items
from caretbench.problem import Judgement
from caretbench.runs.run_folder import RunFolder
from tests.support.questions import question_problems
from tests.support.simulated_people import run_of, starter_run

QUALITY = load_protocol("completion-quality")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return starter_run(tmp_path / "run")


def judged(folder: RunFolder, **scores: list[float]) -> None:
    """Store scores of judges for the text "one" of each problem."""
    rows = [
        Judgement(
            problem_id=problem.id, answer=answer_key("one\n"), judge=name, parameters="p",
            criterion="devbench-quality@1", values={"relevance": score, "helpfulness": 0.0}, text="",
        )
        for name, given in scores.items()
        for problem, score in zip(folder.problems(), given, strict=False)
    ]  # fmt: skip
    write_rows(folder.judgements_path, rows)


def test_equal_texts_are_one_item_without_authors(folder: RunFolder) -> None:
    found = run_items(folder, QUALITY)
    items = [item for item in found.items if item.kind == "item"]
    assert found.texts == len(items) == 36
    assert {item.hidden.models for item in items if item.shown.span == "one\n"} == {("model-a", "model-b")}
    assert all("model-" not in item.shown.model_dump_json() for item in items)
    assert {item.answer for item in items if item.shown.span == "two\n"} == {answer_key("two\n")}
    assert all(item.shown.reference is None and not item.shown.verdict for item in items)
    assert found.protocol.criterion == "devbench-quality@1"


def test_a_baseline_is_no_author(folder: RunFolder) -> None:
    more = [row.model_copy(update={"model": "copy-context"}) for row in folder.completions() if row.text == "one\n"]
    write_rows(folder.completions_path, [*folder.completions(), *more])
    items = [item for item in run_items(folder, QUALITY).items if item.shown.span == "one\n"]
    assert {item.hidden.models for item in items if item.kind == "item"} == {("model-a", "model-b")}


def test_a_sample_is_balanced_and_seeded(folder: RunFolder) -> None:
    def sample(seed: int) -> list[str]:
        return [item.id for item in run_items(folder, QUALITY, texts=12, seed=seed).items if item.kind == "item"]

    assert sample(1) == sample(1)
    assert sample(1) != sample(2)
    items = [item for item in run_items(folder, QUALITY, texts=12).items if item.kind == "item"]
    counts = Counter(item.language for item in items)
    assert max(counts.values()) - min(counts.values()) <= 1
    assert len({item.problem_id for item in items}) == 12  # other problems before a second text of one


def test_controls_and_warm_up_are_mixed_in(folder: RunFolder) -> None:
    found = run_items(folder, QUALITY)
    kinds = Counter(item.kind for item in found.items)
    assert (kinds["warm_up"], kinds["control"]) == (2, 2)
    for item in found.items:
        if item.kind != "item":
            assert item.hidden.expect
            assert item.hidden.control in {"empty", "reference", "other-reference"}


def test_texts_about_which_judges_differ_come_first(folder: RunFolder) -> None:
    judged(folder, a=[5.0] * 12, b=[5.0, 1.0, 4.0, 5.0, 0.0])
    items = [item for item in run_items(folder, QUALITY, texts=3, disputed=True).items if item.kind == "item"]
    ids = [problem.id for problem in folder.problems()]
    assert [item.problem_id for item in items] == [ids[4], ids[1], ids[2]]
    assert items[0].hidden.judges == {"a": 5.0, "b": 0.0}


def test_questions_come_from_the_criterion(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run", "efcb", question_problems(), ("an answer",))
    protocol = load_protocol("efcb-answer")
    with pytest.raises(DataError, match="choose one: --criterion"):
        run_items(folder, protocol)
    found = run_items(folder, protocol, criterion="efcb-description")
    assert [question.name for question in found.protocol.questions] == ["intent", "scope", "key_facts", "title"]
    assert {(question.minimum, question.maximum) for question in found.protocol.questions} == {(0, 10)}
    items = [item for item in found.items if item.kind == "item"]
    assert items
    assert all(item.shown.question and item.shown.reference for item in items)
    flag = run_items(folder, protocol, criterion="efcb-claims")
    assert [(one.name, one.maximum) for one in flag.protocol.questions] == [("hallucination", 1)]


def test_a_scale_that_no_key_can_give_is_named(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        'name = "own"\nversion = 1\nform = "number"\nsubject = "answer"\nscores = [{ name = "points", maximum = 50 }]\n'
        '[prompt]\nuser = "$answer"\n'
    )
    with pytest.raises(DataError, match=r"own@1: points .*50"):
        protocol_of_criterion(load_protocol("efcb-answer"), load_criterion(path))


def test_other_scores_than_the_questions_are_named() -> None:
    with pytest.raises(DataError, match=r"relevance, helpfulness, .*devbench-paper@1"):
        protocol_of_criterion(QUALITY, get_criterion("devbench-paper"))


def test_mistakes_are_named(folder: RunFolder) -> None:
    with pytest.raises(DataError, match="no text that two judges"):
        run_items(folder, QUALITY, disputed=True)
    with pytest.raises(DataError, match="not about"):
        run_items(folder, load_protocol("devbench-instance"))
    with pytest.raises(DataError, match=r"efcb, .*devbench"):
        run_items(folder, load_protocol("efcb-answer"))
    write_rows(folder.completions_path, [])
    with pytest.raises(DataError, match="no answer"):
        run_items(folder, QUALITY)
