"""Builder of DevBench: instances written by generators, and the released data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from caretbench.build import register_builder
from caretbench.build.build_models import BuildJob
from caretbench.build.builder import Builder
from caretbench.build.validation.program_gate import ProgramGate
from caretbench.build.validation.resumable_gate import ProblemGate
from caretbench.download import PinnedFile, copy_file, download_file, is_complete
from caretbench.errors import UsageError
from caretbench.execution.dispatcher import Dispatcher
from caretbench.execution.execution_types import ExecutionRequest
from caretbench.metrics.code_statistics import problem_statistics
from caretbench.metrics.complexity import paper_statistics
from caretbench.problem import Problem, Profile
from caretbench.suites.devbench.build.construction.build_folder import GENERATOR_ROLE, OPTIONS, ConstructionOptions
from caretbench.suites.devbench.build.construction.construction_build import build_instances
from caretbench.suites.devbench.build.construction.scenario_grid import instances_per_cell, read_template
from caretbench.suites.devbench.released_problems import COMPLETIONS, REVISION, released_files, released_path
from caretbench.suites.devbench.suite import DevBenchProfile
from caretbench.suites.suite_types import BuildResult


@register_builder
class DevBenchBuilder(Builder):
    """Builder of DevBench; see :class:`caretbench.build.builder.Builder`."""

    name = "devbench"
    pull_about = "problems of the release, and recorded completions"
    about = "the instances: none is needed, generators write them"
    options = OPTIONS
    roles: ClassVar[Mapping[str, str]] = {GENERATOR_ROLE: "writes instances"}
    roles_with_several_models = frozenset({GENERATOR_ROLE})
    remembers_models = True

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise an error if a cell, the template or the weights are wrong."""
        chosen = ConstructionOptions.of(options)
        instances_per_cell(chosen)
        read_template(chosen.template)

    def build(self, job: BuildJob) -> BuildResult:
        """Write instances with generators, check them in the sandbox, and keep the good ones.

        Each request has a scenario from a seeded grid. An answer with a fault is asked for once more with its
        diagnosis; then the next generator has its turn. Run the same command again to resume; a folder grows by
        further commands, and a command without -m uses the folder's generators.

        Examples:
          caretbench build devbench -m generator=openai/gpt-4o -n 50 -o mine
          caretbench build devbench -o mine --again reviews/mine/rejections.jsonl
        """
        if job.sources:
            raise UsageError(
                f"build devbench takes no source: {job.sources[0]!r}; cells are chosen by --language, --category"
            )
        return build_instances(job, self._strict_gate, self._program)

    def statistics(self, problem: Problem, profile: Profile) -> Mapping[str, float]:
        """Return lines, tokens and cyclomatic complexity (the paper's Table 4)."""
        as_released = DevBenchProfile(profile).released_texts
        count = paper_statistics if as_released else problem_statistics
        caret = problem.caret
        prefix, suffix, tests = caret.prefix, caret.suffix, problem.hidden_tests
        if as_released and problem.released:
            # The released texts, as the released script counts them.
            prefix, suffix, tests = (problem.released[name] for name in ("prefix", "suffix", "assertions"))
        return count(prefix, problem.reference, suffix, tests, caret.language)._asdict()

    def _strict_gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> ProblemGate:
        """Return the gate of new instances, whose checks may not be weak."""
        gate = self.gate(executor, progress)
        # A missing answer that fails shows only that the code is reached. New instances can be asked for again, so
        # their checks must find half of eight mutants, too.
        return replace(gate, strict=True) if isinstance(gate, ProgramGate) else gate

    def _program(self, problem: Problem, text: str) -> ExecutionRequest | None:
        request = self.suite.request(problem, text, "default", {})
        return request if isinstance(request, ExecutionRequest) else None

    def pull(self, source: Path | None, models: Sequence[str], progress: Callable[[int, int], None]) -> Path:
        """Fetch the released data, and recorded completions of some models, into the cache; return their folder.

        The files come from ``source``, a local copy of the release, or else from the network. Files that are in the
        cache are not fetched again. ``progress`` is called with the number of newly fetched files and the total.

        Raises:
            UsageError: the hashes of a model's completions are not known here.
            DataError: a file cannot be fetched, or differs from its pinned hash.
        """
        folder = released_path()
        files = pinned_files(models)
        progress(0, len(files))
        for file in files:
            # A run that was stopped during the download goes on with the files that are missing or differ from their
            # hash.
            if not is_complete(file, folder):
                if source is not None:
                    copy_file(file, source, folder)
                else:
                    download_file(file, BASE_URL, folder)
            progress(1, len(files))
        return folder


# --- download of the release ---------------------------------------------------------------------------------------


BASE_URL = f"https://raw.githubusercontent.com/microsoft/devbench/{REVISION}"


def pinned_files(models: Sequence[str]) -> list[PinnedFile]:
    """Return the pinned files of the benchmark and of the recorded completions of some models.

    Raises:
        UsageError: the hashes of a model's completions are not known here.
    """
    files = [PinnedFile(path, entry["size"], entry["sha256"]) for path, entry in released_files().items()]
    chosen = [file for file in files if not file.path.startswith(COMPLETIONS)]
    for model in models:
        recorded = [file for file in files if file.path.endswith(f"-{model}.jsonl")]
        # Without a hash nothing is fetched: a file on a branch that has moved would be scored as the release.
        if not recorded:
            raise UsageError(
                f"no pinned completions of {model!r}; score a copy of your own with --completions DIR instead"
            )
        chosen += recorded
    return chosen
