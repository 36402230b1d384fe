"""Models that help to build: requests for a role, and the way in which a suite's build asks them.

The implementation belongs to a higher room and is handed to :meth:`caretbench.suites.base.Suite.build`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from caretbench.models import Prompt, Sampling


@dataclass(frozen=True)
class BuildRequest:
    """One text that a build sends to a model.

    Args:
        key: The name of the answer, unique within the role: ``python/1-2``. An answer that cannot be used is asked for
            again under another key: ``python/1-2#2``.
        prompt: A conversation or a text to continue; a plain string is one turn of the user.
        sampling: Sampling of the answer. Options of the command line replace it.
        about: The contents in a few words, for the list of what is sent.
    """

    key: str
    prompt: Prompt | str
    sampling: Sampling = field(default_factory=Sampling)
    about: str = ""


class AnswersMissingError(RuntimeError):
    """A build cannot go on before answers are there: requests failed, money ran out, or nothing may be sent."""


class BuildModels(Protocol):
    """The models of a build, by role."""

    @property
    def roles(self) -> frozenset[str]:
        """The roles that the user gave a model."""
        ...

    def ask(self, role: str, requests: Iterable[BuildRequest]) -> Mapping[str, str]:
        """Return the answers by the requests' keys, all of them; only what is missing is asked for.

        An answer without any text is the empty text. Requests may be asked for in several calls, later ones made of
        earlier answers.

        Raises:
            ValueError: the role has no model, a key occurs twice, or the model does not take such prompts.
            AnswersMissingError: an answer is missing; the same build asks for it again.
        """
        ...


class _NoModels:
    """No model at all."""

    roles: frozenset[str] = frozenset()

    def ask(self, role: str, requests: Iterable[BuildRequest]) -> Mapping[str, str]:
        """Refuse.

        Raises:
            ValueError: always.
        """
        del requests
        raise ValueError(f"this build needs a model: -m {role}=PROVIDER/MODEL")


NO_MODELS: Final[BuildModels] = _NoModels()
"""The models of a build that is given none: every question is refused."""
