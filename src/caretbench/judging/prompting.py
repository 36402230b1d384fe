"""Prompts for judges. A judge never sees tests, results or the author.

A text at a caret or an answer to a question may be shown with the reference, if the criterion wants that.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from string import Template

from pydantic import JsonValue

from caretbench.errors import UsageError
from caretbench.files import DataError, sha256_text
from caretbench.judging.criteria import Criterion
from caretbench.languages import get_language
from caretbench.models import ChatPrompt, Message, ModelClient, Sampling
from caretbench.problem import Problem, Question

_MARK_LENGTH = 16


def render(criterion: Criterion, problem: Problem, text: str, repeat: int = 0) -> ChatPrompt:
    """Return the prompt for a judgement of ``text``, at the caret of ``problem`` or as its answer.

    ``repeat`` decides the order in which a pair of texts is shown.

    Raises:
        TypeError: the criterion is about carets and the problem is a question, or the other way round.
        DataError: the problem lacks a context file, or an instruction, that the prompt names.
    """
    available = _caret_texts(problem, text) if criterion.subject == "caret" else _question_texts(problem, text)
    texts = {name: shown for name, shown in available.items() if shown is not None}
    # An empty reference is shown as such; a missing one would leave a prompt that asks for a comparison with nothing.
    lacking = criterion.prompt.placeholders - {*texts, "mark"}
    if lacking:
        raise DataError(f"{problem.id}: has no {', '.join(sorted(lacking))}, which {criterion.key} needs")
    # In this order, since the mark is a hash of the texts and is part of the prompts of stored judgements.
    shown = [entry for name, entry in texts.items() if name in criterion.prompt.placeholders - _UNFENCED]
    texts = {**texts, "mark": unused_mark(*shown)}
    # Templates are substituted once: placeholders inside a shown text are kept.
    if criterion.prompt.pair is not None:
        parts = [Template(part).substitute(texts) for part in criterion.prompt.pair]
        texts["pair"] = "\n\n".join(parts if repeat % criterion.order_count == 0 else reversed(parts))
    messages = [Message(role="user", text=Template(criterion.prompt.user).substitute(texts))]
    if criterion.prompt.system is not None:
        messages.insert(0, Message(role="system", text=criterion.prompt.system))
    return ChatPrompt(
        messages=tuple(messages),
        schema_name=criterion.name.replace("-", "_") if criterion.json_schema else None,
        json_schema=criterion.json_schema,
    )


_UNFENCED = frozenset({"language"})
"""Placeholders for a single word, which is not fenced by the mark."""


def _caret_texts(problem: Problem, text: str) -> Mapping[str, str | None]:
    caret = problem.caret
    return {
        "language": _title(caret.language), "prefix": caret.prefix, "completion": text, "suffix": caret.suffix,
        "instruction": caret.instruction, "reference": problem.reference,
    }  # fmt: skip


def _question_texts(problem: Problem, text: str) -> Mapping[str, str | None]:
    question = problem.shown
    if not isinstance(question, Question):
        raise TypeError(f"{problem.id} is not a question")
    files: Mapping[str, str] = {PurePosixPath(file.path).stem: file.text for file in question.context}
    return {
        **files, "question": question.text, "shown": question_text(question),
        "reference": problem.reference, "answer": text, "claim": text,
    }  # fmt: skip


def question_text(question: Question) -> str:
    """Return the text of a question with its context files."""
    return "\n\n".join([question.text, *(f"{file.path}:\n{file.text}" for file in question.context)])


def unused_mark(*texts: str) -> str:
    """Return a fence mark that occurs in none of the texts; the same texts get the same mark.

    It is a hash of the texts, so that no text can contain the mark that closes it.
    """
    count = 0
    while True:
        # A fixed mark could be closed by an answer, whose rest the judge would read as instructions.
        mark = sha256_text(*texts, str(count))[:_MARK_LENGTH]
        if not any(mark in text for text in texts):
            return mark
        count += 1


def judge_settings(criterion: Criterion, client: ModelClient, sampling: Sampling) -> dict[str, JsonValue]:
    """Return the settings that influence a judge's answers; their hash is the ``parameters`` of its judgements."""
    identity: dict[str, JsonValue] = {"model": client.name}
    # Rare fields are added only if set, so that the parameters of stored judgements do not change.
    more: dict[str, JsonValue] = {}
    if criterion.subject != "caret":
        more["subject"] = criterion.subject
    if criterion.overall:
        more["overall"] = list(criterion.overall)
    more |= {name: value for name in ("then", "only") if (value := getattr(criterion, name)) is not None}
    return more | {
        "criterion": criterion.key,
        "form": criterion.form,
        "scores": {scale.name: scale.maximum for scale in criterion.scores},
        "prompt": criterion.fingerprint,
        "sampling": sampling.model_dump(mode="json"),
        "client": identity | dict(client.identity),
    }


def _title(name: str) -> str:
    try:
        return get_language(name).title
    except UsageError:
        return name
