"""Prompts for judges. A judge never sees tests, results or the author. Also longer variants of answers.

A text at a caret or an answer to a question may be shown with the reference, if the criterion wants that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from string import Template
from typing import Final

import tree_sitter
from pydantic import JsonValue

from caretbench.errors import UsageError
from caretbench.files import DataError, sha256_text
from caretbench.judging.criteria import Criterion
from caretbench.languages import get_language
from caretbench.models import ChatPrompt, Message, ModelClient, Sampling
from caretbench.problem import Caret, Problem, Question
from caretbench.syntax.documentation import comment_marks
from caretbench.syntax.parser import encode, fault_count, parse, text_of, upwards, walk

_MARK_LENGTH = 16


def render(criterion: Criterion, problem: Problem, text: str, repeat: int = 0) -> ChatPrompt:
    """Return the prompt for a judgement of ``text``, at the caret of ``problem`` or as its answer.

    ``repeat`` decides the order in which a pair of texts is shown.

    Raises:
        TypeError: the criterion is about carets and the problem is a question, or the other way round.
        DataError: the problem lacks a context file, or an instruction, that the prompt names.
    """
    known = _caret_texts(problem, text) if criterion.subject == "caret" else _question_texts(problem, text)
    texts = {name: shown for name, shown in known.items() if shown is not None}
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


HARMLESS_TEXTS: Final = (
    "The code at this place is part of the program around it.",
    "It is called in the same way as before.",
    "Nothing else in the file depends on how it is written.",
)
"""Comments that say nothing about the code."""
_SENTENCE: Final = "This is the answer to the question that was given above."
HARMLESS_LINES: Final = "harmless-lines"
"""Name of the style, which a judge that prefers long answers rates higher."""

_TEXT_NODES: Final = re.compile(r"string|template|interpolation|char|regex|heredoc|preproc|raw_text")
# Each variant parses the whole program again.
_MAX_BYTES: Final = 400_000
"""Size of programs above which there are no variants."""


def style_variants(problem: Problem, text: str) -> Mapping[str, str]:
    """Return the variant of an answer by style; empty if it cannot be made.

    Args:
        problem: The problem.
        text: The text at the caret, or the answer to the question.
    """
    variant = with_harmless_lines(problem.shown, text) if isinstance(problem.shown, Caret) else _longer(text)
    return {} if variant is None or not variant.strip() else {HARMLESS_LINES: variant}


def with_harmless_lines(caret: Caret, text: str) -> str | None:
    """Return code with comments that say nothing, each on a line of its own, or behind it; None where neither fits."""
    marks, data = comment_marks(caret.language), encode(caret.prefix + text + caret.suffix)
    if len(data) > _MAX_BYTES or not marks.line:
        return None
    tree = parse(data, caret.language)
    for position in _line_starts(tree, len(encode(caret.prefix)), text):
        line = text[position:].partition("\n")[0]
        indent = line[: len(line) - len(line.lstrip())]
        lines = "".join(f"{indent}{marks.line} {one}\n" for one in HARMLESS_TEXTS)
        changed = text[:position] + lines + text[position:]
        if _keeps_tokens(tree, caret, changed):
            return changed
    changed = f"{text}  {marks.line} {' '.join(HARMLESS_TEXTS)}"
    ends = caret.suffix.startswith("\n") and text.strip() and not text.endswith("\n")
    return changed if ends and _keeps_tokens(tree, caret, changed) else None


def _line_starts(tree: tree_sitter.Tree, start: int, text: str) -> Iterator[int]:
    """Yield the starts of the answer's own lines that are not within a text of several lines."""
    for line_feed in re.finditer("\n", text):
        at = start + len(encode(text[: line_feed.end()]))
        if line_feed.end() < len(text) and not _is_in_text(tree.root_node.descendant_for_byte_range(at, at)):
            yield line_feed.end()


def _keeps_tokens(tree: tree_sitter.Tree, caret: Caret, changed: str) -> bool:
    """Return whether the program with the changed answer has the same tokens and no more syntax errors."""
    other = parse(encode(caret.prefix + changed + caret.suffix), caret.language)
    # The program may have had faults before: an answer need not parse.
    if fault_count(other, caret.language) > fault_count(tree, caret.language):
        return False
    return list(_tokens(tree.root_node)) == list(_tokens(other.root_node))


def _tokens(root: tree_sitter.Node) -> Iterator[str]:
    """Yield the tokens of a tree in text order, without comments and without line ends."""
    for node in walk(root, closed=_is_comment):
        if not (node.child_count or _is_comment(node)) and text_of(node).strip():
            yield text_of(node)


def _is_comment(node: tree_sitter.Node) -> bool:
    return node.type.endswith("comment")


def _is_in_text(node: tree_sitter.Node | None) -> bool:
    return any(_TEXT_NODES.search(one.type) for one in upwards(node))


def _longer(text: str) -> str | None:
    """Return prose with a sentence that says nothing; None for answers of one word, such as a letter or a label."""
    # A sentence behind a letter or label changes the answer.
    if len(text.split()) < 3 or text.lstrip().startswith(("{", "[", "```")):
        return None
    return f"{text.rstrip()} {_SENTENCE}" if text.rstrip()[-1:] in ".!?" else f"{text.rstrip()}. {_SENTENCE}"
