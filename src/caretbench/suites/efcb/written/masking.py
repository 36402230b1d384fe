"""MPR-Gen: lines of a patch are hidden, and the model writes them from title, description and the rest of the patch.

``default`` hides added lines of one hunk (see ``mask_windows``) and asks for them alone.
``paper`` hides five lines of the shown text wherever they fall, headers and removed lines too, and asks for the whole
patch, as the released questions do: most of such an answer is copied. It is there to be compared with, and flagged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Final, Self, TypeAlias

from pydantic import Field

from caretbench.problem import ContextFile, CriterionCheck, Label, NoSplice, Problem, Profile, Question, Row
from caretbench.profiles import PROFILES
from caretbench.sources.changes.descriptions import NO_TEMPLATE
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.describing import SUITE, Rejected, cluster, common_labels, language_of, provenance
from caretbench.suites.efcb.efcb_score import JUDGED_MAXIMUM, MASKED
from caretbench.suites.efcb.options import EfcbOptions
from caretbench.suites.efcb.queries import query
from caretbench.suites.efcb.rendering import END_OF_FILE, Rendered, render
from caretbench.suites.efcb.seeding import item_id, rng
from caretbench.suites.efcb.written.mask_windows import MASK, MaskTier, Window, windows

PATCH: Final = "patch.diff"
"""The name under which a problem shows its patch."""
CRITERION: Final = "efcb-masked"
WHOLE_PATCH: Final = PROFILES[0]
"""The tier in which the whole patch is asked for, as released."""

NO_FORMS: Final[Mapping[str, Collection[str]]] = {}

MaskedTier: TypeAlias = MaskTier | Profile

_ASKED: Final = (
    "A patch makes the change that the following text describes. {hidden} consecutive lines that it adds are hidden; a"
    " line {mark} stands for each. Write these {hidden} lines, in their order and with their indentation, without the"
    " plus sign at the beginning. Answer with the lines alone.\n\n"
)
_ASKED_WHOLE: Final = (
    "A patch makes the change that the following text describes. Some of its lines are hidden; a line {mark} stands for"
    " each. Write the whole patch, with the right lines in the place of the hidden ones and all others as they are."
    " Answer with the patch alone.\n\n"
)


class MaskOptions(EfcbOptions):
    """Options of MPR-Gen; ``paper`` always hides five lines."""

    lines: int = Field(default=5, ge=3, le=20)
    tiers: tuple[MaskTier, ...] = ("added", "changed")

    @classmethod
    def of(cls, options: EfcbOptions, **own: object) -> Self:
        """Return the options of a build with some of this task's own."""
        return cls.model_validate(options.model_dump() | own)


class MaskedItem(Row):
    """One patch with so many hidden lines: ``text`` and ``patch`` are shown, ``answer`` is asked for."""

    pull: PullRequest
    tier: MaskedTier
    rendered: Rendered
    text: str
    hidden: int
    patch: str
    answer: str
    labels: Mapping[str, Label]
    options: MaskOptions


def masked_items(
    pulls: Iterable[PullRequest], options: MaskOptions, forms: Mapping[str, Collection[str]] = NO_FORMS
) -> tuple[list[MaskedItem], list[Rejected]]:
    """At most one item of each tier for each change, by repository, newest first; and the changes that give none.

    Which window of a change is taken hangs on the seed and the change alone. ``forms`` are those of
    :func:`~caretbench.suites.efcb.queries.forms`.
    """
    items: list[MaskedItem] = []
    rejected: list[Rejected] = []
    makers: dict[MaskedTier, Callable[[PullRequest, Rendered, str], MaskedItem | str]]
    if options.rules.whole_patch:
        makers = {WHOLE_PATCH: partial(_released_item, options=options)}
    else:
        makers = {tier: partial(_item, tier=tier, options=options) for tier in options.tiers}
    newest = sorted(pulls, key=lambda pull: pull.merge_order, reverse=True)
    for pull in sorted(newest, key=lambda pull: pull.repo):
        rendered = render(pull, generated=options.rules.generated_shown)
        text = query(pull, profile=options.profile, form=forms.get(pull.repo, NO_TEMPLATE)).text
        for tier, make in makers.items():
            made = make(pull, rendered, text)
            if isinstance(made, MaskedItem):
                items.append(made)
            else:
                rejected.append(Rejected.of(pull, MASKED, made, tier))
    return items, rejected


def _item(
    pull: PullRequest, rendered: Rendered, text: str, tier: MaskTier, options: MaskOptions
) -> MaskedItem | str:
    if MASK in rendered.text:
        return "holds_a_mask"
    found = windows(rendered, tier, text, options.lines)
    if isinstance(found, str):
        return found
    window = rng(options.seed, f"{MASKED} {tier}", cluster(pull)).choice(found)
    file = rendered.files[window.file]
    hunks = file.hunks.split("\n")
    hunks[window.start : window.stop] = [MASK] * len(window.text)
    shown = rendered.with_hunks(window.file, "\n".join(hunks))
    return MaskedItem(
        pull=pull,
        tier=tier,
        rendered=rendered,
        text=text,
        hidden=len(window.text),
        patch=shown.text,
        answer="\n".join(window.text),
        labels={
            "mask_path": file.path,
            "mask_language": language_of(file.path),
            "deleted_twin": round(window.deleted_twin, 4),
            "repeated_lines": float(_repeated(shown, window)),
        },
        options=options,
    )


def _repeated(shown: Rendered, window: Window) -> int:
    """How many hidden lines that say something stand elsewhere in the patch: as a line, or behind a hunk's ``@@``."""
    visible = {line[1:].strip() for line in shown.text.split("\n")}
    visible |= {line.rpartition("@@")[2].strip() for line in shown.text.split("\n") if line.startswith("@@")}
    return sum(line in visible for line in window.saying)


_PAPER_LINES: Final = 5


def _released_item(
    pull: PullRequest, rendered: Rendered, text: str, options: MaskOptions
) -> MaskedItem | str:
    lines = rendered.text.split("\n")[:-1]
    if MASK in rendered.text:
        return "holds_a_mask"
    if len(lines) <= _PAPER_LINES:
        return "too_short"
    start = rng(options.seed, f"{MASKED} paper", cluster(pull)).randrange(len(lines) - _PAPER_LINES + 1)
    shown = [*lines[:start], *[MASK] * _PAPER_LINES, *lines[start + _PAPER_LINES :]]
    return MaskedItem(
        pull=pull,
        tier=WHOLE_PATCH,
        rendered=rendered,
        text=text,
        hidden=_PAPER_LINES,
        patch="\n".join((*shown, "")),
        answer=rendered.text,
        labels={
            "masked_kinds": sorted(set(_kinds(rendered, start, start + _PAPER_LINES))),
            "whole_patch": "yes",
        },
        options=options,
    )


_KINDS: Final = {"+": "added", "-": "removed", "@": "header", "\\": "remark"}


def _kinds(rendered: Rendered, start: int, stop: int) -> Iterator[str]:
    """What the lines are: ``added``, ``removed``, ``kept``, ``header``, ``remark``, ``file`` (title or dashes)."""
    position = 0
    for file in rendered.files:
        hunks = file.hunks.split("\n")
        kinds = [
            "file",
            *(_KINDS.get(line[:1], "kept") for line in hunks),
            *["file"] * (END_OF_FILE.count("\n") - 1),
        ]
        yield from kinds[max(start - position, 0) : max(stop - position, 0)]
        position += len(kinds)


def problem(item: MaskedItem) -> Problem:
    """The item as a problem: text and patch are shown; the hidden lines (``paper``: the whole patch) are the answer."""
    pull = item.pull
    ask = (_ASKED_WHOLE if item.tier == WHOLE_PATCH else _ASKED).format(hidden=item.hidden, mark=MASK)
    return Problem(
        id=item_id(MASKED, item.tier, pull.repo, pull.merge_sha, item.options.configuration),
        suite=SUITE,
        shown=Question(text=ask + item.text, context=(ContextFile(path=PATCH, text=item.patch),)),
        splice=NoSplice(),
        reference=item.answer,
        checks=(CriterionCheck(name=CRITERION, maximum=JUDGED_MAXIMUM),),
        labels={
            **common_labels(pull, item.rendered, MASKED, item.tier),
            "masked_lines": float(item.hidden),
            **item.labels,
        },
        cluster=cluster(pull),
        provenance=provenance(pull),
    )
