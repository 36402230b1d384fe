"""MPR-Gen: lines of a patch are hidden, and the model writes them from title, description and the rest.

``default`` hides added lines of one hunk (see ``mask_windows``) and requests only these.
``paper`` hides any five lines, headers and removed lines included, and requests the whole patch, as the released
questions do: most of such an answer is copied. It is for comparison, and labelled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Final, TypeAlias

from pydantic import Field

from caretbench.build.sources.changes.descriptions import NO_TEMPLATE
from caretbench.build.sources.pull_request import PullRequest
from caretbench.problem import ContextFile, CriterionCheck, Label, NoSplice, Problem, Profile, Question, Row
from caretbench.suites.efcb.build.change_metadata import RejectedChange, change_provenance, cluster_id, common_labels
from caretbench.suites.efcb.build.change_queries import change_query
from caretbench.suites.efcb.build.change_rendering import render_patch
from caretbench.suites.efcb.build.options import EfcbOptions
from caretbench.suites.efcb.efcb_score import MASKED_TASK, MAX_JUDGED_SCORE
from caretbench.suites.efcb.open_answers.mask_windows import MASK_PLACEHOLDER, MaskTier, MaskWindow, find_windows
from caretbench.suites.efcb.open_answers.masked_answers import (
    CRITERION_NAME,
    PATCH_FILE,
    WHOLE_PATCH_TIER,
    whole_patch_request,
)
from caretbench.suites.efcb.patch_rendering import FILE_SEPARATOR, RenderedPatch
from caretbench.suites.efcb.problem_metadata import SUITE_NAME, file_language
from caretbench.suites.efcb.seeding import problem_id, seeded_random

NO_TEMPLATES: Final[Mapping[str, Collection[str]]] = {}

MaskedTier: TypeAlias = MaskTier | Profile

_REQUEST: Final = (
    "A patch makes the change that the following text describes. {hidden} consecutive lines that it adds are hidden; a"
    " line {mark} stands for each. Write these {hidden} lines, in their order and with their indentation, without the"
    " plus sign at the beginning. Answer with the lines alone.\n\n"
)


class MaskOptions(EfcbOptions):
    """Options of MPR-Gen; ``paper`` always hides five lines."""

    lines: int = Field(default=5, ge=3, le=20)
    tiers: tuple[MaskTier, ...] = ("added", "changed")


class MaskedItem(Row):
    """One patch with hidden lines: ``query`` and ``patch`` are shown, ``answer`` is the reference."""

    pull: PullRequest
    tier: MaskedTier
    rendered: RenderedPatch
    query: str
    hidden_lines: int
    patch: str
    answer: str
    labels: Mapping[str, Label]
    options: MaskOptions


def masked_items(
    pulls: Iterable[PullRequest], options: MaskOptions, templates: Mapping[str, Collection[str]] = NO_TEMPLATES
) -> tuple[list[MaskedItem], list[RejectedChange]]:
    """Return at most one item for each tier and change, by repository, newest first; and rejected changes.

    The window of a change depends only on the seed and the change. ``templates`` are those of
    :func:`~caretbench.suites.efcb.build.change_queries.repository_templates`.
    """
    items: list[MaskedItem] = []
    rejected: list[RejectedChange] = []
    makers: dict[MaskedTier, Callable[[PullRequest, RenderedPatch, str], MaskedItem | str]]
    if options.rules.asks_whole_patch:
        makers = {WHOLE_PATCH_TIER: partial(_make_released_item, options=options)}
    else:
        makers = {tier: partial(_make_item, tier=tier, options=options) for tier in options.tiers}
    newest = sorted(pulls, key=lambda pull: pull.merge_order, reverse=True)
    for pull in sorted(newest, key=lambda pull: pull.repo):
        rendered = render_patch(pull, include_generated=options.rules.shows_generated_files)
        text = change_query(pull, profile=options.profile, template=templates.get(pull.repo, NO_TEMPLATE)).text
        for tier, make in makers.items():
            made = make(pull, rendered, text)
            if isinstance(made, MaskedItem):
                items.append(made)
            else:
                rejected.append(RejectedChange.from_pull_request(pull, MASKED_TASK, made, tier))
    return items, rejected


def _make_item(
    pull: PullRequest, rendered: RenderedPatch, text: str, tier: MaskTier, options: MaskOptions
) -> MaskedItem | str:
    if MASK_PLACEHOLDER in rendered.text:
        return "holds_a_mask"
    found = find_windows(rendered, tier, text, options.lines)
    if isinstance(found, str):
        return found
    window = seeded_random(options.seed, f"{MASKED_TASK} {tier}", cluster_id(pull)).choice(found)
    file = rendered.files[window.file]
    hunks = file.hunks.split("\n")
    hunks[window.start : window.stop] = [MASK_PLACEHOLDER] * len(window.text)
    shown = rendered.replace_hunks(window.file, "\n".join(hunks))
    return MaskedItem(
        pull=pull,
        tier=tier,
        rendered=rendered,
        query=text,
        hidden_lines=len(window.text),
        patch=shown.text,
        answer="\n".join(window.text),
        labels={
            "mask_path": file.path,
            "mask_language": file_language(file.path),
            "deleted_twin": round(window.removed_similarity, 4),
            "repeated_lines": float(_count_repeated_lines(shown, window)),
        },
        options=options,
    )


def _count_repeated_lines(shown: RenderedPatch, window: MaskWindow) -> int:
    """Return the number of informative hidden lines that occur elsewhere in the patch."""
    visible = {line[1:].strip() for line in shown.text.split("\n")}
    visible |= {line.rpartition("@@")[2].strip() for line in shown.text.split("\n") if line.startswith("@@")}
    return sum(line in visible for line in window.informative_lines)


_PAPER_LINES: Final = 5


def _make_released_item(
    pull: PullRequest, rendered: RenderedPatch, text: str, options: MaskOptions
) -> MaskedItem | str:
    lines = rendered.text.split("\n")[:-1]
    if MASK_PLACEHOLDER in rendered.text:
        return "holds_a_mask"
    if len(lines) <= _PAPER_LINES:
        return "too_short"
    start = seeded_random(options.seed, f"{MASKED_TASK} paper", cluster_id(pull)).randrange(
        len(lines) - _PAPER_LINES + 1
    )
    shown = [*lines[:start], *[MASK_PLACEHOLDER] * _PAPER_LINES, *lines[start + _PAPER_LINES :]]
    return MaskedItem(
        pull=pull,
        tier=WHOLE_PATCH_TIER,
        rendered=rendered,
        query=text,
        hidden_lines=_PAPER_LINES,
        patch="\n".join((*shown, "")),
        answer=rendered.text,
        labels={"masked_kinds": sorted(set(_line_kinds(rendered, start, start + _PAPER_LINES))), "whole_patch": "yes"},
        options=options,
    )


_KINDS: Final = {"+": "added", "-": "removed", "@": "header", "\\": "remark"}


def _line_kinds(rendered: RenderedPatch, start: int, stop: int) -> Iterator[str]:
    """Yield the kind of each line: ``added``, ``removed``, ``kept``, ``header``, ``remark``, ``file``."""
    position = 0
    for file in rendered.files:
        hunks = file.hunks.split("\n")
        kinds = [
            "file",
            *(_KINDS.get(line[:1], "kept") for line in hunks),
            *["file"] * (FILE_SEPARATOR.count("\n") - 1),
        ]
        yield from kinds[max(start - position, 0) : max(stop - position, 0)]
        position += len(kinds)


def masked_problem(item: MaskedItem) -> Problem:
    """Return the item as a problem; its reference is the hidden lines (``paper``: the whole patch)."""
    pull = item.pull
    ask = (
        whole_patch_request()
        if item.tier == WHOLE_PATCH_TIER
        else _REQUEST.format(hidden=item.hidden_lines, mark=MASK_PLACEHOLDER)
    )
    return Problem(
        id=problem_id(MASKED_TASK, item.tier, pull.repo, pull.merge_sha, item.options.configuration_hash),
        suite=SUITE_NAME,
        shown=Question(text=ask + item.query, context=(ContextFile(path=PATCH_FILE, text=item.patch),)),
        splice=NoSplice(),
        reference=item.answer,
        checks=(CriterionCheck(name=CRITERION_NAME, maximum=MAX_JUDGED_SCORE),),
        labels={
            **common_labels(pull, item.rendered, MASKED_TASK, item.tier),
            "masked_lines": float(item.hidden_lines),
            **item.labels,
        },
        cluster=cluster_id(pull),
        provenance=change_provenance(pull),
    )
