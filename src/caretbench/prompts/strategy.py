"""Base classes of prompt strategies, which turn a problem into a prompt."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from caretbench.models import ModelClient, Prompt, PromptKind
from caretbench.problem import Caret, Question


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
