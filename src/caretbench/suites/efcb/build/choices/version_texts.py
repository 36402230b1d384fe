"""Texts for GMCQ-Hard: each of four versions of a patch has one, so that each version is right once.

A model writes a text from one version alone (``-m writer=``), and a second model picks the version from the text
(``-m checker=``); people may write and pick instead (``--texts``). A set with a text that fails is dropped whole.
Whoever ignores the texts answers the four questions alike, and is right in exactly one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pydantic import JsonValue

from caretbench.build.build_models import NO_MODELS, BuildModels, BuildRequest
from caretbench.errors import DataError, UsageError
from caretbench.files import read_rows, sha256_json
from caretbench.grouping import grouped
from caretbench.problem import Row
from caretbench.suites.efcb.choices import LETTERS, parse_strictly, remove_reasoning
from caretbench.suites.efcb.lexical_similarity import tokenize
from caretbench.suites.efcb.problem_metadata import seeded_random

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
        written = {one.name: self._people_texts(one) for one in sets if one.name in self.people}
        if WRITER_ROLE in self.models.roles:
            written |= self._model_texts([one for one in sets if one.name not in written])
        described: dict[str, SetTexts | NoTextReason] = {}
        fit: dict[VersionSet, SetTexts] = {}
        for one in sets:
            texts = written.get(one.name)
            fault = "no_text" if texts is None else _fault(one, texts.texts)
            if texts is None or fault is not None:
                described[one.name] = fault or "no_text"
            else:
                fit[one] = texts
        picked = self._picks(fit, seed)
        for one, texts in fit.items():
            picks = picked.get(one.name)
            described[one.name] = "unchecked" if picks is None else texts if picks == list(LETTERS) else "not_picked"
        return described

    def _people_texts(self, one: VersionSet) -> SetTexts:
        rows = sorted(self.people[one.name], key=lambda row: row.choice)
        return SetTexts(tuple(row.text.strip() for row in rows), "people")

    def _model_texts(self, sets: Sequence[VersionSet]) -> dict[str, SetTexts]:
        requests = [
            BuildRequest(f"{one.name}/{letter}", _writer_prompt(one, version), about=f"text of version {letter}")
            for one in sets
            for version, letter in enumerate(LETTERS)
        ]
        answers = self.models.ask(WRITER_ROLE, requests)
        return {
            one.name: SetTexts(tuple(_plain(answers[f"{one.name}/{letter}"]) for letter in LETTERS), "model")
            for one in sets
        }

    def _picks(self, sets: Mapping[VersionSet, SetTexts], seed: int) -> dict[str, list[str | None]]:
        """Return what was picked from the texts of each set, by the checker if there is one, else by people."""
        if CHECKER_ROLE not in self.models.roles:
            rows = {one.name: sorted(self.people[one.name], key=lambda row: row.choice) for one in sets}
            return {name: [row.picked for row in of] for name, of in rows.items() if all(row.picked for row in of)}
        asked = {
            (one.name, letter): _Check.of(one, letter, text, seed)
            for one, told in sets.items()
            for letter, text in zip(LETTERS, told.texts, strict=True)
        }
        requests = [
            BuildRequest(f"{name}/{letter}", check.prompt, about=f"version of text {letter}")
            for (name, letter), check in asked.items()
        ]
        answers = self.models.ask(CHECKER_ROLE, requests)
        picks = {key: check.version(parse_strictly(answers["/".join(key)]).letter) for key, check in asked.items()}
        return {one.name: [picks[one.name, letter] for letter in LETTERS] for one in sets}


class _Check(NamedTuple):
    """Request to pick a version; ``order`` has the letters of the versions as they are shown."""

    prompt: str
    order: tuple[str, ...]

    @classmethod
    def of(cls, one: VersionSet, letter: str, text: str, seed: int) -> _Check:
        """Return the request for one text of a set, with the versions in a drawn order."""
        order = tuple(seeded_random(seed, "gmcq-hard check", f"{one.name} {letter}").sample(LETTERS, len(LETTERS)))
        shown = "".join(
            f"\nVersion {place}:\n\n{one.versions[LETTERS.index(version)]}"
            for place, version in zip(LETTERS, order, strict=True)
        )
        return cls(
            f"A text describes one of four versions of a patch.\n\nText: {text}\n{shown}\nWhich version does the text "
            "describe? Answer with its letter alone; with the word none if it fits none of them, or several.\n",
            order,
        )

    def version(self, picked: str | None) -> str | None:
        """Return the version that was picked by its shown letter."""
        return None if picked is None else self.order[LETTERS.index(picked)]


def _writer_prompt(one: VersionSet, version: int) -> str:
    lines = "\n".join(one.edited_lines(version))
    return (
        "Describe in two to four sentences of plain English what the code does after this patch. A reader who is shown "
        "several similar patches must find this one by your text alone, so be exact about what these lines of it do: "
        "which value is used for what, which case is included, what happens then.\n"
        "Do not quote code, and do not guess what was meant: describe what is written, even if it looks wrong. Answer "
        f"with the text alone.\n\nThe patch:\n\n{one.versions[version]}\nThe lines:\n\n{lines}\n"
    )


def _plain(answer: str) -> str:
    return " ".join((remove_reasoning(answer) or "").split())


def _fault(one: VersionSet, texts: Sequence[str]) -> NoTextReason | None:
    """Return the reason for which texts cannot be used, without asking anybody."""
    if not all(text and len(text.split()) <= MAX_WORDS for text in texts):
        return "no_text"
    if len({" ".join(tokenize(text.lower())) for text in texts}) < len(texts):
        return "same_text"
    if any(_quotes(text, line) for version, text in enumerate(texts) for line in one.edited_lines(version)):
        return "quotes_code"
    return None


def _quotes(text: str, line: str) -> bool:
    """Return whether a text has a longer run of tokens from a line of code than an English sentence has by chance."""
    size = MAX_QUOTED + 1
    return not set(_runs(tokenize(text), size)).isdisjoint(_runs(tokenize(line[1:]), size))


def _runs(tokens: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    for start in range(len(tokens) - size + 1):
        yield tuple(tokens[start : start + size])
