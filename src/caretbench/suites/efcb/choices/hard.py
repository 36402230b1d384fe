"""GMCQ-Hard: which of four versions of one patch is the change that a text asks for.

``default``: the patch, with one edit, with another, and with both. Each choice is as like the other three as any, and
edits are taken such that learned attackers, which count and do not read the question, are at chance.
``paper``: the patch and three versions with two words exchanged; the right one is the most like the other three.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from caretbench.problem import Label, Problem
from caretbench.sources.changes.descriptions import NO_TEMPLATE
from caretbench.sources.pull_request import PullRequest
from caretbench.suites.efcb.attacks.attackers import Attackers, shipped
from caretbench.suites.efcb.attacks.calibration import CHANGES, calibrated
from caretbench.suites.efcb.attacks.plausibility import Backgrounds, Without
from caretbench.suites.efcb.choices.balancing import Vector, evened
from caretbench.suites.efcb.choices.edit_pairs import SCORERS, Pair, Passed, pairs, passed_edits, scored
from caretbench.suites.efcb.choices.problem import choice_problems
from caretbench.suites.efcb.choices.word_swaps import word_swaps
from caretbench.suites.efcb.describing import Rejected
from caretbench.suites.efcb.edits.parts import SourcesOf, no_sources
from caretbench.suites.efcb.edits.patches import Patch
from caretbench.suites.efcb.options import ChoiceOptions, Query
from caretbench.suites.efcb.positions import CHOICES, WRONG, balanced, placed
from caretbench.suites.efcb.queries import forms, query
from caretbench.suites.efcb.rendering import render
from caretbench.suites.efcb.seeding import rng

TASK: Final = "gmcq-hard"
CONSENSUS_LEAKY: Final = "consensus_leaky"
"""The label that says so of a question whose right choice is the most like the others."""


class HardItem(NamedTuple):
    """One question: ``choices`` in shown order, ``correct`` counted from 0; ``facts`` become labels."""

    pull: PullRequest
    choices: tuple[str, ...]
    correct: int
    queries: tuple[Query, ...]
    facts: Mapping[str, Label]


class _Made(NamedTuple):
    """A question without an order of its choices."""

    pull: PullRequest
    right: str
    wrong: tuple[str, ...]
    facts: Mapping[str, Label]


def hard_items(
    pulls: Sequence[PullRequest],
    options: ChoiceOptions,
    form: Mapping[str, frozenset[str]] | None = None,
    *,
    backgrounds: Backgrounds | None = None,
    sources: SourcesOf = no_sources,
    attackers: Attackers | None = None,
) -> tuple[list[HardItem], list[Rejected]]:
    """The questions, and the changes that have none, with the reason; the same whatever the order of ``pulls``.

    ``too_few_edits``: no two valid edits on different lines. ``telling_edits``: learned attackers let no two pass.
    ``no_fair_pair``: they let several pass, but no two that make four choices alike on different lines.
    ``uneven_ranks``: they do, but the edits give the right choice only ranks that too many others have, too.
    ``too_few_words`` (``paper``): no three exchanges of two words.

    Without ``form`` and ``backgrounds``, both are learnt from ``pulls``; the leak report should be given the same. The
    ``attackers`` decide which edits tell; without any, they are the shipped ones.
    """
    form = forms(pulls) if form is None else form
    asked: dict[tuple[str, str], tuple[Query, ...]] = {}
    rejected: list[Rejected] = []
    by_repository: dict[str, list[PullRequest]] = defaultdict(list)
    for pull in sorted(pulls, key=lambda pull: pull.key):
        lines = form.get(pull.repo, NO_TEMPLATE)
        queries = [query(pull, variant, options.profile, lines) for variant in options.variants]
        asked[pull.key] = tuple(text for text in queries if text.text.strip())
        if asked[pull.key]:
            by_repository[pull.repo].append(pull)
        else:
            rejected.append(Rejected.of(pull, TASK, "no_query"))
    if options.rules.balanced_choices:
        made, refused = _in_balance(
            by_repository, options, backgrounds or Backgrounds(pulls), sources, attackers or shipped()
        )
    else:
        made, refused = _as_the_paper_says(by_repository, options)
    places = balanced({_name(one.pull): one.pull.repo for one in made}, options.seed, f"{TASK} positions")
    items = [_item(one, places[_name(one.pull)], asked[one.pull.key], options) for one in made]
    return items, sorted([*rejected, *refused], key=lambda one: (one.repo, one.merge_sha, one.reason))


def problems(item: HardItem, options: ChoiceOptions) -> Iterator[Problem]:
    """Yield the problems of a question: one for each text that asks for the change, and each order of its choices."""
    for asked in item.queries:
        yield from choice_problems(
            item.pull, TASK, "", asked, item.choices, item.correct, item.facts, options
        )


def _name(pull: PullRequest) -> str:
    return f"{pull.repo} {pull.merge_sha}"


def _item(made: _Made, place: int, asked: tuple[Query, ...], options: ChoiceOptions) -> HardItem:
    wrong = list(made.wrong)
    rng(options.seed, f"{TASK} order", _name(made.pull)).shuffle(wrong)
    return HardItem(made.pull, placed(made.right, wrong, place), place, asked, made.facts)


def _as_the_paper_says(
    by_repository: Mapping[str, Sequence[PullRequest]], options: ChoiceOptions
) -> tuple[list[_Made], list[Rejected]]:
    made: list[_Made] = []
    rejected: list[Rejected] = []
    for members in by_repository.values():
        for pull in members:
            rendered = render(pull, generated=True)
            wrong = word_swaps(rendered, rng(options.seed, f"{TASK} words", _name(pull)), WRONG)
            if len(wrong) < WRONG:
                rejected.append(Rejected.of(pull, TASK, "too_few_words"))
            else:
                made.append(_Made(pull, rendered.text, tuple(wrong), {CONSENSUS_LEAKY: 1.0}))
    return made, rejected


def _in_balance(
    by_repository: Mapping[str, Sequence[PullRequest]],
    options: ChoiceOptions,
    backgrounds: Backgrounds,
    sources: SourcesOf,
    attackers: Attackers,
) -> tuple[list[_Made], list[Rejected]]:
    rejected: list[Rejected] = []
    drawn: list[tuple[PullRequest, Passed]] = []

    def read(pull: PullRequest) -> tuple[Patch, Without]:
        return Patch(render(pull), sources(pull)), backgrounds.without(pull.repo, pull)

    for repository, members in by_repository.items():
        draw = rng(options.seed, f"{TASK} calibration", repository)
        here = calibrated(attackers, map(read, draw.sample(members, min(CHANGES, len(members)))), draw)
        for pull in members:
            found = passed_edits(*read(pull), here, rng(options.seed, f"{TASK} edits", _name(pull)))
            if len(found.passed) >= 2:
                drawn.append((pull, found))
            else:
                reason = "telling_edits" if found.edits else "too_few_edits"
                rejected.append(Rejected.of(pull, TASK, reason))
    pulls = [pull for pull, _ in drawn]
    edits = scored(
        [found for _, found in drawn], [pull.repo for pull in pulls], [*map(_name, pulls)], attackers
    )
    by_name = {_name(pull): pull for pull in pulls}
    possible: dict[str, Mapping[Vector, Pair]] = {}
    for pull, of_change in zip(pulls, edits, strict=True):
        ways = pairs(
            Patch(render(pull), sources(pull)), of_change, rng(options.seed, f"{TASK} pairs", _name(pull))
        )
        if ways:
            possible[_name(pull)] = ways
        else:
            rejected.append(Rejected.of(pull, TASK, "no_fair_pair"))
    groups = {name: by_name[name].repo for name in possible}
    chosen = evened(possible, groups, options.seed, f"{TASK} ranks", CHOICES)
    rejected += [
        Rejected.of(by_name[name], TASK, "uneven_ranks") for name in sorted(possible.keys() - chosen.keys())
    ]
    return [
        _made(by_name[name], possible[name][ranks], ranks) for name, ranks in sorted(chosen.items())
    ], rejected


def _made(pull: PullRequest, pair: Pair, ranks: Vector) -> _Made:
    patch = Patch(render(pull))
    wrong = [patch.apply(edits).text for edits in ([pair.first], [pair.second], [pair.first, pair.second])]
    facts: dict[str, Label] = {
        f"{scorer}_rank": float(rank + 1) for scorer, rank in zip(SCORERS, ranks, strict=True)
    }
    facts["edits"] = sorted((pair.first.kind, pair.second.kind))
    return _Made(pull, patch.rendered.text, tuple(wrong), facts)
