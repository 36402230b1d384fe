"""GMCQ-Hard: four versions of one patch, one of which makes the described change.

``default``: the patch, with one edit, with another, and with both. All choices have the same distance to the others.
Most edits make a patch less natural, so a model's own answers without the text (``--blind``) are the floor. With texts
for all four versions, each of them is right once, and no such floor is needed.
``paper``: the patch and three versions with two words exchanged; the correct one is the most similar to the others.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, combinations, islice
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pydantic import JsonValue
from rapidfuzz.distance import Indel, Levenshtein

from caretbench.build.build_models import NO_MODELS, BuildModels, BuildRequest
from caretbench.build.sources.pull_request import PullRequest
from caretbench.errors import DataError, UsageError
from caretbench.files import read_rows, sha256_json
from caretbench.grouping import grouped
from caretbench.problem import Label, Row
from caretbench.suites.efcb.build.changes import (
    EfcbOptions,
    Query,
    RejectedChange,
    problem_id,
    render_patch,
    repository_templates,
)
from caretbench.suites.efcb.build.choices.choice_problems import (
    WRONG_CHOICE_COUNT,
    ChoiceItem,
    balanced_positions,
    change_queries,
    insert_choice,
)
from caretbench.suites.efcb.build.edits.editable_patch import EditablePatch
from caretbench.suites.efcb.build.edits.patch_parts import FileReaders, PatchEdit
from caretbench.suites.efcb.choices import CHOICE_SET_LABEL, LETTERS, parse_strictly, remove_reasoning
from caretbench.suites.efcb.lexical_similarity import tokenize
from caretbench.suites.efcb.problem_metadata import FOUR_TEXTS_TIER, RenderedPatch, seeded_random

WRITER_ROLE: Final = "writer"
CHECKER_ROLE: Final = "checker"

VERSION_NAMES: Final = ("first", "second", "third", "fourth")
"""Names of the versions in the order of a set's choices, which is drawn; parts of ids."""

MAX_WORDS: Final = 150
"""Maximum number of words of a text."""
MAX_QUOTED: Final = 4
"""Maximum number of tokens in a row that a text shares with an edited line: more is a quotation of the code."""

NoTextReason = Literal["no_text", "same_text", "quotes_code", "unchecked", "not_picked"]
"""Reason why a set has no questions, in the order of the checks."""


class PeoplesText(Row):
    """Text that people wrote for one version: a line of ``--texts``.

    ``problem`` and ``choice`` name the version as a choice of a question that the build without texts has. ``picked``
    is the choice that another person picked from the text.
    """

    problem: str
    choice: Literal["A", "B", "C", "D"]
    text: str
    picked: Literal["A", "B", "C", "D"] | None = None


class VersionSet(NamedTuple):
    """Four versions of one patch; ``name`` is the question that shows them as choices, in this order."""

    name: str
    versions: tuple[str, ...]

    def edited_lines(self, version: int) -> list[str]:
        """Return the lines of a version at which the four versions differ."""
        rows = zip(*(text.split("\n") for text in self.versions), strict=True)
        return [row[version] for row in rows if len(set(row)) > 1]


class SetTexts(NamedTuple):
    """Texts of a set's versions in their order, and who wrote them."""

    texts: tuple[str, ...]
    text_by: Literal["model", "people"]


class TextSource(NamedTuple):
    """Sources of texts: those of people by problem, and models for the other sets."""

    people: Mapping[str, Sequence[PeoplesText]] = {}
    models: BuildModels = NO_MODELS

    @classmethod
    def of(cls, path: Path | None, models: BuildModels) -> TextSource | None:
        """Return the sources of a build; None if it has none.

        Raises:
            UsageError: a writer has no checker, or is its own.
            DataError: a row of the file is malformed.
        """
        roles = models.roles
        if WRITER_ROLE in roles and CHECKER_ROLE not in roles:
            raise UsageError("a second model has to pick each version from its text: add -m checker=PROVIDER/MODEL")
        # A model that reads its own hints proves nothing about other readers.
        if WRITER_ROLE in roles and set(models.names(WRITER_ROLE)) & set(models.names(CHECKER_ROLE)):
            raise UsageError(f"{models.names(WRITER_ROLE)[0]} cannot check its own texts: name another checker")
        people = grouped((row.problem, row) for row in (read_rows(path, PeoplesText) if path else ()))
        for name, rows in people.items():
            if sorted(row.choice for row in rows) != list(LETTERS):
                raise DataError(f"{path}: {name} needs one text for each of the choices {', '.join(LETTERS)}")
        return cls(people, models) if people or WRITER_ROLE in roles else None

    def record(self) -> dict[str, JsonValue]:
        """Return what a manifest says of the sources: the models, and a hash of people's texts."""
        people = [row.model_dump(mode="json") for name in sorted(self.people) for row in self.people[name]]
        models: dict[str, JsonValue] = {role: ", ".join(self.models.names(role)) for role in sorted(self.models.roles)}
        return {**models, **({"people": sha256_json(people)[:12]} if people else {})}

    def describe(self, sets: Sequence[VersionSet], seed: int) -> dict[str, SetTexts | NoTextReason]:
        """Return the texts of each set, or the reason for which it has none."""
        written = {
            name: SetTexts(tuple(row.text.strip() for row in sorted(rows, key=lambda row: row.choice)), "people")
            for name, rows in self.people.items()
        }
        if WRITER_ROLE in self.models.roles:
            written |= self._model_texts([version_set for version_set in sets if version_set.name not in written])
        described: dict[str, SetTexts | NoTextReason] = {}
        fit: dict[VersionSet, SetTexts] = {}
        for version_set in sets:
            texts = written.get(version_set.name)
            fault = "no_text" if texts is None else _fault(version_set, texts.texts)
            if texts is None or fault is not None:
                described[version_set.name] = fault or "no_text"
            else:
                fit[version_set] = texts
        picked = self._picks(fit, seed)
        for version_set, texts in fit.items():
            picks = picked.get(version_set.name)
            described[version_set.name] = (
                "unchecked" if picks is None else texts if picks == list(LETTERS) else "not_picked"
            )
        return described

    def _model_texts(self, sets: Sequence[VersionSet]) -> dict[str, SetTexts]:
        requests = [
            BuildRequest(
                f"{version_set.name}/{letter}", _writer_prompt(version_set, version), about=f"text of version {letter}"
            )
            for version_set in sets
            for version, letter in enumerate(LETTERS)
        ]
        answers = self.models.ask(WRITER_ROLE, requests)
        plain = {key: " ".join((remove_reasoning(answer) or "").split()) for key, answer in answers.items()}
        return {
            version_set.name: SetTexts(tuple(plain[f"{version_set.name}/{letter}"] for letter in LETTERS), "model")
            for version_set in sets
        }

    def _picks(self, sets: Mapping[VersionSet, SetTexts], seed: int) -> dict[str, list[str | None]]:
        """Return what was picked from the texts of each set, by the checker if there is one, else by people."""
        if CHECKER_ROLE not in self.models.roles:
            rows = {
                version_set.name: sorted(self.people[version_set.name], key=lambda row: row.choice)
                for version_set in sets
            }
            return {name: [row.picked for row in of] for name, of in rows.items() if all(row.picked for row in of)}
        asked = {
            (version_set.name, letter): _check(version_set, letter, text, seed)
            for version_set, told in sets.items()
            for letter, text in zip(LETTERS, told.texts, strict=True)
        }
        requests = [
            BuildRequest(f"{name}/{letter}", prompt, about=f"version of text {letter}")
            for (name, letter), (prompt, _) in asked.items()
        ]
        answers = self.models.ask(CHECKER_ROLE, requests)
        chosen = {key: parse_strictly(answers["/".join(key)]).choice for key in asked}
        picks = {key: None if (at := chosen[key]) is None else order[at] for key, (_, order) in asked.items()}
        return {version_set.name: [picks[version_set.name, letter] for letter in LETTERS] for version_set in sets}


def _check(version_set: VersionSet, letter: str, text: str, seed: int) -> tuple[str, tuple[str, ...]]:
    """Return the request to pick a version from one text, and the letters of the versions as they are shown."""
    order = tuple(seeded_random(seed, "gmcq-hard check", f"{version_set.name} {letter}").sample(LETTERS, len(LETTERS)))
    shown = "".join(
        f"\nVersion {place}:\n\n{version_set.versions[LETTERS.index(version)]}"
        for place, version in zip(LETTERS, order, strict=True)
    )
    prompt = (
        f"A text describes one of four versions of a patch.\n\nText: {text}\n{shown}\nWhich version does the text "
        "describe? Answer with its letter alone; with the word none if it fits none of them, or several.\n"
    )
    return prompt, order


def _writer_prompt(version_set: VersionSet, version: int) -> str:
    lines = "\n".join(version_set.edited_lines(version))
    return (
        "Describe in two to four sentences of plain English what the code does after this patch. A reader who is shown "
        "several similar patches must find this one by your text alone, so be exact about what these lines of it do: "
        "which value is used for what, which case is included, what happens then.\n"
        "Do not quote code, and do not guess what was meant: describe what is written, even if it looks wrong. Answer "
        f"with the text alone.\n\nThe patch:\n\n{version_set.versions[version]}\nThe lines:\n\n{lines}\n"
    )


def _fault(version_set: VersionSet, texts: Sequence[str]) -> NoTextReason | None:
    """Return the reason for which texts cannot be used, without asking anybody."""
    if not all(text and len(text.split()) <= MAX_WORDS for text in texts):
        return "no_text"
    if len({" ".join(tokenize(text.lower())) for text in texts}) < len(texts):
        return "same_text"
    if any(_quotes(text, line) for version, text in enumerate(texts) for line in version_set.edited_lines(version)):
        return "quotes_code"
    return None


def _quotes(text: str, line: str) -> bool:
    """Return whether a text has a longer run of tokens from a line of code than an English sentence has by chance."""
    said, written = (
        {tuple(tokens[start : start + MAX_QUOTED + 1]) for start in range(len(tokens) - MAX_QUOTED)}
        for tokens in (tokenize(text), tokenize(line[1:]))
    )
    return not said.isdisjoint(written)


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
        len({sum(distance(text, other) for other in sequences) for text in sequences}) == 1
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


class _Versions(NamedTuple):
    """Versions of a patch before they are ordered."""

    right: str
    wrong: Sequence[str]
    labels: Mapping[str, Label]


def hard_questions(
    pulls: Sequence[PullRequest],
    options: EfcbOptions,
    templates: Mapping[str, frozenset[str]] | None = None,
    *,
    readers: FileReaders = lambda _pull: None,
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
    versions_of = _edited if options.rules.balanced_choices else _with_words_swapped
    made: dict[str, tuple[PullRequest, tuple[Query, ...], _Versions]] = {}
    rejected: list[RejectedChange] = []
    for pull in sorted(pulls, key=lambda pull: pull.key):
        queries = change_queries(pull, options, templates)
        versions = versions_of(pull, options, readers) if queries else "no_query"
        examined()
        if isinstance(versions, str):
            rejected.append(RejectedChange.from_pull_request(pull, TASK, versions))
        else:
            made[_change_key(pull)] = (pull, queries, versions)
    places = balanced_positions({key: pull.repo for key, (pull, *_) in made.items()}, options.seed, f"{TASK} positions")
    items = []
    for key, (pull, queries, versions) in made.items():
        wrong = list(versions.wrong)
        seeded_random(options.seed, f"{TASK} order", key).shuffle(wrong)
        choices = insert_choice(versions.right, wrong, places[key])
        items.append(ChoiceItem(pull, TASK, "", choices, places[key], queries, versions.labels))
    if texts is not None:
        items, undescribed = _described(items, texts, options)
        rejected += undescribed
    return items, sorted(rejected, key=lambda row: (row.repo, row.merge_sha, row.reason))


def _change_key(pull: PullRequest) -> str:
    return f"{pull.repo} {pull.merge_sha}"


def _described(
    items: Sequence[ChoiceItem], texts: TextSource, options: EfcbOptions
) -> tuple[list[ChoiceItem], list[RejectedChange]]:
    """Return four questions for each set whose texts pass, one for each version, with balanced orders."""
    # The id of a question by the change's own text, whose choices people describe.
    sets = {
        problem_id(TASK, "", item.pull.repo, item.pull.merge_sha, options.configuration(TASK)): item for item in items
    }
    described = texts.describe([VersionSet(name, item.choices) for name, item in sets.items()], options.seed)
    asked: list[ChoiceItem] = []
    rejected: list[RejectedChange] = []
    for name, item in sets.items():
        texts_of_set = described[name]
        if isinstance(texts_of_set, str):
            rejected.append(RejectedChange.from_pull_request(item.pull, TASK, texts_of_set, FOUR_TEXTS_TIER))
        else:
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


def _with_words_swapped(pull: PullRequest, options: EfcbOptions, _readers: FileReaders) -> _Versions | str:
    """Return a patch and three versions of it with two words exchanged, or why there are none."""
    # As in the release, where 99.4 % of the wrong choices differ from the right one in a single word, and consensus
    # finds .987.
    rendered = render_patch(pull, include_generated=True)
    wrong = word_swaps(rendered, seeded_random(options.seed, f"{TASK} words", _change_key(pull)), WRONG_CHOICE_COUNT)
    if len(wrong) < WRONG_CHOICE_COUNT:
        return "too_few_words"
    return _Versions(rendered.text, wrong, {CONSENSUS_LEAKY_LABEL: 1.0})


def _edited(pull: PullRequest, options: EfcbOptions, readers: FileReaders) -> _Versions | str:
    """Return a patch and its versions with one of two edits and with both, or why there are none."""
    patch = EditablePatch(render_patch(pull), readers(pull))
    pair = find_pair(patch, seeded_random(options.seed, f"{TASK} edits", _change_key(pull)))
    if isinstance(pair, str):
        return pair
    right, *wrong = (patch.apply(edits).text for edits in pair.versions)
    return _Versions(right, wrong, {"edits": sorted((pair.first.kind, pair.second.kind))})
