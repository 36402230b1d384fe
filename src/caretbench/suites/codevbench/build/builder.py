"""Builder of Codev-Bench: problems from projects with tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from caretbench.build import register_builder
from caretbench.build.build_models import NO_MODELS, BuildModels
from caretbench.build.builder import Builder
from caretbench.build.project_tasks.build import build_projects
from caretbench.build.project_tasks.setup_agent import AGENT_PURPOSE, AGENT_ROLE
from caretbench.build.project_tasks.tester.project_tester import TESTER_PURPOSE, TESTER_ROLE
from caretbench.build.sources.fetching.source_spec import SOURCE_ABOUT
from caretbench.build.validation.workspace_gate import WorkspaceGate
from caretbench.execution.dispatcher import Dispatcher
from caretbench.extraction.policies import policy
from caretbench.progress import Progress
from caretbench.suites.codevbench.build.options import OPTIONS, CodevOptions, codev_options
from caretbench.suites.codevbench.tables.data_tables import data_tables
from caretbench.suites.suite_types import BuildResult, Table


@register_builder
class CodevBenchBuilder(Builder):
    """Builder of Codev-Bench; see :class:`caretbench.build.builder.Builder`."""

    name = "codevbench"
    about = f"the problems, a project with tests: {SOURCE_ABOUT} (it is not changed)"
    options = OPTIONS
    roles: ClassVar[Mapping[str, str]] = {AGENT_ROLE: AGENT_PURPOSE, TESTER_ROLE: TESTER_PURPOSE}

    def build(
        self,
        sources: Sequence[str],
        output: Path,
        options: Mapping[str, Any],
        progress: Progress,
        *,
        models: BuildModels = NO_MODELS,
    ) -> BuildResult:
        """Make problems from projects with tests.

        The tests run once with a record of what they execute. A sample of the executed blocks is drawn by --weights,
        and each is masked: deleted or replaced by `pass`, and a method also with a throw at its start. The fastest
        tests that fail under every mask decide about the answers. A block is kept if the original passes and a wrong
        answer that parses fails; it gives problems of several scenarios. Run the same command again to resume an
        interrupted build.

        Each of several projects is built into its own folder, and ends as problems or as a row with its reason. With
        -m tester=SPEC a model writes tests for functions that no test reaches; those that pass examination stay.

        Examples:
          caretbench build codevbench ~/code/project --setup auto -o dev
          caretbench build codevbench toolz==1.2.0 natsort==8.4.0 --setup auto -o dev
        """
        return build_projects(sources, output, options, codev_options(options), progress, models)

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """Return the number of problems by repository, scenario and class of blocks, as the paper's Table 2."""
        return data_tables(self.suite.load(source).problems)

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> WorkspaceGate:
        """Return the gate for problems that tests of a project check."""
        chosen = policy(self.suite.rules("default").policy)
        return WorkspaceGate(executor().projects, chosen, mutates_values=CodevOptions.mutates_values, progress=progress)
