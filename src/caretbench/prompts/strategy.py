"""What a prompt strategy is: from what a problem shows to what a model is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from caretbench.models import ModelClient, Prompt, PromptKind
from caretbench.problem import Caret, Question


class UnpromptableError(Exception):
    """This text cannot be asked under this strategy; the message says why (a sentinel stands in the text)."""


class Budget(NamedTuple):
    """Room for a prompt.

    Args:
        tokens: At most so many tokens of prompt; None: no limit.
        count: Counts a text's tokens by the model's own tokenizer, or estimates them where it has none.
    """

    tokens: int | None
    count: Callable[[str], int]


class Strategy(Protocol):
    """One way to ask. Instances are stateless."""

    @property
    def name(self) -> str:
        """``chat``, ``natural``, ``left-to-right``, ``fill``, ``fim/starcoder``."""
        ...

    @property
    def version(self) -> int | str:
        """A change of what is sent needs a new version."""
        ...

    @property
    def kind(self) -> PromptKind:
        """What a client has to accept."""
        ...

    @property
    def key(self) -> str:
        """Name and version, ``chat@1``: stands in every completion."""
        ...

    def render(self, caret: Caret, budget: Budget) -> Prompt:
        """What is sent for ``caret``.

        Text that does not fit is left out at line starts: the prefix loses its beginning, the suffix its end, the
        files of the context go first.

        Raises:
            UnpromptableError: it cannot be asked so.
        """
        ...


@runtime_checkable
class AsksQuestions(Protocol):
    """A strategy for problems that are questions: it has this beside what every strategy has."""

    def render_question(self, question: Question, budget: Budget) -> Prompt:
        """What is sent for ``question``; nothing of it is ever left out.

        Raises:
            UnpromptableError: it cannot be asked so.
        """
        ...


@runtime_checkable
class ReadsFirstToken(Protocol):
    """A strategy whose answers are read off the probabilities of the first token: it has this beside the rest."""

    reads_first_token: Literal[True]


def unreadable(strategy: Strategy, client: ModelClient) -> str | None:
    """Why answers under ``strategy`` cannot be read off what ``client`` tells; None where they can."""
    if not isinstance(strategy, ReadsFirstToken) or client.tells_probabilities:
        return None
    return f"{strategy.name} reads the log-probabilities of the first token, and {client.name} tells none"
