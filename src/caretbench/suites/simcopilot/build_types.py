"""What the user of a build chooses, and what the build gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import JsonValue

from caretbench.problem import Problem
from caretbench.projects.running import file_splice
from caretbench.projects.setup.settings import CheckSettings
from caretbench.suites.simcopilot.folder import BuildManifest
from caretbench.suites.simcopilot.mining.tasks import WantedTasks
from caretbench.validation.validity import Validity


@dataclass(frozen=True)
class SimCopilotOptions:
    """What the user chose.

    Args:
        languages: To be mined; all that the project has by default.
        wanted: How many tasks, and of which mode.
        check: The user's word on how the project is tested.
        setup: A command that fetches what the project needs.
        exclude: Patterns of paths that are not mined.
        unverified: Keep tasks, too, for which no wrong answer was found that fails.
    """

    languages: tuple[str, ...] = ()
    wanted: WantedTasks = field(default_factory=WantedTasks)
    check: CheckSettings | None = None
    setup: str | None = None
    exclude: tuple[str, ...] = ()
    unverified: bool = False

    def stored(self) -> dict[str, JsonValue]:
        """As it stands in the manifest."""
        return {
            "languages": list(self.languages),
            "modes": list(self.wanted.modes),
            "limit": self.wanted.limit,
            "per_file": self.wanted.per_file,
            "check": self.check.model_dump(mode="json") if self.check else None,
            "setup": self.setup,
            "exclude": list(self.exclude),
            "unverified": self.unverified,
            **({"per_1000": self.wanted.per_1000} if self.wanted.per_1000 else {}),
        }


class BuiltTasks(NamedTuple):
    """What a build gave."""

    manifest: BuildManifest
    candidates: tuple[Problem, ...]
    verdicts: Mapping[str, Validity]
    tasks: int

    def number_of(self, verdict: str) -> int:
        """How many candidates have this verdict."""
        return sum(row.verdict == verdict for row in self.verdicts.values())

    def reasons(self) -> Counter[str]:
        """How many candidates each check of the gate refused, by ``verdict: reason``."""
        found: Counter[str] = Counter()
        for row in self.verdicts.values():
            found.update({f"{row.verdict}: {reason.partition(':')[0]}" for reason in row.reasons})
        return found

    def verdicts_by(self, label: str) -> dict[str, Counter[str]]:
        """Verdicts by a label of the candidates."""
        table: dict[str, Counter[str]] = {}
        for problem in self.candidates:
            if problem.id in self.verdicts:
                table.setdefault(problem.label(label), Counter())[self.verdicts[problem.id].verdict] += 1
        return table

    @property
    def counted(self) -> int:
        """Valid tasks in files of which it is known what the tests reach: those that the yield counts."""
        unknown = self.manifest.unknown_reach
        return sum(
            row.verdict == "valid"
            for problem in self.candidates
            if (row := self.verdicts.get(problem.id)) is not None and file_splice(problem).path not in unknown
        )
