"""An answer next to the reference at the same caret: the input of every error kind."""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

from caretbench.errors import UsageError
from caretbench.languages import language_of_grammar
from caretbench.metrics.error_kinds.answer_structure import AnswerStructure
from caretbench.metrics.error_kinds.structure_walk import reference_structure, structure_of
from caretbench.metrics.text_overlap import dense_index, dense_text
from caretbench.syntax.parser import grammar_name

MAX_COMPARED_CHARACTERS: Final = 100_000
"""Length from which an answer is cut before it is compared: no longer text is inserted."""


class CaretPlace(NamedTuple):
    """Place of an answer in a program.

    ``suffix`` is all that follows there; ``shown_suffix`` the part of it that the model was shown, if not all. The
    language is a name or alias; with an unknown one, the lines alone decide.
    """

    prefix: str
    suffix: str
    language: str
    shown_suffix: str | None = None


class ComparedAnswer:
    """Answer and reference in the same place. All texts have line feeds at the ends of lines.

    Structures are None where a text cannot be parsed within the limits, or the language has no grammar; kinds are then
    decided by the lines alone.
    """

    def __init__(self, answer: str, reference: str, place: CaretPlace) -> None:
        self.answer = _with_line_feeds(answer[:MAX_COMPARED_CHARACTERS])
        self.reference = _with_line_feeds(reference)
        self.prefix = _with_line_feeds(place.prefix)
        self.suffix = _with_line_feeds(place.suffix)
        self.shown_suffix = self.suffix if place.shown_suffix is None else _with_line_feeds(place.shown_suffix)
        self.language = place.language

    @property
    def caret_line(self) -> str:
        """Text of the caret's line before the caret."""
        return self.prefix.rpartition("\n")[2]

    @property
    def is_empty(self) -> bool:
        """True if the answer has only blanks."""
        return not self.answer.strip()

    @property
    def nothing_due(self) -> bool:
        """True if the reference has only blanks."""
        return not self.reference.strip()

    @property
    def is_comparable(self) -> bool:
        """True if both texts have content and differ in more than the blanks around them."""
        if self.is_empty or self.nothing_due:
            return False
        return self.answer.rstrip() != self.reference.rstrip()

    @cached_property
    def answered(self) -> AnswerStructure | None:
        """Structure of the answer in its place."""
        near = None if self.expected is None else self.expected.spliced
        return structure_of(self.prefix, self.answer, self.suffix, self.language, near)

    @cached_property
    def expected(self) -> AnswerStructure | None:
        """Structure of the reference in its place."""
        return reference_structure(self.prefix, self.reference, self.suffix, self.language)

    @cached_property
    def structures(self) -> tuple[AnswerStructure, AnswerStructure] | None:
        """Structures of answer and reference; None if one of them is missing."""
        if self.answered is None or self.expected is None:
            return None
        return self.answered, self.expected

    @cached_property
    def same_code(self) -> bool:
        """True if answer and reference have the same tokens."""
        if self.structures is None:
            return dense_text(self.answer) == dense_text(self.reference)
        answered, expected = self.structures
        return bool(expected.words) and answered.words == expected.words

    @cached_property
    def stops_early(self) -> bool:
        """True if the answer is a beginning of the reference."""
        return not self.same_code and self._begins(self.reference, self.answer, cut_in_word=True)

    @cached_property
    def goes_on(self) -> bool:
        """True if the reference is a beginning of the answer."""
        return not self.same_code and self._begins(self.answer, self.reference, cut_in_word=False)

    def _begins(self, whole: str, part: str, *, cut_in_word: bool) -> bool:
        if self.structures is not None:
            long, short = self.structures if whole is self.answer else self.structures[::-1]
            if short.words and len(short.words) < len(long.words) and long.words[: len(short.words)] == short.words:
                return True
            if long.words and not short.words:
                return False  # code against a comment
        dense = dense_text(part)
        if not dense or len(dense) >= len(dense_text(whole)) or not dense_text(whole).startswith(dense):
            return False
        rest = whole[dense_index(whole, len(dense)) :]
        in_word = rest[:1].isidentifier() and dense[-1:].isidentifier()
        return cut_in_word if in_word else not _is_comment(rest, self.language)


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _is_comment(text: str, language: str) -> bool:
    """Return whether a text has only lines that are comments."""
    try:
        mark = language_of_grammar(grammar_name(language)).line_comment
    except UsageError:
        return False
    return all(line.strip().startswith(mark) for line in text.split("\n") if line.strip())
