"""Repair of a project's set-up by a model of the role ``agent``: it answers with recipes, which are tried."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from string import Template
from typing import Final, NamedTuple, TypeVar

from caretbench.build.build_models import BuildModels, BuildRequest
from caretbench.build.projects.agent.recipe import Recipe, RecipeRow, RepairCase, read_recipe
from caretbench.build.projects.agent.recipe_trial import file_names, readme, shortened_log
from caretbench.build.projects.setup.project_setup import SetupError
from caretbench.errors import DataError
from caretbench.files import read_packaged_toml, sha256_text
from caretbench.models import ChatPrompt, Message, Sampling
from caretbench.problem import Row
from caretbench.redaction import redact

ResultT = TypeVar("ResultT")
AGENT_ROLE: Final = "agent"
AGENT_PURPOSE: Final = "repairs set-ups: reads README, names of files and logs, and answers with commands"
# Temperature 0: the same question has one answer, so that a build can be repeated.
SAMPLING: Final = Sampling(max_tokens=2048, temperature=0.0, top_p=None)
_MALFORMED: Final = "malformed_answer"
_SHOWN_ANSWER: Final = 6_000
# Two cut answers of a small model, shown whole, filled its context: the third question was refused.
_SHOWN_MALFORMED: Final = 500
_SHOWN_FAULT: Final = 1_500
_NAMED_FAULT: Final = 200


class AgentPrompts(Row):
    """Content of ``setup_agent.toml``."""

    version: int
    system: str
    first: str
    again: str


@cache
def agent_prompts() -> AgentPrompts:
    """Return the prompts."""
    return AgentPrompts.model_validate(read_packaged_toml(__package__, "setup_agent.toml"))


@dataclass(frozen=True)
class SetupAgent:
    """Repair of set-ups by a model.

    Args:
        models: Models of the build.
        tries: Maximum number of answers for one project, malformed and repeated ones included.
        max_s: Maximum time of one project in seconds, checked before each question.
        note: Receiver of the list of what is sent.
        now: Clock in seconds.
    """

    models: BuildModels
    tries: int = 4
    max_s: float = 1800.0
    note: Callable[[str], None] = lambda _line: None
    now: Callable[[], float] = field(default=time.monotonic)

    def repair(self, case: RepairCase, fault: SetupError, attempt: Callable[[Recipe], ResultT]) -> ResultT:
        """Return the result of the first recipe that works.

        ``fault`` is that of the project without a recipe; ``attempt`` tries a recipe from a clean copy of the project,
        and raises SetupError if it does not work. The outcome of each trial is stored before it is shown, so that a
        stopped build asks the same questions again, and takes their answers from the folder.

        Raises:
            DataError: no recipe works within the budget; the message has the faults of all.
            AnswersMissingError: the model did not answer, or may not be asked.
        """
        started = self.now()
        after = sha256_text(case.key, str(agent_prompts().version))
        shown = _recipe_row(case, after, fault)
        talk = _Talk.begin(case, shown)
        self.note(self._sent(case, talk))
        for number in range(1, self.tries + 1):
            # Before each question only: an answer that is paid for is tried.
            if self.now() - started > self.max_s:
                raise _abandoned(fault, talk, f"{self.max_s / 60:g} min are over (--agent-minutes)")
            key = f"{case.project.id[:16]}/{number}"
            request = BuildRequest(key, ChatPrompt(messages=talk.messages), SAMPLING, f"set-up of {case.name}")
            answer = self.models.ask(AGENT_ROLE, [request])[key]
            after = sha256_text(after, shown.fault, shown.log, answer)
            outcome = self._outcome(case, after, answer, talk, attempt)
            if not isinstance(outcome, RecipeRow):
                return outcome
            shown = outcome
            talk = talk.continued(answer, shown)
        raise _abandoned(fault, talk, f"no recipe of {self.tries} works (--agent-tries)")

    def _outcome(
        self, case: RepairCase, after: str, answer: str, talk: _Talk, attempt: Callable[[Recipe], ResultT]
    ) -> ResultT | RecipeRow:
        """Return the result of an answer's recipe, or the stored row of its fault."""
        try:
            recipe = read_recipe(answer)
        except ValueError as error:
            return _recipe_row(case, after, SetupError(f"{_MALFORMED}: {error}"))
        earlier = [number for number, key in enumerate(talk.recipes, 1) if key == recipe.key]
        talk.recipes.append(recipe.key)
        # Models propose the same commands again; a trial costs minutes, and ends as before.
        if earlier:
            return _recipe_row(case, after, SetupError("repeated_recipe: this recipe was tried before; it fails again"))
        row = case.store.get(case.key, after)
        # A stopped build tried it already; one that worked runs again, as its snapshot may be gone.
        if row is not None and row.recipe is None:
            return row
        try:
            result = attempt(recipe)
        except SetupError as error:
            return _recipe_row(case, after, error)
        case.store.add(RecipeRow(case=case.key, after=after, recipe=recipe))
        return result

    def _sent(self, case: RepairCase, talk: _Talk) -> str:
        """Return the line that lists what is sent."""
        name, text = readme(case.project)
        names = ", ".join(self.models.names(AGENT_ROLE))
        about = f"{name} ({len(text):,} characters), " if name else ""
        return (
            f"-m {AGENT_ROLE}={names} is sent for {case.name}: {about}the names of its files "
            f"({len(file_names(case.project))} lines), the set-up and test commands, and logs of failing commands, "
            f"without secrets ({len(talk.messages[-1].text):,} characters in the first of up to {self.tries} requests)"
        )


class _Talk(NamedTuple):
    """Messages so far, keys of the recipes in them, and the faults of all answers."""

    messages: tuple[Message, ...]
    recipes: list[str]
    faults: tuple[str, ...] = ()

    @classmethod
    def begin(cls, case: RepairCase, shown: RecipeRow) -> _Talk:
        name, text = readme(case.project)
        words = {
            "setup": case.setup or "none",
            "test_command": case.test_command or "found from the project's files",
            "readme_name": name or "README",
            "readme": text or "(there is none)",
            "files": "\n".join(file_names(case.project)),
            "fault": shown.fault,
            "log": shown.log or "(nothing)",
        }
        prompts = agent_prompts()
        first = Template(prompts.first).substitute(words).strip()
        return cls((Message(role="system", text=prompts.system.strip()), Message(role="user", text=first)), [])

    def continued(self, answer: str, shown: RecipeRow) -> _Talk:
        words = {"fault": shown.fault, "log": shown.log or "(nothing)"}
        most = _SHOWN_MALFORMED if shown.fault.startswith(_MALFORMED) else _SHOWN_ANSWER
        added = (
            Message(role="assistant", text=answer[:most] or "(no text)"),
            Message(role="user", text=Template(agent_prompts().again).substitute(words).strip()),
        )
        return self._replace(messages=self.messages + added, faults=(*self.faults, shown.fault))


def _recipe_row(case: RepairCase, after: str, fault: SetupError) -> RecipeRow:
    """Return the stored row of a fault; that of an earlier attempt of the build if there is one."""
    # Redacted before it is stored: the row is shown to a model and kept in the folder.
    message = redact(" ".join(str(fault).split()))[:_SHOWN_FAULT]
    return case.store.add(RecipeRow(case=case.key, after=after, fault=message, log=shortened_log(fault.log)))


def _abandoned(first: SetupError, talk: _Talk, why: str) -> DataError:
    faults = "; ".join(f"{number}: {fault[:_NAMED_FAULT]}" for number, fault in enumerate(talk.faults, 1))
    return DataError(
        f"{first}; -m {AGENT_ROLE}: {why}{f' ({faults})' if faults else ''}: raise the bound, name another model, or "
        "give --setup and --test-command yourself"
    )
