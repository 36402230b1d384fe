"""Reverse-QA and Reverse-QA-Hallu: what is shown and asked, how answers are read, what needs no judge."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.build.sources.pull_request import FileChange, PullRequest
from caretbench.problem import Problem, Question
from caretbench.suites.efcb.build.changes import EfcbOptions, render_patch
from caretbench.suites.efcb.build.problem_building import reverse_problems
from caretbench.suites.efcb.descriptions import DESCRIPTION_TASKS as TASKS
from caretbench.suites.efcb.descriptions import (
    WrittenDescription,
    hallucination_scores,
    parse_description,
    reverse_scores,
    unsupported_mentions,
)
from caretbench.suites.efcb.suite import Efcb

SUITE = Efcb()

PATCH = """\
@@ -1,2 +1,3 @@ func Serve() {
 \tlisten()
+\tif port == lastPort {
+\t\tbreak // port 65535
-\tgoOn(port)
 \t}"""


def change(description: str = "Ranges wrapped to zero.\n\nFixes #123", sha: str = "a", **fields: object) -> PullRequest:
    return PullRequest.model_validate(
        {
            "repo": "owner/name",
            "kind": "squash",
            "source": "git",
            "title": "serve: stop port ranges",
            "description": description,
            "base_sha": "b" * 40,
            "merge_sha": sha * 40,
            "merged_at": "2026-08-21T20:36:59+02:00",
            "files": [FileChange(path="cmd/serve.go", additions=2, deletions=1, patch=PATCH).model_dump()],
        }
        | fields
    )


def made(task: str = "reverse-qa", **options: object) -> Problem:
    chosen = next(entry for entry in TASKS if entry == task)
    (problem,) = reverse_problems([change()], chosen, EfcbOptions.model_validate(options))[0]
    return problem


def test_the_patch_is_shown_and_the_cleaned_text_is_the_reference() -> None:
    first, second = made(), made("reverse-qa-hallu")
    assert isinstance(first.shown, Question)
    assert first.shown == second.shown
    assert first.shown.context[0].text == render_patch(change()).text
    assert first.reference == "Title: serve: stop port ranges\n\nBody: Ranges wrapped to zero."
    assert first.id != second.id
    assert first.cluster == second.cluster == f"owner/name@{'a' * 40}"
    assert [check.name for check in (*first.checks, *second.checks) if check.kind == "criterion"] == [
        "efcb-description", "efcb-claims",
    ]  # fmt: skip
    assert first.released["description"].endswith("Fixes #123")


def test_the_paper_keeps_the_raw_description() -> None:
    assert made(profile="paper").reference.endswith("Ranges wrapped to zero.\n\nFixes #123")


def test_what_has_no_text_or_no_patch_is_rejected_and_order_does_not_matter() -> None:
    pulls = [change(), change("<!-- nothing -->", "c"), change(sha="d", title=" "), change(sha="e", files=[])]
    items, rejected = reverse_problems(pulls, "reverse-qa", EfcbOptions())
    assert reverse_problems(pulls[::-1], "reverse-qa", EfcbOptions()) == (items, rejected)
    assert len(items) == 1
    assert sorted({(entry.merge_sha[0], entry.reason) for entry in rejected}) == [
        ("c", "no_description"), ("d", "no_title"), ("e", "no_patch"),
    ]  # fmt: skip
    assert len(rejected) == 3


@pytest.mark.parametrize(
    ("answer", "title", "body"),
    [
        ("Title: a: b\n\nBody: It does.\n\nMore.", "a: b", "It does.\n\nMore."),
        ("**Title:** Stop `x`\n\n**Body:**\n* one\n* two", "Stop `x`", "* one\n* two"),
        ("# Title\nStop\n\n## Description\nIt does.", "Stop", "It does."),
        ("Title: Stop\nIt does.\nMore.", "Stop", "It does.\nMore."),
        ('PR title: "Stop"\nPR description: It does.', "Stop", "It does."),
        ("```\nTitle: Stop\n\nBody: `x`\n```", "Stop", "`x`"),
        ("<think>Title: no</think>\nTitle: Stop\nBody: It.", "Stop", "It."),
        ("Body: It does.", "", "It does."),
        ('{"title": "Stop", "body": "It does."}', "Stop", "It does."),
        ('{"Title": "Stop", "description": "It does."}', "Stop", "It does."),
        ("Stop\n\nIt does.", "Stop", "It does."),
        ('{"title": 1}', '{"title": 1}', ""),
        ("", "", ""),
        (None, "", ""),
        ("<think>Title: no", "", ""),
    ],
)
def test_answers_are_read(answer: str | None, title: str, body: str) -> None:
    assert parse_description(answer) == (title, body)


@given(st.text(st.sampled_from("ab:`*#\n {}\"'"), max_size=40))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(parse_description(text), WrittenDescription)
    assert parse_description(f"Title: fix\n\nBody: x{text}y").body == f"x{text}y".strip()


def test_scores_of_the_reference_of_nothing_and_of_the_title() -> None:
    values = reverse_scores(made(), made().reference)
    ceiling = values.pop("recall_ceiling")
    assert set(values.values()) == {1.0}
    # serve, stop, port, ranges, ranges, wrapped, zero: serve, port and break's comment stand in the patch
    assert ceiling == pytest.approx(2 / 6)
    assert {value for name, value in reverse_scores(made(), "").items() if name != "recall_ceiling"} == {0.0}
    title = reverse_scores(made(), "serve: stop port ranges")
    assert title["title_rouge_l"] == title["patch_word_f1"] == title["normalised_recall"] == 1.0
    assert title["content_recall"] == pytest.approx(4 / 6)
    assert title["rouge_l"] == pytest.approx(2 * 4 / (4 + 8))


def test_words_that_the_patch_does_not_hold_do_not_count_in_its_f1() -> None:
    values = reverse_scores(made(), "Title: listen on a port\n\nBody: Purple elephants.")
    assert values["patch_word_f1"] == pytest.approx(2 * 1 / (2 + 2))
    assert values["content_recall"] == pytest.approx(1 / 6)
    assert values["normalised_recall"] == pytest.approx(1 / 2)


def test_nothing_in_common_is_left_out_not_divided_by() -> None:
    (problem,) = reverse_problems([change("Purple elephants wander.", title="Why")], "reverse-qa", EfcbOptions())[0]
    values = reverse_scores(problem, "Title: x\n\nBody: y")
    assert values["recall_ceiling"] == 0.0
    assert "patch_word_f1" not in values
    assert "normalised_recall" not in values


@pytest.mark.parametrize(
    ("said", "made_up"),
    [
        ("It breaks at port 65535 in `cmd/serve.go`, see #123.", []),
        ("`lastPort` ends Serve(), and goOn goes.", []),
        ("It adds `retryBudget` and calls resetRange().", ["retryBudget", "resetRange()"]),
        ("See internal/port/range.go.", ["internal/port/range.go"]),
        ("It waits for 250ms.", ["250"]),
        ("Fixes #124 and other/repo#9.", ["#124", "other/repo#9"]),
        ("Found by https://example.org/x.", ["https://example.org/x"]),
        ("It reads and/or writes 3 ports over HTTP/2 on GitHub, for all APIs.", []),
        ("1. one\n2. two\n10. ten", []),
        ("Uses snake_case_names.", ["snake_case_names"]),
    ],
)
def test_what_stands_nowhere_is_found(said: str, made_up: list[str]) -> None:
    task = made("reverse-qa-hallu")
    answer = f"Title: stop\n\nBody: {said}"
    found, _ = unsupported_mentions(task, parse_description(answer))
    assert [mention.text for mention in found] == made_up
    values = hallucination_scores(task, answer)
    assert values["names_unsupported"] == float(bool(made_up))


def test_the_suite_measures_each_task_by_its_own() -> None:
    text = "Title: stop\n\nBody: It adds `retryBudget`."
    (likeness,) = SUITE.measure(made(), text, "default")
    (naming,) = SUITE.measure(made("reverse-qa-hallu"), text, "default")
    assert (likeness.scorer, naming.scorer) == ("description@1", "mentions@2")
    assert "rouge_l" in likeness.values
    assert naming.values["names_unsupported"] == 1.0
    assert naming.details == {"unsupported": "retryBudget"}


def test_an_empty_answer_is_no_truthful_one() -> None:
    values = hallucination_scores(made("reverse-qa-hallu"), None)
    assert (values["names_unsupported"], values["answered"], values["mentions"]) == (1.0, 0.0, 0.0)
    assert "unsupported_share" not in values


def test_real_texts_support_themselves_and_injected_claims_are_found(test_data: Path) -> None:
    source = test_data / "pull_requests" / "indigo.jsonl.gz"
    if not source.is_file():
        pytest.skip(f"no {source}")
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        pulls = [PullRequest.model_validate(json.loads(line)) for line in lines]
    items, _ = reverse_problems(pulls, "reverse-qa-hallu", EfcbOptions())
    assert len(items) > 80
    others = 0.0
    for task, other in pairwise(items):
        assert hallucination_scores(task, task.reference)["names_unsupported"] == 0.0
        injected = f"{task.reference}\nIt also sets `retryBudgetOfOurs` to 91723."
        assert hallucination_scores(task, injected)["names_unsupported"] == 1.0
        others += hallucination_scores(task, other.reference)["names_unsupported"]
    assert others / len(items) > 0.5
