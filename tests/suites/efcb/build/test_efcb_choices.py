"""Choice problems: ids, positions, rotations, and the patch as it is shown."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.build.sources.pull_request import FileChange, PullRequest
from caretbench.problem import ChoiceCheck, Question
from caretbench.suites.efcb.build.changes import EfcbOptions, Query, problem_id, render_patch
from caretbench.suites.efcb.build.choices.choice_problems import (
    ChoiceItem,
    balanced_positions,
    choice_problems,
    insert_choice,
    rotate_choices,
)
from caretbench.suites.efcb.choices import query_text
from caretbench.suites.efcb.problem_metadata import main_language, seeded_random

PATCH = "@@ -1,2 +1,2 @@ func F() {\n-\told()\n+\tnew()\n \tend()\n"


def change(*files: FileChange, merge_sha: str = "a" * 40, repo: str = "owner/name") -> PullRequest:
    return PullRequest(
        repo=repo,
        number=7,
        kind="squash",
        source="git",
        title="ipn: call new",
        description="The old one leaks.",
        base_sha="b" * 40,
        merge_sha=merge_sha,
        merged_at="2026-08-21T20:36:59+02:00",
        license="MIT",
        files=files or (FileChange(path="ipn/a.go", additions=1, deletions=1, patch=PATCH),),
    )


def test_a_patch_is_shown_by_file_without_what_cannot_be_read() -> None:
    shown = render_patch(
        change(
            FileChange(path="a.go", patch=PATCH),
            FileChange(path="new.go", old_path="old.go", status="renamed", patch=PATCH.replace("\n", "\r\n")),
            FileChange(path="image.png", binary=True),
            FileChange(path="moved.go", old_path="was.go", status="renamed"),
            FileChange(path="go.sum", generated=True, patch=PATCH),
        )
    )
    assert shown.text == f"a.go\n{PATCH}---\nold.go => new.go\n{PATCH}---\n"
    assert (shown.lines, shown.characters) == (12, len(shown.text))
    assert [file.path for file in shown.files] == ["a.go", "new.go"]


def test_generated_files_are_shown_on_request() -> None:
    pull = change(FileChange(path="go.sum", generated=True, patch=PATCH))
    assert render_patch(pull).text == ""
    assert render_patch(pull, include_generated=True).text.startswith("go.sum\n@@")


def test_hunks_are_replaced_in_one_file() -> None:
    shown = render_patch(change(FileChange(path="a.go", patch=PATCH), FileChange(path="b.go", patch=PATCH)))
    changed = shown.replace_hunks(1, "@@ other")
    assert changed.text == f"a.go\n{PATCH}---\nb.go\n@@ other\n---\n"
    assert shown.text != changed.text


def test_a_carriage_return_within_a_line_stays() -> None:
    shown = render_patch(change(FileChange(path="a.txt", patch="@@ -0,0 +1,1 @@\n+a\rb\r\n")))
    assert shown.text == "a.txt\n@@ -0,0 +1,1 @@\n+a\rb\n---\n"


def test_the_language_is_that_of_most_changed_lines() -> None:
    files = (
        FileChange(path="a.go", additions=2, patch=PATCH),
        FileChange(path="b.py", additions=1, deletions=3, patch=PATCH),
        FileChange(path="README.txt", additions=90, patch=PATCH),
    )
    assert main_language(render_patch(change(*files))) == "python"
    assert main_language(render_patch(change(files[2]))) == "other"


def test_a_problem_shows_the_choices_as_given() -> None:
    choices = ("one", "two", "three", "four")
    queries = (Query("description_only", "call new"),)
    (problem,) = choice_problems(
        ChoiceItem(change(), "gmcq-easy", "matched", choices, 2, queries, {"lexical_margin": 0.5}), EfcbOptions()
    )
    assert isinstance(problem.shown, Question)
    assert problem.shown.choices == choices
    assert problem.shown.text.endswith("?\n\ncall new")
    assert query_text(problem) == "call new"
    assert problem.reference == "C"
    assert problem.checks == (ChoiceCheck(correct=2),)
    assert problem.cluster == f"owner/name@{'a' * 40}"
    assert problem.labels["tier"] == "matched"
    assert problem.labels["language"] == "go"
    assert problem.labels["lexical_margin"] == 0.5
    assert problem.provenance.date == "2026-08-21T18:36:59Z"
    assert problem.id.startswith("name/gmcq-easy-matched-description-only/")


@pytest.mark.parametrize(
    ("choices", "correct"),
    [(("a", "b", "c"), 0), (("a", "b", "c", "a"), 0), (("a", "b", "c", "d"), 4), (("a", "b", "c", "d"), -1)],
)
def test_choices_that_ask_nothing_are_refused(choices: tuple[str, ...], correct: int) -> None:
    item = ChoiceItem(change(), "gmcq-hard", "", choices, correct, (Query("description_only", "x"),), {})
    with pytest.raises(ValueError, match="four different"):
        next(choice_problems(item, EfcbOptions()))


def test_rotations_show_every_choice_at_every_place() -> None:
    queries = (Query("title_and_description", "x"),)
    item = ChoiceItem(change(), "gmcq-hard", "", ("a", "b", "c", "d"), 1, queries, {})
    problems = list(choice_problems(item, EfcbOptions(rotations=4)))
    questions = [problem.shown for problem in problems if isinstance(problem.shown, Question)]
    for place in range(4):
        assert {question.choices[place] for question in questions} == set("abcd")
    for problem, question in zip(problems, questions, strict=True):
        assert question.choices["ABCD".index(problem.reference)] == "b"
    assert len({problem.id for problem in problems}) == 4
    assert len({problem.id.split("-r")[0] for problem in problems}) == 1
    assert [problem.labels["rotation"] for problem in problems] == [0, 1, 2, 3]


def test_the_first_rotation_does_not_depend_on_how_many_there_are() -> None:
    assert EfcbOptions(rotations=4).configuration("gmcq-easy") == EfcbOptions().configuration("gmcq-easy")
    assert EfcbOptions(seed=1).configuration("gmcq-easy") != EfcbOptions().configuration("gmcq-easy")


def test_ids_are_readable_and_change_with_all_that_makes_the_item() -> None:
    base = problem_id("gmcq-easy", "matched", "tailscale/tailscale", "abc", "conf")
    assert base.rsplit("/", 1)[0] == "tailscale/gmcq-easy-matched"
    others = [
        problem_id("gmcq-easy", "random", "tailscale/tailscale", "abc", "conf"),
        problem_id("gmcq-easy", "matched", "fork/tailscale", "abc", "conf"),
        problem_id("gmcq-easy", "matched", "tailscale/tailscale", "abd", "conf"),
        problem_id("gmcq-easy", "matched", "tailscale/tailscale", "abc", "conf2"),
        problem_id("gmcq-easy", "matched", "tailscale/tailscale", "abc", "conf", variant="description_only"),
    ]
    assert len({base, *others}) == 6


def test_draws_depend_on_seed_purpose_and_item() -> None:
    draws = [seeded_random(*args).random() for args in ((0, "p", "i"), (1, "p", "i"), (0, "q", "i"), (0, "p", "j"))]
    assert len(set(draws)) == 4
    assert seeded_random(0, "p", "i").random() == draws[0]


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.text(max_size=4), st.sampled_from("rst"), max_size=60), st.integers(0, 5))
def test_positions_are_balanced_overall_and_in_each_group(groups: dict[str, str], seed: int) -> None:
    positions = balanced_positions(groups, seed, "positions")
    assert set(positions) == set(groups)
    for chosen in (set(groups.values()), *({group} for group in groups.values())):
        counts = Counter(positions[key] for key, group in groups.items() if group in chosen)
        assert max(counts.get(value, 0) for value in range(4)) - min(counts.get(value, 0) for value in range(4)) <= 1
    assert positions == balanced_positions(dict(reversed(list(groups.items()))), seed, "positions")


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 3), st.integers(1, 4))
def test_the_right_choice_is_followed_through_turns(position: int, count: int) -> None:
    choices = insert_choice("right", ("x", "y", "z"), position)
    assert choices[position] == "right"
    turned = list(rotate_choices(choices, position, count))
    assert len(turned) == count
    assert all(order[place] == "right" for _, order, place in turned)
    assert turned[0] == (0, choices, position)
