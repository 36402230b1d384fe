"""The record: blocks of dated releases of real projects, decided by the projects' tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.languages import get_language
from caretbench.metrics.similarity import similarities
from caretbench.problem import Problem, Profile
from caretbench.profiles import ProfileRule, ProfileRules
from caretbench.suites import register
from caretbench.suites.base import Suite
from caretbench.suites.baselines import BASELINES, BaselineFunction
from caretbench.suites.c3bench.measures import BLIND_SCALE, blind_answer, failed_predicates
from caretbench.suites.record.edition import asks_instructions, edition_problems, read_edition
from caretbench.suites.suite_types import Measurement, ProblemSet, Stratification


class RecordProfile(ProfileRules):
    """Scoring rules of the record; there is no paper, so both profiles have the same."""

    policy = ProfileRule("Default truncation policy", paper="block", default="block")


@register
class Record(Suite):
    """The record: dated editions; see :class:`caretbench.suites.base.Suite`."""

    name = "record"
    title = "CaretBench record"
    about = "blocks of dated releases of real projects, rebuilt from their archives by anyone"
    needs = "Python, Java, C++, Go, Rust, Ruby and Node by project"
    further_data = "caretbench build record RECIPE"
    strata = ("scenario", "language", "block", "cut", "project", "age", "names", "line")
    stratification = Stratification(
        labels=("scenario", "language", "block", "cut", "line", "project", "age", "names", "block_lines"),
        crossed=(("scenario", "language"), ("language", "names")),
        main_labels=("scenario", "language"),
        cell_labels=("scenario", "language"),
        heat_maps=(("scenario", "language"),),
    )
    profile_rules = RecordProfile
    baselines: ClassVar[Mapping[str, BaselineFunction]] = {**BASELINES, BLIND_SCALE: blind_answer}

    def load(self, source: str) -> ProblemSet:
        """Return the problems of an edition: ``starter`` (the newest), its name, or a folder of a build.

        With ``-instructions`` behind it: the blocks that an instruction asks for. Its projects are in the cache:
        ``caretbench pull record``. Those that are not here are named.
        """
        edition = read_edition(source).of_kind(instructed=asks_instructions(source))
        problems, missing = edition_problems(edition, SnapshotStore())
        coverage = f"{edition.name}: {len(problems)} of {len(edition.tasks)} problems are here"
        notes = [coverage] if len(problems) < len(edition.tasks) else []
        return ProblemSet.of(edition.name, problems, (*notes, *missing.values()))

    def measure(self, problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
        """Return the similarity to the reference, and whether an instruction is followed: that is part of passing."""
        [likeness] = similarities([(text, problem.reference)])
        return [Measurement("similarity@1", likeness._asdict()), *super().measure(problem, text, profile)]

    def failed_predicates(self, problem: Problem, text: str) -> Sequence[str]:
        """Return the reason why an answer is not the block that its instruction asks for; nothing if it is."""
        return failed_predicates(problem, text)

    def canonical_label(self, name: str, value: str) -> str:
        """Return ``python`` for ``py``, and so on."""
        return get_language(value).name if name == "language" else value
