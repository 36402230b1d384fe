"""Protocol of the models that a build uses, and their requests.

The implementation is in ``runs``; :meth:`caretbench.suites.base.Suite.build` receives it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from caretbench.errors import UsageError
from caretbench.models import Prompt, Sampling
from caretbench.progress import Progress

ANSWERS_FILE: Final = "asked.jsonl"
ANSWER_ERRORS_FILE: Final = "errors.jsonl"
"""Files of a build's folder with answers of models, and with requests that failed."""


@dataclass(frozen=True)
class BuildRequest:
    """One request of a build to a model.

    Args:
        key: Identifier of the answer, unique within the role: ``python/1-2``. To replace an unusable answer, use
            another key: ``python/1-2#2``.
        prompt: A conversation or a text to continue; a plain string is one user message.
        sampling: Sampling parameters; options of the command line override them.
        about: Short description, for the list of requests printed by ``--dry-run``.
    """

    key: str
    prompt: Prompt | str
    sampling: Sampling = field(default_factory=Sampling)
    about: str = ""


class ExpectedRequests(NamedTuple):
    """Numbers of requests of one role that a build still needs, those with missing answers included.

    ``least_about`` and ``most_about`` say what the numbers assume. A later request may be longer than those that are
    known now, by up to ``growth`` characters.
    """

    role: str
    least: int
    most: int
    least_about: str
    most_about: str
    growth: int = 0


class AnswersMissingError(RuntimeError):
    """Answers of models are missing: requests failed, the budget is spent, or nothing may be sent.

    ``expected`` are the requests of the whole build, if the suite knows their number.
    """

    expected: ExpectedRequests | None = None


class BuildModels(Protocol):
    """The models of a build, by role."""

    @property
    def roles(self) -> frozenset[str]:
        """The roles for which the user named a model."""
        ...

    def names(self, role: str) -> tuple[str, ...]:
        """Return the names of a role's models; several only in a role of ``Suite.roles_with_several_models``."""
        ...

    def ask(self, role: str, requests: Iterable[BuildRequest]) -> Mapping[str, str]:
        """Return all answers by the requests' keys; only missing ones are requested.

        An answer without text is the empty string. A build may call this several times and use earlier answers in
        later requests.

        Raises:
            UsageError: the role has no model or several, a key occurs twice, or the model does not accept such prompts.
            AnswersMissingError: an answer is missing; the same build requests it again.
        """
        ...

    def ask_each(self, role: str, requests: Mapping[str, Iterable[BuildRequest]]) -> Mapping[str, Mapping[str, str]]:
        """Return the answers of several models of a role, by model name and request key.

        All models are asked before a missing answer of one of them is an error.

        Raises:
            UsageError: as :meth:`ask`, or the role has no model of this name.
            AnswersMissingError: an answer is missing; the same build requests it again.
        """
        ...


class _NoModels:
    """Models of a build for which the user named none."""

    roles: frozenset[str] = frozenset()

    def names(self, role: str) -> tuple[str, ...]:
        """Return no name."""
        del role
        return ()

    def ask(self, role: str, requests: Iterable[BuildRequest]) -> Mapping[str, str]:
        """Raise an error: there is no model.

        Raises:
            UsageError: always.
        """
        del requests
        raise UsageError(f"this build needs a model: -m {role}=PROVIDER/MODEL")

    def ask_each(self, role: str, requests: Mapping[str, Iterable[BuildRequest]]) -> Mapping[str, Mapping[str, str]]:
        """Raise an error: there is no model.

        Raises:
            UsageError: always.
        """
        del requests
        return {"": self.ask(role, ())}


NO_MODELS: Final[BuildModels] = _NoModels()
"""Models of a build for which the user named none; every request raises an error."""


class BuildJob(NamedTuple):
    """Request for problems.

    Args:
        sources: Projects, clones or files from which problems are made.
        output: The folder to which they are written.
        options: Values of the builder's options by name; None for an option without a value.
        progress: Receives steps and notes.
        models: Models for the builder's roles, if it has some.
    """

    sources: Sequence[str]
    output: Path
    options: Mapping[str, Any]
    progress: Progress
    models: BuildModels = NO_MODELS
