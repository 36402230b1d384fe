"""Review protocols: what people are asked about an item, and how decisions are settled. Files in ``protocols/``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import Field, model_validator

from caretbench.errors import UsageError
from caretbench.files import DataError, read_toml, sha256_json, validated
from caretbench.problem import Row

Answer = int | str
"""Answer to one question: a number on a scale, or the value of an option."""

MAX_CHOICES: Final = 9
"""Number of choices of a problem that digit keys can give."""

TEN_KEY: Final = "x"
"""Key of 10 on a scale, since a digit key has one digit."""


LONGEST_TEXT: Final = 20_000
"""Maximum length in characters of a text that answers a question."""


def chosen_values(answer: Answer) -> set[str]:
    """Return the values of an answer, of which a question of several has more than one."""
    return set(str(answer).split("+"))


class ReviewOption(Row):
    """One option of a question; ``paper_share`` is the share of the paper's rejections with this reason, 0 to 1."""

    value: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    text: str
    key: str = Field(pattern=r"^[a-z0-9]$")
    needs_note: bool = False
    paper_share: float | None = Field(default=None, ge=0, le=1)


class ReviewQuestion(Row):
    """One question about an item.

    Args:
        name: Name of the answer in exports.
        kind: ``scale``: a whole number from ``minimum`` to ``maximum``. ``choice``: one of ``options``.
            ``several``: one or more of ``options``, as their values in this order with ``+`` between them.
            ``problem_choice``: one of the choices of the item's own question. ``text``: words, which may be missing.
        text: The question, as people read it.
        anchors: Meaning of some numbers of the scale, by number.
        when: The question is asked only if these questions have these answers.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    kind: Literal["scale", "choice", "several", "problem_choice", "text"] = "scale"
    text: str
    minimum: int = Field(default=1, ge=0, le=10)
    maximum: int = Field(default=5, ge=1, le=10)
    anchors: Mapping[str, str] = Field(default_factory=dict)
    options: tuple[ReviewOption, ...] = ()
    when: Mapping[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.kind == "scale":
            # Agreement over one possible answer is undefined.
            if self.minimum >= self.maximum:
                raise ValueError(f"{self.name}: the scale from {self.minimum} to {self.maximum} has no two numbers")
            levels = {str(number) for number in self.numbers}
            # An anchor of 7 on a scale to 5 is a slip of the author's, and would not be shown.
            if set(self.anchors) - levels:
                raise ValueError(f"{self.name}: anchors must be numbers of the scale, {', '.join(sorted(levels))}")
        if (self.kind in {"choice", "several"}) != bool(self.options):
            raise ValueError(f"{self.name}: questions of the kinds choice and several have options, and no others")
        for field in ("value", "key"):
            entries = [getattr(option, field) for option in self.options]
            if twice := {entry for entry in entries if entries.count(entry) > 1}:
                raise ValueError(f"{self.name}: two options have the {field} {min(twice)!r}")
        return self

    @property
    def numbers(self) -> range:
        """Numbers of a scale."""
        return range(self.minimum, self.maximum + 1)

    def chosen(self, value: Answer) -> list[ReviewOption]:
        """Return the options of an answer, in their order."""
        values = chosen_values(value) if self.kind == "several" else {str(value)}
        return [option for option in self.options if option.value in values]

    def fits(self, value: Answer, choices: int = 0) -> bool:
        """Return whether this is an answer to the question; ``choices`` is the number of the item's own choices."""
        # Not isinstance: True is an int, and JSON from a browser may hold it.
        if self.kind == "scale":
            return type(value) is int and value in self.numbers
        if self.kind == "problem_choice":
            return type(value) is int and 0 <= value < choices
        if self.kind == "text":
            return isinstance(value, str) and 0 < len(value) <= LONGEST_TEXT
        return bool(self.options) and value == "+".join(option.value for option in self.chosen(value)) != ""


class SettlementRule(Row):
    """Rule by which the decisions of several people become one.

    ``adjudicate``: equal answers to ``question`` settle; other items go to the adjudicator. ``majority``: more than
    half of the answers; without a majority the item is dropped. ``mean``: the mean of every scale. ``all``: everybody
    must answer ``value``, else the other answer holds.
    """

    rule: Literal["adjudicate", "majority", "mean", "all"]
    question: str | None = None
    value: str | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.rule == "mean") == (self.question is not None):
            raise ValueError(f"the rule {self.rule} {'has no' if self.rule == 'mean' else 'needs a'} question")
        if (self.rule == "all") != (self.value is not None):
            raise ValueError("value belongs to the rule all, and is required there")
        return self


class ControlRule(Row):
    """Control of one kind: an item whose right answers are known. ``expect`` has the right answers by question."""

    kind: Literal["reference", "reference-twice", "other-reference", "empty"]
    expect: Mapping[str, tuple[Answer, ...]] = Field(min_length=1)
    explanation: str
    """Shown after a warm-up item is decided."""


class ItemMix(Row):
    """Shares of additional items: ``repeats`` of a person's items come twice, ``controls`` are added; both 0 to 1.

    ``warm_up`` controls come first, and their right answers are shown after each decision.
    """

    repeats: float = Field(default=0.0, ge=0, le=1)
    controls: float = Field(default=0.0, ge=0, le=1)
    warm_up: int = Field(default=0, ge=0)


class ReviewProtocol(Row):
    """Protocol of a review.

    Args:
        name: Its name; ``key`` adds the version, which every decision carries.
        subject: What people see: a ``problem`` with its reference, an ``answer`` of a model, or a ``question`` that
            they answer themselves.
        people: Number of people who decide each item, without the adjudicator.
        shows: Optional parts of an item that people see: hidden ``tests``, the ``verdict`` of the run, and the
            ``reference`` beside an answer.
        criterion: Criterion of judges that the answers validate; scale questions have the names of its scores.
        guidelines: Text in Markdown.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    version: int = Field(ge=1)
    title: str
    subject: Literal["problem", "answer", "question"]
    people: int = Field(ge=1)
    shows: tuple[Literal["tests", "verdict", "reference"], ...] = ()
    criterion: str | None = None
    questions_from_criterion: bool = False
    """True: the questions are the scores of the criterion that is named when the review is made."""
    suites: tuple[str, ...] = ()
    """Suites that the protocol is for; empty: all."""
    questions: tuple[ReviewQuestion, ...] = ()
    settlement: SettlementRule
    mix: ItemMix = ItemMix()
    controls: tuple[ControlRule, ...] = ()
    guidelines: str = ""

    @model_validator(mode="after")
    def _questions_fit(self) -> Self:
        names = [question.name for question in self.questions]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two questions have the name {twice[0]!r}")
        if not names and not self.questions_from_criterion:
            raise ValueError("a protocol needs questions, or questions_from_criterion = true")
        for question in self.questions:
            # The page asks in order, so a condition on a later question would never be met when it is needed.
            earlier = names[: names.index(question.name)]
            for name, wanted in question.when.items():
                if name not in earlier:
                    raise ValueError(f"{question.name}: `when` names {name!r}, which is no question before it")
                self._check_answer(f"{question.name}: `when`", name, wanted)
        self._refuse_equal_keys()
        return self

    @model_validator(mode="after")
    def _rules_fit(self) -> Self:
        settlement = self.settlement
        # With questions_from_criterion they are not known yet; the check runs again when they are.
        if self.questions and settlement.question is not None:
            question = self.question(settlement.question)
            if question is None:
                raise ValueError(f"settlement names {settlement.question!r}, which is no question")
            if question.kind == "text":
                raise ValueError(f"settlement names {settlement.question!r}, a text: nothing is settled by words")
            if settlement.value is not None:
                self._check_answer("settlement", settlement.question, settlement.value)
        for control in self.controls:
            for name, values in control.expect.items():
                for value in values:
                    self._check_answer(f"control {control.kind}", name, value)
        if (self.mix.controls or self.mix.warm_up) and not self.controls:
            raise ValueError("mix asks for controls or a warm-up, but the protocol has no controls")
        return self

    def _check_answer(self, where: str, name: str, value: Answer) -> None:
        question = self.question(name)
        if question is None:
            raise UsageError(f"{where} names {name!r}, which is no question")
        if question.kind == "scale" and value not in question.numbers:
            raise UsageError(f"{where}: {value!r} is not on the scale of {name}")
        if question.kind == "text":
            raise UsageError(f"{where}: {name} is a text, and nothing depends on its words")
        if question.options and not question.fits(value):
            raise UsageError(f"{where}: {value!r} is no option of {name}")

    def _refuse_equal_keys(self) -> None:
        """Letter keys work at any moment, so no two questions may share one; digits apply to the open question."""
        letters: dict[str, str] = {}
        keys = ((option.key, question.name) for question in self.questions for option in question.options)
        for key, name in keys:
            if key in letters:
                raise UsageError(f"the key {key!r} occurs in {letters[key]} and {name}")
            if key in PAGE_KEYS:
                raise UsageError(f"{name}: the key {key!r} is the page's ({PAGE_KEYS[key]}); choose another")
            if key.isalpha():
                letters[key] = name

    @property
    def key(self) -> str:
        """Name and version, ``devbench-instance@1``."""
        return f"{self.name}@{self.version}"

    @property
    def fingerprint(self) -> str:
        """Hash of everything that people see or that settles."""
        # Two protocols of one name and version may differ by an edit: their decisions are not joined.
        return sha256_json(self.model_dump(mode="json"))

    def question(self, name: str) -> ReviewQuestion | None:
        """Return the question with this name, or None."""
        return next((question for question in self.questions if question.name == name), None)

    def open_questions(self, answers: Mapping[str, Answer]) -> Iterator[ReviewQuestion]:
        """Yield the questions that belong to an item, given the answers so far, in order."""
        for question in self.questions:
            if all(value in chosen_values(answers.get(name, "")) for name, value in question.when.items()):
                yield question

    def faults(self, answers: Mapping[str, Answer], note: str, choices: int = 0) -> str | None:
        """Return what is wrong with the answers of a decision, or None.

        Args:
            answers: Answers by question.
            note: The note of the decision.
            choices: Number of choices of the item's own question.
        """
        due = {question.name: question for question in self.open_questions(answers)}
        unknown = sorted(set(answers) - set(due))
        if unknown:
            return f"{unknown[0]} is not asked here"
        for name, question in due.items():
            if name not in answers:
                if question.kind == "text":
                    continue
                return f"{name} has no answer"
            value = answers[name]
            if not question.fits(value, choices):
                return f"{name}: {value!r} is no answer to this question"
            in_note = next((option.value for option in question.chosen(value) if option.needs_note), None)
            if in_note is not None and not note.strip():
                return f"{name}: {in_note} needs a note"
        return None


PAGE_KEYS: Final[Mapping[str, str]] = {
    "u": "undo",
    "l": "later",
    "n": "note",
    "g": "guidelines",
    "w": "show blanks",
    "d": "difference from the reference",
    "t": "tests",
    "f": "unfold all lines",
    "b": "ask them again",
    "x": "ten",
}
"""Keys of the page itself, which no option may have; ``?`` shows all keys."""


def protocol_names() -> Sequence[str]:
    """Return the names of CaretBench's protocols."""
    return sorted(path.name.removesuffix(".toml") for path in _folder().iterdir() if path.name.endswith(".toml"))


def load_protocol(name: str) -> ReviewProtocol:
    """Return CaretBench's protocol with this name, or the one in a user's TOML file.

    The guidelines are the Markdown file of the same name in the same folder, unless the file has them itself.

    Raises:
        UsageError: no such protocol; the message lists the known ones.
        DataError: the file cannot be read or is no protocol.
    """
    if name.endswith(".toml"):
        path = Path(name)
        return _parse(path, path.with_suffix(".md"))
    if name not in protocol_names():
        names = ", ".join(protocol_names())
        raise UsageError(f"unknown protocol {name!r}; known: {names}, or a path that ends in .toml")
    return _parse(_folder() / f"{name}.toml", _folder() / f"{name}.md")


def _folder() -> Traversable:
    return resources.files("caretbench.people.review").joinpath("protocols")


def _parse(path: Traversable | Path, guidelines: Traversable | Path) -> ReviewProtocol:
    value = read_toml(path)
    # A review stores its protocol whole: later edits of the files do not change what people agreed to.
    if "guidelines" not in value and guidelines.is_file():
        try:
            value["guidelines"] = guidelines.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{guidelines}: cannot be read ({error})") from None
    return validated(ReviewProtocol, value, path)
