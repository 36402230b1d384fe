"""Builder of SimCopilot: tasks from projects with tests, and the released data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from caretbench.build import register_builder
from caretbench.build.build_models import NO_MODELS, BuildModels
from caretbench.build.builder import Builder
from caretbench.build.project_tasks.build import build_projects
from caretbench.build.project_tasks.setup_agent import AGENT_PURPOSE, AGENT_ROLE
from caretbench.build.sources.fetching.source_spec import SOURCE_ABOUT
from caretbench.build.validation.workspace_gate import WorkspaceGate
from caretbench.execution.dispatcher import Dispatcher
from caretbench.extraction.policies import policy
from caretbench.progress import Progress
from caretbench.suites.simcopilot.build.options import OPTIONS, simcopilot_options
from caretbench.suites.simcopilot.released import spans as released
from caretbench.suites.simcopilot.released.release_files import pull, released_folder
from caretbench.suites.simcopilot.released.released_projects import split_variant
from caretbench.suites.simcopilot.released.tables import released_tables
from caretbench.suites.suite_types import BuildResult, Table


@register_builder
class SimCopilotBuilder(Builder):
    """Builder of SimCopilot; see :class:`caretbench.build.builder.Builder`."""

    name = "simcopilot"
    pull_about = "the 15 released programs, their spans and labels"
    about = f"the tasks, a project with tests: {SOURCE_ABOUT} (it is not changed)"
    roles: ClassVar[Mapping[str, str]] = {AGENT_ROLE: AGENT_PURPOSE}
    options = OPTIONS

    def pull(self, source: Path | None, models: Sequence[str], progress: Callable[[int, int], None]) -> Path:
        """Fetch the released programs, spans and labels into the cache and return their folder."""
        if models:
            raise ValueError(f"--model {models[0]}: the release contains no recorded completions")
        return pull(source=source, progress=progress)

    def build(
        self,
        sources: Sequence[str],
        output: Path,
        options: Mapping[str, Any],
        progress: Progress,
        *,
        models: BuildModels = NO_MODELS,
    ) -> BuildResult:
        """Make tasks from projects with tests.

        Each task is a block that was cut out of a file; the project's own tests check the answers. They must pass
        three times on the unchanged project. A task is kept if the original block passes and a wrong answer that
        parses fails. Run the same command again to resume an interrupted build.

        Each of several projects is built into its own folder, and ends as tasks or as a row with its reason.

        Examples:
          caretbench build simcopilot ~/code/project --setup auto -o tasks
          caretbench build simcopilot toolz==1.2.0 natsort==8.4.0 --setup auto -o tasks
        """
        return build_projects(sources, output, options, simcopilot_options(options), progress, models)

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """Return the paper's tables about its data, from the released spans and labels."""
        place, _ = split_variant(source)
        return released_tables(released.load(released_folder() if place == "released" else Path(place)))

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> WorkspaceGate:
        """Return the gate for problems that tests of a project check."""
        return WorkspaceGate(executor().projects, policy(self.suite.rules("default").policy), progress=progress)
