"""Base classes of prompt strategies, which turn a problem into a prompt, and truncation to a number of tokens.

What is nearest to the caret is worth most, so the files of the context go first, whole and the most distant first;
then the prefix loses its beginning and the suffix its end, at line starts. The prefix gets three quarters of the
room for both and the suffix one; what a side does not need goes to the other.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from typing import ClassVar, NamedTuple

from caretbench.models import ModelClient, Prompt, PromptKind
from caretbench.problem import Caret, ContextFile, Question


class UnpromptableError(Exception):
    """Error: no valid prompt under this strategy; the message is the reason (a sentinel in the text, for example)."""


class PromptBudget(NamedTuple):
    """Maximum size of a prompt in tokens, and the function that counts them.

    Args:
        tokens: Maximum number of prompt tokens; None: no limit.
        count: Counts a text's tokens by the model's own tokenizer, or estimates them where it has none.
    """

    tokens: int | None
    count: Callable[[str], int]


class PromptStrategy(ABC):
    """Prompt strategy. Instances are stateless; a change of the prompt needs a new ``version``."""

    name: str
    version: int | str
    kind: PromptKind
    """Kind of prompt that a client must accept."""
    reads_first_token: ClassVar[bool] = False
    """True if answers are read from the probabilities of the first token."""
    takes_instructions: bool = True
    """False if the prompt has no place for a caret's instruction."""

    @property
    def key(self) -> str:
        """Name and version, ``chat@1``: stored in every completion."""
        return f"{self.name}@{self.version}"

    def prompt(self, caret: Caret, budget: PromptBudget) -> Prompt:
        """Return the prompt for ``caret`` with its statement, as :meth:`render` shows it.

        A chat that has a place for instructions gets the statement there; all others get it as text before the program.

        Raises:
            UnpromptableError: as for :meth:`render`.
        """
        if caret.statement is None:
            return self.render(caret, budget)
        if self.kind == "chat" and self.takes_instructions:
            parts = (caret.statement.strip(), caret.instruction)
            shown = {"instruction": "\n\n".join(text for text in parts if text)}
        else:
            shown = {"prefix": caret.statement + caret.prefix}
        return self.render(caret.model_copy(update={**shown, "statement": None}), budget)

    @abstractmethod
    def render(self, caret: Caret, budget: PromptBudget) -> Prompt:
        """Return the prompt for ``caret``.

        Text that does not fit is cut at line starts: the prefix loses its beginning, the suffix its end, the
        files of the context go first.

        Raises:
            UnpromptableError: it cannot be asked so, nothing of it fits, or its language is unknown.
        """


class QuestionStrategy(PromptStrategy):
    """Strategy for problems that are questions."""

    def render(self, caret: Caret, budget: PromptBudget) -> Prompt:
        """Raise: these strategies render questions only."""
        del caret, budget
        raise UnpromptableError(f"--prompt {self.name} is for questions, and this is a place in a program")

    @abstractmethod
    def render_question(self, question: Question, budget: PromptBudget) -> Prompt:
        """Return the prompt for ``question``; it is never truncated.

        Raises:
            UnpromptableError: it does not fit, or has more choices than there are letters.
        """


def unreadable_reason(strategy: PromptStrategy, client: ModelClient) -> str | None:
    """Return the reason for which answers under ``strategy`` cannot be read from ``client``; None if they can."""
    if not strategy.reads_first_token or client.returns_log_probabilities:
        return None
    return f"{strategy.name} reads the log-probabilities of the first token, and {client.name} tells none"


PREFIX_SHARE = (3, 4)
"""Numerator and denominator of the prefix's share of the room for prefix and suffix."""


class PromptParts(NamedTuple):
    """Parts of a prompt: prefix, suffix and other files, in shown order (nearest to the caret last)."""

    prefix: str
    suffix: str
    files: tuple[ContextFile, ...]


def fit_to_budget(parts: PromptParts, budget: PromptBudget, overhead: str = "") -> PromptParts:
    """Return ``parts``, shortened so that they fit ``budget`` together with ``overhead``; unchanged where they fit.

    The size is the sum of the counts of overhead, prefix, suffix and files (path and text), each counted apart; an
    empty text takes no room. A line is cut only where it does not fit by itself. A count costs time, so they are
    few: one for each part, and a binary search over the lines of a part that is cut.

    Args:
        parts: The text before and after the caret, and other files.
        budget: The room; ``tokens`` None changes nothing, and then nothing is counted.
        overhead: All other text of the prompt: sentinels, instructions, marks.

    Raises:
        UnpromptableError: Nothing of the text fits next to the overhead.
    """
    if budget.tokens is None:
        return parts

    # The binary searches count the same ends of a text again.
    @cache
    def size(text: str) -> int:
        return budget.count(text) if text else 0

    room = budget.tokens - size(overhead)
    prefix_size, suffix_size = size(parts.prefix), size(parts.suffix)
    rest = room - prefix_size - suffix_size
    if rest >= 0:
        return parts._replace(files=_nearest_files(parts.files, size, rest))

    # Rounded up: with room for one token, it belongs to the prefix.
    share = max(0, -(-room * PREFIX_SHARE[0] // PREFIX_SHARE[1]))
    prefix = _end_of(parts.prefix, prefix_size, size, max(share, room - suffix_size))
    suffix = _beginning_of(parts.suffix, suffix_size, size, room - size(prefix))
    # A prompt without the text right before the caret would ask about another place.
    if (parts.prefix and not prefix) or not (prefix or suffix):
        raise UnpromptableError(
            f"no text at the caret fits: the budget is {budget.tokens} tokens, and "
            f"{budget.tokens - room} of them are taken by the rest of the prompt"
        )
    return PromptParts(prefix, suffix, ())


def render_within_budget(parts: PromptParts, budget: PromptBudget, render: Callable[[PromptParts], str]) -> str:
    """Return ``render`` of the longest ``parts`` whose rendered text fits.

    A tokenizer may need more tokens for a whole than for its pieces (rarely, and few); the parts are then shortened
    by what is too much, until the whole fits.

    Raises:
        UnpromptableError: Nothing fits, or ``render`` refuses the text.
    """
    text = render(parts)
    if budget.tokens is None:
        return text
    limit, excess = budget.tokens, budget.count(text) - budget.tokens
    overhead = render(PromptParts("", "", ())) if excess > 0 else ""
    while excess > 0:
        shorter = fit_to_budget(parts, PromptBudget(limit, budget.count), overhead)
        # The pieces fit, the whole does not: the room is made smaller by what is too much.
        if shorter == parts:
            # Pieces that count nothing by themselves fit everywhere, so the loop would not end.
            if limit < 0:
                raise UnpromptableError(
                    f"no text at the caret fits: the budget is {budget.tokens} tokens, and the rest of the prompt "
                    "takes them"
                )
            limit -= excess
            continue
        parts, text = shorter, render(shorter)
        excess = budget.count(text) - budget.tokens
    return text


def _nearest_files(files: tuple[ContextFile, ...], size: Callable[[str], int], room: int) -> tuple[ContextFile, ...]:
    """Return the longest end of ``files`` that fits."""

    def size_from(start: int) -> int:
        return size("\n".join(f"{file.path}\n{file.text}" for file in files[start:]))

    return files[_first_that_fits(range(len(files) + 1), size_from, room) :]


def _end_of(text: str, whole: int, size: Callable[[str], int], room: int) -> str:
    """Return the longest end of ``text`` that fits, from a line start; if no line fits, the end of the last."""
    if whole <= room:
        return text
    breaks = _after_line_feeds(text)
    start = _first_that_fits(breaks, lambda start: size(text[start:]), room)
    if start < len(text):
        return text[start:]
    last_line = range(breaks[-2] if len(breaks) > 1 else 0, len(text) + 1)
    return text[_first_that_fits(last_line, lambda start: size(text[start:]), room) :]


def _beginning_of(text: str, whole: int, size: Callable[[str], int], room: int) -> str:
    """Return the longest beginning of ``text`` that fits, to a line end; if no line fits, part of the first."""
    if whole <= room:
        return text
    breaks = [0, *_after_line_feeds(text)[:-1]]
    end = _first_that_fits(breaks[::-1], lambda end: size(text[:end]), room)
    if end > 0:
        return text[:end]
    first_line = range(breaks[1] if len(breaks) > 1 else len(text), -1, -1)
    return text[: _first_that_fits(first_line, lambda end: size(text[:end]), room)]


def _after_line_feeds(text: str) -> list[int]:
    """Return positions after each line feed, and the end of the text. Other Unicode line breaks occur in strings."""
    positions = [line_feed.end() for line_feed in re.finditer("\n", text)]
    if not positions or positions[-1] != len(text):
        positions.append(len(text))
    return positions


def _first_that_fits(places: Sequence[int], size_at: Callable[[int], int], room: int) -> int:
    """Return the first of ``places`` whose text fits, by binary search; they go from longest to empty text.

    The last place is that of the empty text, which is never counted. Every place that is returned was counted, so
    that the result fits even where a longer text may have fewer tokens.
    """
    low, high = 0, len(places) - 1
    while low < high:
        middle = (low + high) // 2
        if size_at(places[middle]) <= room:
            high = middle
        else:
            low = middle + 1
    return places[high]
