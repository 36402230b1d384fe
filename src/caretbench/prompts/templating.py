"""Texts of prompts: Jinja templates in ``templates/``, truncated to the budget; caret markers, fences and tags.

Markers, fences and tags never occur in the text around them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import resources
from itertools import count
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal, NamedTuple

from caretbench.errors import UsageError
from caretbench.languages import Language, get_language, languages
from caretbench.languages.table_reader import LanguageTable, read_table
from caretbench.models import ChatPrompt, Message
from caretbench.problem import Caret, ContextFile
from caretbench.prompts.strategy import PromptBudget, PromptParts, UnpromptableError, render_within_budget

if TYPE_CHECKING:
    from jinja2 import Environment, Template


class WorkedExample(LanguageTable):
    """Worked example in one language, ``example.toml`` in its folder: ``prefix + middle + suffix`` is a program."""

    path: str
    prefix: str
    middle: str
    suffix: str


@cache
def worked_examples() -> Mapping[str, WorkedExample]:
    """Return the worked examples by language."""
    read = {name: read_table(name, "example", WorkedExample) for name in languages()}
    return {name: example for name, example in read.items() if example is not None}


@cache
def _environment() -> Environment:
    # Imported late: it costs more than all the rest of this room.
    from jinja2 import Environment, StrictUndefined

    # StrictUndefined: a misspelled name in a template would be an empty text in every prompt.
    return Environment(autoescape=False, undefined=StrictUndefined)  # noqa: S701  prompts are no HTML


@cache
def _template(name: str) -> Template:
    text = resources.files("caretbench.prompts").joinpath("templates", name).read_text("utf-8")
    return _environment().from_string(text)


def fill_templates(name: str, values: Mapping[str, object]) -> tuple[Message, ...]:
    """Return the messages of the templates ``NAME.system.j2`` and ``NAME.user.j2``, without truncation."""
    return (
        Message(role="system", text=_template(f"{name}.system.j2").render(values)),
        Message(role="user", text=_template(f"{name}.user.j2").render(values)),
    )


def render_conversation(
    name: str, caret: Caret, budget: PromptBudget, values: Callable[[PromptParts], Mapping[str, object]]
) -> ChatPrompt:
    """Return the messages of the templates ``NAME.*.j2``, filled with a caret that is truncated to the budget.

    Args:
        name: Name of the templates.
        caret: Caret to show.
        budget: Room for both messages together; what a provider adds between messages is not counted.
        values: Returns the template values for the remaining parts.

    Raises:
        UnpromptableError: Nothing fits.
    """
    by_text: dict[str, tuple[Message, ...]] = {}

    def rendered(parts: PromptParts) -> str:
        messages = fill_templates(name, values(parts))
        text = "\n".join(message.text for message in messages)
        # The budget cuts texts; the messages of the one that fits are taken from here, and not rendered again.
        by_text[text] = messages
        return text

    sent = render_within_budget(PromptParts(caret.prefix, caret.suffix, caret.context), budget, rendered)
    return ChatPrompt(messages=by_text[sent])


PositionInLine = Literal["line start", "indentation", "inside"]
TextAfterCaret = Literal["nothing", "line end", "same line", "next line"]

_BACKTICKS = re.compile(r"`{3,}")


class Tag(NamedTuple):
    """Opening and closing tag around a text."""

    open: str
    close: str


def caret_language(caret: Caret) -> Language:
    """Return the programming language of a caret's file.

    Raises:
        UnpromptableError: The table of languages does not have it.
    """
    try:
        return get_language(caret.language)
    except UsageError as error:
        raise UnpromptableError(str(error)) from None


def caret_texts(caret: Caret) -> tuple[str, ...]:
    """Return all texts of a caret that a prompt may show."""
    files = (text for file in caret.context for text in (file.path, file.text))
    return (caret.statement or "", caret.prefix, caret.suffix, caret.path or "", caret.instruction or "", *files)


def caret_marker(caret: Caret, language: Language) -> str:
    """Return a comment of the language that marks the caret: ``/*[CARET]*/``, or with a number where that occurs.

    It occurs once where it is put between prefix and suffix, across their ends too, and nowhere else.
    """
    opening, closing = language.block_comment or (language.line_comment, "")
    # A text about CaretBench may hold the mark itself; a number makes it new.
    marks = (f"{opening}[CARET{f'-{number}' if number > 1 else ''}]{closing}" for number in count(1))
    return next(mark for mark in marks if _is_new(mark, caret))


def _is_new(mark: str, caret: Caret) -> bool:
    program = caret.prefix + mark + caret.suffix
    # The end of the prefix and the beginning of the mark may form a second one: `/*[CARET]*` before `/*[CARET]*/`.
    alone = program.find(mark) == len(caret.prefix) == program.rfind(mark)
    return alone and not any(mark in text for text in caret_texts(caret))


def code_fence(texts: Iterable[str]) -> str:
    """Return a code fence: more backticks than any run of backticks in ``texts``, at least three."""
    longest = max((len(run) for text in texts for run in _BACKTICKS.findall(text)), default=2)
    return "`" * (longest + 1)


def unique_tags(names: Iterable[str], texts: Iterable[str]) -> Mapping[str, Tag]:
    """Return pairs of tags by name, ``<prefix>`` and ``</prefix>``; all with a number that is new to ``texts``."""
    names, texts = tuple(names), tuple(texts)
    for number in count(1):
        words = {name: f"{name}-{number}" if number > 1 else name for name in names}
        tags = {name: Tag(f"<{word}>", f"</{word}>") for name, word in words.items()}
        if not any(mark in text for text in texts for tag in tags.values() for mark in tag):
            return tags
    raise AssertionError  # pragma: no cover - a text does not hold every number


def describe_position(prefix: str) -> PositionInLine:
    """Return a description of the caret's position in its line, after ``prefix``."""
    line = prefix.rpartition("\n")[2]
    if not line:
        return "line start"
    return "inside" if line.strip() else "indentation"


def describe_suffix(prefix: str, suffix: str) -> TextAfterCaret:
    """Return a description of the text after a caret."""
    if not suffix.strip():
        return "nothing"
    if not suffix.partition("\n")[0].strip():
        return "line end"
    return "next line" if describe_position(prefix) == "line start" else "same line"


def fence_language(path: str) -> str:
    """Return the language tag of a code fence for a file, by suffix; empty if the language is unknown."""
    try:
        return get_language(PurePosixPath(path).suffix.removeprefix(".")).fence
    except UsageError:
        return ""


def fenced_files(files: Iterable[ContextFile]) -> list[dict[str, str]]:
    """Return files for templates, each with path, text and the language tag of its code fence."""
    return [{"path": file.path, "text": file.text, "tag": fence_language(file.path)} for file in files]


def as_line_comments(text: str, language: Language) -> str:
    """Return ``text`` as line comments, each line with its line feed."""
    return "".join(f"{language.line_comment} {line}".rstrip() + "\n" for line in text.splitlines())
