"""Builder of EFCB: questions about merged changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from caretbench.build import register_builder
from caretbench.build.build_models import NO_MODELS, BuildModels
from caretbench.build.builder import Builder
from caretbench.execution.dispatcher import Dispatcher
from caretbench.problem import Problem
from caretbench.progress import Progress
from caretbench.suites.efcb.build import change_build
from caretbench.suites.efcb.build.attacks.leak_report import shortcut_report
from caretbench.suites.efcb.build.leak_tables import leak_tables
from caretbench.suites.efcb.build.output.build_folder import EfcbFolder
from caretbench.suites.efcb.build.question_gate import QuestionGate
from caretbench.suites.efcb.problem_metadata import SUITE_NAME
from caretbench.suites.efcb.tables import data_tables
from caretbench.suites.suite_types import BuildResult, Table


@register_builder
class EfcbBuilder(Builder):
    """Builder of EFCB; see :class:`caretbench.build.builder.Builder`."""

    name = SUITE_NAME
    about = "merged changes: a clone, OWNER/NAME at GitHub, or a file of changes mined before"
    options = change_build.OPTIONS

    def build(
        self,
        sources: Sequence[str],
        output: Path,
        options: Mapping[str, Any],
        progress: Progress,
        *,
        models: BuildModels = NO_MODELS,
    ) -> BuildResult:
        """Build questions about merged changes.

        No program is run; only sources at GitHub need the network. The build fails (status 1) if position, length
        or similarity reveal the right answers. Run the same command again to resume.

        Examples:
          caretbench build efcb ~/code/project owner/name -o tasks
          caretbench build efcb ~/code/project --since 2026-01-01 --max-changes 100 -o tasks
        """
        del models
        return change_build.build(sources, output, options, progress)

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """Return repositories and questions, as the paper's Tables 2 and 3, and the leak report."""
        loaded = self.suite.load(source)
        folder = None if source == "starter" else EfcbFolder(Path(source))
        facts = folder.repositories() if folder else {}
        leaks = (folder.read_leaks() if folder else []) or shortcut_report(loaded.problems)
        return (*data_tables.data_tables(loaded.problems, facts), *leak_tables(leaks))

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> QuestionGate:
        """Return the gate for questions."""
        del executor

        def measured(problem: Problem, text: str | None) -> Mapping[str, float]:
            return {
                name: value
                for entry in self.suite.measure(problem, text, "default")
                for name, value in entry.values.items()
            }

        return QuestionGate(measured, progress)
