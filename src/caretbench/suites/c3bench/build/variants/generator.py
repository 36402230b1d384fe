"""Versions of middles and their instructions, written by models."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, get_args

from pydantic import Field, JsonValue, ValidationError

from caretbench.build.build_models import BuildModels
from caretbench.files import describe_validation_error, replace_surrogates
from caretbench.judging.parsing import json_object
from caretbench.models import Sampling
from caretbench.problem import Row
from caretbench.suites.c3bench.build.variants.code_context import CodeContext, Variant
from caretbench.suites.c3bench.build.variants.examination import ExaminedVariant
from caretbench.suites.c3bench.build.variants.structured_answers import (
    StructuredRequest,
    UnreadableAnswer,
    readable_answers,
)
from caretbench.suites.c3bench.implementations.rewrite import Category

GENERATOR_ROLE: Final = "generator"
MIN_VERSIONS: Final = 3
MAX_VERSIONS: Final = 12
"""Largest number of versions of one answer that are read."""

SAMPLING: Final = Sampling(max_tokens=4096, temperature=0.7, top_p=None)

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

    Raises:
        AnswersMissingError: a model did not answer.
    """
    requests = {name: [_request(one) for one in contexts] for name in models.names(GENERATOR_ROLE)}
    answers = readable_answers(models, GENERATOR_ROLE, requests, lambda _key, text: _versions(text))
    found = GeneratedVariants([], [])
    for context in contexts:
        for name in requests:
            answer = answers[name, context.id]
            if isinstance(answer, UnreadableAnswer):
                found.malformed.append(_malformed(context, name, "answer", answer.text, answer.fault))
                continue
            for number, value in enumerate(answer, 1):
                label = f"{name}-{number}"
                try:
                    version = GeneratedVersion.model_validate(value)
                except ValidationError as error:
                    text = str(value)[:2000]
                    found.malformed.append(_malformed(context, name, label, text, describe_validation_error(error)))
                else:
                    found.variants.append(_variant(context, name, label, version))
    return found


def _request(context: CodeContext) -> StructuredRequest:
    reference = context.reference if context.reference.endswith("\n") else context.reference + "\n"
    program = f"{context.prefix}<<<MIDDLE\n{reference}MIDDLE>>>\n{context.suffix}"
    words = {"language": context.language, "count": str(MIN_VERSIONS), "program": program}
    return StructuredRequest(context.id, words, _SCHEMA, SAMPLING, "versions of a middle")


def _versions(text: str) -> list[object]:
    """Return the versions of an answer, not validated yet.

    Raises:
        ValueError: the answer is no JSON object with a list of versions.
    """
    value = replace_surrogates(json_object(text)).get("versions")
    if not isinstance(value, list) or not value:
        raise ValueError("it has no list of versions")
    return value[:MAX_VERSIONS]


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
        if not _indentation(filled[0]) and len(filled) > 1 and all(line.startswith(margin) for line in filled[1:]):
            first = lines.index(filled[0])
            lines[first] = margin + lines[first]
        else:
            lines = textwrap.indent(textwrap.dedent("\n".join(lines)), margin).split("\n")
    text = "\n".join(line.rstrip() if not line.strip() else line for line in lines)
    return text.rstrip("\n") + "\n" if reference.endswith("\n") else text


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
