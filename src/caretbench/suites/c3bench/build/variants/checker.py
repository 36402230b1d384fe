"""Check of instructions by a model, which reads each back: implementation, category, demands."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, get_args

from pydantic import JsonValue, ValidationError

from caretbench.build.build_models import BuildModels
from caretbench.files import describe_validation_error, sha256_text
from caretbench.judging.parsing import json_object
from caretbench.models import Sampling
from caretbench.problem import Row
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, Variant
from caretbench.suites.c3bench.build.variants.demands import Demands, constructs, demand_faults
from caretbench.suites.c3bench.build.variants.structured_answers import (
    StructuredRequest,
    UnreadableAnswer,
    readable_answers,
)
from caretbench.suites.c3bench.implementations.rewrite import Category

CHECKER_ROLE: Final = "checker"
SAMPLING: Final = Sampling(max_tokens=1024, temperature=0, top_p=None)
NO_IMPLEMENTATION: Final = "none"


class InstructionReading(Row):
    """Answer of a checker: letter of the implementation, category, constructs that are demanded and forbidden."""

    implementation: str
    category: Category
    demands: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()


class _Subject(NamedTuple):
    """Variant with the texts among which its own is to be found, by letter."""

    context: CodeContext
    variant: Variant
    letters: Mapping[str, str]


Group = tuple[CodeContext, Sequence[Variant]]


def checked_readings(groups: Sequence[Group], models: BuildModels) -> dict[tuple[str, str], str]:
    """Return the fault of each instruction by context and variant; empty where the checker reads what was meant.

    The checker must find the implementation among all of the context, name the category, and demand nothing that the
    implementation lacks. It sees shown text, implementations and the instruction.

    Raises:
        AnswersMissingError: the checker did not answer.
    """
    subjects = {
        f"{context.id}/{one.name}": _Subject(context, one, _letters(context, variants))
        for context, variants in groups
        for one in variants
    }
    (checker,) = models.names(CHECKER_ROLE)
    requests = {checker: [_request(key, one) for key, one in subjects.items()]}
    answers = readable_answers(models, CHECKER_ROLE, requests, lambda _key, text: _reading(text))
    return {(one.context.id, one.variant.name): _fault(one, answers[checker, key]) for key, one in subjects.items()}


def _letters(context: CodeContext, variants: Sequence[Variant]) -> Mapping[str, str]:
    """Return all implementations of a context by letter, in an order that says nothing."""
    texts = dict.fromkeys(
        [context.reference, *(other.text for other in context.others), *(one.text for one in variants)]
    )
    ordered = sorted(texts, key=lambda text: sha256_text(context.id, text))
    return {_letter(number): text for number, text in enumerate(ordered)}


def _letter(number: int) -> str:
    high, low = divmod(number, len(string.ascii_uppercase))
    return f"{string.ascii_uppercase[low]}{high or ''}"


def _request(key: str, one: _Subject) -> StructuredRequest:
    context = one.context
    listed = "\n\n".join(f"Implementation {letter}:\n{text.rstrip()}" for letter, text in one.letters.items())
    words = {
        "language": context.language,
        "instruction": one.variant.instruction,
        "constructs": ", ".join(constructs()),
        "program": f"{context.prefix}<<<MIDDLE>>>\n{context.suffix}",
        "implementations": listed,
    }
    return StructuredRequest(key, words, _schema([*one.letters]), SAMPLING, "an instruction to read back")


def _schema(letters: list[str]) -> Mapping[str, JsonValue]:
    names: JsonValue = {"type": "array", "items": {"type": "string", "enum": list(constructs())}}
    return {
        "type": "object",
        "properties": {
            "implementation": {"type": "string", "enum": [*letters, NO_IMPLEMENTATION]},
            "category": {"type": "string", "enum": list(get_args(Category))},
            "demands": names,
            "forbids": names,
        },
        "required": ["implementation", "category", "demands", "forbids"],
        "additionalProperties": False,
    }


def _reading(text: str) -> InstructionReading:
    """Return the reading in an answer.

    Raises:
        ValueError: the answer is no such object.
    """
    try:
        return InstructionReading.model_validate(json_object(text))
    except ValidationError as error:
        raise ValueError(describe_validation_error(error)) from None


def _fault(one: _Subject, answer: InstructionReading | UnreadableAnswer) -> str:
    if isinstance(answer, UnreadableAnswer):
        return f"the checker's answer cannot be read: {answer.fault}"
    letter = answer.implementation.strip().removeprefix("Implementation ")
    if one.letters.get(letter) != one.variant.text:
        return "the checker finds another implementation" if letter in one.letters else "the checker finds none"
    if answer.category != one.variant.category:
        return f"the checker reads the category {answer.category}, not {one.variant.category}"
    known = constructs()
    demands = Demands(
        required=frozenset(answer.demands).intersection(known), forbidden=frozenset(answer.forbids).intersection(known)
    )
    features = one.context.features(one.variant.text)
    faults = demand_faults(demands, one.variant.text, "", features)
    return f"the checker reads a demand that the version does not meet: {', '.join(faults)}" if faults else ""
