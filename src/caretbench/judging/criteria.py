"""Criteria of a problem: those that its checks name, or at a caret without one the profile's."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Final, Literal, NamedTuple, Self

from pydantic import Field, JsonValue, model_validator

from caretbench.errors import UsageError, did_you_mean
from caretbench.files import DataError, read_toml, sha256_json, validated
from caretbench.models import Sampling
from caretbench.problem import Caret, CriterionCheck, Problem, Profile, Row
from caretbench.profiles import rules_of

AnswerForm = Literal["scores", "final-sum", "number", "flag", "claims", "label", "decision"]
"""Form of a judge's answer, which decides how it is parsed.

``scores``: a JSON object with every score. ``number``: one number and nothing else; ``flag``: 1 or 0 and nothing else.
``claims``: a JSON object with a list of statements. ``label``: a JSON object that names the one score that gets 1.
``decision``: ``[JUDGMENT]yes[/JUDGMENT]`` or ``no``, once, with any text around it; yes is 1 and no is 0.
These are parsed strictly; ``final-sum`` is parsed as in DevBench's released code.
"""

Subject = Literal["caret", "answer", "claim"]
"""Kind of judged text: a text at a caret, the answer to a question, or one statement of an answer."""

_CARET_PLACEHOLDERS = frozenset({"language", "prefix", "completion", "suffix", "mark", "instruction", "reference"})
_SHOWN: Mapping[Subject, frozenset[str]] = {
    "caret": frozenset({"prefix", "completion", "suffix"}),
    "answer": frozenset({"answer"}),
    "claim": frozenset({"claim"}),
}
"""Placeholders that a prompt must contain."""

# The fingerprint is in the key of every stored judgement: a better description must not ask for all of them again.
_NOT_IN_FINGERPRINT = frozenset(["about", "sampling", "subject", "repeats", "overall", "paper", "then", "only"])
"""Fields without influence on a judge's answer, which are not part of the fingerprint."""


class Scale(Row):
    """Scale of one score, from 0 to ``maximum``."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    maximum: float = Field(gt=0, allow_inf_nan=False)
    about: str = ""


class PromptText(Row):
    """Prompt text with placeholders.

    At a caret: ``$prefix``, ``$completion``, ``$suffix``, ``$language``, ``$mark``, ``$instruction`` and
    ``$reference``; with an instruction, prefix and suffix may be omitted. For a question: ``$question``, ``$shown``
    (the question with its context files), ``$reference``, ``$answer``, ``$claim``, ``$mark``, and each context file by
    its name without suffix (``$patch`` for ``patch.diff``). ``$pair`` is replaced by the two parts of ``pair``, in this
    order for even repeats and in reverse order for odd ones.
    """

    system: str | None = None
    user: str
    pair: tuple[str, str] | None = None

    @model_validator(mode="after")
    def _placeholders_are_valid(self) -> Self:
        if not all(Template(text).is_valid() for text in (self.user, *(self.pair or ()))):
            raise ValueError("a dollar sign that is not a placeholder must be written as $$")
        if ("pair" in Template(self.user).get_identifiers()) != (self.pair is not None):
            raise ValueError("unknown placeholders: pair; $pair and the two parts of a pair belong together")
        return self

    @property
    def placeholders(self) -> frozenset[str]:
        """Names of all placeholders, including those within the pair."""
        texts = (self.user, *(self.pair or ()))
        return frozenset(name for text in texts for name in Template(text).get_identifiers()) - {"pair"}


class Criterion(Row):
    """Criterion of a judge. The score of a text is the sum of all scores, or the mean of those in ``overall``.

    Args:
        subject: Kind of judged text.
        repeats: Default number of judgements of each text.
        overall: Names of the scores whose mean is the score of a text; empty: the sum of all scores.
        paper: Name of the criterion that replaces this one under the paper profile.
        then: Name of the criterion that judges each statement found by this one.
        only: ``passed``: judge only completions that passed; None: judge all.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    version: int = Field(ge=1)
    about: str = ""
    form: AnswerForm
    # After three unreadable answers the judgement counts as missing, and the next run asks for it again.
    tries: int = Field(default=3, ge=1, le=10)
    """Maximum number of tries for a readable answer, including the first."""
    sampling: Sampling = Sampling(max_tokens=8192, temperature=None, top_p=None)
    scores: tuple[Scale, ...] = Field(min_length=1)
    prompt: PromptText
    subject: Subject = "caret"
    repeats: int = Field(default=1, ge=1)
    overall: tuple[str, ...] = ()
    paper: str | None = None
    then: str | None = None
    only: Literal["passed"] | None = None

    @model_validator(mode="after")
    def _scores_are_distinct(self) -> Self:
        names = [scale.name for scale in self.scores]
        if len(set(names)) < len(names) or "reasoning" in names:
            raise ValueError("names of scores must be distinct, and none may be 'reasoning'")
        if self.form in _ONE_SCORE and len(names) > 1:
            raise ValueError(f"the form {self.form} needs exactly one score{_ONE_SCORE[self.form]}")
        # Controls and reports of decisions compare yes and no, 1 and 0.
        if self.form == "decision" and (self.subject != "caret" or self.scores[0].maximum != 1):
            raise ValueError("the form decision is for texts at carets, and its score has the maximum 1")
        if self.form == "decision" and not self.shows_instruction:
            raise ValueError("the form decision is about an instruction; show it: $instruction")
        if set(self.overall) - set(names):
            raise ValueError("overall must contain names of scores")
        # Statements without a second criterion would be counted, and never judged.
        if (self.then is not None) != (self.form == "claims"):
            raise ValueError(
                "`then` (the criterion that judges each claim) is required for the form claims, and for no other"
            )
        return self

    @model_validator(mode="after")
    def _placeholders_are_known(self) -> Self:
        placeholders = self.prompt.placeholders
        if self.only is not None and self.subject != "caret":
            raise ValueError(
                "only = 'passed' is for texts at carets; answers to questions have no verdict before they are judged"
            )
        if self.subject == "caret" and placeholders - _CARET_PLACEHOLDERS:
            raise ValueError(f"unknown placeholders: {', '.join(sorted(placeholders - _CARET_PLACEHOLDERS))}")
        lacking = _SHOWN[self.subject] - placeholders
        if self.shows_instruction:  # a criterion of the instruction alone may do without the program
            lacking -= {"prefix", "suffix"}
        if lacking:
            raise ValueError(f"the prompt has no placeholder {', '.join(sorted(lacking))}")
        return self

    @property
    def shows_instruction(self) -> bool:
        """Return whether the judge sees the instruction of a caret; such a criterion is only for carets with one."""
        return self.subject == "caret" and "instruction" in self.prompt.placeholders

    @property
    def key(self) -> str:
        """Name and version, ``devbench-quality@1``."""
        return f"{self.name}@{self.version}"

    @property
    def maximum(self) -> float:
        """Maximum sum, or maximum mean of ``overall``."""
        if self.overall:
            tops = [scale.maximum for scale in self.scores if scale.name in self.overall]
            return sum(tops) / len(tops)
        return sum(scale.maximum for scale in self.scores)

    def value(self, scores: Mapping[str, float]) -> float:
        """Return the score of a text from its scores: the mean of ``overall``, or the sum of all."""
        if self.overall:
            return math.fsum(scores[name] for name in self.overall) / len(self.overall)
        return math.fsum(scores[scale.name] for scale in self.scores)

    @property
    def order_count(self) -> int:
        """Number of orders in which a pair is shown; repeats cycle through them."""
        return 1 if self.prompt.pair is None else 2

    @property
    def fingerprint(self) -> str:
        """Hash of all fields that influence answers: part of the parameters of every judgement."""
        value = self.model_dump(mode="json", exclude=set(_NOT_IN_FINGERPRINT))
        if self.prompt.pair is None:  # criteria that have none were stored without the field
            del value["prompt"]["pair"]
        return sha256_json(value)

    @property
    def json_schema(self) -> Mapping[str, JsonValue] | None:
        """JSON schema of the answer, for providers that can enforce one; None if the answer is not JSON."""
        properties = _PROPERTIES[self.form](self.scores) if self.form in _PROPERTIES else None
        if properties is None:
            return None
        required: list[JsonValue] = list(properties)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _score_properties(scores: Sequence[Scale]) -> dict[str, JsonValue]:
    properties: dict[str, JsonValue] = {"reasoning": {"type": "string"}}
    for scale in scores:
        properties[scale.name] = {"type": "number", "minimum": 0, "maximum": scale.maximum, "description": scale.about}
    return properties


def _claim_properties(scores: Sequence[Scale]) -> dict[str, JsonValue]:
    text: JsonValue = {"type": "string"}
    return {CLAIMS: {"type": "array", "items": text, "maxItems": int(scores[0].maximum)}}


def _label_properties(scores: Sequence[Scale]) -> dict[str, JsonValue]:
    names: list[JsonValue] = [scale.name for scale in scores]
    return {"reasoning": {"type": "string"}, VERDICT: {"type": "string", "enum": names}}


CLAIMS: Final = "claims"
"""Name of the list in an answer of the form ``claims``."""

VERDICT: Final = "verdict"
"""Name of the label in an answer of the form ``label``."""

_PROPERTIES: Mapping[AnswerForm, Callable[[Sequence[Scale]], dict[str, JsonValue]]] = {
    "scores": _score_properties,
    "claims": _claim_properties,
    "label": _label_properties,
}
_ONE_SCORE: Mapping[AnswerForm, str] = {
    "final-sum": ", the total", "number": "", "flag": "", "claims": "", "decision": "",
}  # fmt: skip


_added: Final[list[Traversable]] = []


@cache
def criteria() -> Mapping[str, Criterion]:
    """Return all criteria by name: CaretBench's, and those of suites."""
    folders = [resources.files("caretbench.judging").joinpath("templates"), *_added]
    by_name: dict[str, Criterion] = {}
    for folder in folders:
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if file.name.endswith(".toml"):
                entry = _parse(file)
                # Stored judgements name the criterion alone, so two of one name could not be told apart.
                if entry.name in by_name:
                    raise DataError(f"{file}: a criterion {entry.name!r} exists already; choose another name")
                by_name[entry.name] = entry
    return {name: by_name[name] for name in sorted(by_name)}


def add_criteria(folder: Traversable) -> None:
    """Register the criteria in a folder of TOML files, in the format of those in ``templates/``."""
    # A suite that is imported twice in one process must not clash with itself.
    if folder not in _added:
        _added.append(folder)
        criteria.cache_clear()


def get_criterion(name: str) -> Criterion:
    """Return the criterion with this name, this key (``devbench-quality@1``), or in this TOML file.

    Raises:
        UsageError: no such criterion, or not in this version; the message lists the known ones.
        DataError: the file cannot be read or is not a criterion.
    """
    if name.endswith(".toml"):
        return load_criterion(Path(name))
    named = criteria().get(name.partition("@")[0])
    if named is None or name not in {named.name, named.key}:
        known = ", ".join(entry.key for entry in criteria().values())
        guess = did_you_mean(name, criteria())
        raise UsageError(f"unknown criterion {name!r}{guess}; known: {known}, or a path that ends in .toml")
    return named


def load_criterion(path: Path) -> Criterion:
    """Return a user's criterion from a TOML file in the format of those in ``templates/``.

    Raises:
        DataError: the file cannot be read, is not a criterion, or has the name of one of CaretBench's criteria.
    """
    loaded = _parse(path)
    # A report over runs of several users would mix both under one name.
    if loaded.name in criteria():
        raise DataError(f"{path}: {loaded.name!r} is the name of one of CaretBench's criteria; choose another")
    return loaded


def _parse(path: Traversable | Path) -> Criterion:
    value = read_toml(path)
    if isinstance(value.get("sampling"), dict):  # unset options are not sent
        value["sampling"] = {"temperature": None, "top_p": None} | value["sampling"]
    return validated(Criterion, value, path)


class CriterionProblems(NamedTuple):
    """Problems that are judged by one criterion."""

    criterion: Criterion
    problems: tuple[Problem, ...]


def criteria_for(problem: Problem, profile: Profile) -> Iterator[Criterion]:
    """Yield the criteria of a problem; none for a multiple-choice problem.

    Under ``paper``, the criterion of the paper replaces the named one. A caret with an instruction has only those that
    its checks name: the profile's own does not show the instruction.

    Raises:
        UsageError: a check names an unknown criterion; the message lists the known ones.
    """
    named = [check.name for check in problem.checks if isinstance(check, CriterionCheck)]
    # The profile's criterion rates quality and shows no instruction: it would rate an answer to another instruction as
    # good.
    if not named and isinstance(problem.shown, Caret) and not problem.shown.instruction:
        named = [rules_of(profile).criterion]
    for name in named:
        entry = get_criterion(name)
        yield (get_criterion(entry.paper) if rules_of(profile).released_criterion and entry.paper else entry)


def problems_by_criterion(
    problems: Sequence[Problem], profile: Profile, only: Criterion | None = None
) -> list[CriterionProblems]:
    """Return the problems of each criterion, in the order of first use; a problem may have several criteria.

    With ``only``, this criterion replaces those of all judged problems of its kind (carets or questions, with an
    instruction if it shows one).

    Raises:
        UsageError: ``only`` is about statements, which another criterion must find first.
    """
    if only is not None and only.subject == "claim":
        raise UsageError(f"{only.key} judges the statements that another criterion finds; name that one instead")
    by_key: dict[str, tuple[Criterion, list[Problem]]] = {}
    for problem in problems:
        criteria = list(criteria_for(problem, profile))
        if only is not None:
            # A problem that nobody judges by default (multiple choice) is not judged by a chosen criterion either.
            criteria = [only] if criteria and _applies(only, problem) else []
        for entry in criteria:
            by_key.setdefault(entry.key, (entry, []))[1].append(problem)
    return [CriterionProblems(entry, tuple(chosen)) for entry, chosen in by_key.values()]


def instructed_problems(problems: Sequence[Problem], profile: Profile) -> list[Problem]:
    """Return the judged problems with an instruction, from which the controls of criteria that show it are taken."""
    return [
        problem
        for problem in problems
        if isinstance(problem.shown, Caret) and problem.shown.instruction and any(criteria_for(problem, profile))
    ]


def _applies(criterion: Criterion, problem: Problem) -> bool:
    if criterion.subject != "caret":
        return not isinstance(problem.shown, Caret)
    return isinstance(problem.shown, Caret) and (not criterion.shows_instruction or bool(problem.shown.instruction))
