"""MPR-Gen: which lines are hidden, that nothing else gives them away, and that the answer gives the patch again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.build.sources.pull_request import FileChange, PullRequest
from caretbench.problem import CriterionCheck, Problem, Question
from caretbench.suites.efcb.build import masked_problems as hiding
from caretbench.suites.efcb.build.changes import cluster_id, render_patch
from caretbench.suites.efcb.build.masked_problems import (
    MIN_INFORMATIVE_LINES,
    EfcbOptions,
    find_windows,
    masked_problems,
)
from caretbench.suites.efcb.masked_answers import MASK_PLACEHOLDER, find_masked_hunk, parse_masked_answer

CODE = (
    "func Retry(ctx context.Context, limit int) error {",
    "\tdelay := firstDelay(limit)",
    "\tfor attempt := 0; attempt < limit; attempt++ {",
    "\t\terr := send(ctx, attempt)",
    "\t\twaitFor(ctx, delay)",
    "\t\tdelay = longer(delay, attempt)",
    "\t}",
)


def unmasked(patch: str, lines: Iterable[str]) -> str:
    """The patch with lines in the place of its masks, each with the plus sign of an added one.

    Fewer or more lines than masks may come: they stand where the masks begin.
    """
    shown = patch.split("\n")
    start = shown.index(MASK_PLACEHOLDER)
    stop = next(index for index in range(start, len(shown) + 1) if shown[index : index + 1] != [MASK_PLACEHOLDER])
    return "\n".join((*shown[:start], *(f"+{line}" for line in lines), *shown[stop:]))


def patch_of(added: tuple[str, ...], removed: tuple[str, ...] = (), section: str = "") -> str:
    lines = [" package net", *(f"-{line}" for line in removed), *(f"+{line}" for line in added), " ", " var last = 1"]
    header = f"@@ -1,{3 + len(removed)} +1,{3 + len(added)} @@{section}"
    return "\n".join((header, *lines))


def change(
    patch: str, path: str = "net/retry.go", *, description: str = "Sending gives up too soon.", sha: str = "a"
) -> PullRequest:
    return PullRequest(
        repo="owner/name",
        kind="squash",
        source="git",
        title="net: try again",
        description=description,
        base_sha="b" * 40,
        merge_sha=sha * 40,
        merged_at="2026-08-21T20:36:59+02:00",
        license="MIT",
        files=(FileChange(path=path, additions=7, patch=patch), FileChange(path="go.sum", generated=True, patch=patch)),
    )


def made_of(
    pull: PullRequest, tiers: tuple[str, ...], lines: int, own: dict[str, object]
) -> tuple[list[Problem], dict[str, str]]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(hiding, "MASKED_LINES", lines)
        items, rejected = masked_problems([pull], EfcbOptions.model_validate(own))
    kept = [item for item in items if item.labels["tier"] in tiers]
    return kept, {entry.tier: entry.reason for entry in rejected if entry.tier in tiers}


TIERS = ("added", "changed", "paper")


def items_of(pull: PullRequest, tiers: tuple[str, ...] = TIERS, lines: int = 5, **own: object) -> list[Problem]:
    return made_of(pull, tiers, lines, own)[0]


def shown_patch(item: Problem) -> str:
    assert isinstance(item.shown, Question)
    return item.shown.context[0].text


def reasons_of(pull: PullRequest, tiers: tuple[str, ...] = TIERS, lines: int = 5, **own: object) -> dict[str, str]:
    return made_of(pull, tiers, lines, own)[1]


@pytest.mark.parametrize(
    ("path", "comment", "language"),
    [("a/retry.rb", "# waits", "ruby"), ("a/retry.rs", "// waits", "rust"), ("a/retry.tsx", "// waits", "typescript")],
)
def test_languages_that_are_read_and_never_run_are_masked_too(path: str, comment: str, language: str) -> None:
    added = ("delay = first(limit, pause)", "err = send(delay, limit)", "wait_for(err, delay)",
             comment, "delay = longer(delay, err)", "finish(delay, limit)", "note(err, limit)")  # fmt: skip
    (made,) = items_of(change(patch_of(added), path), lines=3)
    assert comment not in made.reference
    assert made.labels["language"] == made.labels["mask_language"] == language


def test_added_lines_are_hidden_and_asked_for_alone() -> None:
    pull = change(patch_of(CODE))
    (made,) = items_of(pull)
    assert isinstance(made.shown, Question)
    (shown,) = made.shown.context
    assert shown.path == "patch.diff"
    assert shown.text.split("\n").count(MASK_PLACEHOLDER) == 5
    assert made.shown.text.endswith("\n\nnet: try again\n\nSending gives up too soon.")
    assert "5 consecutive lines" in made.shown.text
    assert made.reference in ["\n".join(CODE[start : start + 5]) for start in range(3)]
    assert made.checks == (CriterionCheck(name="efcb-masked", maximum=10.0),)
    assert made.cluster == f"owner/name@{'a' * 40}"
    labels = {"task": "mpr-gen", "tier": "added", "mask_language": "go", "masked_lines": 5.0, "deleted_twin": 0.0}
    assert labels.items() <= dict(made.labels).items()
    assert unmasked(shown.text, made.reference.split("\n")) == render_patch(pull).text


def test_a_run_that_removes_lines_is_hidden_whole_and_the_removed_lines_stay() -> None:
    removed = ("\tdelay := firstDelay()", "\tsend(ctx)")
    (item,) = items_of(change(patch_of(CODE[1:5], removed)), tiers=("changed",))
    assert item.reference.split("\n") == list(CODE[1:5])
    assert item.labels["masked_lines"] == 4
    assert "-\tsend(ctx)\n" in shown_patch(item)
    assert 0.5 < float(str(item.labels["deleted_twin"])) < 1


def test_lines_that_removed_ones_give_away_are_no_riddle() -> None:
    removed = tuple(line.replace("delay", "pause") for line in CODE)
    assert reasons_of(change(patch_of(CODE, removed)), tiers=("added",)) == {"added": "deleted_twin"}


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (CODE[:4], "no_run"),
        ((*CODE[:3], "", *CODE[3:6]), "unsuitable_lines"),
        ((*CODE[:3], "\t// wait: send(ctx, delay)", *CODE[3:6]), "unsuitable_lines"),
        ((*CODE[:3], "/* wait", "delay, attempt */", *CODE[3:6]), "unsuitable_lines"),
        ((*CODE[:3], " * the attempt and its delay", *CODE[3:6]), "unsuitable_lines"),
        ((*CODE[:3], '\t"net/http"', *CODE[3:6]), "unsuitable_lines"),
        ((*CODE[:3], 'import "net/http"', *CODE[3:6]), "unsuitable_lines"),
        ((*CODE[:3], "+ delay", *CODE[3:6]), "unsuitable_lines"),
        (("\t\t}", "\t}", *CODE[:2], "\t}", "\treturn"), "few_identifiers"),
    ],
)
def test_what_hides_nothing_worth_asking_is_rejected(lines: tuple[str, ...], reason: str) -> None:
    assert reasons_of(change(patch_of(lines)), tiers=("added",)) == {"added": reason}


def test_other_reasons() -> None:
    assert reasons_of(change(patch_of(CODE), "notes.txt"), tiers=("added",)) == {"added": "no_grammar"}
    told = "It calls `delay = longer(delay, attempt)` and `waitFor(ctx, delay)`."
    assert reasons_of(change(patch_of(CODE), description=told), tiers=("added",)) == {"added": "told_in_text"}
    assert reasons_of(change("no hunk at all"), tiers=("added",)) == {"added": "malformed"}
    assert reasons_of(change(patch_of((*CODE, f"// {MASK_PLACEHOLDER}"))), tiers=("added",)) == {
        "added": "holds_a_mask"
    }


def test_the_paper_hides_five_lines_anywhere_and_wants_the_whole_patch() -> None:
    pull = change(patch_of(CODE, ("\tsend(ctx)",)))
    items, rejected = masked_problems([pull], EfcbOptions(profile="paper"))
    assert not rejected
    (made,) = items
    assert made.reference == render_patch(pull, include_generated=True).text
    assert isinstance(made.shown, Question)
    assert made.shown.context[0].text.count(MASK_PLACEHOLDER) == 5
    assert made.label("whole_patch") == "yes"
    starts = set()
    for seed in range(200):
        (item,) = items_of(pull, profile="paper", seed=seed)
        starts.add(shown_patch(item).split("\n").index(MASK_PLACEHOLDER))
    assert starts == set(range(render_patch(pull, include_generated=True).lines - 4))


LINES = st.lists(
    st.sampled_from(
        (
            *CODE,
            "",
            "\treturn err",
            "// a comment",
            "}",
            "\tx",
            "++ y",
            "import os",
            'log("@@ -1 +1 @@")',
            "\tsend(ctx, delay)\r",
            "\tsend(ctx,\u2028delay)",
            "\tpage(ctx, \x0c delay)",
        )
    ),
    min_size=1,
    max_size=14,
)
RUNS = st.lists(st.tuples(LINES, st.lists(st.sampled_from(CODE), max_size=3)), min_size=1, max_size=4)


def hunks_of(runs: list[tuple[list[str], list[str]]]) -> str:
    hunks, old, new = [], 1, 1
    for added, removed in runs:
        body = [" before()", *(f"-{line}" for line in removed), *(f"+{line}" for line in added), " after()"]
        hunks += [f"@@ -{old},{2 + len(removed)} +{new},{2 + len(added)} @@", *body]
        old, new = old + 10 + len(removed), new + 10 + len(added)
    return "\n".join(hunks)


@settings(max_examples=60, deadline=None)
@given(RUNS, st.integers(0, 5))
def test_unmasked_text_and_answer_are_the_patch_and_any_form_of_answer_is_read(
    runs: list[tuple[list[str], list[str]]], seed: int
) -> None:
    pull = change(hunks_of(runs))
    items, rejected = masked_problems([pull], EfcbOptions(seed=seed))
    assert len(items) + len(rejected) == 2
    for item in items:
        lines = item.reference.split("\n")
        hunk = find_masked_hunk(shown_patch(item))
        assert unmasked(shown_patch(item), lines) == render_patch(pull).text
        assert hunk.mask_count == len(lines) == item.labels["masked_lines"]
        # In a piece that does not parse, `return` may pass for a name.
        says = [line for line in lines if line in CODE[:6] or "(ctx," in line or "return" in line]
        assert len(says) >= MIN_INFORMATIVE_LINES
        forms = (
            item.reference,
            "\n".join(f"+{line}" for line in lines),
            f"Here they are:\n```go\n{item.reference}\n```\nDone.",
            render_patch(pull).text,
            f"```diff\n{render_patch(pull).text}```",
            "\n".join((*hunk.before, *(f"+{line}" for line in lines), *hunk.after)),
        )
        for form in forms:
            assert parse_masked_answer(form, shown_patch(item)) == tuple(lines)


def test_neither_the_order_of_changes_nor_other_changes_matter() -> None:
    pulls = [change(patch_of(CODE * (1 + number % 3)), sha=f"{number:x}") for number in range(12)]
    items, rejected = masked_problems(pulls, EfcbOptions())
    assert masked_problems(pulls[::-1], EfcbOptions()) == (items, rejected)
    alone = [item for pull in pulls for item in masked_problems([pull], EfcbOptions())[0]]
    assert sorted(alone, key=lambda item: item.id) == sorted(items, key=lambda item: item.id)
    drawn = {tuple(entry.reference for entry in masked_problems(pulls, EfcbOptions(seed=seed))[0]) for seed in range(4)}
    assert len(drawn) == 4


def test_real_patches_come_back_whole(test_data: Path) -> None:
    source = test_data / "pull_requests" / "tailscale.jsonl.gz"
    if not source.is_file():
        pytest.skip(f"no {source}")
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        pulls = [PullRequest.model_validate(json.loads(line)) for line in lines]
    short = [pull for pull in pulls if render_patch(pull).lines >= 15 and render_patch(pull).characters <= 7500]
    short = short[::3]
    items, rejected = masked_problems(short, EfcbOptions())
    by_cluster = {cluster_id(pull): pull for pull in short}
    assert len(items) + len(rejected) == 2 * len(short)
    assert len(items) > 15
    for item in items:
        assert isinstance(item.shown, Question)
        rendered = render_patch(by_cluster[item.cluster])
        hidden = item.reference.split("\n")
        assert unmasked(shown_patch(item), hidden) == rendered.text
        assert parse_masked_answer(rendered.text, shown_patch(item)) == tuple(hidden)
        found = find_windows(rendered, "added" if item.labels["tier"] == "added" else "changed", "", 5)
        (window,) = [entry for entry in found if "\n".join(entry.text) == item.reference][:1]  # type: ignore[union-attr]
        assert not any(line in item.shown.text for line in window.informative_lines)
