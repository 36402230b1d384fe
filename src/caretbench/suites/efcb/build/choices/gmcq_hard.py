"""GMCQ-Hard: four versions of one patch, one of which makes the described change.

``default``: the patch, with one edit, with another, and with both. All choices have the same distance to the others.
Most edits make a patch less natural, so a model's own answers without the text (``--blind``) are the floor. With texts
for all four versions, each of them is right once, and no such floor is needed.
``paper``: the patch and three versions with two words exchanged; the correct one is the most similar to the others.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, combinations, islice
from typing import Final, Literal, NamedTuple

from rapidfuzz.distance import Indel, Levenshtein

from caretbench.build.sources.pull_request import PullRequest
from caretbench.problem import Label
from caretbench.suites.efcb.build.changes import RejectedChange, render_patch, repository_templates
from caretbench.suites.efcb.build.choices.choice_problems import (
    WRONG_CHOICE_COUNT,
    ChoiceItem,
    balanced_positions,
    change_queries,
    insert_choice,
)
from caretbench.suites.efcb.build.choices.version_texts import VERSION_NAMES, SetTexts, TextSource, VersionSet
from caretbench.suites.efcb.build.edits.editable_patch import EditablePatch
from caretbench.suites.efcb.build.edits.patch_parts import FileReaders, PatchEdit, no_file_reader
from caretbench.suites.efcb.build.options import ChoiceOptions, Query, problem_id
from caretbench.suites.efcb.choices import CHOICE_SET_LABEL
from caretbench.suites.efcb.patches import RenderedPatch
from caretbench.suites.efcb.problem_metadata import FOUR_TEXTS_TIER, seeded_random

MAX_EDITS: Final = 24
"""Maximum number of edits that are drawn for a change, evenly over their kinds."""
_MAX_TRIES: Final = 60
"""Maximum number of pairs that are examined for a change."""


NoPairReason = Literal["too_few_edits", "no_fair_pair"]
"""Reason why a change has no two edits."""


class EditPair(NamedTuple):
    """Two edits on different lines."""

    first: PatchEdit
    second: PatchEdit

    @property
    def versions(self) -> tuple[list[PatchEdit], ...]:
        """Edits of the four versions: none, the first, the second, both."""
        return ([], [self.first], [self.second], [self.first, self.second])


def find_pair(patch: EditablePatch, generator: random.Random) -> EditPair | NoPairReason:
    """Return two edits of a patch that give four different programs at equal distances, or why there are none."""
    edits = patch.draw_edits(generator, MAX_EDITS)
    pairs = _separate_pairs(edits, generator)
    first = next(pairs, None)
    if first is None:
        return "too_few_edits"
    tried = islice((first, *pairs), _MAX_TRIES)
    return next((pair for pair in tried if _is_valid_pair(patch, pair)), "no_fair_pair")


def _separate_pairs(edits: Sequence[PatchEdit], generator: random.Random) -> Iterator[EditPair]:
    """Yield the pairs of edits on different lines, in drawn order."""
    pairs = list(combinations(edits, 2))
    generator.shuffle(pairs)
    for one, other in pairs:
        if one.lines.isdisjoint(other.lines):
            yield EditPair(one, other)


def _is_valid_pair(patch: EditablePatch, pair: EditPair) -> bool:
    """Return whether the four choices are four different programs at equal distances.

    None is a renaming or reordering of another, and none has more syntax errors than the patch. With both edits no line
    repeats a neighbour, and the edits do not exchange the same texts: a test that expects another value in two
    places may be correct, too.
    """
    first, second = pair
    choices = pair.versions
    return (
        patch.exchanged_texts(first).isdisjoint(patch.exchanged_texts(second))
        and _are_equidistant([patch.excerpt(choice, first, second) for choice in choices])
        and not patch.copies_line(choices[3])
        and not any(patch.adds_syntax_errors(choice) for choice in choices[1:])
        and not any(patch.is_renaming(one, other) for one, other in combinations(choices, 2))
        and not any(patch.is_reordering(one, other) for one, other in combinations(choices, 2))
    )


def _are_equidistant(texts: Sequence[str]) -> bool:
    """Return whether every text has the same total distance to the others, by words and by characters.

    Although the edits are on different lines, an alignment may find a shortcut if they are close together.
    """
    words = [text.split() for text in texts]
    return all(
        len({sum(distance(one, other) for other in sequences) for one in sequences}) == 1
        for distance, sequences in ((Indel.distance, words), (Indel.distance, texts), (Levenshtein.distance, texts))
    )


_WORD = re.compile(r"\S*[^\W\d]\S*")
# Most pairs of words of a patch are different, so that three exchanges need a few draws; a patch of one repeated word
# never has them.
_TRIES = 200


def word_swaps(rendered: RenderedPatch, generator: random.Random, count: int) -> list[str]:
    """Return up to ``count`` different texts of the patch with two words exchanged, without the patch itself.

    Paths, hunk headers and diff marks are kept.
    """
    text = rendered.text
    spans = _words(rendered)
    swaps: dict[str, None] = {}
    for _ in range(_TRIES if len(spans) > 1 else 0):
        (start, end), (later, last) = sorted(generator.sample(spans, 2))
        first, second = text[start:end], text[later:last]
        changed = f"{text[:start]}{second}{text[end:later]}{first}{text[last:]}"
        if changed != text:
            swaps[changed] = None
        if len(swaps) == count:
            break
    return list(swaps)


def _words(rendered: RenderedPatch) -> list[tuple[int, int]]:
    """Return the spans of the hunks' words in the rendered text."""
    spans: list[tuple[int, int]] = []
    begin = 0
    for file in rendered.files:
        lines = f"{file.title}\n{file.hunks}".split("\n")
        starts = accumulate((len(line) + 1 for line in lines), initial=begin)
        for number, (line, start) in enumerate(zip(lines, starts, strict=False)):
            if number and not line.startswith("@@"):
                spans += [(start + word.start(), start + word.end()) for word in _WORD.finditer(line, 1)]
        begin += len(file.text)
    return spans


TASK: Final = "gmcq-hard"
CONSENSUS_LEAKY_LABEL: Final = "consensus_leaky"
"""Label of questions whose correct choice is the most similar to the others."""


class _UnorderedQuestion(NamedTuple):
    """A question before its choices are ordered."""

    pull: PullRequest
    right: str
    wrong: tuple[str, ...]
    labels: Mapping[str, Label]


def hard_questions(
    pulls: Sequence[PullRequest],
    options: ChoiceOptions,
    templates: Mapping[str, frozenset[str]] | None = None,
    *,
    readers: FileReaders = no_file_reader,
    texts: TextSource | None = None,
    examined: Callable[[], None] = lambda: None,
) -> tuple[list[ChoiceItem], list[RejectedChange]]:
    """Return the questions, and changes without one with the reason; the order of ``pulls`` does not matter.

    ``too_few_edits``: no two valid edits on different lines. ``no_fair_pair``: no two of them give four different
    programs at equal distances.
    ``too_few_words`` (``paper``): fewer than three possible exchanges of two words.

    Without ``templates``, those of ``pulls`` are taken. With ``texts`` the questions are those of sets of four texts.
    ``examined`` is called for each change.
    """
    templates = repository_templates(pulls) if templates is None else templates
    queries_by_change: dict[tuple[str, str], tuple[Query, ...]] = {}
    rejected: list[RejectedChange] = []
    by_repository: dict[str, list[PullRequest]] = defaultdict(list)
    for pull in sorted(pulls, key=lambda pull: pull.key):
        queries_by_change[pull.key] = change_queries(pull, options, templates)
        if queries_by_change[pull.key]:
            by_repository[pull.repo].append(pull)
        else:
            rejected.append(RejectedChange.from_pull_request(pull, TASK, "no_query"))
    if options.rules.balanced_choices:
        made, refused = _edit_patches(by_repository, options, readers, examined)
    else:
        made, refused = _swap_words(by_repository, options)
    places = balanced_positions(
        {_change_key(one.pull): one.pull.repo for one in made}, options.seed, f"{TASK} positions"
    )
    items = [
        _order_choices(one, places[_change_key(one.pull)], queries_by_change[one.pull.key], options) for one in made
    ]
    if texts is not None:
        items, undescribed = _described(items, texts, options)
        rejected += undescribed
    return items, sorted([*rejected, *refused], key=lambda one: (one.repo, one.merge_sha, one.reason))


def _change_key(pull: PullRequest) -> str:
    return f"{pull.repo} {pull.merge_sha}"


def _order_choices(
    made: _UnorderedQuestion, place: int, queries: tuple[Query, ...], options: ChoiceOptions
) -> ChoiceItem:
    wrong = list(made.wrong)
    seeded_random(options.seed, f"{TASK} order", _change_key(made.pull)).shuffle(wrong)
    return ChoiceItem(made.pull, TASK, "", insert_choice(made.right, wrong, place), place, queries, made.labels)


def _described(
    items: Sequence[ChoiceItem], texts: TextSource, options: ChoiceOptions
) -> tuple[list[ChoiceItem], list[RejectedChange]]:
    """Return four questions for each set whose texts pass, one for each version, with balanced orders."""
    sets = {_problem_name(item, options): item for item in items}
    described = texts.describe([VersionSet(name, item.choices) for name, item in sets.items()], options.seed)
    asked: list[ChoiceItem] = []
    rejected: list[RejectedChange] = []
    for name, item in sets.items():
        texts_of_set = described[name]
        if isinstance(texts_of_set, str):
            reason: str = texts_of_set
            rejected.append(RejectedChange.from_pull_request(item.pull, TASK, reason, FOUR_TEXTS_TIER))
            continue
        asked += four_text_questions(item, texts_of_set, name.rpartition("/")[2], options.seed)
    return asked, rejected


def four_text_questions(item: ChoiceItem, texts_of_set: SetTexts, digits: str, seed: int) -> list[ChoiceItem]:
    """Return a question for each of the four choices of ``item``, by its text; ``digits`` name the set."""
    group = f"{item.pull.repo} {FOUR_TEXTS_TIER} {digits}"
    labels = {**item.labels, CHOICE_SET_LABEL: group, "text_by": texts_of_set.text_by}
    # Each letter is right once, so that a position is right in one of the four, as any rule without the text is.
    places = balanced_positions(dict.fromkeys(VERSION_NAMES, group), seed, f"{TASK} {group}")
    asked = []
    for number, (version, text) in enumerate(zip(VERSION_NAMES, texts_of_set.texts, strict=True)):
        others = [choice for index, choice in enumerate(item.choices) if index != number]
        seeded_random(seed, f"{TASK} order {version}", group).shuffle(others)
        choices = insert_choice(item.choices[number], others, places[version])
        queries = (Query("written", text),)
        asked.append(ChoiceItem(item.pull, TASK, FOUR_TEXTS_TIER, choices, places[version], queries, labels, version))
    return asked


def _problem_name(item: ChoiceItem, options: ChoiceOptions) -> str:
    """Return the id of a question by the change's own text, whose choices people describe."""
    return problem_id(TASK, "", item.pull.repo, item.pull.merge_sha, options.configuration_hash)


def _swap_words(
    by_repository: Mapping[str, Sequence[PullRequest]], options: ChoiceOptions
) -> tuple[list[_UnorderedQuestion], list[RejectedChange]]:
    made: list[_UnorderedQuestion] = []
    rejected: list[RejectedChange] = []
    for members in by_repository.values():
        for pull in members:
            # As in the release, where 99.4 % of the wrong choices differ from the right one in a single word, and
            # consensus finds .987.
            rendered = render_patch(pull, include_generated=True)
            wrong = word_swaps(
                rendered, seeded_random(options.seed, f"{TASK} words", _change_key(pull)), WRONG_CHOICE_COUNT
            )
            if len(wrong) < WRONG_CHOICE_COUNT:
                rejected.append(RejectedChange.from_pull_request(pull, TASK, "too_few_words"))
            else:
                made.append(_UnorderedQuestion(pull, rendered.text, tuple(wrong), {CONSENSUS_LEAKY_LABEL: 1.0}))
    return made, rejected


def _edit_patches(
    by_repository: Mapping[str, Sequence[PullRequest]],
    options: ChoiceOptions,
    readers: FileReaders,
    examined: Callable[[], None],
) -> tuple[list[_UnorderedQuestion], list[RejectedChange]]:
    made: list[_UnorderedQuestion] = []
    rejected: list[RejectedChange] = []
    for pull in (pull for members in by_repository.values() for pull in members):
        patch = EditablePatch(render_patch(pull), readers(pull))
        examined()
        pair = find_pair(patch, seeded_random(options.seed, f"{TASK} edits", _change_key(pull)))
        if isinstance(pair, str):
            rejected.append(RejectedChange.from_pull_request(pull, TASK, pair))
            continue
        right, *wrong = (patch.apply(edits).text for edits in pair.versions)
        kinds = sorted((pair.first.kind, pair.second.kind))
        made.append(_UnorderedQuestion(pull, right, tuple(wrong), {"edits": kinds}))
    return made, rejected
