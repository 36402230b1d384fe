"""Codev-Bench: blocks of repositories that unit tests execute, in four scenarios of a developer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from caretbench.errors import DataError
from caretbench.execution.workspaces.snapshot_store import SnapshotStore
from caretbench.files import read_rows
from caretbench.languages import get_language
from caretbench.problem import Caret, Problem, Profile
from caretbench.projects.answer_requests import file_splice, get_tests_check, workspace_request
from caretbench.projects.project import ignored_patterns, snapshot_scopes
from caretbench.projects.settings import read_settings
from caretbench.suites import register
from caretbench.suites.base import Suite
from caretbench.suites.codevbench.measures import CodevBenchProfile, measured, request_under
from caretbench.suites.codevbench.scenario_names import RAG
from caretbench.suites.codevbench.similar_functions import similar_functions
from caretbench.suites.codevbench.tables.rate_tables import printed_tables
from caretbench.suites.codevbench.tables.result_charts import result_charts
from caretbench.suites.codevbench.tables.result_tables import result_tables
from caretbench.suites.sample_projects import sample_projects
from caretbench.suites.stored_tasks import stored_tasks
from caretbench.suites.suite_types import Measurement, ProblemSet, Stratification, SuiteChart, Table

if TYPE_CHECKING:
    import polars as pl

    from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest


STARTER_PROJECT: Final = "depot"


def starter_path() -> Path:
    """Return the file with the problems."""
    return Path(str(resources.files("caretbench.suites.codevbench"))) / "starter_set" / "problems.jsonl"


def starter_problems() -> list[Problem]:
    """Return the problems; the sample project is added to the store in the cache.

    Raises:
        DataError: the problems are of another version of the project.
    """
    root = sample_projects()[STARTER_PROJECT]
    snapshot = SnapshotStore().add(root, ignore=ignored_patterns(root, read_settings(root).ignore))
    problems = list(read_rows(starter_path(), Problem))
    if any(file_splice(problem).snapshot != snapshot.id for problem in problems):
        raise DataError(f"{starter_path()}: made of another version of {root.name}; build it again")
    return problems


@register
class CodevBench(Suite):
    """Codev-Bench: blocks that unit tests execute; see :class:`caretbench.suites.base.Suite`."""

    name = "codevbench"
    title = "Codev-Bench"
    about = "blocks of repositories that unit tests execute, in four scenarios of a developer"
    needs = "Python"
    cpu_minutes = 0.1
    further_data = "caretbench build codevbench SOURCE"
    typed_references = True
    strata = ("scenario", "block", "cut", "answer", "block_class", "line", "language", "project", "tests_by", "age",
              "call_depth")  # fmt: skip
    stratification = Stratification(
        labels=("scenario", "block", "cut", "answer", "line", "language", "project", "tests_by", "age", "call_depth",
                "block_lines", "cursor_column"),
        crossed=(("scenario", "block"), ("scenario", "cut"), ("scenario", "project")),
        main_labels=("scenario",),
        cell_labels=("scenario", "block"),
        heat_maps=(("scenario", "block"),),
    )  # fmt: skip

    profile_rules = CodevBenchProfile

    contexts = MappingProxyType({"as_is": 1, "oracle": 1})

    def load(self, source: str) -> ProblemSet:
        """Return the problems of ``starter``, or of a folder written by ``caretbench build codevbench``.

        The projects are added to the store in the cache.
        """
        if source == "starter":
            return ProblemSet.of("starter", starter_problems())
        root = Path(source)
        if not root.is_dir():
            raise DataError(f"{source}: no such folder; expected starter, or a folder of problems")
        return ProblemSet.of(root.resolve().name, stored_tasks(root))

    def result_tables(self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int) -> tuple[Table, ...]:
        """Return Tables 2 to 7 in form, weighted rates, parts of scenarios, and correlations."""
        return result_tables(results, problems, seed)

    def result_charts(
        self, results: pl.DataFrame, problems: Mapping[str, Problem], seed: int
    ) -> tuple[SuiteChart, ...]:
        """Return Figures 1, 5 and 6 in form."""
        return result_charts(results, problems, seed)

    def published_tables(self, results: Sequence[Table]) -> tuple[Table, ...]:
        """Return Tables 3 to 7 and the correlations as printed."""
        del results
        return printed_tables()

    def make_request(self, problem: Problem, text: str | None, profile: Profile) -> WorkspaceRequest | None:
        """Return the request that runs the deciding tests on an answer; None for a null answer."""
        if text is None:
            return None
        return request_under(workspace_request(problem, text), get_tests_check(problem), profile)

    def caret_in_context(self, problem: Problem, context: str) -> Caret:
        """Return the caret of a problem; ``oracle``: in scenario 4 the hidden text takes part in the search."""
        if context == "as_is" or problem.label("scenario") != RAG:
            return problem.caret
        splice = file_splice(problem)
        scopes = snapshot_scopes(splice.snapshot, required_file=splice.path)
        return problem.caret.model_copy(update={"context": similar_functions(problem, scopes, oracle=True)})

    def measure(self, problem: Problem, text: str | None, profile: Profile) -> list[Measurement]:
        """Return edit similarity and lines, as the profile computes them, and whether the answer is empty."""
        return measured(problem, text, profile)

    def canonical_label(self, name: str, value: str) -> str:
        """Return ``python`` for ``py``, and so on."""
        return get_language(value).name if name == "language" else value
