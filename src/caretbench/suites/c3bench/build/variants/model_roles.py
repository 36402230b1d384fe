"""Models of a build: a generator writes implementations and instructions, a checker reads instructions back."""

from __future__ import annotations

import string
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from string import Template
from typing import Final, NamedTuple, TypeVar, get_args

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from caretbench.build.build_models import BuildModels, BuildRequest
from caretbench.files import describe_validation_error, read_packaged_toml, replace_surrogates, sha256_text
from caretbench.judging.parsing import json_object
from caretbench.models import ChatPrompt, Message, Sampling
from caretbench.problem import Row
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, ExaminedVariant, Variant
from caretbench.suites.c3bench.build.variants.demands import Demands, constructs, demand_faults
from caretbench.suites.c3bench.implementations.rewrite import Category

TRIES: Final = 2
"""Maximum number of answers to one request, with the first."""

# An answer that repeats itself would fill the context of the next request.
_SHOWN_ANSWER = 8_000
ValueT = TypeVar("ValueT")


class RolePrompt(Row):
    """Prompt of a role: a system message, the request, and the request after an unreadable answer."""

    version: int
    system: str
    user: str
    again: str


@cache
def role_prompts(package: str = __package__, name: str = "prompts.toml") -> Mapping[str, RolePrompt]:
    """Return the prompts of a packaged file by role; by default C3-Bench's."""
    return TypeAdapter(dict[str, RolePrompt]).validate_python(read_packaged_toml(package, name))


@dataclass(frozen=True)
class StructuredRequest:
    """Request for a JSON object: its key, the words that fill the role's prompt, and the object's schema."""

    key: str
    words: Mapping[str, str]
    schema: Mapping[str, JsonValue]
    sampling: Sampling
    about: str

    def first(self, role: str, prompt: RolePrompt) -> BuildRequest:
        """Return the request to a model of a role."""
        user = Template(prompt.user).substitute(self.words).strip()
        messages = (Message(role="system", text=prompt.system.strip()), Message(role="user", text=user))
        chat = ChatPrompt(messages=messages, schema_name=role, json_schema=self.schema)
        return BuildRequest(self.key, chat, self.sampling, self.about)


@dataclass(frozen=True)
class UnreadableAnswer:
    """Last answer to a request that cannot be read, with the reason."""

    fault: str
    text: str


def readable_answers(
    models: BuildModels,
    role: str,
    requests: Mapping[str, Sequence[StructuredRequest]],
    read: Callable[[str, str], ValueT],
    prompt: RolePrompt | None = None,
) -> dict[tuple[str, str], ValueT | UnreadableAnswer]:
    """Return the answers by model name and request key; unreadable ones are requested once more.

    Args:
        models: Models of the build.
        role: Role of the models.
        requests: Requests by model name.
        read: Returns the value of an answer from the request's key and the text; raises ValueError for an unreadable
            one.
        prompt: Prompt of the role; by default C3-Bench's.
    """
    readable: dict[tuple[str, str], ValueT | UnreadableAnswer] = {}
    prompt = prompt or role_prompts()[role]
    pending = {
        name: {request.key: request.first(role, prompt) for request in asked} for name, asked in requests.items()
    }
    for number in range(1, TRIES + 1):
        pending = {name: asked for name, asked in pending.items() if asked}
        if not pending:
            break
        answers = models.ask_each(role, {name: [*asked.values()] for name, asked in pending.items()})
        following: dict[str, dict[str, BuildRequest]] = {name: {} for name in pending}
        for name, asked in pending.items():
            for key, request in asked.items():
                text = answers[name][request.key]
                try:
                    readable[name, key] = read(key, text)
                # The reason goes back to the model, which mends a missing field better than it guesses what was wrong.
                except ValueError as error:
                    readable[name, key] = UnreadableAnswer(str(error), text)
                    following[name][key] = _again(prompt, request, f"{key}#{number + 1}", text, str(error))
        pending = following
    return readable


def _again(prompt: RolePrompt, request: BuildRequest, key: str, answer: str, fault: str) -> BuildRequest:
    """Return the request after an unreadable answer: the conversation so far, the answer and its fault."""
    assert isinstance(request.prompt, ChatPrompt)  # noqa: S101  each of these requests is a conversation
    added = (
        Message(role="assistant", text=answer[:_SHOWN_ANSWER] or "(no text)"),
        Message(role="user", text=Template(prompt.again).substitute(fault=fault).strip()),
    )
    return replace(
        request, key=key, prompt=request.prompt.model_copy(update={"messages": request.prompt.messages + added})
    )


GENERATOR_ROLE: Final = "generator"
MIN_VERSIONS: Final = 3
MAX_VERSIONS: Final = 12
"""Largest number of versions of one answer that are read."""

GENERATOR_SAMPLING: Final = Sampling(max_tokens=4096, temperature=0.7, top_p=None)

_SCHEMA: Mapping[str, JsonValue] = {
    "type": "object",
    "properties": {
        "versions": {
            "type": "array",
            "minItems": MIN_VERSIONS,
            "items": {
                "type": "object",
                "properties": {
                    "code": {"type": "string"},
                    "instruction": {"type": "string"},
                    "category": {"type": "string", "enum": list(get_args(Category))},
                },
                "required": ["code", "instruction", "category"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["versions"],
    "additionalProperties": False,
}


class GeneratedVersion(Row):
    """One version in an answer."""

    code: str = Field(min_length=1)
    instruction: str = Field(min_length=1, max_length=400)
    category: Category


class GeneratedVariants(NamedTuple):
    """Variants that models wrote, and a row for each version or answer that cannot be read."""

    variants: list[Variant]
    malformed: list[ExaminedVariant]


def generate_variants(contexts: Sequence[CodeContext], models: BuildModels) -> GeneratedVariants:
    """Return the versions that each generator writes for each context; the models' names are their authors.

    The shown text with the known middle is sent to each model; tests and hidden text are not.
    """
    # Shown text and the known middle alone: with the tests, a model would write versions that fit them.
    requests = {name: [_generator_request(subject) for subject in contexts] for name in models.names(GENERATOR_ROLE)}
    answers = readable_answers(
        models, GENERATOR_ROLE, requests, lambda _key, text: listed_values(text, "versions", MAX_VERSIONS)
    )
    generated = GeneratedVariants([], [])
    for context in contexts:
        for name in requests:
            answer = answers[name, context.id]
            if isinstance(answer, UnreadableAnswer):
                generated.malformed.append(_malformed(context, name, "answer", answer.text, answer.fault))
                continue
            for number, value in enumerate(answer, 1):
                label = f"{name}-{number}"
                try:
                    version = GeneratedVersion.model_validate(value)
                except ValidationError as error:
                    text = str(value)[:2000]
                    generated.malformed.append(_malformed(context, name, label, text, describe_validation_error(error)))
                else:
                    generated.variants.append(_variant(context, name, label, version))
    return generated


def _generator_request(context: CodeContext) -> StructuredRequest:
    reference = context.reference if context.reference.endswith("\n") else context.reference + "\n"
    program = f"{context.prefix}<<<MIDDLE\n{reference}MIDDLE>>>\n{context.suffix}"
    words = {"language": context.language, "count": str(MIN_VERSIONS), "program": program}
    return StructuredRequest(context.id, words, _SCHEMA, GENERATOR_SAMPLING, "versions of a middle")


def listed_values(text: str, name: str, most: int) -> list[object]:
    """Return the first values of the list ``name`` of an answer, not validated yet.

    Raises:
        ValueError: the answer is no JSON object with such a list.
    """
    value = replace_surrogates(json_object(text)).get(name)
    if not isinstance(value, list) or not value:
        raise ValueError(f"it has no list of {name}")
    # Each value costs work or runs in the sandbox, and a model that repeats itself may write hundreds.
    return value[:most]


def _malformed(context: CodeContext, author: str, name: str, text: str, detail: str) -> ExaminedVariant:
    return ExaminedVariant(
        context=context.id,
        name=f"{author}-answer" if name == "answer" else name,
        origin="model",
        author=author,
        category=None,
        instruction="",
        text=text[:2000],
        place=context.id,
        verdict="malformed",
        detail=detail,
    )


def _variant(context: CodeContext, author: str, name: str, version: GeneratedVersion) -> Variant:
    return Variant(
        context=context.id,
        name=name,
        origin="model",
        author=author,
        category=version.category,
        # An instruction is shown as one paragraph; line feeds could imitate the parts of a prompt.
        instruction=" ".join(version.instruction.split()),
        text=fitted(version.code, context.reference),
        place=context.id,
    )


def fitted(code: str, reference: str) -> str:
    """Return a version without a code fence, with the indentation of the reference and its line end."""
    lines = code.replace("\r\n", "\n").strip("\n").split("\n")
    if len(lines) > 1 and lines[0].lstrip().startswith("```") and lines[-1].strip() == "```":
        lines = lines[1:-1]
    margin = _indentation(next((line for line in reference.split("\n") if line.strip()), ""))
    filled = [line for line in lines if line.strip()]
    if filled and margin and _indentation(filled[0]) != margin:
        # A version may begin at the caret: its first line has no indentation, and the others have theirs.
        if not _indentation(filled[0]) and len(filled) > 1 and all(line.startswith(margin) for line in filled[1:]):
            first = lines.index(filled[0])
            lines[first] = margin + lines[first]
        else:
            lines = textwrap.indent(textwrap.dedent("\n".join(lines)), margin).split("\n")
    text = "\n".join(line.rstrip() if not line.strip() else line for line in lines)
    return text.rstrip("\n") + "\n" if reference.endswith("\n") else text


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


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
    """
    subjects = {
        f"{context.id}/{variant.name}": _Subject(context, variant, _letters(context, variants))
        for context, variants in groups
        for variant in variants
    }
    (checker,) = models.names(CHECKER_ROLE)
    requests = {checker: [_request(key, subject) for key, subject in subjects.items()]}
    answers = readable_answers(models, CHECKER_ROLE, requests, lambda _key, text: _reading(text))
    return {
        (subject.context.id, subject.variant.name): _fault(subject, answers[checker, key])
        for key, subject in subjects.items()
    }


def _letters(context: CodeContext, variants: Sequence[Variant]) -> Mapping[str, str]:
    """Return all implementations of a context by letter, in an order that says nothing."""
    texts = dict.fromkeys(
        [context.reference, *(other.text for other in context.others), *(variant.text for variant in variants)]
    )
    # The order would help to guess: in small models the bias for a position is larger than the error of sampling.
    ordered = sorted(texts, key=lambda text: sha256_text(context.id, text))
    rounds = (f"{letter}{number or ''}" for number in count() for letter in string.ascii_uppercase)
    return dict(zip(rounds, ordered, strict=False))


def _request(key: str, subject: _Subject) -> StructuredRequest:
    context = subject.context
    listed = "\n\n".join(f"Implementation {letter}:\n{text.rstrip()}" for letter, text in subject.letters.items())
    words = {
        "language": context.language,
        "instruction": subject.variant.instruction,
        "constructs": ", ".join(constructs()),
        "program": f"{context.prefix}<<<MIDDLE>>>\n{context.suffix}",
        "implementations": listed,
    }
    return StructuredRequest(key, words, _schema([*subject.letters]), SAMPLING, "an instruction to read back")


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


def _fault(subject: _Subject, answer: InstructionReading | UnreadableAnswer) -> str:
    if isinstance(answer, UnreadableAnswer):
        return f"the checker's answer cannot be read: {answer.fault}"
    letter = answer.implementation.strip().removeprefix("Implementation ")
    # To pick one among all has a single right answer; a description in its own words would need another judge.
    if subject.letters.get(letter) != subject.variant.text:
        return "the checker finds another implementation" if letter in subject.letters else "the checker finds none"
    if answer.category != subject.variant.category:
        return f"the checker reads the category {answer.category}, not {subject.variant.category}"
    known = constructs()
    # Names that are in no list of constructs are the model's own words, and nothing could decide them.
    demands = Demands(
        required=frozenset(answer.demands).intersection(known), forbidden=frozenset(answer.forbids).intersection(known)
    )
    features = subject.context.features(subject.variant.text)
    faults = demand_faults(demands, subject.variant.text, "", features)
    return f"the checker reads a demand that the version does not meet: {', '.join(faults)}" if faults else ""
